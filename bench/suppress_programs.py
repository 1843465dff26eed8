"""Suppressed tables of random shape under programs that are built from the published frame alone.

The programs are those of the tests (`tests.protect.table.independent_lp`): they see labels and published figures, and
find what is sensitive in the records. A table passes when no primary cell is bounded more closely than its levels
allow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from tests.protect.table.independent_lp import disclosed_counts, disclosed_sums

import flou

#: The finest categories of each dimension, and how many of them make a group (1: no groups).
_SHAPES = (
    ((20, 1), (12, 1)),
    ((40, 1), (25, 1)),
    ((10, 1), (6, 1), (4, 1)),
    ((24, 4), (10, 1)),
    ((18, 3), (5, 1), (3, 1)),
)


def drawn(number: int) -> tuple[pl.DataFrame, list[list[str]]]:
    """Records, and the columns of each dimension."""
    shape = _SHAPES[number % len(_SHAPES)]
    rng = np.random.default_rng(1000 + number)
    n = int(np.prod([n_finest for n_finest, _ in shape])) * int(rng.integers(4, 12))
    columns: dict[str, Any] = {}
    dims = []
    for j, (n_finest, n_group) in enumerate(shape):
        finest = rng.choice(n_finest, n, p=rng.dirichlet(np.full(n_finest, rng.uniform(1.0, 5.0))))
        columns[f"d{j}"] = np.char.mod("c%02d", finest)
        columns[f"g{j}"] = np.char.mod("g%02d", finest // n_group)
        dims.append([f"d{j}"] if n_group == 1 else [f"g{j}", f"d{j}"])
    columns["amount"] = np.round(np.exp(rng.normal(4, 1.6, n))) + 1
    return pl.DataFrame(columns), dims


def checked(n: int) -> list[str]:
    """Of n tables, sums and counts in turn: what the programs found, in words."""
    n_cells = n_all = n_programs = n_disclosed = 0
    rules: list[Any]
    for number in range(n):
        records, dims = drawn(number)
        names = [">".join(dim) for dim in dims]
        sums = number % 4 != 3
        if sums:
            table = flou.Microdata(records).tabulate(names, value="amount", largest=2, cells="all")
            rules = [flou.risk.PPercent(p=10), flou.risk.Threshold(n=3)]
        else:
            table = flou.Microdata(records).tabulate(names, cells="all")
            rules = [flou.risk.Threshold(n=3)]
        frame = flou.protect.CellSuppression(primary=tuple(rules)).protect(table).data.to_frame()
        if sums:
            found, n_primary, solved = disclosed_sums(frame, records, dims, "amount", p=10, n=3)
        else:
            found, n_primary, solved = disclosed_counts(frame, records, dims, "amount", n=3)
        n_cells, n_all = n_cells + table.n_cells, n_all + n_primary
        n_programs, n_disclosed = n_programs + solved, n_disclosed + len(found)
        print(f"table {number}: {table.n_cells:,} cells, {n_primary:,} primary, disclosed {found}", flush=True)
    return [
        f"{n} random tables (2-D, 3-D and nested; sums with p% and a threshold, counts with a threshold), {n_cells:,} "
        f"cells: {n_all:,} primary cells, {n_programs:,} linear programs built from the published frames alone, "
        f"{n_disclosed:,} cells disclosed."
    ]
