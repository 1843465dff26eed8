"""The published difference of two nested cells, given the true one.

A cell A holds every unit of a cell B and d more. Each is published with the noise that its own units give it: as long
as d > 0 the keys of A and B are independent (the key of the units between them is uniform), so

    P(A' - B' = k | B = b, d) = Σ_y P(B' = y | b) P(A' = y + k | b + d)

which is the cross-correlation of two rows of the mechanism. With d = 0 both cells have the same units, hence the same
noise, and the published difference is 0 for certain. This holds where the noise goes by the units (`shared_by`); where
it goes by the cell, or is drawn anew, two cells of the same units are moved independently like any other two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flou.describe.mechanism.mechanism import Mechanism

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Nested cells: the smaller count, the true difference, and the weight of each pair."""

    inner: Integers
    difference: Integers
    weight: Floats

    def nearer(self, most: int) -> Pairs:
        """Those whose difference can be published as one that is looked at."""
        near = self.difference <= most
        return Pairs(self.inner[near], self.difference[near], self.weight[near])


def large_pairs(mechanism: Mechanism, difference: Integers, weight: Floats) -> Pairs:
    """Pairs whose smaller cell is large: every row that serves large counts has the same part."""
    inner = mechanism.large_counts
    n_rows = len(inner)
    return Pairs(np.tile(inner, len(difference)), np.repeat(difference, n_rows), np.repeat(weight / n_rows, n_rows))


def joint_chances(mechanism: Mechanism, pairs: Pairs, true: Integers, published: Integers) -> Floats:
    """P(d, A' - B' = k), true differences d down and published ones k across, for the weights as they are."""
    joint = np.zeros((len(true), len(published)))
    rows_inner = mechanism.row_of(pairs.inner)
    rows_outer = mechanism.row_of(pairs.inner + pairs.difference)
    place = np.searchsorted(true, pairs.difference)
    alike = (pairs.difference == 0) & (mechanism.shared_by == "contributors")
    kinds, which = np.unique(np.stack([rows_inner, rows_outer, place, alike]), axis=1, return_inverse=True)
    weights = np.bincount(which.ravel(), pairs.weight)
    lags: dict[tuple[int, int], Floats] = {}
    for (inner, outer, at, same), weight in zip(kinds.T.tolist(), weights, strict=True):
        if same:
            joint[at, published == 0] += weight
            continue
        if (inner, outer) not in lags:
            both = mechanism.rows(np.array([outer, inner]))
            lags[inner, outer] = np.correlate(both[0], both[1], "full")
        chances, reach = lags[inner, outer], 2 * mechanism.reach
        lag = published - true[at]
        near = np.abs(lag) <= reach
        joint[at, near] += weight * chances[lag[near] + reach]
    return joint
