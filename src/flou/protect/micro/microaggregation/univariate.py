"""Optimal microaggregation of one variable (Hansen & Mukherjee 2003): no partition has a lower sum of squares.

Sorted values are cut into groups of k to 2k - 1 (a longer group is never better than its two halves), and the best
cuts are a shortest path, found in time n times k. Squares are summed from the differences to the last value of a
group, not as differences of running sums over the whole file, so that they keep their digits in a large file. Each
variable alone is protected; the combination of several, each with groups of its own, can still be that of one person.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.engine.compiled import njit


def group_values(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The group of each value, numbered from the smallest on; equal values are taken in the order of their rows."""
    order = np.argsort(values, kind="stable")
    groups = np.empty(len(values), dtype=np.int64)
    groups[order] = _cut_optimally(np.ascontiguousarray(values[order], dtype=np.float64), k)
    return groups


@njit(cache=True, nogil=True)
def _cut_optimally(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The groups of sorted values; of two cuts that are equally good, the one with the smaller last group."""
    n = values.size
    least = np.full(n + 1, np.inf)  # of the first i values
    size = np.zeros(n + 1, np.int64)  # of the last group among the first i
    least[0] = 0.0
    for i in range(k, n + 1):
        first, squares, m = 0.0, 0.0, 0
        for j in range(i - 1, max(i - 2 * k, -1), -1):
            step = values[i - 1] - values[j]
            first, squares, m = first + step, squares + step * step, m + 1
            if m >= k and least[j] + (squares - first * first / m) < least[i]:
                least[i], size[i] = least[j] + (squares - first * first / m), m
    groups, end, number = np.empty(n, np.int64), n, 0
    while end > 0:
        for j in range(end - size[end], end):
            groups[j] = number
        end, number = end - size[end], number + 1
    for j in range(n):
        groups[j] = number - 1 - groups[j]
    return groups
