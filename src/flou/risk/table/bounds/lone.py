"""Who is alone in cells of a table, and so knows their figures.

The only contributor to a cell knows what it holds; where cells nest, the same contributor is alone in several. A
holding that is alone in cells far apart knows all of them (a multi-singleton): the table says which where it was
tabulated with holdings. Sampled contributors do not know their weights, so in a weighted table they know nothing by
being alone, but for those who stand for themselves, with a weight of 1.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from flou.describe.table.cells import Floats, Ints
from flou.describe.table.equations import Equations
from flou.describe.table.table import Table
from flou.risk.table.threshold import contributors_of

#: A weight that differs from 1 by less is none.
_NO_WEIGHT = 1e-9


def lone_contributors(table: Table, equations: Equations) -> list[Ints]:
    """The cells that each contributor is alone in: one array a contributor, in the order of their first cells."""
    lone = contributors_of(table) == 1
    if table.cells.weighted is not None:
        lone &= np.abs(table.cells.weighted - 1) < _NO_WEIGHT
    cells = np.flatnonzero(lone)
    if not len(cells):
        return []
    if table.cells.sole is not None:
        owner = table.cells.sole[cells]
    else:
        # a cell of one contributor holds nobody else's parts
        totals = np.repeat(equations.totals, np.diff(equations.starts))
        inside = lone[totals] & lone[equations.parts]
        n = table.n_cells
        links = coo_array((np.ones(inside.sum()), (totals[inside], equations.parts[inside])), shape=(n, n))
        _, labels = connected_components(links, directed=False)
        owner = labels[cells]
    _, first, owner = np.unique(owner, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    owner = rank[owner]
    by_owner = np.argsort(owner, kind="stable")
    return np.split(cells[by_owner], np.flatnonzero(np.diff(owner[by_owner])) + 1)


def majorities(equations: Equations, figures: Floats, lone: list[Ints]) -> list[tuple[int, int, float]]:
    """Who gives more than half of a cell that others are in too: the contributor's number, the cell, the others' part.

    A level is meant for the largest contributor, whom the others must not come near. Who is that himself looks for the
    others: what he may not come near is their part of the cell.
    """
    totals = np.repeat(equations.totals, np.diff(equations.starts))
    order = np.argsort(equations.parts, kind="stable")
    parts, above = equations.parts[order], totals[order]
    found = []
    for number, cells in enumerate(lone):
        own = set(cells.tolist())
        best: dict[int, float] = {}
        waiting = [(cell, float(figures[cell])) for cell in own]
        while waiting:
            cell, given = waiting.pop()
            first, last = np.searchsorted(parts, [cell, cell + 1])
            for total in set(above[first:last].tolist()) - own:
                if 2 * given > figures[total] and given > best.get(total, 0.0):
                    best[total] = given
                    waiting.append((total, given))
        found += [(number, cell, 1 - given / float(figures[cell])) for cell, given in sorted(best.items())]
    return found
