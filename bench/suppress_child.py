"""One suppression in a process of its own, for its memory: `python -m bench.suppress_child JOB`, JOB in JSON.

With `pattern` (a file of pytauargus's cells) it audits that pattern instead.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import flou
from bench.suppress_tables import BUSINESS, RULES, Instance
from flou.describe.table.apriori import Apriori
from flou.describe.table.suppression import State
from flou.describe.table.table import Table
from flou.protect.table.suppression.search import Pattern, Task
from flou.risk.table.bounds.audit import Singletons, audit, open_needs, questions
from flou.risk.table.bounds.whole_table import WholeTable
from flou.risk.table.primary_rule import combine

#: A run that takes longer is not repeated.
_FAST = 6.0


def peak() -> float:
    """Megabytes of this process alone: what getrusage says begins with the memory of the one that started it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def suppressed(table: Table, options: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds of the whole step with its audit, and what it found."""
    method = flou.protect.CellSuppression(primary=RULES, **options)
    # kernels are loaded before the clock starts
    method.protect(Instance(BUSINESS).table(Path()))
    before, spent = peak(), []
    for _ in range(3):
        started = time.process_time()
        release = method.protect(table)
        spent.append(time.process_time() - started)
        if spent[0] > _FAST:
            break
    held = release.data.suppression
    assert held is not None
    assert held.audit is not None
    secondary = held.states == State.SECONDARY
    return {
        "cpu": statistics.median(spent),
        "runs": len(spent),
        "cells": table.n_cells,
        "primary": int((held.states == State.PRIMARY).sum()),
        "secondary": int(secondary.sum()),
        "value": float(table.true_values[secondary].sum()),
        "disclosed": held.audit.n_disclosed,
        "attackers": held.audit.n_attackers,
        "programs": held.audit.n_programs,
        "before": before,
        "memory": peak(),
    }


def read_pattern(table: Table, path: Path) -> tuple[dict[str, Any], Any]:
    """pytauargus's cells beside ours: what it found, and which cells it hides."""
    cells = pl.read_csv(path, infer_schema=False)
    names = [[dim.category(node) for node in range(dim.n_nodes)] for dim in table.dims]
    place = {
        tuple(name[node] for name, node in zip(names, nodes, strict=True)): i
        for i, nodes in enumerate(table.cells.codes.tolist())
    }
    states = np.full(table.n_cells, "E", dtype=object)
    for *labels, state in cells.select(*cells.columns[: len(table.dims)], "status").iter_rows():
        i = place.get(tuple(labels))
        if i is not None:
            states[i] = state
    primary, secondary = states == "U", states == "M"
    ours = combine(RULES, table).cells
    found = {
        "primary": int(primary.sum()),
        "secondary": int(secondary.sum()),
        "value": float(table.true_values[secondary].sum()),
        "differ": int((primary != ours).sum()),
    }
    return found, primary | secondary | ours


def tasked(table: Table, hidden: Any, singletons: Singletons) -> tuple[Table, Any, Task]:
    """What the search is asked for, on the table as it sees it; a pattern is carried over to that order of cells."""
    method = flou.protect.CellSuppression(primary=RULES, singletons=singletons)
    whole = WholeTable.of(table)
    statements, sensitive = Apriori.none(table.n_cells), combine(RULES, table)
    task = method._task(whole, whole.spread_statements(statements), whole.spread_sensitive(sensitive))
    carried = whole.unseen(hidden)
    assert not (task.primary & ~carried).any(), "the pattern and the table are not in the same order"
    return whole.table, carried, task


def audited(table: Table, hidden: Any) -> dict[str, Any]:
    """What our audit leaves open in a pattern: to outsiders, and to whoever is alone in a cell."""
    table, hidden, task = tasked(table, hidden, "levels")
    equations, sides, lone, subtables = task.equations, task.sides, task.lone, task.subtables
    seen = audit(table, equations, sides, lone, hidden, task.primary, subtables, "off")
    needed = pl.sum_horizontal(pl.col("needed_low", "needed_high").is_not_null())
    out: dict[str, Any] = {
        "needs": sum(side.needs.n for side in sides),
        "exact": seen.n_exact,
        "narrow": seen.n_narrow,
        "outsider": int(seen.findings.select(needed).to_series().sum()),
    }
    notions: tuple[Singletons, ...] = ("exact", "levels")
    for notion in notions:
        n = 0
        for question in questions(equations, sides, lone, hidden, notion):
            shown, _ = open_needs(question, hidden, subtables)
            if question.onlookers.n > 1:
                n += int((~shown[:, 1:] & question.asked[:, 1:]).any(axis=1).sum())
        out[f"lone_{notion}"] = n
    return out


def mended(table: Table, hidden: Any) -> dict[str, Any]:
    """A pattern with what our search adds until nothing is open; none of it is taken away."""
    out: dict[str, Any] = {}
    notions: tuple[Singletons, ...] = ("off", "exact", "levels")
    for notion in notions:
        whole, carried, task = tasked(table, hidden, notion)
        pattern = Pattern(task, carried & ~task.primary, None)
        pattern.search("modular")
        secondary = pattern.hidden & ~task.primary
        out[f"mended_{notion}"] = [int(secondary.sum()), float(whole.true_values[secondary].sum())]
    return out


def main() -> None:
    job = json.loads(sys.argv[1])
    table = Instance(**job["instance"]).table(Path(job["folder"]))
    if "pattern" in job:
        found, hidden = read_pattern(table, Path(job["pattern"]))
        print(json.dumps(found), flush=True)
        print(json.dumps(audited(table, hidden)), flush=True)
        print(json.dumps(mended(table, hidden)))
    else:
        print(json.dumps(suppressed(table, job["options"])))


if __name__ == "__main__":
    main()
