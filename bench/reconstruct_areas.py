"""Thousands of small areas attacked in a process of their own: `python -m bench.reconstruct_areas N CERTAIN MODE`.

The census generator has few areas; its people are shuffled here into areas of 50, so that areas differ by chance alone.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import flou

_COLUMNS = ("age", "gender", "marital")
_DIMS = (
    ("area", "gender", "age5"),
    ("area", "gender", "marital"),
    ("area", "gender", "age"),
    ("area", "gender", "age5", "marital"),
)


def records(n_areas: int) -> flou.Microdata:
    """Fifty people an area."""
    census = flou.datasets.census(n=50 * n_areas, rng=1)
    known = census.schema
    place = np.random.default_rng(1).permutation(np.repeat(np.arange(n_areas), 50))
    people = pl.DataFrame(census.frame.to_native()).with_columns(area=pl.Series(np.char.mod("A%05d", place)))
    return flou.Microdata(
        people.select("pid", "area", *_COLUMNS),
        id="pid",
        keys=["area", *_COLUMNS],
        modalities={**{c: known.modalities[c] for c in _COLUMNS}, "area": sorted(people["area"].unique().to_list())},
        hierarchies={"age": known.hierarchies["age"]},
        incoherent=known.incoherent,
    )


def main(n_areas: int, certain: str, mode: str) -> None:
    people = records(n_areas)
    out: dict[str, object] = {}
    at = [time.time(), time.process_time()]

    def lap(name: str) -> None:
        now = [time.time(), time.process_time()]
        out[name], out[f"{name}_cpu"] = now[0] - at[0], now[1] - at[1]
        at[:] = now

    tables = flou.tabulate_many(people, _DIMS)
    lap("tabulate")
    shown = flou.protect.RandomRounding(base=5).protect(tables, secret=1)
    lap("protect")
    attack = flou.attack.Reconstruction.model_validate(
        {"mode": mode, "block": "area", "certain": certain, "tolerance": {"age": 2}}
    )
    found = attack.run(shown, truth=people, secret=2)
    lap("attack")
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    out |= {"memory": int(peak.split()[1]) / 1024, "value": found.value}
    out |= {name: found.figures.get(name) for name in ("near", "baseline", "n_certain", "all_proven")}
    print(json.dumps(out))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
