"""Kernels of links between two columns, weighted, on the records that have both values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.utility.micro.two_files import Codes, Floats

#: Records that are looked at at a time, so that no second copy of the file is made.
_BATCH = 1 << 16
#: A variance that is smaller than this beside the size of the values is the dust of rounding.
_DUST = 1e-12


def pearson(values: Floats, weights: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Correlations of the rows of `values` pair by pair, NaN where one is constant; and how many records have both."""
    p = len(values)
    with np.errstate(invalid="ignore"):
        centre = np.array([_mean(v, weights) for v in values])[:, None]
        spread = np.array([np.sqrt(_mean((v - c) ** 2, weights)) for v, c in zip(values, centre, strict=True)])
    size = np.maximum(np.abs(centre[:, 0]), 1e-300)
    constant = ~(spread > _DUST * size)
    scale = np.where(constant, 1.0, spread)[:, None]
    # sums over the records that have both: of weight, of w·x, of w·x², of w·x·y
    w_sum, x_sum, xx_sum, xy_sum, n = (np.zeros((p, p)) for _ in range(5))
    for start in range(0, values.shape[1], _BATCH):
        held = (values[:, start : start + _BATCH] - centre) / scale
        w = weights[start : start + _BATCH]
        known = ~np.isnan(held)
        z, m = np.where(known, held, 0.0), known.astype(np.float64)
        wz, wm = z * w, m * w
        w_sum += wm @ m.T
        x_sum += wz @ m.T
        xx_sum += (wz * z) @ m.T
        xy_sum += wz @ z.T
        n += m @ m.T
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = x_sum / w_sum  # [i, j]: the mean of i where j is known
        variance = xx_sum / w_sum - mean**2
        variance = np.where(variance > _DUST, variance, np.nan)
        found = (xy_sum / w_sum - mean * mean.T) / np.sqrt(variance * variance.T)
    found[constant, :] = np.nan
    found[:, constant] = np.nan
    return np.clip(found, -1.0, 1.0), n.astype(np.int64)


def _mean(values: Floats, weights: Floats) -> float:
    known = ~np.isnan(values)
    total = float(weights[known].sum())
    return float(weights[known] @ values[known]) / total if total > 0 else 0.0


def correlation_ratio(codes: Codes, n_codes: int, values: Floats, weights: Floats) -> tuple[float, int]:
    """η: the root of the share of a number's variance that lies between categories; NaN where either is constant."""
    known = ~np.isnan(values) & (codes < n_codes)
    c, x, w = codes[known], values[known], weights[known]
    total = float(w.sum())
    if not total > 0:
        return float("nan"), int(known.sum())
    size = float(np.abs(x).max())
    x = x - float(w @ x) / total
    whole = float(w @ x**2)
    in_group = np.bincount(c, weights=w, minlength=n_codes)
    held = in_group > 0
    if held.sum() < 2 or not whole / total > (_DUST * size) ** 2:
        return float("nan"), int(known.sum())
    sums = np.bincount(c, weights=w * x, minlength=n_codes)[held]
    between = float((sums**2 / in_group[held]).sum())
    return float(np.sqrt(min(between / whole, 1.0))), int(known.sum())


def cramers_v(first: Codes, n_first: int, second: Codes, n_second: int, weights: Floats) -> tuple[float, int]:
    """Cramér's V of two categories, NaN where either has one value only."""
    known = (first < n_first) & (second < n_second)
    joint = np.bincount(first[known] * n_second + second[known], weights=weights[known], minlength=n_first * n_second)
    table = joint.reshape(n_first, n_second)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    n = int(known.sum())
    if min(table.shape) < 2:
        return float("nan"), n
    table = table / table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    phi2 = float(((table - expected) ** 2 / expected).sum())
    return float(np.sqrt(min(phi2 / (min(table.shape) - 1), 1.0))), n
