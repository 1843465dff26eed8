"""The promise that values carry noise, and its proof: squared deviations from the true values add up.

Standardised by the size of the noise, they are squares of standard normal draws; `least_change` says what
their sum is at least. On a file without noise it is nil.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.engine.guarantee import Guarantee
from flou.engine.note import Note
from flou.protect.micro.kept_input import Compared, KeptInput
from flou.protect.micro.least_change import changed_enough, least_noise

Floats = NDArray[np.float64]
_BLOCK = 1 << 15
_least_noise = lru_cache(maxsize=64)(least_noise)


def carries_noise(
    kept: KeptInput, column: str, scale: float | None, coarseness: float, *, weakened: bool, factors: bool = False
) -> Guarantee:
    """The promise for one column.

    `scale` is the standard deviation of the noise, None where each record has its own (kept beside it, NaN
    where it got none); `factors` says that it is that of the logarithm of a factor. Noise that was `weakened`
    by bounds or on small values must keep half of its size.
    """

    def total_and_least(compared: Compared) -> tuple[float, float]:
        before, after = _numbers(compared.before), _numbers(compared.after)
        if scale is not None and not factors and not compared.after.null_count():
            total, n = _sum_of_squares(before, after) / scale**2, len(after)
        else:
            size = np.full(len(after), scale) if compared.beside is None else compared.beside.to_numpy()
            with np.errstate(invalid="ignore", divide="ignore"):
                moved = np.log(after / before) if factors else after - before
                squares = (moved / size) ** 2
            # a factor that was rounded to zero moved its value as far as can be
            squares = np.where(factors & (after == 0) & ~np.isnan(size), 1.0, squares)
            squares = squares[np.isfinite(squares)]
            total, n = float(squares.sum()), len(squares)
        return total, _least_noise(n, coarseness) * (0.5 if weakened else 1.0)

    return changed_enough(
        kept,
        column,
        Note("the values of {column} carry noise of the size asked for", {"column": column}),
        total_and_least,
    )


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
