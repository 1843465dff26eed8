"""Round widths for bands: 1, 2 or 5 with zeros, each a multiple of the one before.

The finest is fitted to where most records lie, so that a few large incomes do not put all others in one
band; the coarsest to the whole range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

#: The finest level has about so many bands where most records lie, and over the whole range at most so many.
_FINE, _FINE_AT_MOST = 20, 5000
#: What a handful of bands is: the coarsest level.
_FEW = range(3, 7)
#: The records in the middle that the finest width is fitted to.
_MIDDLE = (0.05, 0.95)
#: A range below this is lost in the rounding of floating-point numbers.
_SMALLEST = Fraction(1, 10**300)
_MOST_LEVELS = 4


def round_widths(numbers: Sequence[float], counts: Sequence[int]) -> list[int | float]:
    """Widths for numbers that rise, finest first; none where no width puts some together and others apart."""
    whole = all(float(v).is_integer() for v in numbers)
    low, high = Fraction(numbers[0]), Fraction(numbers[-1])
    if high - low < _SMALLEST:
        return []
    first, last = (Fraction(numbers[_quantile(counts, share)]) for share in _MIDDLE)
    middle = last - first or high - low
    finest = _rounded_up(max(middle / _FINE, (high - low) / _FINE_AT_MOST))
    chain = min(_chains((max(finest, Fraction(2)) if whole else finest,), low, high), key=lambda c: _cost(c, low, high))
    return [_plain(w) for w in chain if _n_bands(w, low, high) > 1]


def _quantile(counts: Sequence[int], share: float) -> int:
    """The place of the number below which this share of the records lies."""
    wanted, reached = share * sum(counts), 0
    for place, n in enumerate(counts):
        reached += n
        if reached >= wanted:
            return place
    return len(counts) - 1


def _rounded_up(x: Fraction) -> Fraction:
    """The next 1, 2 or 5 with zeros."""
    unit = Fraction(10) ** _decimal(x).adjusted()
    return next((m * unit for m in (1, 2, 5) if m * unit >= x), 10 * unit)


def _is_round(x: Fraction) -> bool:
    return _decimal(x).as_tuple().digits[0] in (1, 2, 5)


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def _n_bands(width: Fraction, low: Fraction, high: Fraction) -> int:
    return math.floor(high / width) - math.floor(low / width) + 1


def _chains(chain: tuple[Fraction, ...], low: Fraction, high: Fraction) -> Iterator[tuple[Fraction, ...]]:
    """Every way from a width to one with few bands, in round multiples."""
    if len(chain) == _MOST_LEVELS or _n_bands(chain[-1], low, high) < _FEW.stop:
        yield chain
        return
    for times in (2, 4, 5, 10):
        if _is_round(chain[-1] * times):
            yield from _chains((*chain, chain[-1] * times), low, high)


def _cost(chain: tuple[Fraction, ...], low: Fraction, high: Fraction) -> tuple[bool, Fraction, tuple[Fraction, ...]]:
    """A handful of bands at the end, then even steps."""
    steepest = max((b / a for a, b in pairwise(chain)), default=Fraction(1))
    return _n_bands(chain[-1], low, high) not in _FEW, steepest, chain


def _plain(width: Fraction) -> int | float:
    return int(width) if width.denominator == 1 else float(width)
