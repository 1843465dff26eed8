"""Suppression by Gaussian elimination: the search alone, on tables that are drawn here, and who is alone as well.

Counts below 3 are sensitive, the largest cells are published first, zeros are shown. The figures of GaussSuppression
are CPU seconds on tables of the same number of cells, measured once on a like machine; they hold its primary rules and
its tabulation too, which take little.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import flou
from bench.timing import Line, alternate, publish, table
from flou.describe.table.cells import Ints
from flou.describe.table.equations import table_equations
from flou.describe.table.table import Table
from flou.protect.table.elimination import eliminate

#: By dimension: the finest categories, and how many of them make a group (1: no groups).
SHAPES = {
    1_872: (((11, 1), (11, 1), (12, 1)), 9_000),
    13_104: (((72, 7), (11, 1), (12, 1)), 60_000),
    23_625: (((96, 12), (20, 5), (8, 1)), 150_000),
    200_396: (((400, 20), (450, 18)), 1_000_000),
}
#: By number of cells: CPU seconds of GaussSuppression, and how many we may take.
_PEER = {1_872: 2.5, 13_104: 152.0}
_BOUND = {1_872: 0.05, 13_104: 0.3, 23_625: 0.5, 200_396: 5.0}


def drawn(n_cells: int, seed: int = 1) -> tuple[Table, list[Ints]]:
    """A table of people with amounts, and for everyone who is alone in cells, these cells."""
    shape, n = SHAPES[n_cells]
    rng = np.random.default_rng(seed)
    columns: dict[str, object] = {"who": np.arange(1, n + 1, dtype=np.float64)}
    dims = []
    for j, (n_finest, n_group) in enumerate(shape):
        finest = rng.choice(n_finest, n, p=rng.dirichlet(np.full(n_finest, 4.0)))
        columns[f"d{j}"] = finest
        columns[f"g{j}"] = finest // n_group
        dims.append(f"d{j}" if n_group == 1 else f"g{j}>d{j}")
    columns["amount"] = np.round(np.exp(rng.normal(4, 1.6, n))) + 1
    people = flou.Microdata(pl.DataFrame(columns))
    who = people.tabulate(dims, value="who", cells="all").true_values
    made = people.tabulate(dims, value="amount", cells="all")
    alone = np.flatnonzero(made.true_counts == 1)
    alone = alone[np.argsort(who[alone], kind="stable")]
    return made, np.split(alone, np.flatnonzero(np.diff(who[alone])) + 1)


def searching(n_cells: int) -> list[Line]:
    """The search on one table, without and with people who are alone in a cell."""
    made, alone = drawn(n_cells)
    equations = table_equations(made)
    counts = made.true_counts
    primary, zeros = (counts > 0) & (counts < 3), counts == 0
    candidates = np.flatnonzero(~primary & ~zeros)
    candidates = candidates[np.argsort(-made.true_values[candidates], kind="stable")]
    search = partial(eliminate, equations, primary, candidates, zeros, zeros=zeros)
    plain, with_alone = alternate(5, search, partial(search, known=alone))
    bound = _BOUND[n_cells]
    peer = f" (GaussSuppression: {_PEER[n_cells]} s)" if n_cells in _PEER else ""
    job = f"{made.n_cells:,} cells, {int(primary.sum()):,} primary"
    n_plain, n_alone = int(search().sum()), int(search(known=alone).sum())
    return [
        Line(f"{job}, {n_plain:,} secondary{peer}", plain, None, bound, " s"),
        Line(f"{job}, {len(alone):,} people alone, {n_alone:,} secondary{peer}", with_alone, None, bound, " s"),
    ]


def run(folder: Path) -> None:
    lines = [line for n_cells in SHAPES for line in searching(n_cells)]
    publish("eliminate", table("Suppression by elimination", "reference", lines))
