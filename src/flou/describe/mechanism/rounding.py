"""Rounding as a mechanism: to the nearest multiple of a base, or at random to one of the two adjacent ones.

Unbiased random rounding (Nargundkar and Saveland 1972) is what statistical offices such as Canada's use on counts; see
Willenborg and de Waal (2001) for both. Multiples stay as they are, so zeros do, and a published 0 may hide any count
below the base. Conventional rounding has no secret: a published multiple tells an interval of as many counts as the
base for certain, and rounded cells beside their rounded total tell more. Random rounding hides within twice as many,
but draws that are repeated average out: it needs one draw a cell, always the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from flou.describe.mechanism.mechanism import Floats, Integers, Mechanism, checked_counts
from flou.engine.errors import DataError, ParameterError

_LARGEST_BASE = 10_000


@dataclass(frozen=True)
class Rounding(Mechanism):
    """What both kinds share: counts with the same remainder have the same row."""

    base: int

    def __post_init__(self) -> None:
        if isinstance(self.base, bool | np.bool_) or not isinstance(self.base, int | np.integer):
            raise ParameterError(f"base = {self.base!r} must be an integer, such as 5.")
        if not 2 <= self.base <= _LARGEST_BASE:
            raise ParameterError(
                f"base = {self.base} must be between 2 and {_LARGEST_BASE:,}: multiples of 1 are the counts themselves."
            )
        object.__setattr__(self, "base", int(self.base))

    def row_of(self, counts: Integers) -> Integers:
        """The remainder of each count."""
        return np.remainder(counts, self.base)


class ConventionalRounding(Rounding):
    """To the nearest multiple of the base; halfway, upwards: 5 becomes 10 at base 10. Known to the last count."""

    @property
    def name(self) -> str:
        """How texts call it."""
        return f"conventional rounding to base {self.base}"

    @cached_property
    def chances(self) -> Floats:
        """One row a remainder; the deviation is certain."""
        remainders = np.arange(self.base)
        up = 2 * remainders >= self.base
        reach = self.base // 2
        rows = np.zeros((self.base, 2 * reach + 1))
        rows[remainders, np.where(up, self.base - remainders, -remainders) + reach] = 1.0
        rows.flags.writeable = False
        return rows


@dataclass(frozen=True)
class UnbiasedRounding(Rounding):
    """To one of the two adjacent multiples, the nearer the likelier: at base 5, 3 becomes 5 with probability 0.6."""

    #: Drawn by the cell, or by the keys of the people in it where the table has keys.
    shared_by: Literal["contributors", "cell", "nothing"] = field(default="cell", repr=False)

    @property
    def name(self) -> str:
        """How texts call it."""
        return f"unbiased random rounding to base {self.base}"

    @cached_property
    def chances(self) -> Floats:
        """One row a remainder r: up with probability r / base."""
        remainders = np.arange(self.base)
        reach = self.base - 1
        rows = np.zeros((self.base, 2 * reach + 1))
        rows[remainders, reach - remainders] = (self.base - remainders) / self.base
        rows[remainders[1:], self.base - remainders[1:] + reach] = remainders[1:] / self.base
        rows.flags.writeable = False
        return rows

    def key_intervals(self) -> tuple[Floats, Floats]:
        """Small keys are rounded up."""
        high: Floats = np.cumsum(self.chances[:, ::-1], axis=1)[:, ::-1]
        return high - self.chances, high


@dataclass(frozen=True)
class ControlledRounding(Rounding):
    """To multiples that add up, chosen for all cells of a table together: no single cell has chances of its own."""

    #: Every count lies within less than so many bases of its figure.
    within: int = 1
    without_chances: ClassVar[str] = (
        "Controlled rounding chooses the figures of all cells together, so that no chance belongs to a single one. Of "
        "a count by itself the interval is known that the guarantee states. For chances publish with RandomRounding, "
        'additive = "no".'
    )

    @property
    def name(self) -> str:
        """How texts call it."""
        return f"controlled rounding to base {self.base}"

    @property
    def reach(self) -> int:
        """The largest absolute deviation."""
        return self.within * self.base - 1

    @property
    def zeros_kept(self) -> bool:
        """A cell that nobody is in is shown as zero."""
        return True

    @property
    def chances(self) -> Floats:
        """There are none."""
        raise DataError(self.without_chances)

    def support(self, published: ArrayLike) -> tuple[Integers, Integers]:
        """All counts within less than `within` bases of a multiple; other figures are never published."""
        shown = checked_counts(published, "published")
        wrong = np.remainder(shown, self.base) != 0
        return np.where(wrong, 0, np.maximum(shown - self.reach, 0)), np.where(wrong, -1, shown + self.reach)
