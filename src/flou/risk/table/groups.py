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

from flou.risk.table.families import group_cells

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a table that are shown in one category alone, one place in each array."""

    #: The cell that is shown with people in it.
    child: Integers
    #: The cell of the whole group; -1 where the table does not list it.
    parent: Integers
    #: How many other categories somebody of the group can be in; all are shown as zero.
    n_zeros: Integers
    #: Whether the group truly is in one category alone.
    true: NDArray[np.bool_]


def find_groups(table: Any) -> Groups:
    """The groups of every dimension of a table."""
    found = [_along(table, j) for j in range(len(table.dims))]
    fields = ("child", "parent", "n_zeros", "true")
    return Groups(*(np.concatenate([getattr(part, name) for part in found]) for name in fields))


def _along(table: Any, j: int) -> Groups:
    families = group_cells(table, j)
    shown = np.asarray(table.published_counts, dtype=np.float64) != 0  # what is withheld is not shown as zero
    inside = families.group >= 0
    alone = (families.sums(shown) == 1) & (families.n_possible >= 2)
    child = np.flatnonzero(inside & shown & alone[families.group])
    group = families.group[child]
    true = families.sums(np.asarray(table.true_counts) > 0)[group] == 1
    return Groups(child, families.total[group], families.n_possible[group] - 1, true)
