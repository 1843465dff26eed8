"""The equations of a table: each cell above others is their sum, along one dimension at a time.

This is what everybody knows of a table beside its figures, and what lets an intruder compute cells that were left out.
Zonings that stand side by side give an equation each: the total is the sum of the regions, and that of the areas. Cells
that are not listed are empty, and known to be, so they have no place in an equation. Which equations hold is a matter
of the nodes alone; whether the figures satisfy them is checked before anything is built on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from flou.describe.table.cells import Floats, Ints
from flou.describe.table.roll_up import Digits
from flou.describe.table.table import Table
from flou.engine.errors import DataError
from flou.engine.values import figure_text

#: Sums of amounts are held as floats: so much of the sum of the sizes may be lost in adding up.
_LOST = 1e-9
_MOST_LISTED = 10


@dataclass(frozen=True, eq=False)
class Equations:
    """Which cell is the sum of which: equation e says that `totals[e]` holds `parts[starts[e]:starts[e + 1]]`."""

    n_cells: int
    totals: Ints
    starts: Ints
    parts: Ints
    #: The number of the dimension along which each equation adds up.
    along: Ints

    @property
    def n(self) -> int:
        return len(self.totals)

    @cached_property
    def matrix(self) -> Any:
        """One line an equation: 1 at the total, -1 at each part; the product with the cells' figures is 0."""
        n_parts = np.diff(self.starts)
        rows = np.concatenate([np.arange(self.n), np.repeat(np.arange(self.n), n_parts)])
        signs = np.concatenate([np.ones(self.n), -np.ones(len(self.parts))])
        held = csr_array((signs, (rows, np.concatenate([self.totals, self.parts]))), shape=(self.n, self.n_cells))
        held.sort_indices()
        return held

    def gaps(self, figures: NDArray[Any]) -> Floats:
        """By how much each total exceeds the sum of its parts."""
        gaps: Floats = self.matrix @ figures.astype(np.float64)
        return gaps

    def broken(self, figures: NDArray[Any]) -> Ints:
        """The equations that the figures do not satisfy; what floats lose in adding up is forgiven."""
        size = np.abs(self.matrix) @ np.abs(figures.astype(np.float64))
        return np.flatnonzero(np.abs(self.gaps(figures)) > _LOST * size)


def table_equations(table: Table) -> Equations:
    """All equations between the listed cells of a table, dimension after dimension."""
    codes, dims = table.cells.codes, table.dims
    digits = Digits(tuple(dim.n_nodes for dim in dims))
    packed = digits.pack(list(codes.T))
    order = np.argsort(packed, kind="stable")
    held = packed[order]
    totals, starts, parts, along = [], [np.zeros(1, dtype=np.int64)], [], []
    for j, dim in enumerate(dims):
        below = np.flatnonzero(dim.parents[codes[:, j]] >= 0)
        node = codes[below, j]
        above = packed[below] + (dim.parents[node].astype(np.int64) - node) * digits.strides[j]
        place = np.minimum(np.searchsorted(held, above), len(held) - 1)
        known = held[place] == above  # levels that were not asked for have no cells
        below, total = below[known], order[place[known]]
        # zonings side by side add up to the same total, each by itself
        group = total * dim.n_zonings + np.maximum(dim.zonings[codes[below, j]], 0)
        by_group = np.argsort(group, kind="stable")
        below, total, group = below[by_group], total[by_group], group[by_group]
        first = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]])) if len(group) else below[:0]
        totals.append(total[first])
        if len(first):
            starts.append(starts[-1][-1] + np.append(first[1:], len(below)))
        parts.append(below)
        along.append(np.full(len(first), j))
    return Equations(
        n_cells=table.n_cells,
        totals=np.concatenate(totals).astype(np.int64),
        starts=np.concatenate(starts).astype(np.int64),
        parts=np.concatenate(parts).astype(np.int64),
        along=np.concatenate(along).astype(np.int64),
    )


def require_additive(table: Table, equations: Equations, figures: NDArray[Any], what: str) -> None:
    """A table whose margins are not the sums of their parts is refused, with the equations that fail."""
    broken = equations.broken(figures)
    if not len(broken):
        return
    gaps = equations.gaps(figures)
    names = table.labels()
    lines = []
    for e in broken[:_MOST_LISTED]:
        parts = equations.parts[equations.starts[e] : equations.starts[e + 1]]
        total, along = equations.totals[e], table.dims[equations.along[e]].name
        lines.append(
            f"  {' × '.join(map(str, names.row(int(total))))}: {figure_text(float(figures[total]))}, its {len(parts)} "
            f"parts along {along} add up to {figure_text(float(figures[parts].sum()))} ({gaps[e]:+.6g})"
        )
    more = f"\n  … and {len(broken) - _MOST_LISTED:,} more" if len(broken) > _MOST_LISTED else ""
    raise DataError(
        f"The table is not additive: {len(broken):,} of {equations.n:,} equations between its {what} fail:\n"
        + "\n".join(lines)
        + f"{more}\nWhat cannot be computed cannot be protected: correct the figures, or leave out levels that are not "
        "sums of those below them."
    )
