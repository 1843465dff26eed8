"""The lines of the univariate comparison: one a column, a quantile, a group, a value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from flou.utility.micro.two_files import Categories, ColumnKind, Floats, Side
from flou.utility.micro.weighted import mean_and_sd, sums_by_group, weighted_quantiles

Line = dict[str, Any]
Both = tuple[Floats, Floats]
Sides = tuple[Side, Side]
#: The quantiles that are compared.
SHARES_OF_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
#: Relative differences that come from the order of summing.
_DUST = 1e-11
_F, _I, _S = pl.Float64, pl.Int64, pl.String

MEANS = {
    "column": _S, "type": _S, "records_original": _I, "records_released": _I, "mean_original": _F,
    "mean_released": _F, "deviation": _F, "units": _F, "sd_original": _F, "sd_released": _F, "sd_deviation": _F,
    "zeros_original": _F, "zeros_released": _F, "nulls_original": _F, "nulls_released": _F,
}  # fmt: skip
QUANTILES = {
    "column": _S, "type": _S, "quantile": _F, "records_original": _I, "records_released": _I, "original": _F,
    "released": _F, "deviation": _F, "units": _F,
}  # fmt: skip
GROUPS = {
    "by": _S, "group": _S, "column": _S, "type": _S, "records_original": _I, "records_released": _I,
    "mean_original": _F, "mean_released": _F, "deviation": _F, "units": _F,
}  # fmt: skip
SHARES = {
    "column": _S, "value": _S, "records_original": _I, "records_released": _I, "original": _F, "released": _F,
    "change": _F,
}  # fmt: skip


def table(lines: list[Line], schema: dict[str, Any]) -> pl.DataFrame:
    """Lines as a frame; what has no value is null."""
    return pl.DataFrame([{k: line[k] for k in schema} for line in lines], schema=schema, orient="row")


def mean_line(name: str, kind: ColumnKind, values: Both, sides: Sides) -> tuple[Line, tuple[float, float]]:
    """Moments of a column in both files, and its size in them: the mean of |x|, of days the standard deviation."""
    (mean, sd, size), (mean_r, sd_r, size_r) = (mean_and_sd(v, s.weights) for v, s in zip(values, sides, strict=True))
    sizes = (sd, sd_r) if kind == "date" else (size, size_r)
    line: Line = {
        "column": name,
        "type": kind,
        "mean_original": _value(mean),
        "mean_released": _value(mean_r),
        "units": _value(gap(mean, mean_r)),
        "deviation": relative(gap(mean, mean_r), *sizes),
        "sd_original": _value(sd),
        "sd_released": _value(sd_r),
        "sd_deviation": relative(gap(sd, sd_r, mean), sd, sd_r),
        "lost": not math.isnan(mean) and math.isnan(mean_r),
    }
    for which, v, side in zip(("original", "released"), values, sides, strict=True):
        total, missing = float(side.weights.sum()), np.isnan(v)
        line[f"records_{which}"] = int(len(v) - missing.sum())
        line[f"zeros_{which}"] = None if kind == "date" else float(side.weights[v == 0].sum()) / total
        line[f"nulls_{which}"] = float(side.weights[missing].sum()) / total
    return line, sizes


def quantile_lines(name: str, kind: ColumnKind, values: Both, sides: Sides, sizes: tuple[float, float]) -> list[Line]:
    """Quantiles of a column in both files; deviations are divided by the quantile, or by the mean size if larger."""
    shares = np.array(SHARES_OF_QUANTILES)
    first, second = (
        weighted_quantiles(v, s.weights, shares, weighted=s.weighted) for v, s in zip(values, sides, strict=True)
    )
    counts = [int((~np.isnan(v)).sum()) for v in values]
    return [
        {
            "column": name,
            "type": kind,
            "quantile": share,
            # as many records as lie beyond it stand behind a quantile of the tail
            "records_original": int(min(share, 1 - share) * counts[0]),
            "records_released": int(min(share, 1 - share) * counts[1]),
            "original": _value(a),
            "released": _value(b),
            "units": _value(gap(a, b)),
            "deviation": relative(gap(a, b), *(_beside(q, size, kind) for q, size in zip((a, b), sizes, strict=True))),
        }
        for share, a, b in zip(SHARES_OF_QUANTILES, first.tolist(), second.tolist(), strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Grouping:
    """The groups of one column in both files, with the records and the weight of each."""

    by: str
    held: Categories
    counts: tuple[Floats, Floats]
    weights: tuple[Floats, Floats]

    @classmethod
    def of(cls, by: str, held: Categories, sides: Sides) -> Grouping:
        codes = (held.original, held.released)
        counts = tuple(sums_by_group(c, held.n) for c in codes)
        weights = tuple(sums_by_group(c, held.n, s.weights) for c, s in zip(codes, sides, strict=True))
        return cls(by, held, (counts[0], counts[1]), (weights[0], weights[1]))


def group_lines(
    groups: Grouping, name: str, kind: ColumnKind, values: Both, sides: Sides, sizes: tuple[float, float]
) -> list[Line]:
    """The mean of a column in each group, in both files."""
    found = [_by_group(groups, i, v, side) for i, (v, side) in enumerate(zip(values, sides, strict=True))]
    out = []
    for i, group in enumerate(groups.held.levels):
        (a, size_a, n_a), (b, size_b, n_b) = ((float(m[i]), float(s[i]), int(n[i])) for m, s, n in found)
        if not n_a and not n_b:
            continue
        out.append(
            {
                "by": groups.by,
                "group": group,
                "column": name,
                "type": kind,
                "records_original": n_a,
                "records_released": n_b,
                "mean_original": _value(a),
                "mean_released": _value(b),
                "units": _value(gap(a, b)),
                # the groups of a day have no size of their own: the whole column's serves
                "deviation": relative(gap(a, b), *(sizes if kind == "date" else (size_a, size_b))),
            }
        )
    return out


def _by_group(groups: Grouping, which: int, values: Floats, side: Side) -> tuple[Floats, Floats, Floats]:
    """Mean, mean size and number of known values in each group of one file."""
    held = groups.held
    codes, known = (held.original, held.released)[which], ~np.isnan(values)
    x, w, total, counts = values, side.weights, groups.weights[which], groups.counts[which]
    if not known.all():
        x, w, codes = values[known], side.weights[known], codes[known]
        total, counts = sums_by_group(codes, held.n, w), sums_by_group(codes, held.n)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums_by_group(codes, held.n, w * x) / total
        negative = len(x) > 0 and float(x.min()) < 0
        return means, sums_by_group(codes, held.n, w * np.abs(x)) / total if negative else means, counts


def share_lines(name: str, held: Categories, sides: Sides) -> list[Line]:
    """The share of each value in both files, null included."""
    shares, counts = [], []
    for codes, side in zip((held.original, held.released), sides, strict=True):
        shares.append(sums_by_group(codes, held.n, side.weights) / side.weights.sum())
        counts.append(sums_by_group(codes, held.n))
    return [
        {
            "column": name,
            "value": value,
            "records_original": int(counts[0][i]),
            "records_released": int(counts[1][i]),
            "original": float(shares[0][i]),
            "released": float(shares[1][i]),
            "change": gap(float(shares[0][i]), float(shares[1][i])),
        }
        for i, value in enumerate(held.levels)
    ]


def moved_share(lines: list[Line]) -> float:
    """The share of records that would have to move for the shares to be equal: half the sum of the changes."""
    return float(sum(abs(line["change"]) for line in lines)) / 2


def gap(a: float, b: float, beside: float = 0.0) -> float:
    """How far b lies from a; sums in another order differ in their last digits, which is nothing."""
    return 0.0 if abs(b - a) <= _DUST * max(abs(a), abs(b), abs(beside)) else b - a


def _beside(quantile: float, size: float, kind: ColumnKind) -> float:
    return size if kind == "date" else max(abs(quantile), size)


def relative(difference: float, size: float, other: float) -> float | None:
    """A difference as a share of the original's size, or of the release's where the original has none."""
    if math.isnan(difference):
        return None
    if difference == 0:
        return 0.0
    scale = size if size > 0 else other
    return difference / scale if scale > 0 else 0.0


def _value(x: float) -> float | None:
    return None if math.isnan(x) else float(x)
