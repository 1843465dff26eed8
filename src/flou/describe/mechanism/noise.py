"""Noise on counts as a mechanism: geometric, discrete Gaussian and rounded Laplace, with no count shown below zero.

What a differentially private count is published with (Dwork, McSherry, Nissim and Smith 2006): the geometric noise of
Ghosh, Roughgarden and Sundararajan (2012), a Laplace distribution on the whole numbers; the discrete Gaussian of
Canonne, Kamath and Steinke (2020); and Laplace noise that was rounded afterwards, as others publish it. A figure below
zero is shown as zero, so a published 0 has the chance of all noise that leads there, and small counts are biased
upwards. Zeros move like any other count.

Noise has no bound: no true count is ever ruled out (`bounded` is False), and `support` is where nearly all chance lies,
which proves nothing. Figures are drawn one by one: shown twice, a cell is drawn twice, and averages tell more. Chances
come from formulas, so that they are right far out in the tails too; `chances` alone cuts the tails off.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, isfinite, log, log1p, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from flou.describe.mechanism.mechanism import Floats, Integers, Mechanism, checked_count, checked_counts
from flou.engine.errors import DataError, ParameterError

_LEAST_SCALE, _LARGEST_SCALE = 0.01, 100_000.0
#: Deviations whose tail has less than this chance are not listed in `chances`.
_CUT = log(1e-16)
#: True counts whose chance is below this part of the likeliest one's are outside of `support`.
_UNLIKELY = log(1e-12)
#: Chances that are held at once: about 250 MB.
_MOST_CHANCES = 30_000_000


@dataclass(frozen=True)
class Noise(Mechanism):
    """What all kinds share. A subclass says how likely a deviation is, and all from one on, by their logarithms."""

    scale: float

    bounded: ClassVar[bool] = False
    shared_by = "nothing"

    def __post_init__(self) -> None:
        if isinstance(self.scale, bool | np.bool_) or not isinstance(self.scale, int | float | np.number):
            raise ParameterError(f"scale = {self.scale!r} must be a number, such as 2.0.")
        if not (isfinite(self.scale) and _LEAST_SCALE <= self.scale <= _LARGEST_SCALE):
            raise ParameterError(f"scale = {self.scale} must be between {_LEAST_SCALE:g} and {_LARGEST_SCALE:,.0f}.")
        object.__setattr__(self, "scale", float(self.scale))

    @abstractmethod
    def _log_mass(self, sizes: Floats) -> Floats:
        """log P(Z = z) of deviations of these sizes |z|."""

    @abstractmethod
    def _log_tail(self, sizes: Floats) -> Floats:
        """log P(Z >= z), which is log P(Z <= -z), of whole z from 0 on."""

    @cached_property
    def _cut(self) -> int:
        return _last(lambda z: self._log_tail(np.array([z + 1.0]))[0] >= _CUT) + 1

    @property
    def reach(self) -> int:
        """The largest deviation that `chances` lists; larger ones have a chance below 1e-16 on either side."""
        return self._cut

    @property
    def last(self) -> int:
        """Counts from this one on have the noise as it is drawn; below, what leads beneath zero ends there."""
        return self.reach

    def row_of(self, counts: Integers) -> Integers:
        """Each small count has a row of its own."""
        return np.minimum(counts, self.reach)

    @cached_property
    def chances(self) -> Floats:
        """One row a count up to `last`, one column a deviation; refused where that would not fit in memory."""
        held = self.rows(np.arange(self.last + 1))
        held.flags.writeable = False
        return held

    def rows(self, numbers: Integers) -> Floats:
        """Some of the rows of `chances`."""
        width = 2 * self.reach + 1
        if len(numbers) * width > _MOST_CHANCES:
            raise DataError(
                f"The noise is too wide for this: {len(numbers):,} counts that move by up to {self.reach:,} make more "
                f"chances than fit in memory ({_MOST_CHANCES:,}). Use `log_likelihood` or `probability`, or less noise."
            )
        z = np.arange(-self.reach, self.reach + 1)
        rows = np.tile(np.exp(self._log_mass(np.abs(z).astype(np.float64))), (len(numbers), 1))
        rows[z < -numbers[:, None]] = 0.0
        rows[np.arange(len(numbers)), self.reach - numbers] = np.exp(self._log_tail(numbers.astype(np.float64)))
        return rows

    @property
    def large_counts(self) -> Integers:
        """Beyond `last` all counts are served alike: one stands for all."""
        return np.array([2 * self.reach + 1], dtype=np.int64)

    def deviation_row(self, i: int) -> Floats:
        """The chances of the deviations -reach to reach of the true count i."""
        row: Floats = self.rows(self.row_of(np.array([checked_count(i)], dtype=np.int64)))[0]
        return row

    @property
    def zeros_kept(self) -> bool:
        """Never: an empty cell is moved like any other."""
        return False

    @property
    def bias(self) -> float:
        """The bias of a count of 0, which is the largest: noise below zero is not shown."""
        return self.mean(0)

    def dense(self, n: int) -> Floats:
        """The chances p_ij of all true counts i = 0, …, n (rows) and published counts j = 0, …, n + reach (columns)."""
        n_rows, width = checked_count(n) + 1, n + 1 + self.reach
        z = np.abs(np.arange(-n, width))
        row = np.where(z <= self.reach, np.exp(self._log_mass(z.astype(np.float64))), 0.0)
        matrix: Floats = np.lib.stride_tricks.sliding_window_view(row, width)[::-1][:n_rows].copy()
        matrix[:, 0] = np.exp(self._log_tail(np.arange(n_rows, dtype=np.float64)))
        return matrix

    def probability(self, published: ArrayLike, true: ArrayLike) -> Floats:
        """P(published | true), element by element; right in the tails, down to the smallest number there is."""
        chances: Floats = np.exp(self.log_likelihood(published, true))
        return chances

    def log_likelihood(self, published: ArrayLike, true: ArrayLike) -> Floats:
        """The logarithm of P(published | true), element by element: finite for every pair of counts."""
        shown, counts = np.broadcast_arrays(checked_counts(published, "published"), checked_counts(true, "true"))
        logs = self._log_mass(np.abs(shown - counts).astype(np.float64))
        zero = shown == 0
        if zero.any():
            distinct, place = np.unique(counts[zero], return_inverse=True)
            logs[zero] = self._log_tail(distinct.astype(np.float64))[place.reshape(-1)]
        return logs

    def support(self, published: ArrayLike) -> tuple[Integers, Integers]:
        """The true counts behind each published one that are not less likely than the likeliest by 12 digits.

        Others are possible as well: nothing is proven by it.
        """
        shown = checked_counts(published, "published")
        low, high = self._likely
        return np.where(shown == 0, 0, np.maximum(shown - high, 0)), np.where(shown == 0, low, shown + high)

    @cached_property
    def _likely(self) -> tuple[int, int]:
        """How far true counts may lie from a published zero, and from any other published count."""
        tail, peak = self._log_tail(np.zeros(1))[0], self._log_mass(np.zeros(1))[0]
        return (
            _last(lambda z: self._log_tail(np.array([float(z)]))[0] - tail >= _UNLIKELY),
            _last(lambda z: self._log_mass(np.array([float(z)]))[0] - peak >= _UNLIKELY),
        )


class GeometricNoise(Noise):
    """Two-sided geometric noise, P(z) in proportion to exp(-|z| / scale): `GeometricNoise(2.0)`."""

    @property
    def name(self) -> str:
        """How texts call it."""
        return f"geometric noise of scale {self.scale:g}, no count below zero"

    def _log_mass(self, sizes: Floats) -> Floats:
        ratio = np.exp(-1 / self.scale)
        return np.asarray(log(-np.expm1(-1 / self.scale)) - log1p(ratio) - sizes / self.scale)

    def _log_tail(self, sizes: Floats) -> Floats:
        return np.asarray(-sizes / self.scale - log1p(np.exp(-1 / self.scale)))


class RoundedLaplace(Noise):
    """Laplace noise of a scale, rounded to the nearest whole number: `RoundedLaplace(2.0)`."""

    @property
    def name(self) -> str:
        """How texts call it."""
        return f"rounded Laplace noise of scale {self.scale:g}, no count below zero"

    def _log_mass(self, sizes: Floats) -> Floats:
        # (exp(-(|z| - 1/2) / s) - exp(-(|z| + 1/2) / s)) / 2, and 1 - exp(-1 / 2s) at zero
        within = -np.expm1(-1 / self.scale)
        far = -(np.maximum(sizes, 1.0) - 0.5) / self.scale + log(within) - log(2)
        return np.where(sizes == 0, log(-np.expm1(-0.5 / self.scale)), far)

    def _log_tail(self, sizes: Floats) -> Floats:
        far = -(np.maximum(sizes, 1.0) - 0.5) / self.scale - log(2)
        return np.where(sizes == 0, log1p(-0.5 * np.exp(-0.5 / self.scale)), far)


class GaussianNoise(Noise):
    """Discrete Gaussian noise, P(z) in proportion to exp(-z² / 2 scale²): `GaussianNoise(2.0)`."""

    @property
    def name(self) -> str:
        """How texts call it."""
        return f"discrete Gaussian noise of scale {self.scale:g}, no count below zero"

    @cached_property
    def _log_total(self) -> float:
        z = np.arange(1, ceil(9 * self.scale) + 2, dtype=np.float64)
        return float(log1p(2 * np.exp(-(z**2) / (2 * self.scale**2)).sum()))

    def _log_mass(self, sizes: Floats) -> Floats:
        return np.asarray(-((sizes / self.scale) ** 2) / 2 - self._log_total)

    def _log_tail(self, sizes: Floats) -> Floats:
        # exp(-i² / 2s²) before the sum of exp(-(2ik + k²) / 2s²) over k >= 0, which begins with 1
        sums = [self._sum_from(float(i)) for i in sizes]
        return np.asarray(self._log_mass(sizes) + np.log(np.array(sums, dtype=np.float64)))

    def _sum_from(self, i: float) -> float:
        variance = self.scale**2
        n = ceil(min(sqrt(80 * variance), 40 * variance / i if i else np.inf)) + 2
        k = np.arange(n, dtype=np.float64)
        return float(np.exp(-(i * k + k**2 / 2) / variance).sum())


def _last(holds: Callable[[int], bool | np.bool_]) -> int:
    """The last whole number for which something holds that holds up to there; -1 if it never does."""
    if not holds(0):
        return -1
    high = 1
    while holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
