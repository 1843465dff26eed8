"""Nearest multiples of a unit, exact in the decimal sense.

A unit such as 0.05 is no binary fraction. It is taken for the decimal number that it is written as, p / 10^d,
so that multiples are whole numbers divided by a power of ten: the double nearest to the decimal, the same
that any program reads from "0.15". A value halfway between two multiples goes to the even one, so that
rounding pushes totals neither up nor down; halfway is also understood in decimals (0.075 lies between
0.05 and 0.10, although 0.075 / 0.05 is a little below 1.5 in binary).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from flou.engine.errors import DataError
from flou.engine.parameters import Number

Floats = NDArray[np.float64]

#: Whole numbers up to here are exact as floats.
_EXACT = 2.0**53
_DIGITS = 12


def _readable(unit: float) -> float:
    if len(Decimal(repr(unit)).normalize().as_tuple().digits) > _DIGITS:
        raise ValueError(f"unit = {unit!r} has more than {_DIGITS} digits: give a round one, such as 0.05 or 100.")
    return unit


#: What values are rounded to multiples of.
Unit = Annotated[Number, Field(gt=0, le=1e15, ge=1e-12), AfterValidator(_readable)]


def nearest_multiples(values: Floats, unit: float) -> Floats:
    """Each value's nearest multiple of the unit, halves to the even one; NaN stays."""
    whole, power = _as_fraction(unit)
    quotients = values / unit
    halves = np.rint(2.0 * quotients) * 0.5
    # a quotient within the error of its division from a half is that half
    near = np.abs(quotients - halves) <= 2.0**-50 * np.abs(quotients)
    steps = np.rint(np.where(near, halves, quotients))
    largest = np.max(np.abs(steps), initial=0.0, where=~np.isnan(steps))
    if largest >= _EXACT or (power > 1.0 and largest * whole >= _EXACT):
        raise DataError(f"Some values are too large to be rounded to multiples of {unit}: choose a coarser unit.")
    return steps * whole / power + 0.0  # -0.0 becomes 0.0


def multiple_of(counts: Floats, unit: float) -> Floats:
    """counts · unit, the doubles nearest to their decimal form: 3 · 0.1 is 0.3."""
    whole, power = _as_fraction(unit)
    return np.asarray(counts * whole / power, dtype=np.float64)


def _as_fraction(unit: float) -> tuple[float, float]:
    """The unit's numerator and the power of ten below it, both whole."""
    _, digits, exponent = Decimal(repr(unit)).normalize().as_tuple()
    numerator = int("".join(map(str, digits)))
    assert isinstance(exponent, int)
    return (float(numerator * 10**exponent), 1.0) if exponent >= 0 else (float(numerator), 10.0**-exponent)


def nearest_whole_multiples(values: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """The same for whole numbers, in whole numbers."""
    below, rest = np.divmod(values, np.int64(unit))
    up = (2 * rest > unit) | ((2 * rest == unit) & (below % 2 == 1))
    found: NDArray[np.int64] = (below + up) * np.int64(unit)
    return found
