"""Which cells of the attribute product each published figure counts, and which figures share their noise.

A table lists cells by categories at some levels; every level combination that it shows cuts the product into groups,
and each group is a figure: what the table lists, or what a cell tells that it does not list. Figures that count the
same cells are one row, whatever tables they stand in. Where noise belongs to the cell, or to the people in it, equal
figures of the same cell are one figure: they tell nothing twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from flou.attack.table.rebuild.attribute import level_names
from flou.attack.table.rebuild.universe import Universe
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.table.cells import Ints
from flou.describe.table.table import Table
from flou.engine.randomness import keyed_hash

#: The name of the level that sums over all categories.
ALL = ""


@dataclass(frozen=True, eq=False)
class Sheet:
    """One level combination of one table: a group of cells a figure."""

    table: int
    #: The name of the level of each attribute; `ALL` where the figure sums over it.
    levels: tuple[str, ...]
    #: The labels of each attribute at that level.
    labels: tuple[list[str], ...]
    #: The figure of each cell of the product, numbered within all figures, and the number of the first.
    figure_of: Ints
    first: int
    #: The packed labels of each figure, ascending.
    packed: Ints

    @property
    def n(self) -> int:
        return len(self.packed)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(labels) for labels in self.labels)

    def name(self, figure: int) -> tuple[str, ...]:
        """The label of each attribute of a figure."""
        places = np.unravel_index(int(self.packed[figure - self.first]), self.shape)
        return tuple(labels[int(i)] for labels, i in zip(self.labels, places, strict=True))

    def find(self, codes: Sequence[Ints]) -> Ints:
        """The figures of labels, given by their places, -1 for an unknown one; -1 where the product has no cell."""
        known = np.all([at >= 0 for at in codes], axis=0)
        wanted = np.ravel_multi_index(tuple(np.maximum(at, 0) for at in codes), self.shape)
        place = np.minimum(np.searchsorted(self.packed, wanted), self.n - 1)
        return np.where(known & (self.packed[place] == wanted), place + self.first, -1)


@dataclass(frozen=True, eq=False)
class Layout:
    """Figures, the rows that they are of, and what they share."""

    universe: Universe
    mechanisms: tuple[Mechanism, ...]
    sheets: tuple[Sheet, ...]
    #: Of each figure: its table, its row, and a number that figures with the same noise have in common.
    table: Ints
    row: Ints
    shared: Ints
    #: The cells of each row.
    starts: Ints
    members: Ints
    #: Rows that are a part and a whole one level apart, by the noise of contributors.
    nested: Ints
    #: The row that counts all cells, whether a table shows it or not.
    everybody: int

    @property
    def n_figures(self) -> int:
        return len(self.table)

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1

    def figure_name(self, figure: int, tables: Sequence[Table]) -> str:
        """The cell of a figure, for messages: `gender = female, age5 = 20-24 in 'table 1'`."""
        sheet = next(s for s in self.sheets if s.first <= figure < s.first + s.n)
        attributes = self.universe.attributes
        shown = [
            f"{attribute.shown[level]} = {label}"
            for attribute, level, label in zip(attributes, sheet.levels, sheet.name(figure), strict=True)
            if level != ALL
        ]
        name = tables[sheet.table].name
        return f"{', '.join(shown) or 'the total'}{f' of {name!r}' if name else ''}"


def lay_figures(
    tables: Sequence[Table], universe: Universe, mechanisms: Sequence[Mechanism], block: str = ""
) -> Layout:
    """The figures of published tables, and the rows that they are of; `block` is the attribute that splits them."""
    sheets: list[Sheet] = []
    for t, table in enumerate(tables):
        for levels in shown_levels(table, universe, block):
            sheets.append(_cut(universe, t, levels, sum(s.n for s in sheets)))
    table_of = np.concatenate([np.full(s.n, s.table, dtype=np.int64) for s in sheets])
    words = _random_words(universe.n_cells)
    sums = np.zeros((len(table_of), 2), dtype=np.uint64)
    members: list[Ints] = []
    for sheet in sheets:
        np.add.at(sums, sheet.figure_of, words)
        order = np.argsort(sheet.figure_of, kind="stable")
        sizes = np.bincount(sheet.figure_of - sheet.first, minlength=sheet.n)
        members += np.split(order, np.cumsum(sizes)[:-1])
    _, first, row = np.unique(sums.view(np.int64), axis=0, return_index=True, return_inverse=True)
    row = row.reshape(-1).astype(np.int64)
    chosen = [members[f] for f in first]
    everybody = next((r for r, held in enumerate(chosen) if len(held) == universe.n_cells), len(chosen))
    if everybody == len(chosen):
        chosen.append(np.arange(universe.n_cells))
    return Layout(
        universe=universe,
        mechanisms=tuple(mechanisms),
        sheets=tuple(sheets),
        table=table_of,
        row=row,
        shared=_shared(sheets, row, mechanisms, _single_values(tables)),
        starts=np.concatenate([[0], np.cumsum([len(m) for m in chosen])]).astype(np.int64),
        members=np.concatenate(chosen).astype(np.int64),
        nested=_nested(sheets, row, mechanisms),
        everybody=everybody,
    )


def shown_levels(table: Table, universe: Universe, block: str) -> list[tuple[str, ...]]:
    """The level combinations that a table lists, by attribute; of a block those of its finest categories."""
    found = []
    for combination in table.level_combinations:
        levels, whole = dict.fromkeys(universe.names, ALL), True
        for dim, depth in zip(table.dims, combination, strict=True):
            names = level_names(dim)
            if block and block in names:
                whole &= depth > 0 and names[depth - 1] == block
            elif depth > 0:
                levels[_owner(universe, names[depth - 1])] = names[depth - 1]
        if whole:
            found.append(tuple(levels.values()))
    return found


def _owner(universe: Universe, level: str) -> str:
    return next(a.name for a in universe.attributes if level in a.labels)


def _random_words(n: int) -> NDArray[np.uint64]:
    """Two words a cell, by which sets of cells are told apart."""
    return np.stack([keyed_hash(np.arange(n), bytes([i]) * 16) for i in (1, 2)], axis=1)


def _cut(universe: Universe, table: int, levels: tuple[str, ...], first: int) -> Sheet:
    """The figures of one level combination, numbered from `first` on."""
    codes, names = [], []
    for j, (attribute, level) in enumerate(zip(universe.attributes, levels, strict=True)):
        at, labels = (np.zeros(attribute.n, dtype=np.int64), [ALL]) if level == ALL else attribute.codes_at(level)
        codes.append(at[universe.codes[:, j]])
        names.append(labels)
    packed = np.ravel_multi_index(tuple(codes), tuple(len(n) for n in names))
    distinct, place = np.unique(packed, return_inverse=True)
    return Sheet(table, levels, tuple(names), place.astype(np.int64) + first, first, distinct.astype(np.int64))


def _single_values(tables: Sequence[Table]) -> dict[tuple[str, str], str]:
    """The categories of coarser levels that are one value under its own name, which is one cell on all of them."""
    return {held: column for table in tables for dim in table.dims for held, column in dim.values.items()}


def _shared(
    sheets: Sequence[Sheet], row: Ints, mechanisms: Sequence[Mechanism], values: Mapping[tuple[str, str], str]
) -> Ints:
    """A number that figures with the same noise have in common."""
    alike = [next(i for i, other in enumerate(mechanisms) if other == m) for m in mechanisms]
    found: dict[tuple[object, ...], int] = {}
    shared = np.empty(len(row), dtype=np.int64)
    for sheet in sheets:
        by, mechanism = mechanisms[sheet.table].shared_by, alike[sheet.table]
        for i, packed in enumerate(sheet.packed.tolist()):
            figure = sheet.first + i
            key: tuple[object, ...] = (sheet.table, sheet.levels, packed)
            if by == "contributors":
                key = (mechanism, int(row[figure]))
            elif values:
                name = list(zip(sheet.levels, sheet.name(figure), strict=True))
                own = tuple((values.get(held, held[0]), held[1]) for held in name)
                key = (mechanism if by == "cell" else sheet.table, own)
            elif by == "cell":
                key = (mechanism, sheet.levels, packed)
            shared[figure] = found.setdefault(key, len(found))
    return shared


def _nested(sheets: Sequence[Sheet], row: Ints, mechanisms: Sequence[Mechanism]) -> Ints:
    """Figures of one table with noise by contributors: pairs of a part and a whole, one attribute apart."""
    pairs = []
    for part, whole in product(sheets, sheets):
        keyed = part.table == whole.table and mechanisms[part.table].shared_by == "contributors"
        differing = [(a, b) for a, b in zip(part.levels, whole.levels, strict=True) if a != b]
        if keyed and len(differing) == 1 and _is_part(part, whole):
            pairs.append(np.unique(np.stack([part.figure_of, whole.figure_of], axis=1), axis=0))
    found: Ints = np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64)
    distinct: Ints = found[row[found[:, 0]] != row[found[:, 1]]]
    return distinct


def _is_part(part: Sheet, whole: Sheet) -> bool:
    """Whether each figure of the one lies in a single figure of the other."""
    pairs = np.unique(np.stack([part.figure_of, whole.figure_of], axis=1), axis=0)
    return len(pairs) == len(np.unique(part.figure_of)) and len(pairs) > len(np.unique(whole.figure_of))
