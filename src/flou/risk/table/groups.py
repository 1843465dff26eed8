"""Groups that a table shows in one category alone: everybody in them has it.

A group is what all dimensions but one make (the women of a town), and the categories of the other one below a node are
what it is spread over. Where one of them alone is shown with people in it, the attribute of the whole group is
disclosed, whoever is in it (Hundepool et al. 2012, group disclosure); the rows are found as they are published and as
they truly are. Categories in which nobody of the group can be do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """How many groups are shown in one category alone, and how many of those truly are."""

    n_shown: int = 0
    n_true: int = 0

    def __add__(self, other: Groups) -> Groups:
        return Groups(self.n_shown + other.n_shown, self.n_true + other.n_true)


def find_groups(table: Any) -> Groups:
    """The groups of every dimension of a table."""
    codes = np.asarray(table.cells.codes, dtype=np.int64)
    possible = table.cells.possible
    shown = np.asarray(table.published_counts, dtype=np.float64) != 0  # what is withheld is not shown as zero
    there = np.asarray(table.true_counts) > 0
    found = Groups()
    for j, dim in enumerate(table.dims):
        parents = np.asarray(dim.parents, dtype=np.int64)
        n_zonings = int(dim.n_zonings)
        family = parents * n_zonings + np.asarray(dim.zonings, dtype=np.int64)
        sizes = np.bincount(family[1:], minlength=int(family.max(initial=0)) + 1)
        inside = codes[:, j] != 0
        others = np.delete(codes[inside], j, axis=1)
        families = family[codes[inside, j]]
        ruled_out = np.zeros(len(families)) if possible is None else ~possible[inside]
        found += count_groups(others, families, sizes, ruled_out, shown[inside], there[inside])
    return found


def count_groups(
    others: Integers,
    families: Integers,
    sizes: Integers,
    ruled_out: NDArray[Any],
    shown: NDArray[np.bool_],
    there: NDArray[np.bool_],
) -> Groups:
    """From cells known by their group, and by the family of categories that each is one of."""
    if not len(families):
        return Groups()
    # one number a row and family, numbered anew after each dimension so that it never overflows
    which, n = families, len(sizes)
    for codes in others.T:
        _, which = np.unique(codes * n + which, return_inverse=True)
        n = int(which.max()) + 1
    family = np.zeros(n, dtype=np.int64)
    family[which] = families
    n_categories = sizes[family] - np.bincount(which, ruled_out, n)
    alone = (np.bincount(which, shown, n) == 1) & (n_categories >= 2)
    truly = alone & (np.bincount(which, there, n) == 1)
    return Groups(int(alone.sum()), int(truly.sum()))
