"""Weighted least squares with heteroscedasticity-robust standard errors, in batches of records.

The variance is White's (1980) with MacKinnon & White's (1985) small-sample factor n/(n−p), HC1:
(X'WX)⁻¹ X'W² diag(e²) X (X'WX)⁻¹ · n/(n−p). Only sums over records are held, never the design matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flou.utility.micro.two_files import Floats

#: Records whose part of the design is made at a time.
_BATCH = 1 << 15
#: A column of which less than this share is left once the others are taken out depends on them.
_TOLERANCE = 1e-9
#: Intervals that are narrower than this beside their coefficient are points.
_DUST = 1e-9

#: The rows of the design between two places.
Rows = Callable[[int, int], Floats]


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, their covariance, and how many records they rest on."""

    coefficients: Floats
    covariance: Floats
    n: int


class CollinearDesignError(Exception):
    """A column of the design is a combination of others: their places, the dependent one last."""

    def __init__(self, places: list[int]) -> None:
        super().__init__(places)
        self.places = places


def fit_least_squares(rows: Rows, p: int, outcome: Floats, weights: Floats) -> Fit:
    """Weighted least squares of the outcome on a design whose first column is constant."""
    n = len(outcome)
    gram, moments = np.zeros((p, p)), np.zeros(p)
    for start in range(0, n, _BATCH):
        x = rows(start, start + _BATCH)
        weighted = x * weights[start : start + _BATCH, None]
        gram += weighted.T @ x
        moments += weighted.T @ outcome[start : start + _BATCH]
    size = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    require_independent(gram / np.outer(size, size))
    inverse = np.linalg.inv(gram / np.outer(size, size)) / np.outer(size, size)
    coefficients = inverse @ moments
    meat = np.zeros((p, p))
    for start in range(0, n, _BATCH):
        x = rows(start, start + _BATCH)
        residual = outcome[start : start + _BATCH] - x @ coefficients
        scored = x * (weights[start : start + _BATCH] * residual)[:, None]
        meat += scored.T @ scored
    return Fit(coefficients, inverse @ meat @ inverse * (n / (n - p)), n)


def require_independent(gram: Floats) -> None:
    """Cholesky's decomposition of a Gram matrix with a unit diagonal, column by column; a vanishing pivot raises."""
    lower = np.zeros_like(gram)
    for j in range(len(gram)):
        lower[j, :j] = gram[j, :j]
        for k in range(j):
            lower[j, k] = (lower[j, k] - lower[j, :k] @ lower[k, :k]) / lower[k, k]
        pivot = gram[j, j] - lower[j, :j] @ lower[j, :j]
        if not pivot > _TOLERANCE:
            shares = np.linalg.lstsq(gram[:j, :j], gram[:j, j], rcond=None)[0] if j else np.empty(0)
            raise CollinearDesignError([*(k for k in range(j) if abs(shares[k]) > 1e-6), j])
        lower[j, j] = np.sqrt(pivot)


def overlap_of_intervals(first: tuple[float, float], second: tuple[float, float]) -> float:
    """The mean of the shares of two intervals that lie in both (Karr et al. 2006); 0 where none does."""
    size = max(abs(x) for x in (*first, *second))
    lengths = [high - low for low, high in (first, second)]
    common = min(first[1], second[1]) - max(first[0], second[0])
    points = [length <= _DUST * size for length in lengths]
    if common < -_DUST * size or (common < 0 and not any(points)):
        return 0.0
    # a point lies in an interval or it does not; sums in another order move it by their last digits
    found = sum(
        1.0 if point else min(max(common, 0.0) / length, 1.0) for point, length in zip(points, lengths, strict=True)
    )
    return 1.0 if found / 2 > 1 - _DUST else found / 2
