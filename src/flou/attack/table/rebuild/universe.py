"""The attribute product: every combination of values that a person can have.

Combinations that cannot exist (nobody under 15 is married) are left out of it: a structural rule that everybody knows
tells an intruder as much as a table does. Rules speak of values; where tables show bands alone, a combination of bands
is left out when every combination of values in it is ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.attack.table.rebuild.attribute import Attribute
from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.describe.table.cells import Ints
from flou.engine import native
from flou.engine.errors import DataError, listed
from flou.engine.values import text_of

#: Combinations that are laid out in memory.
MAX_CELLS = 2_000_000


@dataclass(frozen=True, eq=False)
class Universe:
    """The cells of the product: one line a possible combination, the place of its value in each attribute."""

    attributes: tuple[Attribute, ...]
    codes: Ints

    @property
    def n_cells(self) -> int:
        return len(self.codes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(a.n for a in self.attributes)

    @cached_property
    def cell_at(self) -> Ints:
        """The cell of each packed combination of codes; -1 where nobody can be."""
        place = np.full(math.prod(self.sizes), -1, dtype=np.int64)
        place[np.ravel_multi_index(tuple(self.codes.T), self.sizes)] = np.arange(self.n_cells)
        return place

    def frame(self, cells: Ints) -> pl.DataFrame:
        """The values of some cells, one line each."""
        columns = []
        for j, attribute in enumerate(self.attributes):
            values = pl.Series(attribute.name, list(attribute.values), strict=False)
            columns.append(values.gather(self.codes[cells, j].astype(np.uint32)))
        return pl.DataFrame(columns)

    def locate(self, people: Microdata) -> Ints:
        """The cell of each record; -1 for one whose combination is not among them."""
        needed = [a.column for a in self.attributes]
        missing = [c for c in needed if c not in people.columns]
        if missing:
            raise DataError(
                f"The records have no column {listed(missing)}, which the tables speak of. Columns: "
                f"{', '.join(people.columns)}."
            )
        return self.place(native.collect(people.frame.select(*needed)), people.schema)

    def place(self, frame: pl.DataFrame, schema: Schema) -> Ints:
        """The cell of each line of a frame that has the attributes' columns; -1 where there is none."""
        codes = np.empty((frame.height, len(self.attributes)), dtype=np.int64)
        for j, attribute in enumerate(self.attributes):
            codes[:, j] = attribute.place_of(frame[attribute.column].to_list(), schema)
        known = (codes >= 0).all(axis=1)
        cells = np.full(len(codes), -1, dtype=np.int64)
        cells[known] = self.cell_at[np.ravel_multi_index(tuple(codes[known].T), self.sizes)]
        return cells


def lay_out(attributes: Sequence[Attribute], rules: Sequence[Mapping[str, Any]], *, hint: str = "") -> Universe:
    """The possible combinations of the attributes' values."""
    n = math.prod(a.n for a in attributes)
    if n > MAX_CELLS:
        shape = " × ".join(f"{a.name} ({a.n:,})" for a in attributes)
        raise DataError(
            f"The attributes make {n:,} combinations ({shape}), more than the {MAX_CELLS:,} that are laid out. {hint}"
        )
    possible = np.ones(tuple(a.n for a in attributes), dtype=np.bool_)
    columns = [a.column for a in attributes]
    useful = [rule for rule in rules if set(rule) <= set(columns)]
    for together in _connected(useful):
        axes = [columns.index(c) for c in columns if c in together]
        possible &= _coherent(
            [attributes[j] for j in axes], [r for r in useful if set(r) <= together], axes, len(columns)
        )
    return Universe(tuple(attributes), np.argwhere(possible).astype(np.int64))


def _connected(rules: Sequence[Mapping[str, Any]]) -> list[set[str]]:
    """The columns that rules tie together."""
    groups: list[set[str]] = []
    for rule in rules:
        touched = [g for g in groups if g & set(rule)]
        groups = [g for g in groups if not g & set(rule)] + [set(rule).union(*touched)]
    return groups


def _coherent(
    attributes: Sequence[Attribute], rules: Sequence[Mapping[str, Any]], axes: Sequence[int], n_axes: int
) -> NDArray[np.bool_]:
    """Which combinations of categories hold a combination of values that no rule excludes, spread over all axes."""
    # a category without declared values stands for itself
    bases = [dict(a.base) for a in attributes]
    for base, a in zip(bases, attributes, strict=True):
        base |= {a.values[i]: i for i in set(range(a.n)) - set(base.values())}
    held = [list(base) for base in bases]
    coherent = np.ones([len(h) for h in held], dtype=np.bool_)
    places = [{text_of(v): i for i, v in enumerate(h)} for h in held]
    for rule in rules:
        at: list[Any] = [slice(None)] * len(attributes)
        for j, a in enumerate(attributes):
            if a.column in rule:
                at[j] = places[j].get(text_of(rule[a.column]), slice(0, 0))
        coherent[tuple(at)] = False
    found = coherent
    for j, (base, a) in enumerate(zip(bases, attributes, strict=True)):
        shape = (*found.shape[:j], a.n, *found.shape[j + 1 :])
        above = np.zeros(shape, dtype=np.bool_)
        for i, place in enumerate(base.values()):
            np.moveaxis(above, j, 0)[place] |= np.moveaxis(found, j, 0)[i]
        found = above
    spread = [1] * n_axes
    for j, axis in enumerate(axes):
        spread[axis] = attributes[j].n
    return found.reshape(spread)
