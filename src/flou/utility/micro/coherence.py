"""Observed against released distribution of one column, over all and by group.

The check that Djiriguian, Missègue & Ricroch (2022) make of every blurred amount: the two curves on one picture, group
by group. The distance between them is Hellinger's (1909): 0 where the shares of every bin are equal, 1 where no bin is
shared. Bins have round bounds that come from the original; what lies beyond its first and last percent is in two open
bins, so that no extreme value shows.

It depends on the bins: shapes inside one bin are not seen, and narrow bins of few records differ by chance. Two equal
curves do not mean that the same people are where they were: see `Correlations` and `Regression`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.comparison import ComparisonResult, Detail, Shown
from flou.engine.errors import DataError, ParameterError
from flou.engine.figure import Figure
from flou.engine.note import Note
from flou.engine.owners import Owners
from flou.engine.parameters import Columns
from flou.engine.utility import Utility
from flou.engine.values import Proportion
from flou.utility.micro.bins import bin_bounds
from flou.utility.micro.class_bounds import class_names, groups
from flou.utility.micro.coherence_chart import coherence_chart
from flou.utility.micro.two_files import (
    Codes,
    Floats,
    Side,
    TwoFiles,
    column_kinds,
    read_files,
    require_comparable,
    weight_notes,
)

#: Groups smaller than this in either file have no distance that means something.
MIN_GROUP = 30
_BINS = {
    "by": pl.String, "group": pl.String, "bin": pl.String, "low": pl.Float64, "high": pl.Float64,
    "records_original": pl.Int64, "records_released": pl.Int64, "original": pl.Float64, "released": pl.Float64,
    "change": pl.Float64,
}  # fmt: skip
_GROUPS = {
    "by": pl.String, "group": pl.String, "records_original": pl.Int64, "records_released": pl.Int64,
    "distance": pl.Float64,
}  # fmt: skip


class Coherence(Utility):
    """Observed against released distribution of a number or date, drawn by group.

    Reference: Djiriguian, Missègue & Ricroch (2022); the distance is Hellinger's (1909).
    Result: `.value` the Hellinger distance over all records, `.groups` one line a group, `.bins` the shares that are
    drawn.
    """

    reference: ClassVar[str] = "hellinger1909"
    title: ClassVar[str] = "observed and released distribution"
    audience = "public"
    headline: ClassVar[Figure] = Figure(
        "value", "Hellinger distance of the two distributions", "number", "either", "public"
    )
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure(
            "worst_group", "largest distance of a group (groups of 30 records or more)", "number", "either", "public"
        ),
        Figure.public("n_groups", "groups compared", "number"),
        Figure("nulls_original", "records without a value in the original", "share"),
        Figure.public("nulls_released", "records without a value in the release", "share"),
    )
    allows_several_rows: ClassVar[bool] = True

    column: str = Field(description="the number or date whose distribution is compared")
    by: Columns | None = Field(None, description="columns whose groups are compared, one grouping each")
    bins: int = Field(30, ge=2, le=1000, description="about so many bins between the first and the last percent")
    classes: int = Field(5, ge=2, le=100, description="quantile classes of a numeric column in by that has many values")
    panels: int = Field(6, ge=1, le=24, description="groups that are drawn, the largest first")

    def _compare(self, original: Microdata, released: Microdata, owners: Owners) -> ComparisonResult:
        kinds = column_kinds(original, released)
        require_comparable(original, released, (self.column,), "column", kinds, ("number", "date"))
        require_comparable(original, released, self.by or (), "by", kinds)
        if self.column in (self.by or ()):
            raise ParameterError(f"by names {self.column!r}, which is the column that is compared.")
        files = read_files(original, released, (self.column, *(self.by or ())), kinds)
        values = files.numbers(self.column)
        for v, what in zip(values, ("original", "release"), strict=True):
            if np.isnan(v).all():
                raise DataError(f"The column {self.column!r} has no value in the {what}: there is nothing to compare.")
        kind = files.kinds[self.column]
        bounds = bin_bounds(values[0], files.original, kind, self.bins)
        names = class_names(bounds, kind)
        binned = [np.searchsorted(np.asarray(bounds), v, side="right") for v in values]
        lines, bins = self._lines(files, values, binned, bounds, names)
        overall, large = lines[0], [g for g in lines[1:] if _enough(g)]
        nulls = [
            float(s.weights[np.isnan(v)].sum() / s.weights.sum()) for v, s in zip(values, files.sides, strict=True)
        ]
        figures: dict[str, Any] = {"nulls_original": Proportion(nulls[0]), "nulls_released": Proportion(nulls[1])}
        notes = list(weight_notes(original, released))
        if self.by:
            worst = max(large, key=lambda g: g["distance"]) if large else None
            figures = {"worst_group": None if worst is None else worst["distance"], "n_groups": len(large), **figures}
            if worst is not None and worst["distance"] > 0:
                notes.append(_worst_note(worst))
        return self._result(
            original,
            owners,
            value=overall["distance"],
            figures=figures,
            notes=tuple(notes),
            details={
                "groups": Detail(
                    "Distances by group",
                    pl.DataFrame(lines, schema=_GROUPS, orient="row"),
                    _SHOWN_GROUPS,
                    "distance",
                    counts=("records_original", "records_released"),
                ),
                "bins": Detail(
                    "Shares of bins",
                    pl.DataFrame(bins, schema=_BINS, orient="row"),
                    _SHOWN_BINS,
                    "change",
                    counts=("records_original", "records_released"),
                    brief=("by", "group", "bin", "original", "released", "change"),
                ),
            },
            chart=coherence_chart,
            drawn={"panels": self.panels, "column": self.column, "kind": kind, "bounds": bounds},
        )

    def _lines(
        self,
        files: TwoFiles,
        values: tuple[Floats, Floats],
        binned: list[Codes],
        bounds: list[float],
        names: tuple[str, ...],
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The distance of all records and of each group, and the shares of bins."""
        everybody = [np.zeros(side.n, dtype=np.int64) for side in files.sides]
        groupings: list[tuple[str | None, tuple[str | None, ...], list[Codes]]] = [(None, (None,), everybody)]
        for by in self.by or ():
            if files.kinds[by] == "category" and not files.in_common(by):
                raise DataError(f"by names {by!r}, which was recoded: the two files have no value of it in common.")
            held = groups(files, by, self.classes)
            groupings.append((by, held.levels, [held.original, held.released]))
        n_bins = len(names)
        ends = [(None, *bounds), (*bounds, None)]
        lines, bins = [], []
        for by_name, levels, codes in groupings:
            shares, counts = [], []
            for side, v, b, c in zip(files.sides, values, binned, codes, strict=True):
                found = count_bins(side, v, b, c, n_bins, len(levels))
                counts.append(found[0])
                shares.append(found[1])
            for g, group in enumerate(levels):
                n = [int(x[g].sum()) for x in counts]
                if not n[0] and not n[1]:
                    continue
                where = {"by": by_name, "group": group}
                sizes = {"records_original": n[0], "records_released": n[1]}
                lines.append({**where, **sizes, "distance": hellinger(shares[0][g], shares[1][g])})
                for i, name in enumerate(names):
                    p, q = float(shares[0][g, i]), float(shares[1][g, i])
                    bins.append(
                        {**where, "bin": name, "low": ends[0][i], "high": ends[1][i],
                         "records_original": int(counts[0][g, i]), "records_released": int(counts[1][g, i]),
                         "original": p, "released": q, "change": q - p if abs(q - p) > 1e-12 else 0.0}
                    )  # fmt: skip
        return lines, bins


