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


class Subtables:
    """The sub-table of each cell of a table, by its number."""

    def __init__(self, table: Table) -> None:
        self._codes, self._dims = table.cells.codes, table.dims
        self._cells: dict[int, Ints] = {}

    @cached_property
    def _has_parts(self) -> list[NDArray[np.bool_]]:
        return [np.isin(np.arange(dim.n_nodes), dim.parents) for dim in self._dims]

    @cached_property
    def is_finest(self) -> NDArray[np.bool_]:
        """Which cells have no other below them along any dimension."""
        deep = [parts[self._codes[:, j]] for j, parts in enumerate(self._has_parts)]
        finest: NDArray[np.bool_] = ~np.any(deep, axis=0)
        return finest

    @cached_property
    def _numbered(self) -> tuple[Ints, Ints]:
        """What names each sub-table, dimension by dimension the node above, the zoning and the depth; its number."""
        names = []
        for j, dim in enumerate(self._dims):
            node = self._codes[:, j]
            names += [dim.parents[node], dim.zonings[node], self._has_parts[j][node]]
        found, numbers = np.unique(np.stack(names, axis=1).astype(np.int64), axis=0, return_inverse=True)
        return found, numbers.reshape(-1)

    @property
    def of_cell(self) -> Ints:
        """The number of the sub-table that each cell is balanced in."""
        return self._numbered[1]

    def around(self, cells: Ints) -> Ints:
        """The cells of the sub-tables of some cells, in order."""
        numbers = np.unique(self.of_cell[cells])
        if len(numbers) == 1:
            return self.cells(int(numbers[0]))
        return np.unique(np.concatenate([self.cells(number) for number in numbers.tolist()]))

    def cells(self, number: int) -> Ints:
        """The cells of a sub-table, in order."""
        if number not in self._cells:
            name = self._numbered[0][number].reshape(-1, 3).tolist()
            inside = np.ones(len(self._codes), dtype=np.bool_)
            for j, (dim, (above, zoning, deep)) in enumerate(zip(self._dims, name, strict=True)):
                inside &= _below(dim, above, zoning, bool(deep))[self._codes[:, j]]
            self._cells[number] = np.flatnonzero(inside)
        return self._cells[number]


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
