"""The guises in which tables publish a cell: its own figure, and the sums of the parts into which others split it.

A count that is asked for by sex is also the sum of the counts by sex and age, and of those by sex and region: each set
of parts is another answer to the same question, with noise of its own (Asghar and Kaafar 2020). A view is one of these
answers: the cells of a table at some levels of its dimensions, added up to coarser levels. Cells are known by their
coordinates, wherever they stand. Only published figures are looked at: a cell that a table of ours does not list is a
published zero, one that a table of others does not list is unknown. Which people are in a cell nobody knows here; two
cells of the same people under other names are two cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Floats, Ints
from flou.describe.table.coordinates import U64, node_names
from flou.describe.table.dimension import Dimension
from flou.describe.table.table import Table
from flou.engine.randomness import keyed_hash

#: The finest columns by which cells are told apart, whatever the table: those of `sex = F, department = 59`.
Grouping = frozenset[str]
#: One level of each dimension of a table; 0 is the total.
Levels = tuple[int, ...]

#: Nothing is secret here: cells are only told apart.
_OPEN_KEY = bytes(16)


@dataclass(frozen=True, eq=False)
class View:
    """Cells of a table, each with the coarser cell that it is a part of."""

    #: The coarser cells, ascending by name, and the number of the one that each part belongs to.
    names: U64
    of_part: Ints
    #: The published figures of the parts; NaN where withheld.
    figures: Floats
    #: How many parts each coarser cell has, those that are not listed included.
    n_parts: Floats
    #: Coarse cells that are listed and not split: nothing finer of them is known, so that no sum stands for them.
    whole: U64
    #: Whether cells that the table does not list are shown as zero; if not, nothing is known of them.
    complete: bool


class Guises:
    """A published table as answers to questions about its cells, and about coarser ones."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.figures: Floats = np.asarray(table.published_counts, dtype=np.float64)
        self._axes = [_Axis(dim) for dim in table.dims]
        self._depths = np.stack([a.dim.reaches[table.cells.codes[:, j]] for j, a in enumerate(self._axes)], axis=1)

    @cached_property
    def published(self) -> tuple[Levels, ...]:
        """The levels at which the table has cells."""
        found = np.unique(self._depths, axis=0)
        return tuple(tuple(int(depth) for depth in line) for line in found)

    def at(self, levels: Levels) -> NDArray[np.bool_]:
        """Which cells are of some levels."""
        codes = self.table.cells.codes
        held = [
            axis.dim.at_level(level)[codes[:, j]]
            for j, (axis, level) in enumerate(zip(self._axes, levels, strict=True))
        ]
        return np.asarray(np.all(held, axis=0))

    def grouping(self, levels: Levels) -> Grouping:
        """The columns that tell cells of these levels apart."""
        return frozenset(axis.column(level) for axis, level in zip(self._axes, levels, strict=True) if level)

    def coarser(self, levels: Levels) -> Iterator[Levels]:
        """The levels to which cells can be added up, these included."""
        yield from product(*(range(level + 1) for level in levels))

    def view(self, fine: Levels, coarse: Levels) -> View:
        """The cells of the fine levels as parts of those of the coarse ones."""
        codes = self.table.cells.codes
        kept = np.ones(len(codes), dtype=np.bool_)
        for j, axis in enumerate(self._axes):
            kept &= axis.splits(fine[j], coarse[j])[codes[:, j]]
        parts = np.flatnonzero(kept)
        names, n_parts = np.zeros(len(parts), dtype=np.uint64), np.ones(len(parts))
        for j, axis in enumerate(self._axes):
            node = axis.up(coarse[j])[codes[parts, j]]
            names += axis.hashes[node]
            n_parts *= axis.n_below(fine[j], coarse[j])[node]
        wholes, first, of_part = np.unique(names, return_index=True, return_inverse=True)
        return View(
            names=wholes,
            of_part=of_part.reshape(-1).astype(np.int64),
            figures=self.figures[parts],
            n_parts=n_parts[first],
            whole=self._unsplit(fine, coarse),
            complete=self.table.unlisted == "zero",
        )

    def _unsplit(self, fine: Levels, coarse: Levels) -> U64:
        codes = self.table.cells.codes
        here = (self._depths == np.array(coarse)).all(axis=1)
        ends = np.zeros(len(codes), dtype=np.bool_)
        for j, axis in enumerate(self._axes):
            if fine[j] > coarse[j]:
                ends |= axis.childless[codes[:, j]]
        found = codes[here & ends]
        names = np.zeros(len(found), dtype=np.uint64)
        for j, axis in enumerate(self._axes):
            names += axis.hashes[found[:, j]]
        return names


class _Axis:
    """A dimension: which nodes split those of a coarser level, and into how many."""

    def __init__(self, dim: Dimension) -> None:
        self.dim = dim
        self.childless = np.ones(dim.n_nodes, dtype=np.bool_)
        self.childless[dim.parents[dim.parents >= 0]] = False
        self._up: dict[int, NDArray[np.int32]] = {}

    @cached_property
    def hashes(self) -> U64:
        """A number for the column and label of each node; a total adds nothing to the name of a cell."""
        # as `hash_coordinates` has it
        texts = np.array([f"{len(c)} {c} {label}" for c, label in node_names(self.dim)], dtype=object)
        return np.concatenate([np.zeros(1, dtype=np.uint64), keyed_hash(texts, _OPEN_KEY)])

    def column(self, level: int) -> str:
        return (self.dim.names or self.dim.columns)[level - 1]

    def up(self, level: int) -> NDArray[np.int32]:
        """The node of a level at or above each node; nodes above that level stay."""
        if level not in self._up:
            self._up[level] = self.dim.up_to(level)
        return self._up[level]

    def splits(self, fine: int, coarse: int) -> NDArray[np.bool_]:
        """Which nodes are parts at the fine level of a node of the coarse one that has several levels below it.

        Where a path ends before the fine level, or nothing finer of it is listed, its last node stands for its parts;
        a value whose branch is shorter is itself a cell of all finer levels.
        """
        depths = self.dim.depths
        part = (depths == fine) | (self.childless & (depths >= 1) & (depths < fine))
        above = self.up(coarse)
        part &= depths[above] == coarse
        if fine != coarse:
            part &= ~self.childless[above]
        else:
            part |= self.dim.at_level(fine)
        return np.asarray(part, dtype=np.bool_)

    def n_below(self, fine: int, coarse: int) -> Ints:
        """How many parts of the fine level each node has."""
        counted: Ints = np.bincount(self.up(coarse)[self.splits(fine, coarse)], minlength=self.dim.n_nodes)
        return counted


def cell_names(table: Table) -> U64:
    """The name of each cell of a table, the same in every table."""
    axes = [_Axis(dim) for dim in table.dims]
    names = np.zeros(table.n_cells, dtype=np.uint64)
    for j, axis in enumerate(axes):
        names += axis.hashes[table.cells.codes[:, j]]
    return names
