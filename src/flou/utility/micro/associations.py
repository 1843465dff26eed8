"""Kernels of links between two columns, weighted, on the records that have both values."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False)
class Number:
    """A number of one file, made ready for being linked to many categories: centred, times its weights."""

    known: NDArray[np.bool_]
    complete: bool
    weights: Floats
    wx: Floats
    wxx: Floats
    #: The size of the values, beside which a variance may be nothing.
    size: float

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> Number:
        known = ~np.isnan(values)
        size = float(np.abs(values, where=known, out=np.zeros(len(values))).max(initial=0.0))
        x = np.where(known, values - _mean(values, weights), 0.0)
        wx = weights * x
        complete = bool(known.all())
        return cls(known, complete, weights if complete else np.where(known, weights, 0.0), wx, wx * x, size)


@dataclass(frozen=True, eq=False)
class Category:
    """A category of one file: codes, the last of which is null where it is `n`; and the weight of each."""

    codes: Codes
    n: int
    weights: Floats
    known: NDArray[np.bool_]
    complete: bool

    @classmethod
    def of(cls, codes: Codes, n: int, weights: Floats) -> Category:
        known = codes < n
        held = np.bincount(codes, weights=weights, minlength=n)[:n].astype(np.float64)
        return cls(codes, n, held, known, bool(known.all()))

    def sums(self, values: Floats) -> Floats:
        """The sum of values in each category, null left out."""
        return np.asarray(np.bincount(self.codes, weights=values, minlength=self.n)[: self.n])


def correlation_ratio(category: Category, number: Number) -> tuple[float, int]:
    """η: the root of the share of a number's variance that lies between categories; NaN where either is constant."""
    n = int(np.count_nonzero(category.known & number.known))
    in_group = category.weights if number.complete else category.sums(number.weights)
    total = float(in_group.sum())
    held = in_group > 0
    if held.sum() < 2:
        return float("nan"), n
    sums = category.sums(number.wx)
    squares = float(number.wxx.sum()) if category.complete else float(category.sums(number.wxx).sum())
    of_mean = float(sums.sum()) ** 2 / total
    whole = squares - of_mean
    if not whole / total > (_DUST * number.size) ** 2:
        return float("nan"), n
    between = float((sums[held] ** 2 / in_group[held]).sum()) - of_mean
    return float(np.sqrt(min(max(between, 0.0) / whole, 1.0))), n


def cramers_v(first: Category, second: Category, weights: Floats) -> tuple[float, int]:
    """Cramér's V of two categories, NaN where either has one value only."""
    # null has a row and a column of its own, which are cut off
    shape = (first.n + 1, second.n + 1)
    joint = np.bincount(first.codes * shape[1] + second.codes, weights=weights, minlength=shape[0] * shape[1])
    table = joint.reshape(shape)[:-1, :-1]
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    n = int(np.count_nonzero(first.known & second.known))
    if min(table.shape) < 2:
        return float("nan"), n
    table = table / table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    phi2 = float(((table - expected) ** 2 / expected).sum())
    return float(np.sqrt(min(phi2 / (min(table.shape) - 1), 1.0))), n
