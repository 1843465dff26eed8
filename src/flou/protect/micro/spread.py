"""Standard deviations and covariances of columns, by stratum, to ten digits.

They set the size of noise. Sums are taken in the order of unit ids and rounded to ten digits, so that the
same file gives the same noise whatever engine read it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_BLOCK = 1 << 15


def ten_digits(value: float) -> float:
    """A number to ten digits."""
    return float(f"{value:.10g}")


def deviations(values: Floats, known: NDArray[np.bool_], strata: Integers, n_strata: int) -> Floats:
    """The standard deviation (n - 1) of the known values of each stratum; NaN where there are fewer than two."""
    if n_strata == 1:
        held = values if known.all() else values[known]
        if len(held) < 2:
            return np.array([math.nan])
        spread = math.sqrt(_sum_of_squares(held, float(held.mean())) / (len(held) - 1))
        return np.array([ten_digits(spread)])
    held, where = values[known], strata[known]
    n = np.bincount(where, minlength=n_strata)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(where, held, minlength=n_strata) / n
        squares = np.bincount(where, (held - means[where]) ** 2, minlength=n_strata)
        spread_of = np.sqrt(squares / np.where(n > 1, n - 1, np.nan))
    return np.array([ten_digits(s) for s in spread_of])


def _sum_of_squares(values: Floats, centre: float) -> float:
    """Σ (x - c)², some at a time: no second array of that size."""
    total = 0.0
    for start in range(0, len(values), _BLOCK):
        part = values[start : start + _BLOCK] - centre
        part *= part
        total += float(part.sum())
    return total


def correlations(columns: list[Floats], strata: Integers, n_strata: int) -> tuple[Floats, Integers]:
    """The correlation matrix of each stratum on the records that have every value, and how many these are."""
    k = len(columns)
    complete = ~np.isnan(np.sum(columns, axis=0))
    where = strata[complete]
    n = np.bincount(where, minlength=n_strata)
    centred = []
    for values in columns:
        held = values[complete]
        means = np.bincount(where, held, minlength=n_strata) / np.maximum(n, 1)
        centred.append(held - means[where])
    sums = np.empty((n_strata, k, k))
    for i in range(k):
        for j in range(i + 1):
            sums[:, i, j] = sums[:, j, i] = np.bincount(where, centred[i] * centred[j], minlength=n_strata)
    scale = np.sqrt(np.einsum("sii->si", sums))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = sums / (scale[:, :, None] * scale[:, None, :])
    found = np.vectorize(ten_digits, otypes=[float])(found) if found.size else found
    found[:, range(k), range(k)] = 1.0
    return found, n


def root(matrix: Floats) -> Floats:
    """The lower triangular L with L Lᵀ = the matrix (Cholesky), zero where columns depend on those before.

    Where columns add up to another one, the noise does so too.
    """
    k = len(matrix)
    low = np.zeros((k, k))
    for j in range(k):
        left = matrix[j, j] - float(low[j, :j] @ low[j, :j])
        if left <= 1e-9 * matrix[j, j]:
            continue
        low[j, j] = math.sqrt(left)
        for i in range(j + 1, k):
            low[i, j] = (matrix[i, j] - float(low[i, :j] @ low[j, :j])) / low[j, j]
    return low
