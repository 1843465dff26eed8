"""Distinct keys and the lattice over them: the classes of any node, rolled up from the finest that is at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flou.protect.micro.lattice import kernels
from flou.protect.micro.lattice.ladder import Codes, Ints, Ladder

Levels = tuple[int, ...]
#: Entries of class tables that are kept for rolling up others.
_MAX_KEPT = 30_000_000
#: Packed keys must stay below this.
_MAX_ROOM = 2**62


class Classes(NamedTuple):
    """The classes at a node: one distinct key that shows each, and the records of each."""

    rows: Codes
    counts: Ints


@dataclass(frozen=True, eq=False)
class Problem:
    """Distinct keys as codes, one row a key column, with their records, and the ladder of each column."""

    ladders: tuple[Ladder, ...]
    codes: Codes
    counts: Ints

    @cached_property
    def n_records(self) -> int:
        return int(self.counts.sum())

    @property
    def n_keys(self) -> int:
        return len(self.counts)

    @cached_property
    def heights(self) -> Levels:
        return tuple(ladder.height for ladder in self.ladders)

    @cached_property
    def n_nodes(self) -> int:
        return prod(h + 1 for h in self.heights)

    @cached_property
    def domains(self) -> NDArray[np.float64]:
        """The leaves of each key's hierarchy."""
        return np.array([ladder.domain for ladder in self.ladders], dtype=np.float64)

    @cached_property
    def everything(self) -> Classes:
        return Classes(np.arange(self.n_keys, dtype=np.int32), self.counts)

    @cached_property
    def _kept(self) -> _Kept:
        return _Kept(len(self.ladders))

    def subset(self, rows: NDArray[Any]) -> Problem:
        """The same lattice over some of the keys."""
        return Problem(self.ladders, np.ascontiguousarray(self.codes[:, rows]), self.counts[rows])

    def classes(self, levels: Levels) -> Classes:
        """The classes at a node, from the smallest table of a finer node that was kept."""
        source = self._kept.finer(levels) or self.everything
        found, _ = self._rolled(levels, source)
        self._kept.keep(levels, found)
        return found

    def placed(self, levels: Levels) -> tuple[Classes, Codes]:
        """The classes at a node, and the class of each distinct key."""
        return self._rolled(levels, self.everything)

    def shown_codes(self, levels: Levels) -> Codes:
        """What each distinct key shows at a node, as codes of its levels, one row a column; -1 for null."""
        shown = [ladder.shown(level)[self.codes[j]] for j, (ladder, level) in self._at(levels)]
        return np.stack(shown)

    def _at(self, levels: Levels) -> Iterator[tuple[int, tuple[Ladder, int]]]:
        return enumerate(zip(self.ladders, levels, strict=True))

    def _rolled(self, levels: Levels, source: Classes) -> tuple[Classes, Codes]:
        starts, strides = self.starts(levels), np.zeros(len(levels), dtype=np.int64)
        room, later = 1, []
        for j, level in enumerate(levels):
            if level == self.heights[j]:
                continue  # at the root all are alike
            size = self._sizes[j][level]
            if room * size >= _MAX_ROOM:
                later.append(j)
            else:
                strides[j] = room
                room *= size
        if not later:
            rows, counts, place = kernels.roll_up(self.codes, self.up, starts, strides, room, *source)
            return Classes(rows, counts), place
        # more columns than one integer holds: number the combinations so far, then go on
        packed = kernels.pack_rows(self.codes, self.up, starts, strides, source.rows)
        place = np.empty(len(packed), dtype=np.int32)
        n = kernels.number(packed, room, place)
        for j in later:
            size = self._sizes[j][levels[j]]
            packed = place.astype(np.int64) * size + self.ladders[j].up[levels[j]][self.codes[j, source.rows]]
            n = kernels.number(packed, n * size, place)
        rows = np.empty(n, dtype=np.int32)
        rows[place[::-1]] = source.rows[::-1]
        return Classes(rows, np.bincount(place, source.counts, n).astype(np.int64)), place

    @cached_property
    def _sizes(self) -> list[list[int]]:
        """For each column and level the number of its codes."""
        return [[len(x) for x in ladder.leaves] for ladder in self.ladders]

    @cached_property
    def up(self) -> Codes:
        """The code of every value at every level of every column, one after the other: as kernels read them."""
        return np.concatenate([up for ladder in self.ladders for up in ladder.up])

    @cached_property
    def leaves(self) -> Ints:
        """In the same order, the leaves that a value stands for."""
        return np.concatenate([x.leaves_of_values(v) for x in self.ladders for v in range(x.height + 1)])

    @cached_property
    def _starts(self) -> Ints:
        """Where each level of each column begins."""
        found = np.zeros((len(self.ladders), max(self.heights) + 1), dtype=np.int64)
        start = 0
        for j, ladder in enumerate(self.ladders):
            for level in range(ladder.height + 1):
                found[j, level] = start
                start += len(ladder.values)
        return found

    def starts(self, levels: Levels) -> Ints:
        """Where the level of each column begins at a node."""
        return self._starts[self._columns, levels]

    @cached_property
    def _columns(self) -> Ints:
        return np.arange(len(self.ladders))

    def sizes(self, levels: Levels) -> Ints:
        """The number of codes of each column at a node."""
        return np.array([self._sizes[j][level] for j, level in enumerate(levels)], dtype=np.int64)


class _Kept:
    """Class tables that others are rolled up from."""

    def __init__(self, n_columns: int) -> None:
        self._levels = np.zeros((64, n_columns), dtype=np.int64)
        self._sizes = np.zeros(64, dtype=np.int64)
        self._tables: list[Classes] = []
        self._room = _MAX_KEPT

    def finer(self, levels: Levels) -> Classes | None:
        """The smallest table of a node that is nowhere coarser."""
        n = len(self._tables)
        fits = np.flatnonzero((self._levels[:n] <= levels).all(axis=1))
        return self._tables[fits[self._sizes[fits].argmin()]] if len(fits) else None

    def keep(self, levels: Levels, table: Classes) -> None:
        n = len(self._tables)
        if len(table.rows) > self._room:
            return
        if n == len(self._sizes):
            self._levels = np.concatenate([self._levels, np.zeros_like(self._levels)])
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
        self._levels[n], self._sizes[n] = levels, len(table.rows)
        self._tables.append(table)
        self._room -= len(table.rows)
