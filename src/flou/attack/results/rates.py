"""Rates of right guesses, class by class or variable by variable, beside what is guessed without the release.

Rates are aggregates over everybody. The cells or records behind them are internal and stay in the process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from flou.attack.results.shares_chart import Bars, draw_shares
from flou.engine.attack import AttackResult, kept
from flou.engine.charts import Look

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RatesResult(AttackResult):
    """Shares of guesses that are right: `rates` has one row per class or variable. A subclass says which are drawn."""

    rates: pl.DataFrame | None = field(repr=False)
    bars: ClassVar[Bars]
    #: The titles of the axis of shares and, of upright bars, of the classes.
    axis: ClassVar[str]
    along: ClassVar[str] = ""

    @property
    def chart(self) -> Any:
        """How the result is drawn."""
        return None if self.rates is None else self._draw

    def _draw(self, look: Look) -> alt.Chart:
        return draw_shares(self._drawn(look), self.bars, look, title=self.axis, along=self.along)

    def _drawn(self, look: Look) -> pl.DataFrame:
        """The rates that are drawn, their first column as people read it."""
        return kept(self.rates, "rates")
