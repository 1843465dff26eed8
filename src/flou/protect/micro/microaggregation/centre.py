"""What a group shows: the mean, the median or the most frequent of its members' values.

A mean keeps the total of every group, so that of the file; a median gives less weight to an extreme member; a mode is
a value that somebody has, and the only one of the three that categories have (Domingo-Ferrer & Torra 2005). Of values
that are equally frequent the one with the least `reluctance` is taken, then the smallest: no name of a category counts.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Show = Literal["mean", "median", "mode"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def mean_of_groups(groups: Ints, values: Floats) -> Floats:
    """For each value the mean of its group; never outside the group's values, also after rounding."""
    order = np.lexsort((values, groups))
    first, last, number = _bounds(groups[order])
    ordered = values[order]
    means = np.add.reduceat(ordered, first) / (last - first)
    return _each(order, number, np.clip(means, ordered[first], ordered[last - 1]))


def median_of_groups(groups: Ints, values: Floats) -> Floats:
    """For each value the median of its group."""
    order = np.lexsort((values, groups))
    first, last, number = _bounds(groups[order])
    below, above = values[order][(first + last - 1) // 2], values[order][(first + last) // 2]
    return _each(order, number, below + (above - below) / 2)


def mode_of_groups(groups: Ints, values: Floats, reluctance: Floats) -> Floats:
    """For each value the most frequent value of its group."""
    order = np.lexsort((values, groups))
    held, ordered = groups[order], values[order]
    new = np.flatnonzero(np.r_[True, (held[1:] != held[:-1]) | (ordered[1:] != ordered[:-1])])
    counts = np.diff(np.r_[new, len(order)])
    best = np.lexsort((ordered[new], reluctance[order][new], -counts, held[new]))
    winners = best[_bounds(held[new][best])[0]]
    return _each(order, _bounds(held)[2], ordered[new][winners])


def _bounds(groups: Ints) -> tuple[Ints, Ints, Ints]:
    """Of sorted groups: where each begins, where it ends, and its number for every member."""
    new = np.r_[True, groups[1:] != groups[:-1]]
    first = np.flatnonzero(new)
    return first, np.r_[first[1:], len(groups)], np.cumsum(new) - 1


def _each(order: NDArray[np.intp], number: Ints, of_group: Floats) -> Floats:
    shown = np.empty(len(order))
    shown[order] = of_group[number]
    return shown
