"""Records that an attack found, with the intruder's confidence, and how many of them are true.

What was found follows from what is published, and anybody could hold it. Which of it is true, and who it is, is
internal: a copy of the result that leaves the process does not take the true records along.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from flou.attack.results.shares_chart import BESIDE, FOUND, Bars, draw_shares
from flou.engine import native
from flou.engine.attack import AttackResult
from flou.engine.charts import Look
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt


class FoundRecords:
    """What anybody holds who found records: `found` gives them as frames."""

    found: Any
    native_kind: native.Kind

    @property
    def records(self) -> Any:
        """One row per record found: its values, its count, its proven count, and its confidence if known."""
        return native.like(self.found.records(), self.native_kind)

    @property
    def certain(self) -> Any:
        """One row per proven record, with the smallest count that it can have."""
        return native.like(self.found.certain(), self.native_kind)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RecordsResult(FoundRecords, AttackResult):
    """Match rates, and the records that were found."""

    found: Any = field(repr=False)
    #: The true records; only in the process that made the result.
    truth: Any = field(repr=False)
    internal: ClassVar[tuple[str, ...]] = ("data", "truth")
    bars: ClassVar[Bars] = {
        "found": ("rebuilt from the tables", FOUND),
        "beside": ("independent population", BESIDE),
    }
    #: The figures that are drawn, those beside them, and what both are shares of.
    drawn: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("value", "baseline", "same values"),
        ("multiset", "baseline_multiset", "same values, one to one"),
        ("near", "baseline_near", "within the tolerance"),
        ("near_multiset", "baseline_near_multiset", "within the tolerance, one to one"),
    )

    def _draw(self, look: Look) -> alt.Chart:
        words = Words(look.language)
        rows = [
            {"match": words(label), "found": self.figure(own).value, "beside": self.figure(other).value}
            for own, other, label in self.drawn
            if own == "value" or own in self.figures
        ]
        return draw_shares(pl.DataFrame(rows), self.bars, look, title="share of people")
