"""Suppression by pytauargus, run by the interpreter that has it: `python suppress_peer.py FOLDER SUPPRESS`.

FOLDER holds records.csv (codes as text, `amount`) and groups.json (by dimension: the group of each code). It writes
what was found to FOLDER/cells.csv, and CPU seconds to FOLDER/done.json: of the search alone, and of the audit after it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pandas
import pytauargus  # type: ignore[import-not-found]
import pytauargus.engine  # type: ignore[import-not-found]

RULES = "P(10,1)|FREQ(3,10)"


def hierarchies(folder: Path, groups: dict[str, dict[str, str]]) -> dict[str, str]:
    """Its files of nested codes, by dimension."""
    paths = {}
    for dim, group_of in groups.items():
        lines: list[str] = []
        for group in sorted(set(group_of.values())):
            lines += [group, *(f"@{code}" for code in sorted(group_of) if group_of[code] == group)]
        path = folder / f"{dim}.hrc"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        paths[dim] = str(path)
    return paths


def main(folder: Path, suppress: str) -> None:
    records = pandas.read_csv(folder / "records.csv", dtype=str, keep_default_na=False)
    records["amount"] = records["amount"].astype(float)
    hrc = hierarchies(folder, json.loads((folder / "groups.json").read_text(encoding="utf-8")))
    os.chdir(folder)  # it writes logs to where it stands
    engine = pytauargus.engine.Engine
    spent: dict[str, Any] = {"version": pytauargus.__version__}
    search = engine.suppress

    def timed(self: Any, command: Any) -> Any:
        started = time.process_time()
        found = search(self, command)
        spent["search"] = time.process_time() - started
        return found

    engine.suppress = timed
    dims = [name for name in records.columns if name != "amount"]
    decimals = max((len(str(v).partition(".")[2].rstrip("0")) for v in records["amount"]), default=0)
    result = pytauargus.protect(
        records,
        dims,
        response="amount",
        safety_rules=RULES,
        suppress=suppress,
        decimals=decimals or None,
        workdir=str(folder / "peer"),
        hrc=hrc or None,
        hierleadstring="@" if hrc else None,
    )
    result.tables[0].dataframe().to_csv(folder / "cells.csv", index=False)
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    spent["memory"] = int(peak.split()[1]) / 1024
    done = folder / "done.json"
    done.write_text(json.dumps(spent), encoding="utf-8")
    started = time.process_time()
    spent["audited"] = len(result.engine.audit(0))
    spent["audit"] = time.process_time() - started
    done.write_text(json.dumps(spent), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2])