def count_bins(
    side: Side, values: Floats, binned: Codes, codes: Codes, n_bins: int, n_groups: int
) -> tuple[Floats, Floats]:
    """Records, and shares of the weight of its group, in each bin of each group."""
    known = ~np.isnan(values)
    place = codes[known] * n_bins + binned[known]
    shape, n = (n_groups, n_bins), n_groups * n_bins
    counts = np.bincount(place, minlength=n).astype(np.float64).reshape(shape)
    weights = np.bincount(place, weights=side.weights[known], minlength=n).reshape(shape)
    total = weights.sum(axis=1, keepdims=True)
    return counts, np.divide(weights, total, out=np.zeros(shape), where=total > 0)


def hellinger(p: Floats, q: Floats) -> float:
    """The distance of two distributions; 1 where one of them has no records."""
    if not p.sum() or not q.sum():
        return 1.0
    found = float(np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2))
    return 0.0 if found < 1e-9 else min(found, 1.0)


def _enough(line: dict[str, Any]) -> bool:
    return bool(line["records_original"] >= MIN_GROUP and line["records_released"] >= MIN_GROUP)


def _worst_note(line: dict[str, Any]) -> Note:
    if line["group"] is None:
        return Note("the distance is largest where {column} is undetermined", {"column": line["by"]})
    values = {"column": line["by"], "value": line["group"]}
    return Note("the distance is largest in the group {column}: {value}", values, internal=True)


_N = (Shown("records_original", "records, original", "count", "original"),
      Shown("records_released", "records, release", "count", "release"))  # fmt: skip
_SHOWN_GROUPS = (
    Shown("by", "by", "column"),
    Shown("group", "group", "value"),
    *_N,
    Shown("distance", "Hellinger distance", "number", "distance"),
)
_SHOWN_BINS = (
    Shown("by", "by", "column"),
    Shown("group", "group", "value"),
    Shown("bin", "bin", "name"),
    *_N,
    Shown("original", "share, original", "share", "original"),
    Shown("released", "share, release", "share", "release"),
    Shown("change", "change", "signed"),
)
