"""Rational reconstruction: the amounts that an intruder computes back from published ratios.

A rule `d = original.x / original.y · b` shows the ratio x/y of two amounts in cents. Shown with all its
digits, d/b has one fraction with a denominator of the right size, and so gives both amounts away; rounded,
it leaves many. The intruder here knows every released column, the rule, the unit to which d is rounded,
the grain of the amounts and y to within a tenth beyond the released value. He lists the values of y with
which all rules that name y, over or under the line, can hold together. An amount has come back where fewer
than three of them are left, or where those left span less than a hundredth of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flou.engine.compiled import njit

Floats = NDArray[np.float64]

#: Amounts that must be left, and the share of the amount that they must span.
MIN_LEFT, MIN_SPAN = 3, 0.01
#: How far beyond the released and the true value the intruder still looks.
_WINDOW = 0.1
#: The share of amounts that must have a grain.
_NEARLY_ALL = 0.9
#: Records that may come back before the search ends: the rule fails at the first.
_ENOUGH = 1_000


@dataclass(frozen=True)
class RatioRule:
    """One rule that names an amount, for all records."""

    #: The derived values as released, and what they would be multiplied with were the ratio 1.
    shown: Floats
    factor: Floats
    #: The smallest step of the other amount in the ratio.
    grain: float
    #: Half the unit of the derived values.
    slack: float
    #: Whether the amount is the numerator of the ratio, not the denominator.
    numerator: bool = False


def fine_step(values: Floats) -> float:
    """A step in which amounts without one of their own are looked through: a ten-thousandth of the usual size."""
    known = np.abs(values[np.isfinite(values) & (values != 0)])
    return float(10.0 ** np.floor(np.log10(np.median(known)) - 4)) if len(known) else 1.0


def grain_of(values: Floats) -> float:
    """The largest decimal step of which nearly all values are multiples, 1,000 to 0.0001; 0 where they have none.

    Nearly all: a few odd amounts among cents do not keep an intruder from looking for cents.
    """
    known = values[np.isfinite(values)]
    for step in (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001, 0.0001):
        counts = known / step
        multiples = np.abs(counts - np.rint(counts)) <= 1e-6 * np.maximum(1.0, np.abs(counts) * 1e-6)
        if multiples.sum() >= _NEARLY_ALL * len(known):
            return step
    return 0.0


def count_recovered(amount: Floats, grain: float, near: Floats, rules: list[RatioRule]) -> int:
    """How many amounts an intruder computes back from the rules that name them; `near` is what is released of them."""
    known = np.isfinite(amount) & (amount != 0) & np.isfinite(near)
    shown = np.column_stack([r.shown for r in rules])[known]
    factor = np.column_stack([r.factor for r in rules])[known]
    grains, slacks = np.array([r.grain for r in rules]), np.array([r.slack for r in rules])
    above = np.array([r.numerator for r in rules])
    held = np.abs(amount[known]), grain, np.abs(near[known])
    return int(_count_recovered(*held, shown, factor, grains, slacks, above))


@njit(cache=True)
def _possible(y, shown, factor, grains, slacks, above):  # type: ignore[no-untyped-def]
    """Whether every rule has another amount on its grain with this one."""
    for r in range(shown.size):
        f = abs(factor[r])
        if not (f > 0.0) or not np.isfinite(shown[r]):
            continue
        d = abs(shown[r])
        if above[r]:
            if d > slacks[r]:  # what may be zero can stand over anything
                low, high = y * f / ((d + slacks[r]) * grains[r]), y * f / ((d - slacks[r]) * grains[r])
                blur = 1e-9 + 4e-16 * high * (1.0 + d / (d - slacks[r]))
                if math.floor(high + blur) < math.ceil(low - blur):
                    return False
            continue
        scale = y / (f * grains[r])
        # as much as the last digits of the rule's own arithmetic can move it
        blur = 1e-9 + 4e-16 * d * scale
        if math.floor((d + slacks[r]) * scale + blur) < math.ceil((d - slacks[r]) * scale - blur):
            return False
    return True


@njit(cache=True)
def _count_recovered(amount, grain, near, shown, factor, grains, slacks, above):  # type: ignore[no-untyped-def]
    recovered = 0
    for i in range(amount.size):
        y = amount[i]
        for r in range(slacks.size):
            # changed since by another step: what this rule says of the record is wrong
            one = slice(r, r + 1)
            if not _possible(y, shown[i, one], factor[i, one], grains[one], slacks[one], above[one]):
                factor[i, r] = 0.0
        # a tenth, and a few steps where the amount is small beside its grain
        first = max(1, min(math.ceil((1.0 - _WINDOW) * min(y, near[i]) / grain), math.floor(y / grain) - MIN_LEFT))
        last = max(math.floor((1.0 + _WINDOW) * max(y, near[i]) / grain), math.ceil(y / grain) + MIN_LEFT)
        left = 0
        low = high = first
        count = first
        while count <= last and left < MIN_LEFT:
            if _possible(count * grain, shown[i], factor[i], grains, slacks, above):
                low = low if left else count
                left += 1
            count += 1
        high = last
        while high > low and not _possible(high * grain, shown[i], factor[i], grains, slacks, above):
            high -= 1
        if left < MIN_LEFT or (high - low) * grain < MIN_SPAN * y:
            recovered += 1
            if recovered >= _ENOUGH:
                break
    return recovered
