"""Centre and covariance of the bulk of the records, whatever the outliers: a deterministic MCD.

The minimum covariance determinant (Rousseeuw 1985) is the mean and covariance of the half of the records whose
covariance has the smallest determinant. It is approached as by Hubert, Rousseeuw & Verdonck (2012): a few
robust starts, each improved by taking the half nearest to the last centre again until nothing changes. Nothing
is drawn at random, so the same file always has the same distances. The result is made consistent for normal
data and reweighted once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import chi2, rankdata

from flou.engine.errors import DataError

Floats = NDArray[np.float64]

_MAX_STEPS = 100
#: Records on which the starts are improved; the best goes on with all.
_SUBSET = 20_000
_FLAT = (
    "Half of the records or more lie on a line or plane, so that distances have no scale. Leave out columns that are "
    "computed from the others, or that most records have the same value in."
)
#: Records nearer than this share of normal data would be are kept in the last step.
_BULK = 0.975


def minimum_covariance(x: Floats) -> tuple[Floats, Floats]:
    """Centre and covariance of the bulk of the rows of `x`, which has no missing values."""
    n, p = x.shape
    if n < 2 * p + 2:
        raise DataError(f"{n:,} complete records are too few for a robust covariance of {p} columns.")
    middle = np.median(x, axis=0)
    scale = _scales(x - middle)
    z = (x - middle) / scale
    part = z if n <= _SUBSET else z[np.lexsort(z.T)[:: -(-n // _SUBSET)]]
    tries = [_concentrate(part, centre, cov) for centre, cov in _starts(part)]
    _, centre, cov = min(tries, key=lambda found: found[0])
    if len(part) < n:
        _, centre, cov = _concentrate(z, centre, cov)
    cov = cov * _consistency(_half(n, p) / n, p)
    near = squared_distances(z, centre, cov) <= chi2.ppf(_BULK, p)
    centre, cov = z[near].mean(axis=0), np.cov(z[near], rowvar=False).reshape(p, p) * _consistency(_BULK, p)
    if np.linalg.matrix_rank(cov, hermitian=True) < p:
        raise DataError(_FLAT)
    return centre * scale + middle, cov * np.outer(scale, scale)


def squared_distances(x: Floats, centre: Floats, cov: Floats) -> Floats:
    """Squared Mahalanobis distances of the rows."""
    away = x - centre
    try:
        return np.asarray(np.einsum("ij,ij->i", away, np.linalg.solve(cov, away.T).T))
    except np.linalg.LinAlgError:
        raise DataError(_FLAT) from None


def _half(n: int, p: int) -> int:
    return (n + p + 1) // 2


def _consistency(share: float, p: int) -> float:
    """What the covariance of the nearest share of normal data must be multiplied by."""
    return float(share / chi2.cdf(chi2.ppf(share, p), p + 2))


def _scales(x: Floats) -> Floats:
    """Spread of each column by the median of absolute values; where most are equal, by what there is."""
    spread = 1.482602218505602 * np.median(np.abs(x), axis=0)
    spread = np.where(spread > 0, spread, x.std(axis=0))
    return np.asarray(np.where(spread > 0, spread, 1.0))


def _starts(z: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Scatter matrices that outliers cannot pull far, each turned into a centre and a covariance."""
    n = len(z)
    ranks = rankdata(z, axis=0)
    length = np.sqrt((z**2).sum(axis=1, keepdims=True))
    signs = z / np.where(length > 0, length, 1.0)
    inner = z[np.argsort(length[:, 0], kind="stable")[: -(-n // 2)]]
    for held in (np.tanh(z), ranks, ndtri((ranks - 1 / 3) / (n + 1 / 3)), signs, inner):
        scatter = np.cov(held, rowvar=False).reshape(z.shape[1], z.shape[1])
        _, axes = np.linalg.eigh(scatter)
        turned = z @ axes
        spread = _scales(turned - np.median(turned, axis=0))
        cov = (axes * spread**2) @ axes.T
        root = (axes * spread) @ axes.T
        centre = root @ np.median(z @ ((axes / spread) @ axes.T), axis=0)
        yield centre, cov


def _concentrate(z: Floats, centre: Floats, cov: Floats) -> tuple[float, Floats, Floats]:
    """Take the half nearest to the last centre again and again: the determinant never grows."""
    n, p = z.shape
    h, last = _half(n, p), np.inf
    for _ in range(_MAX_STEPS):
        near = np.argpartition(squared_distances(z, centre, cov), h - 1)[:h]
        centre, cov = z[near].mean(axis=0), np.cov(z[near], rowvar=False).reshape(p, p)
        sign, log = np.linalg.slogdet(cov)
        if sign <= 0:
            raise DataError(_FLAT)
        if not log < last - 1e-12:
            break
        last = log
    return float(last), centre, cov
