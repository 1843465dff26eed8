"""The promise that values carry noise, and its proof: squared deviations from the true values add up.

Standardised by the size of the noise, they are squares of standard normal draws; `least_change` says what
their sum is at least. On a file without noise it is nil.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.protect.micro.kept_input import Compared
from flou.protect.micro.least_change import ChangedEnough, least_noise

Floats = NDArray[np.float64]
_BLOCK = 1 << 15
_least_noise = lru_cache(maxsize=64)(least_noise)


@dataclass(frozen=True, eq=False)
class CarriesNoise(ChangedEnough):
    """The values of one column carry noise."""

    #: Its standard deviation; None where each record has its own, kept beside it, NaN where it got none.
    scale: float | None = field(repr=False)
    #: The unit that noise was rounded to, in standard deviations.
    coarseness: float = field(repr=False)
    #: Whether bounds or small values weaken noise: half of its size must be there.
    weakened: bool
    #: Whether the scale is that of the logarithm of a factor.
    factors: bool = False

    text = "the values of {column} carry noise of the size asked for"

    def total_and_least(self, compared: Compared) -> tuple[float, float]:
        before, after = _numbers(compared.before), _numbers(compared.after)
        if self.scale is not None and not self.factors and not compared.after.null_count():
            total, n = _sum_of_squares(before, after) / self.scale**2, len(after)
        else:
            size = np.full(len(after), self.scale) if compared.beside is None else compared.beside.to_numpy()
            with np.errstate(invalid="ignore", divide="ignore"):
                moved = np.log(after / before) if self.factors else after - before
                squares = (moved / size) ** 2
            # a factor that was rounded to zero moved its value as far as can be
            squares = np.where(self.factors & (after == 0) & ~np.isnan(size), 1.0, squares)
            squares = squares[np.isfinite(squares)]
            total, n = float(squares.sum()), len(squares)
        return total, _least_noise(n, self.coarseness) * (0.5 if self.weakened else 1.0)


def _numbers(held: pl.Series) -> Floats:
    if held.dtype == pl.Date:
        held = held.cast(pl.Int32)
    return held.cast(pl.Float64).to_numpy()


def _sum_of_squares(before: Floats, after: Floats) -> float:
    total = 0.0
    for start in range(0, len(after), _BLOCK):
        moved = after[start : start + _BLOCK] - before[start : start + _BLOCK]
        moved *= moved
        total += float(moved.sum())
    return total
