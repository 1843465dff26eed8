"""What an intruder infers from published counts, as a result: figures, one small frame, one chart.

The frame holds probabilities by true and published count, never cells. It is made from the true counts of the original
where the prior is empirical, so it is for those who protect and not for the public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from flou.engine import native
from flou.engine.charts import Look
from flou.engine.measure import RiskMeasure
from flou.engine.result import Result
from flou.risk.table.setting import Setting

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class InferenceResult(Result):
    """Figures on what published counts give away; `.by_count` is the detail."""

    #: The table, set or mechanism that was measured.
    data: Any = field(repr=False)
    counts: pl.DataFrame = field(repr=False)
    chart: Callable[[InferenceResult, Look], alt.Chart] = field(repr=False)
    native_kind: native.Kind = "polars"

    @property
    def by_count(self) -> Any:
        """The probabilities by count, in the user's frame type."""
        return native.like(self.counts, self.native_kind)

    def to_frame(self) -> Any:
        """The figures, one a line, in the user's frame type."""
        return native.like(super().to_frame(), self.native_kind)

    def plot(self, language: str = "en", *, min_count: int = 1, top: float | None = None) -> alt.Chart:
        """A chart of probabilities; `top` ends its axis."""
        return self.chart(self, Look(language, min_count, top))

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process takes the figures, not the table."""
        return {**self.__dict__, "data": None}


class InferenceMeasure(RiskMeasure):
    """Shared by the measures of what published counts give away: which data they take and how results are made."""

    takes = ("table", "table set", "mechanism")
    uses = ("counts",)

    def measure(self, data: Any, *, against: Any = None, counts: Any = None) -> InferenceResult:  # type: ignore[override]
        """Measure a table, a set of tables or a mechanism; of a mechanism the true counts are given by `counts`."""
        result: Any = super().measure(data, against=against, counts=counts)
        assert isinstance(result, InferenceResult)
        return result

    @property
    def no_drop(self) -> str:
        """It speaks of cells, not of records."""
        return "it measures tables, which have no records to drop"

    def _inferred(self, data: Any, setting: Setting, **found: Any) -> InferenceResult:
        """A result with what all of them say in the same way."""
        notes = (*setting.notes, *found.pop("notes", ()))
        return InferenceResult(
            method=self.name(),
            title=self.title,
            settings=self.shown_settings(),
            measured_on=setting.measured_on,
            test_only=setting.test_only,
            no_interval="the probabilities follow from the mechanism and the counts: nothing is estimated",
            native_kind=setting.native_kind,
            data=data,
            notes=notes,
            **self.described(found),
        )
