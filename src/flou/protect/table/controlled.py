"""Controlled rounding (Cox and Ernst 1982): multiples of a base that add up, as near as can be.

Each cell becomes one of the two multiples next to it, multiples stay, and every margin is the sum of its parts: a 0-1
program over all cells, whose optimum is proven. It always exists for tables of two dimensions of which one is nested at
most (Cox 1987). Elsewhere it may not exist; then cells may move further, by less than K bases, for the smallest K that
gives a table. Cells that stand in several tables are one cell. A cell that nobody is in stays at zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from flou.describe.table.cells import Ints
from flou.describe.table.coordinates import hash_coordinates
from flou.describe.table.equations import table_equations
from flou.describe.table.table import Table
from flou.engine.randomness import keyed_hash
from flou.risk.table.bounds.whole_extremes import best_whole


@dataclass(frozen=True, eq=False)
class Controlled:
    """The figures of each table, and by how many bases less one step a cell may have moved."""

    figures: Sequence[Ints]
    within: int


def round_together(tables: Sequence[Table], base: int, aims: Sequence[NDArray[np.bool_]] | None = None) -> Controlled:
    """Multiples of the base for all cells of some tables, the sum of the deviations being least.

    With `aims`, which say of each cell whether it should go up, as many cells as can do so instead.
    """
    places, true = _cells(tables)
    equations = _equations(tables, places, len(true))
    below, rest = np.divmod(true, base)
    if aims is None:
        up_costs = base - 2 * rest
    else:
        up = np.zeros(len(true), dtype=np.bool_)
        for place, aim in zip(places, aims, strict=True):
            up[place] = aim
        up_costs = np.where(up, -1, 1)
    found, within = None, 0
    while found is None:
        within += 1
        found = _nearest(equations, below, rest, up_costs, 1 if aims is not None else base, within, base)
    return Controlled([found[place] * base for place in places], within)


def _cells(tables: Sequence[Table]) -> tuple[list[Ints], Ints]:
    """Where the cells of each table stand among all different ones, and the counts of these."""
    if len(tables) == 1:
        return [np.arange(tables[0].n_cells)], tables[0].true_counts.astype(np.int64)
    key = bytes(16)  # nothing is secret here: cells are only told apart
    names = np.concatenate([hash_coordinates(table, lambda texts: keyed_hash(texts, key)) for table in tables])
    _, first, number = np.unique(names, return_index=True, return_inverse=True)
    counts = np.concatenate([table.true_counts for table in tables]).astype(np.int64)
    ends = np.cumsum([table.n_cells for table in tables])[:-1]
    return list(np.split(number.astype(np.int64), ends)), counts[first]


def _equations(tables: Sequence[Table], places: Sequence[Ints], n: int) -> csr_array:
    """The equations of all tables, over the different cells."""
    parts = []
    for table, place in zip(tables, places, strict=True):
        move = csr_array((np.ones(len(place)), (np.arange(len(place)), place)), shape=(len(place), n))
        parts.append(csr_array(table_equations(table).matrix) @ move)
    return csr_array(vstack(parts, format="csr"))


def _nearest(
    equations: csr_array, below: Ints, rest: Ints, up_costs: Ints, far_cost: int, within: int, base: int
) -> Ints | None:
    """The multiples, in bases, of least cost that add up and lie within so many bases; None where there are none.

    The first step up costs what it changes the deviation by; further ones, and all steps down, cost a base each.
    """
    n, some = len(below), below + rest > 0
    step_up = ((rest > 0) | ((within > 1) & some)).astype(np.float64)
    more = np.where(some, within - 1, 0).astype(np.float64)
    # a cell that is no multiple lies above the one below it, so that it may go down one base less far
    down = np.minimum(more, below).astype(np.float64)
    more = np.where(rest > 0, more, np.maximum(more - 1, 0))
    first = np.where(rest > 0, up_costs, far_cost)
    costs = np.concatenate([first, np.full(2 * n, far_cost)]).astype(np.float64)
    both = csr_array(hstack([equations, equations, -equations], format="csr"))
    highs = np.concatenate([step_up, more, down])
    moves = best_whole(both, np.zeros(3 * n), highs, costs, -(equations @ below.astype(np.float64)))
    if moves is None:
        return None
    found: Ints = below + np.rint(moves[:n] + moves[n : 2 * n] - moves[2 * n :]).astype(np.int64)
    return found
