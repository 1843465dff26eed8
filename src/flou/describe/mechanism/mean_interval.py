"""What a mean over published counts says of the mean over the true ones: a confidence interval, and certain bounds.

Categories with scores s_k and published counts X'_k give the mean m' = sum s_k X'_k / sum X'_k. Under a true mean m
the statistic sum (s_k - m) X'_k is the noise sum (s_k - m) Z_k alone. Its tails are bounded by Chernoff's inequality
(1952) with the exact moment generating functions of the noises; where several true counts can lie behind a figure, with
the largest of theirs. So the interval covers the true mean with at least the nominal probability whatever the counts
are, as the noises are independent; it is about one and a half times as wide as the delta method's.

The bound is a convex function of m, so the means that are rejected on one side are an interval, found by bisection.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.describe.mechanism.mechanism import Floats, Integers, Mechanism
from flou.describe.mechanism.ratio_interval import possible_counts
from flou.engine.errors import DataError

#: Where the exponent of the bound is tried, relative to the best one of normal noise.
_TRIED = np.geomspace(0.2, 5.0, 25)
_STEPS = 50
#: Chances that are held at once: about a gigabyte.
_MOST_CHANCES = 120_000_000


def bound_mean(
    mechanism: Mechanism, shown: Integers, scores: Floats, level: float
) -> tuple[float, float, float, float]:
    """Low, high, and the certain least and most of the mean score; NaN where nobody can be in any category."""
    counts = [possible_counts(mechanism, int(n)) for n in shown]
    if any(not len(held) for held in counts):
        return np.nan, np.nan, np.nan, np.nan
    least_counts = np.array([held[0] for held in counts])
    most_counts = np.array([held[-1] for held in counts])
    least = _extreme(scores, least_counts, most_counts)
    most = -_extreme(-scores, least_counts, most_counts)
    if np.isnan(least) or least == most:
        return least, most, least, most
    if not mechanism.bounded:  # every count is possible, so only the scores themselves bound their mean
        least, most = float(scores.min()), float(scores.max())
    n_chances = len(_TRIED) * sum(map(len, counts)) * (2 * mechanism.reach + 1)
    if n_chances > _MOST_CHANCES:
        raise DataError(
            f"The interval of a mean over {len(shown):,} categories needs {n_chances:,} chances of this noise, more "
            f"than fit in memory ({_MOST_CHANCES:,}). Take a mean over coarser categories, or a table with less noise."
        )
    tails = _Tails(mechanism, shown.astype(np.float64), scores, counts, np.log(2 / (1 - level)))
    return tails.end(least, most), tails.end(most, least), least, most


def _extreme(scores: Floats, least: Integers, most: Integers) -> float:
    """The least mean of counts within bounds: as many as can be of low scores, as few as must be of the others."""
    order = np.argsort(scores, kind="stable")
    s, low, high = scores[order], least[order].astype(np.float64), most[order].astype(np.float64)
    found = np.nan
    for cut in range(len(s) + 1):
        counts = np.concatenate([high[:cut], low[cut:]])
        if counts.sum() > 0:
            found = float(np.fmin(found, counts @ s / counts.sum()))
    return found


class _Tails:
    """Whether a mean is rejected, on the side on which the published one lies."""

    def __init__(
        self, mechanism: Mechanism, shown: Floats, scores: Floats, counts: list[Integers], threshold: float
    ) -> None:
        self._shown, self._scores, self._threshold = shown, scores, threshold
        self._z = np.arange(-mechanism.reach, mechanism.reach + 1.0)
        # the rows that can serve each category, laid end to end
        rows = [np.unique(mechanism.row_of(held)) for held in counts]
        self._starts = np.concatenate([[0], np.cumsum([len(r) for r in rows])[:-1]])
        self._chances: Floats = mechanism.chances[np.concatenate(rows)]
        self._category = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
        spread = self._chances @ self._z**2 - (self._chances @ self._z) ** 2
        self._variance = np.maximum.reduceat(spread, self._starts)

    def rejects(self, mean: float, side: float) -> bool:
        """Whether noise on this side (1 or -1) of the observed size has less than half the error for a chance."""
        weights = side * (self._scores - mean)
        seen = float(weights @ self._shown)
        scale = float(np.sqrt(weights**2 @ self._variance))
        if seen <= 0:
            return False
        if scale == 0:
            return True  # no noise, and another mean than the published one
        exponents = np.sqrt(2 * self._threshold) / scale * _TRIED
        tilts = exponents[:, None] * weights[self._category]
        logs = _log_mean_exp(tilts[:, :, None] * self._z, self._chances)
        bound = np.maximum.reduceat(logs, self._starts, axis=1).sum(axis=1)
        return bool((exponents * seen - bound >= self._threshold).any())

    def end(self, outer: float, inner: float) -> float:
        """The end of the interval towards the certain bound `outer`; everything between the two is rejected."""
        side = 1.0 if outer < inner else -1.0
        published = float(self._scores @ self._shown / self._shown.sum()) if self._shown.sum() else outer
        kept = float(np.clip(published, min(outer, inner), max(outer, inner)))
        if not self.rejects(outer, side) or self.rejects(kept, side):
            return outer
        rejected = outer
        for _ in range(_STEPS):
            middle = (rejected + kept) / 2
            if self.rejects(middle, side):
                rejected = middle
            else:
                kept = middle
        return rejected


def _log_mean_exp(tilted: NDArray[np.float64], chances: Floats) -> Floats:
    """log sum p exp(t) over the last axis, safe for large t."""
    top = np.where(chances > 0, tilted, -np.inf).max(axis=-1)
    total: Floats = top + np.log((chances * np.exp(np.minimum(tilted - top[..., None], 0.0))).sum(axis=-1))
    return total
