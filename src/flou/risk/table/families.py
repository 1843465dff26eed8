"""Cells beside each other along one dimension: those that share all other nodes and the node above them.

Each family is a group of people spread over categories. It is known by the cell that is its total, listed or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Ints
from flou.describe.table.roll_up import Digits
from flou.describe.table.table import Table
from flou.engine.errors import DataError


@dataclass(frozen=True, eq=False)
class Families:
    """The families of a table along a dimension."""

    #: The number of each cell's family; -1 for totals, which are in none.
    group: Ints
    #: How many cells of each family somebody can be in, listed or not.
    n_possible: Ints
    #: Which listed cells somebody can be in.
    possible: NDArray[np.bool_]
    #: The family below each cell; -1 where there is none.
    family_below: Ints
    #: The cell that is the total of each family; -1 where it is not listed.
    total: Ints

    def sums(self, figures: NDArray[Any]) -> Ints:
        """The sum over each family."""
        out = np.zeros(len(self.n_possible), dtype=np.int64)
        inside = self.group >= 0
        np.add.at(out, self.group[inside], figures[inside])
        return out

    def first(self, wanted: NDArray[np.bool_]) -> Ints:
        """The first wanted cell of each family in the order of the table; -1 where there is none."""
        out = np.full(len(self.n_possible), -1, dtype=np.int64)
        places = np.flatnonzero(wanted)[::-1]
        out[self.group[places]] = places  # of several writes the last one stays, which is the first cell
        return out

    def below(self, places: Ints) -> Ints:
        """The first possible cell of the family below each of some cells; -1 where there is none."""
        first = self.first(self.possible & (self.group >= 0))
        family = self.family_below[places]
        return np.where(family >= 0, first[family], -1)


def group_cells(table: Table, along: int) -> Families:
    """The families of a table along one dimension, zonings side by side each for itself."""
    codes, dim = table.cells.codes, table.dims[along]
    digits = Digits(tuple(d.n_nodes for d in table.dims))
    packed = digits.pack(list(codes.T))
    node = codes[:, along].astype(np.int64)
    inside = np.flatnonzero(node != 0)
    parents, zonings = dim.parents.astype(np.int64), dim.zonings.astype(np.int64)
    above = packed[inside] + (parents[node[inside]] - node[inside]) * digits.strides[along]
    totals, place = np.unique(above, return_inverse=True)
    keys, numbers = np.unique(place * dim.n_zonings + zonings[node[inside]], return_inverse=True)
    group = np.full(len(codes), -1, dtype=np.int64)
    group[inside] = numbers
    # categories of each family, less those in which nobody of the group can be
    family = parents * dim.n_zonings + np.maximum(zonings, 0)
    sizes = np.bincount(family[1:], minlength=int(family.max(initial=0)) + 1)
    n_possible = np.zeros(len(keys), dtype=np.int64)
    n_possible[numbers] = sizes[family[node[inside]]]
    held = table.cells.possible
    possible = np.ones(len(codes), dtype=np.bool_) if held is None else held
    np.subtract.at(n_possible, numbers, (~possible[inside]).astype(np.int64))
    below = _families_below(packed, node, totals, keys, zonings, dim.n_zonings)
    return Families(group, n_possible, possible, below, _places(packed, totals[keys // dim.n_zonings]))


def _places(packed: Ints, wanted: Ints) -> Ints:
    """Where some cells stand among those of the table; -1 for those that it does not list."""
    if not len(packed):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(packed, kind="stable")
    place = order[np.minimum(np.searchsorted(packed, wanted, sorter=order), len(packed) - 1)]
    return np.where(packed[place] == wanted, place, -1)


def _families_below(packed: Ints, node: Ints, totals: Ints, keys: Ints, zonings: Ints, n_zonings: int) -> Ints:
    """The number of the family whose total each cell is; below the total of a dimension there may be several."""
    out = np.full(len(packed), -1, dtype=np.int64)
    if not len(totals):
        return out
    place = np.minimum(np.searchsorted(totals, packed), len(totals) - 1)
    key = place * n_zonings + np.maximum(zonings[node], 0)
    number = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    known = (totals[place] == packed) & (keys[number] == key) & (node != 0)
    out[known] = number[known]
    return out


def require_every_level(table: Table, along: int) -> None:
    """Refuse a table without a level: it can be computed by adding up, but no cell of it can be withheld."""
    dim = table.dims[along]
    used = np.zeros(dim.n_nodes, dtype=np.bool_)
    used[table.cells.codes[:, along]] = True
    above = dim.parents[np.flatnonzero(used)]
    above = above[above > 0]
    if not used[above].all():
        raise DataError(
            f"The table lists categories of {dim.name!r} without those above them, which everybody can add up. "
            f"Tabulate with margins=True, or with the finest level of {dim.name!r} alone."
        )
