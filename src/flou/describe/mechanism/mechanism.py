"""Mechanisms: the chances that a true count is published as another count, known to everybody.

A mechanism is what an analyst may be told and an intruder is assumed to know (Fraser and Wooton 2005; Enderle, Giessing
and Tent 2018): the transition probabilities p_ij = P(X' = j | X = i). It does not draw anything itself. Risk, utility
and reconstruction of a published table follow from the few methods here: which counts can be published for a true one
(`targets`, `row`), which true counts can lie behind a published one (`support`), and how likely each is
(`log_likelihood`, `dense`). A mechanism describes cells one by one: it does not say that a table adds up, and it
protects nobody by itself.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flou.engine.data import DataKind
from flou.engine.errors import DataError, ParameterError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Mechanism(ABC):
    """Published counts given true ones; a subclass holds one row of chances for each kind of true count.

    Rows are numbered 0 to `last`, and `row_of` says which one serves a count: in a transition matrix the last row
    serves every larger count; in rounding, counts with the same remainder share a row.
    """

    data_kind: ClassVar[DataKind] = "mechanism"

    @property
    @abstractmethod
    def name(self) -> str:
        """How texts call it, with its parameters."""

    @property
    @abstractmethod
    def chances(self) -> Floats:
        """One row a kind of count, one column a deviation from -reach to reach."""

    @abstractmethod
    def row_of(self, counts: Integers) -> Integers:
        """The row that serves each true count."""

    @property
    def reach(self) -> int:
        """The largest absolute deviation."""
        return int(self.chances.shape[1] // 2)

    @property
    def last(self) -> int:
        """The number of the last row."""
        return int(self.chances.shape[0] - 1)

    #: Whether no deviation beyond those with a chance can happen at all. Where False they are merely too unlikely to
    #: count, and nothing follows from them for certain.
    bounded: ClassVar[bool] = True
    #: Why no cell has chances of its own, so that only what is possible is known; empty where each has.
    without_chances: ClassVar[str] = ""
    #: What shares its noise: cells of the same contributors, the same cell wherever it stands, or nothing, each figure
    #: being drawn anew, so that figures of one cell are independent.
    shared_by: Literal["contributors", "cell", "nothing"] = "cell"

    @property
    def has_chances(self) -> bool:
        """Whether each cell has chances of its own."""
        return not self.without_chances

    @property
    def zeros_kept(self) -> bool:
        """Whether a count of 0 is always published as 0 (a published 0 may still hide a positive count)."""
        return bool(self.deviation_row(0)[self.reach] == 1.0)

    def deviation_row(self, i: int) -> Floats:
        """The chances of the deviations -reach to reach of the true count i."""
        row: Floats = self.chances[int(self.row_of(np.array([checked_count(i)]))[0])]
        return row

    def rows(self, numbers: Integers) -> Floats:
        """The rows of these numbers; a wide mechanism makes them one by one, and never holds all of them."""
        rows: Floats = self.chances[numbers]
        return rows

    def key_intervals(self) -> tuple[Floats, Floats]:
        """Where the noise goes by the keys of the units: from which key in [0, 1) to which each deviation is meant."""
        high: Floats = np.cumsum(self.chances, axis=1)
        return high - self.chances, high

    @property
    def large_counts(self) -> Integers:
        """Counts beyond the noise, of which each row that serves large counts has one."""
        return self.last + 1 + self.reach + np.arange(self.last + 1, dtype=np.int64)

    def targets(self, i: int) -> Integers:
        """The counts that can be published for the true count i, ascending."""
        return checked_count(i) - self.reach + np.flatnonzero(self.deviation_row(i)).astype(np.int64)

    def row(self, i: int) -> Floats:
        """The chances of the targets of i."""
        chances = self.deviation_row(i)
        return chances[chances > 0]

    def mean(self, i: int) -> float:
        """The expected deviation of the true count i: its bias."""
        return float(self.deviation_row(i) @ self._deviations)

    @property
    def bias(self) -> float:
        """The largest absolute expected deviation of any count: 0, up to rounding, when no count is biased."""
        return float(np.abs(self.chances @ self._deviations).max())

    def variance(self, i: int) -> float:
        """The variance of the deviation of the true count i."""
        chances = self.deviation_row(i)
        return float(chances @ (self._deviations - self.mean(i)) ** 2)

    def dense(self, n: int) -> Floats:
        """The chances p_ij of all true counts i = 0, …, n (rows) and published counts j = 0, …, n + reach (columns)."""
        n_rows, width = checked_count(n) + 1, n + 1 + self.reach
        chances = self.chances[self.row_of(np.arange(n_rows))]
        matrix = np.zeros((n_rows, width))
        flat = matrix.reshape(-1)
        for column, z in enumerate(range(-self.reach, self.reach + 1)):
            first = max(0, -z)  # no count is published below zero
            flat[first * width + first + z :: width + 1][: n_rows - first] = chances[first:, column]
        return matrix

    def probability(self, published: ArrayLike, true: ArrayLike) -> Floats:
        """P(published | true), element by element."""
        shown, counts = np.broadcast_arrays(checked_counts(published, "published"), checked_counts(true, "true"))
        deviations = shown - counts
        near = np.abs(deviations) <= self.reach
        columns = np.where(near, deviations, 0) + self.reach
        return np.where(near, self.chances[self.row_of(counts), columns], 0.0)

    def log_likelihood(self, published: ArrayLike, true: ArrayLike) -> Floats:
        """The logarithm of P(published | true), element by element; minus infinity where it cannot happen."""
        with np.errstate(divide="ignore"):
            return np.log(self.probability(published, true))

    def support(self, published: ArrayLike) -> tuple[Integers, Integers]:
        """The smallest and the largest true count that can lie behind each published one.

        A figure that the mechanism never publishes has the empty interval from 0 to -1. Not every count between the two
        need be possible: `log_likelihood` says which.
        """
        shown = checked_counts(published, "published")
        distinct, place = np.unique(shown, return_inverse=True)
        behind = distinct[:, None] + np.arange(-self.reach, self.reach + 1)
        counts = np.maximum(behind, 0)
        possible = (behind >= 0) & (self.probability(np.broadcast_to(distinct[:, None], behind.shape), counts) > 0)
        some = possible.any(axis=1)
        lowest = np.where(some, distinct - self.reach + possible.argmax(axis=1), 0)
        highest = np.where(some, distinct + self.reach - possible[:, ::-1].argmax(axis=1), -1)
        place = place.reshape(shown.shape)
        return lowest[place], highest[place]

    @property
    def _deviations(self) -> Floats:
        return np.arange(-self.reach, self.reach + 1, dtype=np.float64)


def checked_count(i: object) -> int:
    """One true count: an integer that is not negative."""
    if isinstance(i, bool | np.bool_):
        raise ParameterError(f"i = {i!r} is no count; give an integer of at least 0.")
    try:
        count = operator.index(i)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(f"i = {i!r} is no count; give an integer of at least 0.") from None
    if count < 0:
        raise ParameterError(f"i = {count} is no count; give an integer of at least 0.")
    return count


def checked_counts(counts: ArrayLike, name: str) -> Integers:
    """An array of counts as 64-bit integers, none negative."""
    array: NDArray[Any] = np.asarray(counts)
    if array.dtype.kind not in "iu" and array.size:
        raise DataError(f"{name}: counts must be integers, not {array.dtype}. Round or cast them first.")
    if array.size and (array.min() < 0 or array.max() >= 2**62):
        wrong = array.min() if array.min() < 0 else array.max()
        raise DataError(f"{name}: counts must not be negative nor reach 2^62; found {int(wrong)}.")
    return array.astype(np.int64, copy=False)
