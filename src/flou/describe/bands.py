"""Bands of numbers: a width, or the lower bounds of the bands.

The finest width decides where a number belongs, and every coarser band is made of whole finer ones: a
number that lies a rounding error beside a bound has one parent all the same.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from flou.engine.errors import HierarchyError

Bounds = tuple[float, ...]
Levels = tuple[float | Bounds, ...]

#: Digits behind the point that a bound is written with; more where the width is small.
_DIGITS = 9
#: So near a bound, in widths, what a float has lost may put a value on the wrong side.
_NEAR = 1e-6


def checked_band(level: Any) -> float | Bounds:
    """A width above 0, or bounds that rise."""
    bounds = level if isinstance(level, list | tuple) else [level]
    if not all(isinstance(b, int | float) and not isinstance(b, bool) and finite(b) for b in bounds):
        raise HierarchyError(f"A band is a width or a list of lower bounds, in ordinary numbers; given {level!r}.")
    if not isinstance(level, list | tuple):
        if bounds[0] <= 0:
            raise HierarchyError(f"A band's width must be a positive number; given {level!r}.")
        return float(level) if isinstance(level, float) else int(level)
    if not bounds or list(bounds) != sorted(set(bounds)):
        raise HierarchyError(f"The lower bounds of bands must rise; given {level!r}.")
    return tuple(bounds)


def checked_nested(fine: float | Bounds, coarse: float | Bounds) -> None:
    """Each band of the finer level lies in one of the coarser level."""
    if isinstance(fine, tuple) and isinstance(coarse, tuple):
        nested = set(coarse) <= set(fine)
    elif not isinstance(fine, tuple) and not isinstance(coarse, tuple):
        ratio = coarse / fine
        nested = coarse > fine and finite(ratio) and math.isclose(ratio, round(ratio), abs_tol=1e-9)
    else:
        nested = not isinstance(fine, tuple) and isinstance(coarse, tuple) and all(b % fine == 0 for b in coarse)
    if not nested:
        raise HierarchyError(
            f"The bands {coarse} do not contain the bands {fine} whole: a value would have two parents. "
            "Use multiples of the width, or bounds taken from the finer level."
        )


def finite(number: float | Decimal) -> bool:
    """Whether a number is an ordinary one, neither infinite nor too large to reckon with."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def band_at(value: object, levels: Levels, number: int, whole: bool) -> str | None:
    """The name of the band at a level, 1 the finest, that holds a value; None where it is no number.

    `60-64` where the values are whole numbers, `[60, 65)` otherwise.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not finite(value):
        return None
    finest, band = levels[0], levels[number - 1]
    if isinstance(finest, tuple):
        assert isinstance(band, tuple)  # a width above bounds does not nest
        return _between(value, band, whole)
    place = _place(value, finest)
    if isinstance(band, tuple):
        return _between(_multiple(place, finest), band, whole)
    place //= round(band / finest)
    return _label(_multiple(place, band), _multiple(place + 1, band), whole)


def _place(value: float | Decimal, width: float) -> int:
    """The number of the band, counted from 0."""
    if isinstance(value, int) and isinstance(width, int):
        return value // width
    if isinstance(value, float):
        share = value / width
        if math.isfinite(share) and abs(share - round(share)) > _NEAR * max(1.0, abs(share)):
            return math.floor(share)
    # near a bound digits decide: 0.3 lies in [0.3, 0.4), although 0.3 / 0.1 is a little less than 3
    return math.floor(_written(value) / _written(width))


def _written(value: float | Decimal) -> Fraction:
    """A number as people write it."""
    return Fraction(Decimal(repr(value))) if isinstance(value, float) else Fraction(value)


def _multiple(place: int, width: float) -> int | Decimal:
    """So many times the width, as people would reckon it: 3 times 0.1 is 0.3."""
    if isinstance(width, int):
        return place * width
    written = Decimal(repr(width))
    try:
        return Decimal(repr(round(place * width, max(_DIGITS, _DIGITS - 1 - written.adjusted()))))
    except OverflowError:
        return place * written


def _between(value: float | Decimal, bounds: Bounds, whole: bool) -> str:
    held = _written(value) if isinstance(value, Decimal) else value
    below = [b for b in bounds if (_written(b) if isinstance(value, Decimal) else b) <= held]
    if not below:
        return f"<{_number(bounds[0])}"
    if len(below) == len(bounds):
        return f"{_number(bounds[-1])}+"
    return _label(below[-1], bounds[len(below)], whole)


def _label(low: float | Decimal, high: float | Decimal, whole: bool) -> str:
    if whole and low == int(low) and high == int(high):
        last = int(high) - 1
        return _number(low) if last == int(low) else f"{_number(low)}-{last}"
    return f"[{_number(low)}, {_number(high)})"


def _number(x: float | Decimal) -> str:
    if x == int(x):
        return str(int(x))
    return f"{x.normalize():f}" if isinstance(x, Decimal) else f"{x:.12g}"
