"""A k-d tree from which points are taken away: the nearest and the farthest of those that are left.

Bentley (1975), with bounding boxes that shrink as points go. A search gives what a scan of all points would give,
to the last bit: a box is skipped only if no point in it can be better, because its bound is summed in the same order
as the distances are, and equal distances are decided by the number of the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Points in a leaf, at most.
LEAF = 8
NOBODY = -1


class Tree(NamedTuple):
    """Nodes are numbered as in a heap: the children of i are 2i + 1 and 2i + 2."""

    points: NDArray[np.float64]  # [row, dimension]
    rows: NDArray[np.int64]  # rows by leaf; those of a leaf that are left come first
    place: NDArray[np.int64]  # [row] -> its place in `rows`
    leaf: NDArray[np.int64]  # [row] -> its leaf
    start: NDArray[np.int64]  # [node] -> its first place in `rows`
    left: NDArray[np.int64]  # [node] -> how many points are left in it
    low: NDArray[np.float64]  # [node, dimension]: the box of those
    high: NDArray[np.float64]
    first_leaf: int


@njit(cache=True, nogil=True)
def build_tree(points: NDArray[np.float64]) -> Tree:
    """The tree of all points: boxes are cut in half, by number of points, across their longest side."""
    n, d = points.shape
    n_leaves = 1
    while n_leaves * LEAF < n:
        n_leaves *= 2
    n_nodes = 2 * n_leaves - 1
    rows = np.arange(n)
    place, leaf = np.empty(n, np.int64), np.empty(n, np.int64)
    start, left = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    low, high = np.full((n_nodes, d), np.inf), np.full((n_nodes, d), -np.inf)
    left[0] = n
    for node in range(n_nodes):
        first, last = start[node], start[node] + left[node]
        for i in range(first, last):
            for c in range(d):
                low[node, c] = min(low[node, c], points[rows[i], c])
                high[node, c] = max(high[node, c], points[rows[i], c])
        if node >= n_leaves - 1:
            for i in range(first, last):
                place[rows[i]], leaf[rows[i]] = i, node
        else:
            longest = 0
            for c in range(1, d):
                if high[node, c] - low[node, c] > high[node, longest] - low[node, longest]:
                    longest = c
            middle = (first + last) // 2
            split(points[:, longest], rows, first, last, middle)
            start[2 * node + 1], left[2 * node + 1] = first, middle - first
            start[2 * node + 2], left[2 * node + 2] = middle, last - middle
    return Tree(points, rows, place, leaf, start, left, low, high, n_leaves - 1)


@njit(cache=True, nogil=True)
def split(values: NDArray[np.float64], rows: NDArray[np.int64], first: int, last: int, middle: int) -> None:
    """Bring the smallest values to places before `middle`, the largest to those from there on (Hoare's selection)."""
    last -= 1
    while first < last:
        a, b, c = values[rows[first]], values[rows[(first + last) // 2]], values[rows[last]]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = first, last
        while i <= j:
            while values[rows[i]] < pivot:
                i += 1
            while values[rows[j]] > pivot:
                j -= 1
            if i <= j:
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@njit(cache=True, nogil=True)
def take_away(tree: Tree, row: int) -> None:
    """Take a point out; the boxes that it held open close."""
    node, d = tree.leaf[row], tree.points.shape[1]
    end = tree.start[node] + tree.left[node] - 1
    here, other = tree.place[row], tree.rows[end]
    tree.rows[here], tree.rows[end] = other, row
    tree.place[other], tree.place[row] = here, end
    tree.left[node] -= 1
    for c in range(d):
        low, high = np.inf, -np.inf
        for i in range(tree.start[node], end):
            low, high = min(low, tree.points[tree.rows[i], c]), max(high, tree.points[tree.rows[i], c])
        tree.low[node, c], tree.high[node, c] = low, high
    changed = True
    while node > 0:
        node = (node - 1) // 2
        tree.left[node] -= 1
        if changed:
            changed = False
            for c in range(d):
                low = min(tree.low[2 * node + 1, c], tree.low[2 * node + 2, c])
                high = max(tree.high[2 * node + 1, c], tree.high[2 * node + 2, c])
                changed |= low != tree.low[node, c] or high != tree.high[node, c]
                tree.low[node, c], tree.high[node, c] = low, high


@njit(cache=True, nogil=True)
def squared_distance(points: NDArray[np.float64], row: int, centre: NDArray[np.float64]) -> float:
    """The squared distance of a point from a centre."""
    total = 0.0
    for c in range(centre.size):
        gap = points[row, c] - centre[c]
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def least_distance(tree: Tree, node: int, centre: NDArray[np.float64]) -> float:
    """No point of the node is nearer to the centre than this."""
    total = 0.0
    for c in range(centre.size):
        gap = max(tree.low[node, c] - centre[c], 0.0, centre[c] - tree.high[node, c])
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def most_distance(tree: Tree, node: int, centre: NDArray[np.float64]) -> float:
    """No point of the node is farther from the centre than this; -1 where none is left."""
    if tree.left[node] == 0:
        return -1.0
    total = 0.0
    for c in range(centre.size):
        gap = max(centre[c] - tree.low[node, c], tree.high[node, c] - centre[c])
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def find_farthest(tree: Tree, centre: NDArray[np.float64]) -> int:
    """The point farthest from the centre; of equals the one with the lowest row."""
    nodes, bounds = np.empty(64, np.int64), np.empty(64)
    nodes[0], bounds[0], depth = 0, np.inf, 1
    best, farthest = -1.0, NOBODY
    while depth > 0:
        depth -= 1
        node = nodes[depth]
        if bounds[depth] < best:
            continue
        if node >= tree.first_leaf:
            for i in range(tree.start[node], tree.start[node] + tree.left[node]):
                row = tree.rows[i]
                found = squared_distance(tree.points, row, centre)
                if found > best or (found == best and row < farthest):
                    best, farthest = found, row
            continue
        near, far = 2 * node + 1, 2 * node + 2
        near_bound, far_bound = most_distance(tree, near, centre), most_distance(tree, far, centre)
        if near_bound > far_bound:
            near, far, near_bound, far_bound = far, near, far_bound, near_bound
        for child, bound in ((near, near_bound), (far, far_bound)):  # the last one is looked at first
            if bound >= best and bound >= 0.0:
                nodes[depth], bounds[depth] = child, bound
                depth += 1
    return farthest


@njit(cache=True, nogil=True)
def find_nearest(tree: Tree, centre: NDArray[np.float64], found: NDArray[np.int64]) -> None:
    """Fill `found` with the points nearest to the centre, nearest first; of equals those with the lowest rows."""
    n = found.size
    if n == 0:
        return
    distances = np.full(n, np.inf)
    found[:] = NOBODY
    nodes, bounds = np.empty(64, np.int64), np.empty(64)
    nodes[0], bounds[0], depth = 0, 0.0, 1
    while depth > 0:
        depth -= 1
        node = nodes[depth]
        if bounds[depth] > distances[n - 1]:
            continue
        if node >= tree.first_leaf:
            for i in range(tree.start[node], tree.start[node] + tree.left[node]):
                row = tree.rows[i]
                insert(distances, found, squared_distance(tree.points, row, centre), row)
            continue
        near, far = 2 * node + 1, 2 * node + 2
        near_bound, far_bound = least_distance(tree, near, centre), least_distance(tree, far, centre)
        if near_bound > far_bound:
            near, far, near_bound, far_bound = far, near, far_bound, near_bound
        for child, bound in ((far, far_bound), (near, near_bound)):
            if bound <= distances[n - 1] and tree.left[child] > 0:
                nodes[depth], bounds[depth] = child, bound
                depth += 1


@njit(cache=True, nogil=True)
def insert(distances: NDArray[np.float64], found: NDArray[np.int64], distance: float, row: int) -> None:
    """Put a row in its place among those found, if it is among the nearest."""
    i = found.size - 1
    if found[i] != NOBODY and (distance > distances[i] or (distance == distances[i] and row > found[i])):
        return
    while i > 0 and (
        found[i - 1] == NOBODY or distance < distances[i - 1] or (distance == distances[i - 1] and row < found[i - 1])
    ):
        distances[i], found[i] = distances[i - 1], found[i - 1]
        i -= 1
    distances[i], found[i] = distance, row
