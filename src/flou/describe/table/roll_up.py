"""Margins from the finest cells, in memory: one dimension after the other.

A cell is one integer, the digits of which are its nodes. Rolling a dimension up replaces its digit by
the node above and adds up what falls together; the next dimension starts from all of that. So the work
grows with the cells of the result and the number of levels, not with the number of grouping sets. All
figures are integers: their sums do not depend on any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.dimension import Dimension
from flou.engine import native
from flou.engine.errors import DataError

Ints = NDArray[np.int64]
#: The columns of packed cells, of the number of records, and of keys, which are added modulo 2^32. They stand beside
#: the columns of the file, which never have such a name.
CELL, SIZE, KEY = (f"{native.RESERVED}{name}" for name in ("cell", "size", "key"))
#: Packed cells must fit in 63 bits.
_MAX_PACKED = 1 << 62


@dataclass(frozen=True)
class Digits:
    """How the nodes of a cell are packed: for each dimension the number of digits' values and its place value."""

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        room = 1
        for size in self.sizes:
            room *= size
        if room > _MAX_PACKED:
            raise DataError(
                f"The dimensions have {', '.join(f'{s:,}' for s in self.sizes)} categories: their cells cannot be "
                "numbered in 62 bits. Use fewer dimensions, or coarser ones."
            )

    @property
    def strides(self) -> tuple[int, ...]:
        out = [1]
        for size in reversed(self.sizes[1:]):
            out.append(out[-1] * size)
        return tuple(reversed(out))

    def pack(self, codes: Sequence[NDArray[np.integer]]) -> Ints:
        packed = np.zeros(len(codes[0]), dtype=np.int64)
        for code, size in zip(codes, self.sizes, strict=True):
            packed *= size
            packed += code
        return packed

    def unpack(self, packed: Ints) -> NDArray[np.int32]:
        codes = np.empty((len(packed), len(self.sizes)), dtype=np.int32)
        left = packed
        for j in range(len(self.sizes) - 1, -1, -1):
            left, codes[:, j] = np.divmod(left, self.sizes[j])
        return codes

    def replaced(self, packed: Ints, dimension: int, new: NDArray[np.integer]) -> Ints:
        """The cells with one digit read off a map."""
        stride, size = self.strides[dimension], self.sizes[dimension]
        digit = packed // stride % size
        shift = (new.astype(np.int64) - np.arange(len(new))) * stride
        return packed + shift[digit]


@dataclass(frozen=True, eq=False)
class Climb:
    """How one dimension is rolled up: for each zoning the finest node of each atom, and which levels are wanted."""

    dimension: Dimension
    finest: Sequence[NDArray[np.integer]]
    #: Whether the levels above the finest, and the total, are wanted.
    margins: bool

    @property
    def n_atoms(self) -> int:
        return len(self.finest[0])

    @property
    def wanted(self) -> NDArray[np.bool_]:
        """The nodes that the table has cells for."""
        return np.ones(self.dimension.n_nodes, dtype=np.bool_) if self.margins else self.dimension.is_finest


Merge = Callable[[pl.DataFrame], pl.DataFrame]


def roll_up(cells: pl.DataFrame, digits: Digits, climbs: Sequence[Climb], merge: Merge) -> pl.DataFrame:
    """All cells of a table from those of its atoms; `merge` puts together the lines that have become one cell."""
    for number, climb in enumerate(climbs):
        found = []
        dim = climb.dimension
        for finest, depth in zip(climb.finest, dim.levels, strict=True):
            moved = _moved(cells, digits, number, finest)
            level = moved if len(np.unique(finest)) == len(finest) else merge(moved)
            found.append(level)
            for above in range(depth - 1 if climb.margins else 0, 0, -1):
                level = merge(_moved(level, digits, number, dim.up_to(above)))
                # a short branch has ended below, and its cell stands there already
                found.append(_of_nodes(level, digits, number, ~dim.is_finest & (dim.depths == above)))
        if climb.margins:
            found.append(merge(_moved(level, digits, number, np.zeros(dim.n_nodes, dtype=np.int64))))
        cells = pl.concat(found) if len(found) > 1 else found[0]
    return cells


def _moved(cells: pl.DataFrame, digits: Digits, number: int, new: NDArray[np.integer]) -> pl.DataFrame:
    return cells.with_columns(pl.Series(CELL, digits.replaced(cells[CELL].to_numpy(), number, new)))


def _of_nodes(cells: pl.DataFrame, digits: Digits, number: int, wanted: NDArray[np.bool_]) -> pl.DataFrame:
    """The cells whose node in a dimension is wanted."""
    nodes = cells[CELL].to_numpy() // digits.strides[number] % digits.sizes[number]
    return cells.filter(pl.Series(wanted[nodes]))


def add_up(cells: pl.DataFrame, *beside: str) -> pl.DataFrame:
    """One line a cell: the sums of the other columns; columns named `beside` keep lines apart."""
    by = [CELL, *beside]
    sums = [(pl.col(c).sum() % 2**32 if c == KEY else pl.col(c).sum()) for c in cells.columns if c not in by]
    return cells.group_by(by).agg(sums).select(cells.columns)
