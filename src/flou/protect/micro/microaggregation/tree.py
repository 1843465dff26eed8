"""A k-d tree from which points are taken away: the nearest and the farthest of those that are left.

Bentley (1975), with bounding boxes that shrink as points go. A search gives what a scan of all points would give,
to the last bit: a box is skipped only if no point in it can be better, because its bound is summed in the same order
as the distances are, and equal distances are decided by the number of the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flou.engine.compiled import njit

#: Points in a leaf, at most.
LEAF = 8


class Tree(NamedTuple):
    """Nodes are numbered from the root, 0, downwards; the two children of a node follow one another."""

    points: NDArray[np.float64]  # [row, dimension]
    rows: NDArray[np.int64]  # rows by leaf; those of a leaf that are left come first
    place: NDArray[np.int64]  # [row] -> its place in `rows`
    leaf: NDArray[np.int64]  # [row] -> its leaf
    start: NDArray[np.int64]  # [node] -> its first place in `rows`
    left: NDArray[np.int64]  # [node] -> how many points are left in it
    child: NDArray[np.int64]  # [node] -> its first child; 0 for a leaf
    parent: NDArray[np.int64]  # [node]
    lowest: NDArray[np.int64]  # [node] -> the lowest row of those that are left
    low: NDArray[np.float64]  # [node, dimension]: the box of those
    high: NDArray[np.float64]
    depth: int  # of the lowest leaf: one node waits at each level of a search, and the next two


@njit(cache=True, nogil=True)
def build_tree(points: NDArray[np.float64]) -> Tree:
    """The tree of all points: boxes are cut across their longest side, where half of the points lie on either side.

    Equal values stay together: where most points share a few values, such as categories, a box soon holds one of them.
    """
    n, d = points.shape
    rows, longest = np.arange(n), np.zeros(1, np.int64)
    start, left = np.zeros(2 * n, np.int64), np.zeros(2 * n, np.int64)
    child, parent = np.zeros(2 * n, np.int64), np.zeros(2 * n, np.int64)
    level, depth = np.zeros(2 * n, np.int64), 0
    left[0], n_nodes, node = n, 1, 0
    while node < n_nodes:
        first, last = start[node], start[node] + left[node]
        if left[node] > LEAF:
            middle = (first + last) // 2
            if _longest_side(points, rows, first, last, longest) > 0.0:
                middle = split(points[:, longest[0]], rows, first, last, middle)
            else:
                rows[first:last].sort()  # all alike: the lowest rows are found first
            child[node], parent[n_nodes], parent[n_nodes + 1] = n_nodes, node, node
            start[n_nodes], left[n_nodes] = first, middle - first
            start[n_nodes + 1], left[n_nodes + 1] = middle, last - middle
            level[n_nodes] = level[n_nodes + 1] = level[node] + 1
            depth = max(depth, level[n_nodes])
            n_nodes += 2
        node += 1
    shape = (n_nodes, d)
    tree = Tree(
        points, rows, np.empty(n, np.int64), np.empty(n, np.int64), start[:n_nodes].copy(), left[:n_nodes].copy(),
        child[:n_nodes].copy(), parent[:n_nodes].copy(), np.empty(n_nodes, np.int64), np.empty(shape), np.empty(shape),
        depth,
    )  # fmt: skip
    for node in range(n_nodes - 1, -1, -1):  # children before their parents
        if child[node]:
            _close(tree, node)
            continue
        _close_leaf(tree, node)
        for i in range(start[node], start[node] + left[node]):
            tree.place[rows[i]], tree.leaf[rows[i]] = i, node
    return tree


@njit(cache=True, nogil=True)
def _longest_side(
    points: NDArray[np.float64], rows: NDArray[np.int64], first: int, last: int, longest: NDArray[np.int64]
) -> float:
    """How long the longest side of some points' box is, and which (in `longest`)."""
    length = -1.0
    for c in range(points.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(first, last):
            low, high = min(low, points[rows[i], c]), max(high, points[rows[i], c])
        if high - low > length:
            length, longest[0] = high - low, c
    return length


@njit(cache=True, nogil=True)
def split(values: NDArray[np.float64], rows: NDArray[np.int64], first: int, last: int, middle: int) -> int:
    """Bring small values before large ones; the place of the cut, which parts no equal values, nearest to `middle`."""
    i, j = first, last - 1
    while i < j:  # Hoare's selection: then the value at `middle` has none larger before it and none smaller after
        pivot, a, b = values[rows[middle]], i, j
        while a <= b:
            while values[rows[a]] < pivot:
                a += 1
            while values[rows[b]] > pivot:
                b -= 1
            if a <= b:
                rows[a], rows[b] = rows[b], rows[a]
                a += 1
                b -= 1
        if b < middle:
            i = a
        if a > middle:
            j = b
    pivot, below = values[rows[middle]], first
    for a in range(first, middle):
        if values[rows[a]] < pivot:
            rows[a], rows[below] = rows[below], rows[a]
            below += 1
    above = middle
    for a in range(middle, last):
        if values[rows[a]] == pivot:
            rows[a], rows[above] = rows[above], rows[a]
            above += 1
    if below == first or (above < last and above - middle < middle - below):
        return above
    return below


@njit(cache=True, nogil=True)
def take_away(tree: Tree, row: int) -> None:
    """Take a point out; the boxes that it held open close."""
    node = tree.leaf[row]
    end = tree.start[node] + tree.left[node] - 1
    here, other = tree.place[row], tree.rows[end]
    tree.rows[here], tree.rows[end] = other, row
    tree.place[other], tree.place[row] = here, end
    tree.left[node] -= 1
    _close_leaf(tree, node)
    changed = True
    while node > 0:
        node = tree.parent[node]
        tree.left[node] -= 1
        changed = changed and _close(tree, node)


@njit(cache=True, nogil=True)
def _close_leaf(tree: Tree, node: int) -> None:
    """The box of the points that are left in a leaf."""
    first, last = tree.start[node], tree.start[node] + tree.left[node]
    tree.lowest[node] = tree.rows.size
    for i in range(first, last):
        tree.lowest[node] = min(tree.lowest[node], tree.rows[i])
    for c in range(tree.points.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(first, last):
            low, high = min(low, tree.points[tree.rows[i], c]), max(high, tree.points[tree.rows[i], c])
        tree.low[node, c], tree.high[node, c] = low, high


@njit(cache=True, nogil=True)
def _close(tree: Tree, node: int) -> bool:
    """The box of a node from those of its children; whether anything changed."""
    one, other = tree.child[node], tree.child[node] + 1
    lowest = min(tree.lowest[one], tree.lowest[other])
    changed = bool(lowest != tree.lowest[node])
    tree.lowest[node] = lowest
    for c in range(tree.points.shape[1]):
        low, high = min(tree.low[one, c], tree.low[other, c]), max(tree.high[one, c], tree.high[other, c])
        changed = changed or bool(low != tree.low[node, c] or high != tree.high[node, c])
        tree.low[node, c], tree.high[node, c] = low, high
    return changed


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
    nodes, bounds = np.empty(tree.depth + 2, np.int64), np.empty(tree.depth + 2)
    nodes[0], bounds[0], depth = 0, np.inf, 1
    best, farthest = -1.0, tree.rows.size
    while depth > 0:
        depth -= 1
        node, bound = nodes[depth], bounds[depth]
        if bound < best or (bound == best and tree.lowest[node] > farthest):
            continue
        if not tree.child[node]:
            for i in range(tree.start[node], tree.start[node] + tree.left[node]):
                row = tree.rows[i]
                found = squared_distance(tree.points, row, centre)
                if found > best or (found == best and row < farthest):
                    best, farthest = found, row
            continue
        one, other = tree.child[node], tree.child[node] + 1
        bound, other_bound = most_distance(tree, one, centre), most_distance(tree, other, centre)
        if bound > other_bound or (bound == other_bound and tree.lowest[one] < tree.lowest[other]):
            one, other, bound, other_bound = other, one, other_bound, bound
        if bound >= best and bound >= 0.0:
            nodes[depth], bounds[depth] = one, bound
            depth += 1
        if other_bound >= best and other_bound >= 0.0:  # put last, it is looked at first
            nodes[depth], bounds[depth] = other, other_bound
            depth += 1
    return farthest


@njit(cache=True, nogil=True)
def find_nearest(tree: Tree, centre: NDArray[np.float64], found: NDArray[np.int64]) -> None:
    """Fill `found` with the points nearest to the centre, nearest first; of equals those with the lowest rows."""
    if found.size == 0:
        return
    distances = np.full(found.size, np.inf)
    found[:] = tree.rows.size
    nodes, bounds = np.empty(tree.depth + 2, np.int64), np.empty(tree.depth + 2)
    nodes[0], bounds[0], depth = 0, 0.0, 1
    while depth > 0:
        depth -= 1
        node, bound = nodes[depth], bounds[depth]
        if bound > distances[-1] or (bound == distances[-1] and tree.lowest[node] > found[-1]):
            continue
        if not tree.child[node]:
            for i in range(tree.start[node], tree.start[node] + tree.left[node]):
                row = tree.rows[i]
                insert(distances, found, squared_distance(tree.points, row, centre), row)
            continue
        one, other = tree.child[node], tree.child[node] + 1
        bound, other_bound = least_distance(tree, one, centre), least_distance(tree, other, centre)
        if bound < other_bound or (bound == other_bound and tree.lowest[one] < tree.lowest[other]):
            one, other, bound, other_bound = other, one, other_bound, bound
        if bound <= distances[-1] and tree.left[one] > 0:
            nodes[depth], bounds[depth] = one, bound
            depth += 1
        if other_bound <= distances[-1] and tree.left[other] > 0:  # put last, it is looked at first
            nodes[depth], bounds[depth] = other, other_bound
            depth += 1


@njit(cache=True, nogil=True)
def insert(distances: NDArray[np.float64], found: NDArray[np.int64], distance: float, row: int) -> None:
    """Put a row in its place among those found, if it is among the nearest."""
    i = found.size - 1
    if distance > distances[i] or (distance == distances[i] and row > found[i]):
        return
    while i > 0 and (distance < distances[i - 1] or (distance == distances[i - 1] and row < found[i - 1])):
        distances[i], found[i] = distances[i - 1], found[i - 1]
        i -= 1
    distances[i], found[i] = distance, row
