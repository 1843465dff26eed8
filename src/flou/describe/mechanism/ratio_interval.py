"""What a ratio of two published counts says of the ratio of the true ones: a confidence set, and certain bounds.

Everything follows from the published figures A' and B' and the public mechanism. For each pair (a, b) of true counts
that can lie behind them, a test asks whether A' - r B' with r = a / b, which is Za - r Zb for the noises Za and Zb, is
further from its mean than its exact distribution under (a, b) allows; pairs that are not rejected make the confidence
set, and the interval spans their ratios (the construction of Fieller 1954, with the exact distribution for the normal
one). It covers the true ratio with at least the nominal probability for every pair, however small the counts; for large
ones it comes close to the delta method.

Noises are independent, since the keys of two cells are, unless the same people are in both; then Za - Zb = 0 and r = 1
is never rejected. Where a mechanism is too wide for this, each count gets its own test at half the error (Bonferroni),
which is wider and needs no independence. Of a mechanism without bounds the counts that are tested are those with a
chance worth naming, and nothing is certain but what the relation of the cells says. An interval says what the published
table says; it does not protect anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flou.describe.mechanism.mechanism import Floats, Integers, Mechanism

#: What is known of the two cells: the first is part of the second, holds it, or neither.
Relation = Literal["part", "whole", "apart"]
#: Low and high end of the interval, and the certain bounds, for each pair of figures.
Bounds = NDArray[np.float64]

#: Outcomes that are gone through for one pair of figures; beyond, the two counts are tested by themselves.
_MOST_OUTCOMES = 200_000_000
#: From this many different pairs of figures on, a compiled loop is worth loading.
_MANY = 60
#: A p-value this close above the error is not told from it.
_CLOSE = 1e-12


@dataclass(frozen=True, eq=False)
class _Rows:
    """The chances of a mechanism and the mean of each of its rows."""

    chances: Floats
    means: Floats

    @classmethod
    def of(cls, mechanism: Mechanism) -> _Rows:
        chances = np.ascontiguousarray(mechanism.chances)
        return cls(chances, chances @ np.arange(-mechanism.reach, mechanism.reach + 1.0))


def bound_ratios(
    mechanism: Mechanism, first: Sequence[int], second: Sequence[int], relation: Relation, level: float
) -> Bounds:
    """Low, high, and the certain least and most of each ratio first / second; NaN where there cannot be one."""
    pairs = np.stack([np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)], axis=1)
    distinct, places = np.unique(pairs, axis=0, return_inverse=True)
    rows = _Rows.of(mechanism)
    scan = _compiled() if len(distinct) >= _MANY else scan_pairs
    found = np.array([_bound(mechanism, rows, int(a), int(b), relation, level, scan) for a, b in distinct])
    bounds: Bounds = found.reshape(-1, 4)[places.reshape(-1)]
    if not mechanism.bounded:  # every pair is possible, so only what the relation says is certain
        bounds[:, 2:] = {"part": (0.0, 1.0), "whole": (1.0, np.inf), "apart": (0.0, np.inf)}[relation]
    return bounds


def _bound(
    mechanism: Mechanism, rows: _Rows, first: int, second: int, relation: Relation, level: float, scan: Scan
) -> tuple[float, float, float, float]:
    a, b = possible_counts(mechanism, first), possible_counts(mechanism, second)
    b = b[b > 0]
    if not len(a) or not len(b):
        return np.nan, np.nan, np.nan, np.nan
    least, most = _span(a, b, relation)
    if np.isnan(least):
        return least, most, least, most
    width = int((rows.chances > 0).sum(axis=1).max())
    if len(a) * len(b) * width**2 > _MOST_OUTCOMES:
        a, b = (c[_accepted(mechanism, rows, c, n, (1 - level) / 2)] for c, n in ((a, first), (b, second)))
        low, high = _span(a, b, relation) if len(a) and len(b) else (np.nan, np.nan)
    else:
        pairs = _pairs(a, b, relation)
        low, high = scan(*pairs, mechanism.row_of(pairs[0]), mechanism.row_of(pairs[1]),
                         rows.chances, rows.means, first, second, 1 - level)  # fmt: skip
    # a figure so improbable that every pair is rejected tells no more than what is certain
    return (least, most, least, most) if np.isnan(low) else (low, high, least, most)


def possible_counts(mechanism: Mechanism, shown: int) -> Integers:
    """The true counts that can lie behind a published one."""
    counts = np.arange(max(0, shown - mechanism.reach), shown + mechanism.reach + 1, dtype=np.int64)
    return counts[mechanism.probability(np.full(len(counts), shown), counts) > 0]


def _span(a: Integers, b: Integers, relation: Relation) -> tuple[float, float]:
    """The least and the largest ratio of two sets of counts; at 1 where the relation cuts it."""
    least, most = a[0] / b[-1], a[-1] / b[0]
    if relation == "part":
        return (np.nan, np.nan) if a[0] > b[-1] else (least, min(most, 1.0))
    if relation == "whole":
        return (np.nan, np.nan) if a[-1] < b[0] else (max(least, 1.0), most)
    return least, most


def _pairs(a: Integers, b: Integers, relation: Relation) -> tuple[Integers, Integers]:
    """All pairs that fit the relation, by ascending ratio."""
    first, second = (grid.reshape(-1) for grid in np.meshgrid(a, b, indexing="ij"))
    if relation != "apart":
        fits = first <= second if relation == "part" else first >= second
        first, second = first[fits], second[fits]
    order = np.argsort(first / second, kind="stable")
    return np.ascontiguousarray(first[order]), np.ascontiguousarray(second[order])


def _accepted(mechanism: Mechanism, rows: _Rows, counts: Integers, shown: int, error: float) -> NDArray[np.bool_]:
    """Which true counts a published one does not reject."""
    row = mechanism.row_of(counts)
    deviations = np.arange(-mechanism.reach, mechanism.reach + 1.0)
    far = np.abs(deviations - rows.means[row, None]) >= np.abs(shown - counts - rows.means[row])[:, None] - 1e-9
    accepted: NDArray[np.bool_] = (rows.chances[row] * far).sum(axis=1) > error - _CLOSE
    return accepted


Scan = Callable[
    [Integers, Integers, Integers, Integers, Floats, Floats, int, int, float],
    tuple[float, float],
]


def scan_pairs(
    a: Integers,
    b: Integers,
    rows_a: Integers,
    rows_b: Integers,
    chances: Floats,
    means: Floats,
    first: int,
    second: int,
    error: float,
) -> tuple[float, float]:
    """The least and the largest ratio among the pairs that are not rejected; NaN if all are.

    Pairs come by ascending ratio, so it is looked for from both ends, some at a time.
    """
    ends = [np.nan, np.nan]
    for end, order in enumerate((np.arange(len(a)), np.arange(len(a))[::-1])):
        for start in range(0, len(order), 32):
            some = order[start : start + 32]
            kept = some[_p_values(a[some], b[some], rows_a[some], rows_b[some], chances, means, first, second)
                        > error - _CLOSE]  # fmt: skip
            if len(kept):
                ends[end] = float(a[kept[0]] / b[kept[0]])
                break
    return ends[0], ends[1]


def _p_values(
    a: Integers,
    b: Integers,
    rows_a: Integers,
    rows_b: Integers,
    chances: Floats,
    means: Floats,
    first: int,
    second: int,
) -> Floats:
    """P(|T - E T| at least as observed) for T = b Za - a Zb under each pair; whole numbers but for the mean."""
    reach = chances.shape[1] // 2
    z = np.arange(-reach, reach + 1)
    mean = b * means[rows_a] - a * means[rows_b]
    seen = np.abs(b * (first - a) - a * (second - b) - mean)
    far = np.abs(b[:, None, None] * z[:, None] - a[:, None, None] * z - mean[:, None, None])
    joint = chances[rows_a][:, :, None] * chances[rows_b][:, None, :]
    # ties count as far: the tolerance is below the distance of two whole numbers
    p: Floats = (joint * (far >= (seen - 1e-9 * (a + b))[:, None, None])).sum(axis=(1, 2))
    return p


@cache
def _compiled() -> Scan:
    from flou.describe.mechanism.ratio_kernel import scan_pairs_fast

    fast: Scan = scan_pairs_fast
    return fast
