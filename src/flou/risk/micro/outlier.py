"""Outlier risk: records whose amounts stand out, and are recognised whatever noise was added (Templ & Meindl 2008).

The largest firm stays the largest. A record is at risk when one of its values lies beyond a quantile of its column, or,
with `robust`, when its robust Mahalanobis distance lies beyond that quantile of normal data, which also finds
combinations that are odd though each value is common. Measured on a release with `against=` its original, the
quantiles and distances are those of the original: who stood out there and still does?

Robust distances hold long tails for outliers: take logarithms of incomes first. A quantile always has its share of
records beyond it; it is a list to look at, not a count of mistakes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy.stats import chi2

from flou.describe.microdata import Microdata
from flou.engine.figure import Figure
from flou.engine.measure import RiskMeasure
from flou.engine.note import Note
from flou.engine.parameters import Columns
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, count_of
from flou.engine.taxonomy import always
from flou.risk.micro.continuous import Floats, continuous_columns, records, spreads
from flou.risk.micro.histogram import around, class_chart
from flou.risk.micro.robust import minimum_covariance, squared_distances


class OutlierRisk(RiskMeasure):
    """Share of records whose amounts lie beyond a quantile, or far from the bulk of the records.

    Reference: Templ & Meindl (2008).
    Result: `.value` the share of records at risk, `.units` in how many columns each stands out, or with `robust`
    its distance.
    """

    reference: ClassVar[str] = "templmeindl2008"
    title: ClassVar[str] = "outlier risk"
    audience = "public"
    answers_by = always(amounts="measures")
    uses = ("original",)
    headline: ClassVar[Figure] = Figure.public("value", "share of records that stand out", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("highest", "most columns in which a record stands out", "number", "low"),
        Figure("bound", "distance beyond which a record stands out", "number"),
        Figure.public("n_at_risk", "records that stand out", "count", count_of("n_records")),
        Figure.public("n_columns", "columns", "count"),
        Figure.public("n_records", "records", "count"),
    )
    compares_with: ClassVar[Literal["original", "population"] | None] = "original"

    quantile: float = Field(0.95, gt=0.5, lt=1, description="what lies beyond it stands out")
    tails: Literal["both", "upper", "lower"] = Field("both", description="which side of a column counts")
    robust: bool = Field(False, description="judge all columns together, by robust Mahalanobis distance")
    columns: Columns | None = Field(None, description="columns; default: numbers that are no keys")

    @property
    def no_drop(self) -> str:
        return "a quantile always has records beyond it, so that every round would find more"

    def _measure(self, data: Microdata, against: Microdata | None, counts: Any) -> RiskResult:
        columns = continuous_columns(data, self.columns)
        held = records(data, columns)
        whole = held.values if against is None else records(against, columns).values
        spreads(whole, columns)
        figures, bound = self._distances(held.values, whole) if self.robust else (self._beyond(held.values, whole), 0.0)
        at_risk = figures > bound
        n, n_at_risk, highest = held.units.n_records, int(at_risk.sum()), float(figures.max())
        bounds = (
            around(float(np.nextafter(bound, np.inf)), 0.0, 1.0, 2.0, 5.0, 10.0, 20.0) if self.robust else [0, 1, 2, 3]
        )
        return self._result(
            held.data,
            value=n_at_risk / n,
            no_interval="the file is measured as it is: nothing is estimated",
            figures={
                "highest": self.called("highest", "largest distance", highest) if self.robust else highest,
                **({"bound": bound} if self.robust else {}),
                "n_at_risk": n_at_risk,
                "n_columns": len(columns),
                "n_records": n,
            },
            notes=_notes(n_at_risk / n) if self.robust else (),
            keys=held.units,
            key_values=figures,
            unit_label="distance" if self.robust else "columns",
            at_risk=at_risk,
            largest_first=True,
            chart=class_chart(
                bounds,
                whole=not self.robust,
                titles=("robust distance", "share of records")
                if self.robust
                else ("columns in which the record stands out", "share of records"),
                flag_names=("stand out", "do not"),
            ),
        )

    def _beyond(self, values: Floats, whole: Floats) -> Floats:
        """In how many columns each record lies beyond the quantiles."""
        found = np.zeros(len(values))
        for held, column in zip(values.T, whole.T, strict=True):
            known = column[~np.isnan(column)]
            if self.tails != "lower":
                found += held > np.quantile(known, self.quantile)
            if self.tails != "upper":
                found += held < np.quantile(known, 1 - self.quantile)
        return found

    def _distances(self, values: Floats, whole: Floats) -> tuple[Floats, float]:
        """The robust distance of each record, missing values at the centre, and the bound."""
        centre, cov = minimum_covariance(whole[~np.isnan(whole).any(axis=1)])
        filled = np.where(np.isnan(values), centre, values)
        return np.sqrt(squared_distances(filled, centre, cov)), float(np.sqrt(chi2.ppf(self.quantile, values.shape[1])))


def _notes(share: float) -> tuple[Note, ...]:
    """Where many are far from the bulk, the columns are skewed rather than the records odd."""
    if share <= 1 / 3:
        return ()
    return (
        Note(
            "More than a third of the records stand out: amounts with long tails are better measured by their "
            "logarithms, or column by column."
        ),
    )
