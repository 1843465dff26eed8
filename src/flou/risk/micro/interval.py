"""Interval risk: released amounts that are still near the original ones (Mateo-Sanz, Sebé & Domingo-Ferrer 2004).

Around each original value lies an interval of so many standard deviations. A record whose released values all lie in
theirs was not changed enough: whoever knows the amounts finds it. With `robust`, the interval is as many times the
record's robust Mahalanobis distance (Templ & Meindl 2008): outliers, which are recognised from afar, have wide
ones and must move farther to be safe.

A value that is undetermined in either file says nothing for or against a match. It fails for amounts that are
matched by rank or in combination: a small distance in each column is a sufficient sign of danger, not a necessary
one.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError
from flou.engine.figure import Figure
from flou.engine.measure import RiskMeasure
from flou.engine.parameters import Columns
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, count_of
from flou.engine.taxonomy import always
from flou.risk.micro.continuous import Floats, continuous_columns, paired, spreads, spreads_or
from flou.risk.micro.histogram import around, class_chart
from flou.risk.micro.robust import minimum_covariance, squared_distances


class IntervalRisk(RiskMeasure):
    """Share of records whose released amounts still lie in an interval around the original ones.

    Reference: Mateo-Sanz, Sebé & Domingo-Ferrer (2004); robust intervals after Templ & Meindl (2008).
    Result: `.value` the share of records at risk, `.units` how far each record moved: the largest distance over
    the columns (with `match = "any"` the smallest), in widths of its interval; 1 or less is at risk.
    """

    reference: ClassVar[str] = "mateosanz2004"
    title: ClassVar[str] = "interval risk"
    audience = "public"
    answers_by = always(amounts="measures")
    requires = ("original",)
    headline: ClassVar[Figure] = Figure.public("value", "share of records still in their interval", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure.public("n_at_risk", "records still in their interval", "count", count_of("n_records")),
        Figure.public("n_columns", "columns", "count"),
        Figure.public("n_records", "records", "count"),
    )
    compares_with: ClassVar[Literal["original", "population"] | None] = "original"

    width: float = Field(0.05, gt=0, description="half the interval, in standard deviations (or robust distances)")
    robust: bool = Field(False, description="widen the intervals of outliers by their robust Mahalanobis distance")
    sd: Literal["original", "masked"] = Field("original", description="which file's standard deviation")
    match: Literal["all", "any"] = Field("all", description="whether all columns must be near, or any")
    columns: Columns | None = Field(None, description="columns; default: numbers that are no keys")
    pair: Literal["id", "row"] = Field("id", description="what pairs the records of two files without an id")

    @property
    def needs_against(self) -> bool:
        return True

    def _measure(self, data: Microdata, against: Microdata, counts: Any) -> RiskResult:
        columns = continuous_columns(data, self.columns)
        held, original = paired(data, against, columns, self.pair)
        scale = spreads(original, columns)
        if self.robust:
            distances = robust_distances(original / scale)[:, None]
        # a column that was made constant has no spread of its own
        widths = self.width * (scale if self.sd == "original" else spreads_or(held.values, scale))
        moved = np.abs(held.values - original) / (widths * distances if self.robust else widths)
        figures = farthest(moved, self.match)
        at_risk = figures <= 1.0
        n, n_at_risk = held.units.n_records, int(at_risk.sum())
        return self._result(
            held.data,
            value=n_at_risk / n,
            no_interval="the two files are compared as they are: nothing is estimated",
            figures={"n_at_risk": n_at_risk, "n_columns": len(columns), "n_records": n},
            needs_reveal=True,
            keys=held.units,
            key_values=figures,
            unit_label="distance",
            at_risk=at_risk,
            chart=class_chart(
                around(float(np.nextafter(1.0, 2.0)), 0.0, 0.5, 2.0, 5.0, 10.0, 50.0),
                titles=("distance from the original, in widths of the interval", "share of records"),
                flag_names=("in the interval", "outside it"),
            ),
        )


def farthest(moved: Floats, match: str) -> Floats:
    """The distance that decides for each record; what is undetermined does not, a record without any value is far."""
    unknown = np.isnan(moved)
    if match == "all":
        out = np.where(unknown, -np.inf, moved).max(axis=1)
        return np.asarray(np.where(unknown.all(axis=1), np.inf, out))
    return np.asarray(np.where(unknown, np.inf, moved).min(axis=1))


def robust_distances(x: Floats) -> Floats:
    """The robust Mahalanobis distance of each record; of one with a missing value that of the middle of the others."""
    complete = ~np.isnan(x).any(axis=1)
    if complete.sum() < 2:
        raise DataError("No record has a value in every column: there is no robust distance.")
    centre, cov = minimum_covariance(x[complete])
    out = np.empty(len(x))
    out[complete] = np.sqrt(squared_distances(x[complete], centre, cov))
    out[~complete] = np.median(out[complete])
    return np.maximum(out, np.finfo(float).tiny)
