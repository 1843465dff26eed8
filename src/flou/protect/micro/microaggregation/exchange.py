"""Exchanges between groups that bring records closer to the average of their group.

A local search after MDAV, of the kind that Banfield & Bassill (1977) use for the least sum of squares: a record moves
to a group near it, or changes places with one of that group's members, where the sum of squares within groups falls
most. The sum never rises and sizes stay from k to 2k - 1, so microaggregation promises the same with it as without.
Rows are visited in their own order, so a search always ends in the same groups; it is a local optimum, not the best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flou.engine.compiled import njit
from flou.protect.micro.microaggregation.tree import build_tree, find_nearest, squared_distance

#: The nearest records, itself among them, show a record the groups that it may go to.
NEIGHBOURS = 8
#: A pass that lowers the sum of squares by less than this share is the last one.
WORTHWHILE = 1e-3
#: Passes over all records, at most.
PASSES = 20
#: An exchange that gains less, in squared distances of standardised values, may be no more than rounding.
ROUNDING = 1e-12


class Grouping(NamedTuple):
    """Who is with whom."""

    points: NDArray[np.float64]  # [row, dimension]
    groups: NDArray[np.int64]  # [row]
    members: NDArray[np.int64]  # [group, place] -> row
    sizes: NDArray[np.int64]  # [group]
    averages: NDArray[np.float64]  # [group, dimension]


def exchange_members(points: NDArray[np.float64], groups: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Groups of the same records with the same or a lower sum of squares; sizes stay from k to 2k - 1."""
    points = np.ascontiguousarray(points, dtype=np.float64)
    found = _exchange(points, groups, k, min(NEIGHBOURS, len(points)))
    # averages that were updated many times are only as exact as their rounding: the promise is checked
    return found if sum_of_squares(points, found) <= sum_of_squares(points, groups) else groups


def sum_of_squares(points: NDArray[np.float64], groups: NDArray[np.int64]) -> float:
    """The sum of squares within groups: of the distances of records from the average of their group."""
    sizes = np.bincount(groups)
    averages = [np.bincount(groups, values) / sizes for values in points.T]
    return float(sum(((values - a[groups]) ** 2).sum() for values, a in zip(points.T, averages, strict=True)))


@njit(cache=True, nogil=True)
def _exchange(points: NDArray[np.float64], before: NDArray[np.int64], k: int, n_near: int) -> NDArray[np.int64]:
    """Pass over the records until a pass is no longer worth its while."""
    n, held = len(points), _hold(points, before, k)
    near, tree = np.empty((n, n_near), np.int64), build_tree(points)
    for row in tree.rows:  # those near one another in turn: what they look at is still at hand
        find_nearest(tree, points[row], near[row])
    total = 0.0
    for row in range(n):
        total += squared_distance(points, row, held.averages[held.groups[row]])
    for _ in range(PASSES):
        gained = 0.0
        for row in range(n):
            gained += _best_exchange(held, row, near[row], k)
        total -= gained
        if gained <= WORTHWHILE * total:
            break
    return held.groups  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _hold(points: NDArray[np.float64], before: NDArray[np.int64], k: int) -> Grouping:
    (n, d), n_groups = points.shape, before.max() + 1
    groups, members = np.empty(n, np.int64), np.empty((n_groups, 2 * k - 1), np.int64)
    held = Grouping(points, groups, members, np.zeros(n_groups, np.int64), np.zeros((n_groups, d)))
    for row in range(n):
        _join(held, before[row], row)
    return held


@njit(cache=True, nogil=True)
def _best_exchange(held: Grouping, row: int, near: NDArray[np.int64], k: int) -> float:
    """Make the move or swap of a record that lowers the sum of squares most; by how much it fell."""
    here, gain, partner, there = held.groups[row], ROUNDING, -1, -1
    a, last_seen = held.sizes[here], -1
    for neighbour in near:
        to = held.groups[neighbour]
        if to in (here, last_seen):
            continue
        last_seen = to
        b = held.sizes[to]
        if a > k and b < 2 * k - 1:
            # a record at distance g from the average of a others and itself adds g² a / (a - 1) to their squares
            out = squared_distance(held.points, row, held.averages[here]) * a / (a - 1)
            found = out - squared_distance(held.points, row, held.averages[to]) * b / (b + 1)
            if found > gain:
                gain, partner, there = found, -1, to
        for i in range(b):
            found = _swap_gain(held, row, held.members[to, i], here, to)
            if found > gain:
                gain, partner, there = found, held.members[to, i], to
    if there < 0:
        return 0.0
    _leave(held, row)
    if partner >= 0:
        _leave(held, partner)
        _join(held, here, partner)
    _join(held, there, row)
    return gain


@njit(cache=True, nogil=True)
def _swap_gain(held: Grouping, row: int, partner: int, here: int, there: int) -> float:
    """How much the squares fall if two records change places: with s = y - x, |s|² (1/a + 1/b) - 2 s (B - A)."""
    share, gain = 1 / held.sizes[here] + 1 / held.sizes[there], 0.0
    for c in range(held.points.shape[1]):
        step = held.points[partner, c] - held.points[row, c]
        gain += step * (step * share - 2 * (held.averages[there, c] - held.averages[here, c]))
    return gain


@njit(cache=True, nogil=True)
def _leave(held: Grouping, row: int) -> None:
    group = held.groups[row]
    size = held.sizes[group]
    for i in range(size):
        if held.members[group, i] == row:
            held.members[group, i] = held.members[group, size - 1]
            break
    held.sizes[group] = size - 1
    for c in range(held.points.shape[1]):
        average = held.averages[group, c]
        held.averages[group, c] = average - (held.points[row, c] - average) / (size - 1)


@njit(cache=True, nogil=True)
def _join(held: Grouping, group: int, row: int) -> None:
    size = held.sizes[group]
    held.members[group, size], held.groups[row], held.sizes[group] = row, group, size + 1
    for c in range(held.points.shape[1]):
        held.averages[group, c] += (held.points[row, c] - held.averages[group, c]) / (size + 1)
