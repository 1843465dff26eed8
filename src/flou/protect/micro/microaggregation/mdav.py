"""MDAV, maximum distance to average vector (Domingo-Ferrer & Torra 2005): groups of k records that are alike.

The record farthest from the average of those left takes its k - 1 nearest into a group, then the record farthest from
that one does, until fewer than 3k are left; these make the last one or two groups. The heuristic is exact here (no
sampling, no blocks): a k-d tree finds the same records as a scan. Equal distances are decided by the number of the
row, so callers bring rows in an order that means nothing, such as that of unit ids. Groups have k records, one of them
up to 2k - 1. It keeps nothing by itself: what a group shows is decided elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.engine.compiled import njit
from flou.protect.micro.microaggregation.tree import Tree, build_tree, find_farthest, find_nearest, take_away


def group_by_mdav(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The group of each row, numbered from 0; needs at least k rows, in dimensions that can be compared."""
    return _mdav(np.ascontiguousarray(points, dtype=np.float64), k)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _mdav(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    n, d = points.shape
    groups = np.full(n, -1)
    tree = build_tree(points)
    total, average = np.zeros(d), np.empty(d)
    for row in range(n):
        for c in range(d):
            total[c] += points[row, c]
    others, left, group = np.empty(k - 1, np.int64), n, 0
    while left >= 2 * k:
        for c in range(d):
            average[c] = total[c] / left
        seed = find_farthest(tree, average)
        _close_group(tree, seed, groups, group, total, others)
        left, group = left - k, group + 1
        if left >= 2 * k:  # 3k were left before the first group of this round
            seed = find_farthest(tree, points[seed])
            _close_group(tree, seed, groups, group, total, others)
            left, group = left - k, group + 1
    for row in range(n):
        if groups[row] < 0:
            groups[row] = group
    return groups


@njit(cache=True, nogil=True)
def _close_group(
    tree: Tree,
    seed: int,
    groups: NDArray[np.int64],
    group: int,
    total: NDArray[np.float64],
    others: NDArray[np.int64],
) -> None:
    """Take a record and its nearest out of the tree and of the total, as one group."""
    _take(tree, seed, groups, group, total)
    find_nearest(tree, tree.points[seed], others)
    for i in range(others.size):
        _take(tree, others[i], groups, group, total)


@njit(cache=True, nogil=True)
def _take(tree: Tree, row: int, groups: NDArray[np.int64], group: int, total: NDArray[np.float64]) -> None:
    take_away(tree, row)
    groups[row] = group
    for c in range(total.size):
        total[c] -= tree.points[row, c]
