"""Weighted moments and quantiles of arrays with gaps.

Standard deviations divide by the sum of the weights. A quantile is the smallest value that at least that share
of the weight does not exceed (the inverse of the distribution function: type 1 of Hyndman & Fan 1996).
"""

from __future__ import annotations

import numpy as np

from flou.utility.micro.two_files import Codes, Floats

#: Equal slices of the range in which a quantile is looked for before anything is sorted.
_SLICES = 1 << 14


def weighted_quantiles(values: Floats, weights: Floats, shares: Floats, *, weighted: bool) -> Floats:
    """Quantiles of the values that there are; NaN where there is none.

    The weight is added up by slices of the range; only the slices that hold a quantile are sorted.
    """
    known = ~np.isnan(values) & (weights > 0)
    if not known.any():
        return np.full(len(shares), np.nan)
    x, w = (values, weights) if known.all() else (values[known], weights[known])
    low, high = float(x.min()), float(x.max())
    step = (high - low) / _SLICES
    if not step > 0:
        return np.full(len(shares), low)
    # rising with x, so that the slices are in order
    slices = np.minimum((x - low) * (1 / step), _SLICES - 1).astype(np.int64)
    reached = np.cumsum(np.bincount(slices, weights=w if weighted else None, minlength=_SLICES))
    wanted = shares * reached[-1] * (1 - 1e-12)
    held = np.searchsorted(reached, wanted)
    out = np.empty(len(shares))
    for one in np.unique(held):
        inside = np.flatnonzero(slices == one)
        order = inside[np.argsort(x[inside], kind="stable")]
        below = reached[one - 1] if one else 0.0
        steps = below + np.cumsum(w[order] if weighted else np.ones(len(order)))
        mine = held == one
        places = np.searchsorted(steps, wanted[mine])
        out[mine] = x[order[np.minimum(places, len(order) - 1)]]
    return out


def mean_and_sd(values: Floats, weights: Floats) -> tuple[float, float, float]:
    """Mean, standard deviation and mean size |x| of the values that there are."""
    known = ~np.isnan(values)
    x, w = (values, weights) if known.all() else (values[known], weights[known])
    total = float(w.sum())
    if not total > 0:
        return float("nan"), float("nan"), float("nan")
    mean = float(np.dot(w, x)) / total
    away = x - mean
    away *= away
    size = mean if float(x.min()) >= 0 else float(np.dot(w, np.abs(x))) / total
    return mean, float(np.sqrt(max(float(np.dot(w, away)) / total, 0.0))), size


def sums_by_group(codes: Codes, n_groups: int, values: Floats | None = None) -> Floats:
    """The sum of values in each group, or the number of records."""
    return np.bincount(codes, weights=values, minlength=n_groups).astype(np.float64)
