"""Sub-tables of a hierarchical table: the cells among which a change of one cell can be balanced.

A cell of the finest level is balanced by its siblings along each dimension, a cell above it by those below its siblings
as well: nothing outside its sub-table needs to move. A table without hierarchies is one sub-table with its margins.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Ints
from flou.describe.table.dimension import Dimension
from flou.describe.table.table import Table

#: What names a sub-table: a node for each dimension, and whether the nodes beside the cell have others below them.
Key = tuple[tuple[int, int, bool], ...]


class Subtables:
    """The sub-table of each cell of a table."""

    def __init__(self, table: Table) -> None:
        self._codes, self._dims = table.cells.codes, table.dims
        self._cells: dict[Key, Ints] = {}

    @cached_property
    def _has_parts(self) -> list[NDArray[np.bool_]]:
        return [np.isin(np.arange(dim.n_nodes), dim.parents) for dim in self._dims]

    @cached_property
    def is_finest(self) -> NDArray[np.bool_]:
        """Which cells have no other below them along any dimension."""
        deep = [parts[self._codes[:, j]] for j, parts in enumerate(self._has_parts)]
        finest: NDArray[np.bool_] = ~np.any(deep, axis=0)
        return finest

    def key(self, cell: int) -> Key:
        """The name of the sub-table that a cell is balanced in."""
        out = []
        for j, dim in enumerate(self._dims):
            node = int(self._codes[cell, j])
            out.append((int(dim.parents[node]), int(dim.zonings[node]), bool(self._has_parts[j][node])))
        return tuple(out)

    def around(self, cells: Ints) -> Ints:
        """The cells of the sub-tables of some cells, in order."""
        keys = {self.key(cell) for cell in cells.tolist()}
        return np.unique(np.concatenate([self.cells(key) for key in sorted(keys)]))

    def cells(self, key: Key) -> Ints:
        """The cells of a sub-table, in order."""
        if key not in self._cells:
            inside = np.ones(len(self._codes), dtype=np.bool_)
            for j, (dim, (above, zoning, deep)) in enumerate(zip(self._dims, key, strict=True)):
                inside &= _below(dim, above, zoning, deep)[self._codes[:, j]]
            self._cells[key] = np.flatnonzero(inside)
        return self._cells[key]


def _below(dim: Dimension, above: int, zoning: int, deep: bool) -> NDArray[np.bool_]:
    """The nodes right below a node, with everything below them where that is deep; all of them beside the total."""
    if above < 0:
        return np.ones(dim.n_nodes, dtype=np.bool_)
    nodes: NDArray[np.bool_] = (dim.parents == above) & (dim.zonings == zoning)
    while deep:
        more = nodes | (nodes[np.maximum(dim.parents, 0)] & (dim.parents >= 0))
        if (more == nodes).all():
            break
        nodes = more
    return nodes
