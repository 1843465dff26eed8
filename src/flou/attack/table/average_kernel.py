"""Estimates of one count put together: a weighted mean, and the whole count that fits them best.

Independent estimates x_k of a count are weighted by their precision, 1 / v_k, which gives the mean of least variance.
The guess is the whole count i of least Σ w_k (x_k - m_k(i))², where m_k(i) is what is expected to be published of i:
i itself where noise is unbiased, so that the guess is the whole number next to the mean. Noise that is bounded rules
counts out, however the mean lies: a count that cannot have been published as some figure is never the guess. Weights
go by bounds on the variance, since the variance depends on counts that nobody knows; that costs precision and no bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flou.describe.mechanism.mechanism import Floats, Integers, Mechanism

Bools = NDArray[np.bool_]
#: What stands for the variance of figures that are exact, so that weights are finite.
_EXACT = 1e-9
#: Candidates that are looked at together.
_TOGETHER = 4_000_000


@dataclass(frozen=True, eq=False)
class Noise:
    """What everybody knows of a mechanism, for weighing its figures."""

    mechanism: Mechanism

    @cached_property
    def _squares(self) -> Floats:
        """The mean squared deviation of the counts from 0 up to beyond the last row."""
        counts = np.arange(self.mechanism.last + 2)
        deviations = np.arange(-self.mechanism.reach, self.mechanism.reach + 1.0)
        squares: Floats = self.mechanism.chances[self.mechanism.row_of(counts)] @ deviations**2
        return squares

    @property
    def largest(self) -> float:
        """The largest mean squared deviation of a count."""
        return float(self._squares.max())

    @cached_property
    def by_person(self) -> float:
        """The largest mean squared deviation of a count by person in it; infinite where empty cells are moved too."""
        if self._squares[0] > 0:
            return np.inf
        return float((self._squares[1:] / np.arange(1, len(self._squares))).max())

    def spread(self, figures: Integers) -> Floats:
        """The mean squared distance of the counts behind each figure from it, were all counts as likely; NaN if none.

        For noise that is the same on all counts this is its variance.
        """
        distinct, place = np.unique(figures, return_inverse=True)
        behind = distinct[:, None] + np.arange(-self.mechanism.reach, self.mechanism.reach + 1)
        shown = np.broadcast_to(distinct[:, None], behind.shape)
        chances = np.where(behind >= 0, self.mechanism.probability(shown, np.maximum(behind, 0)), 0.0)
        with np.errstate(invalid="ignore"):
            spread: Floats = (chances * (behind - shown) ** 2).sum(axis=1) / chances.sum(axis=1)
        return spread[place.reshape(-1)]

    def spread_of_sums(self, n_parts: Floats, counts: Floats) -> Floats:
        """A bound on the variance of sums of so many parts over so many people."""
        most = n_parts * self.largest
        return most if np.isinf(self.by_person) else np.minimum(most, np.maximum(counts, 1.0) * self.by_person)


@dataclass(frozen=True, eq=False)
class Estimate:
    """One answer to the question for each of some counts: the sum of independent answers, and how many they are."""

    total: Floats
    n: Integers
    #: The variance of one answer.
    spread: Floats
    #: The mechanism of a figure of the cell itself; None for sums of parts.
    mechanism: Mechanism | None = None

    @property
    def mean(self) -> Floats:
        return self.total / np.maximum(self.n, 1)

    @property
    def weight(self) -> Floats:
        """The precision of the mean; 0 where there is none."""
        return np.where(self.n > 0, self.n / np.maximum(self.spread, _EXACT), 0.0)


@dataclass(frozen=True, eq=False)
class Own:
    """The figures that one table has of the cells themselves; those that are not known are anything."""

    figures: Integers
    known: Bools
    mechanism: Mechanism
    #: Whether cells that it does not list are shown as zero; if not, nothing is known of them.
    complete: bool = True


def weighted_mean(estimates: Sequence[Estimate]) -> Floats:
    """The mean of least variance; NaN where there is no estimate."""
    weights = np.sum([e.weight for e in estimates], axis=0)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.sum([e.weight * e.mean for e in estimates], axis=0) / weights
    return mean


def guess_counts(estimates: Sequence[Estimate], own: Sequence[Own]) -> Integers:
    """The whole count that fits the estimates best among those that bounded noise allows.

    -1 where there is no estimate, -2 where no count can have been published as all of the figures.
    """
    mean = weighted_mean(estimates)
    known = ~np.isnan(mean)
    centre = np.where(known, mean, 0.0)
    bias = max((e.mechanism.bias for e in estimates if e.mechanism is not None), default=0.0)
    low = np.maximum(np.floor(centre - bias).astype(np.int64), 0)
    high = np.maximum(np.ceil(centre + bias).astype(np.int64), 0)
    least, most = np.zeros(len(mean), dtype=np.int64), np.full(len(mean), np.iinfo(np.int64).max)
    bounded = [o for o in own if o.mechanism.bounded]
    for o in bounded:
        lowest, highest = o.mechanism.support(o.figures)
        least = np.where(o.known, np.maximum(least, lowest), least)
        most = np.where(o.known, np.minimum(most, highest), most)
    tied = np.any([o.known for o in bounded], axis=0) if bounded else np.zeros(len(mean), dtype=np.bool_)
    low, high = np.where(tied, least, low), np.where(tied, most, high)
    guess = np.full(len(mean), -2, dtype=np.int64)
    width = int((high - low).max(initial=0)) + 1
    step = max(1, _TOGETHER // max(width, 1))
    for start in range(0, len(mean), step):
        some = slice(start, start + step)
        guess[some] = _nearest(estimates, bounded, mean, low, high, some)
    return np.where(known, guess, -1)


def _nearest(
    estimates: Sequence[Estimate], bounded: Sequence[Own], mean: Floats, low: Integers, high: Integers, some: slice
) -> Integers:
    """The best of the counts from low to high."""
    lowest, highest = low[some, None], high[some, None]
    counts = lowest + np.arange(int((highest - lowest).max(initial=0)) + 1)
    allowed = counts <= highest
    for o in bounded:
        figures = np.broadcast_to(o.figures[some, None], counts.shape)
        allowed &= ~o.known[some, None] | (o.mechanism.probability(figures, counts) > 0)
    # unbiased estimates cost as much as their mean does, but for a constant that would drown the rest
    plain = [e for e in estimates if not _is_biased(e)]
    cost, weights = np.zeros(counts.shape), np.zeros((len(counts), 1))
    if plain:
        weights = np.sum([e.weight[some, None] for e in plain], axis=0)
        cost = weights * (np.nan_to_num(weighted_mean(plain)[some, None]) - counts) ** 2
    for e in estimates:
        if _is_biased(e):
            assert e.mechanism is not None
            weight = e.weight[some, None]
            cost = cost + weight * (e.mean[some, None] - counts - _bias(e.mechanism, counts)) ** 2
            weights = weights + weight
    # of counts that fit alike the nearest to the mean, then the smaller: what floats lose must not decide
    with np.errstate(invalid="ignore"):
        rank = np.round(cost / weights, 9) + 1e-9 * np.abs(counts - mean[some, None])
    rank[~allowed | np.isnan(rank)] = np.inf
    best = rank.argmin(axis=1)
    found = counts[np.arange(len(counts)), best]
    return np.where(np.isfinite(rank[np.arange(len(counts)), best]), found, -2)


def _is_biased(estimate: Estimate) -> bool:
    return estimate.mechanism is not None and estimate.mechanism.bias > _EXACT


def _bias(mechanism: Mechanism, counts: Integers) -> Floats:
    """The expected deviation of each count."""
    deviations = np.arange(-mechanism.reach, mechanism.reach + 1.0)
    bias: Floats = (mechanism.chances @ deviations)[mechanism.row_of(counts)]
    return bias
