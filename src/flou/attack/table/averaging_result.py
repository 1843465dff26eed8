"""What averaging found: figures, and one line a cell for those who protect.

The lines hold true counts beside published ones, so they stay in the process: a copy that leaves it takes the figures
alone. The chart and `by_size` are aggregates over cells by the size of their true count, since noise hides small counts
or it hides nothing that matters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from flou.attack.table.averaging_chart import draw_sizes
from flou.engine import native
from flou.engine.charts import Look
from flou.engine.errors import LazyInputError
from flou.engine.result import Result

if TYPE_CHECKING:
    import altair as alt

#: Where classes of true counts begin.
_SIZES = (1, 2, 3, 4, 5, 10, 100)
_FIGURES = ("published", "first", "estimates", "average", "guess", "truth", "right", "right_before")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AveragingResult(Result):
    """Shares of cells whose count is hit; `.findings` and `.by_size` are for those who protect."""

    #: The tables that were attacked.
    data: Any = field(repr=False)
    native_kind: native.Kind = "polars"
    cells: pl.DataFrame | None = field(repr=False)

    @property
    def findings(self) -> Any:
        """One line a cell that somebody is in: labels (null for a total that its table does not have), `published`
        (null where withheld), `estimates` how many there are, their `average`, `guess` (null where there is none),
        `truth` and whether it was hit (`right`)."""
        cells = self._cells
        labels = [c for c in cells.columns if c not in _FIGURES]
        shown = cells.with_columns(
            pl.col("published").fill_nan(None).cast(pl.Int64),
            pl.col("average").fill_nan(None),
            guess=pl.when(pl.col("guess") >= 0).then(pl.col("guess")),
        ).drop("first", "right_before")
        return native.like(shown.sort(labels, nulls_last=True) if labels else shown, self.native_kind)

    @property
    def by_size(self) -> Any:
        """One line a class of true counts: `first` where it begins, `cells`, and the shares hit before and after."""
        return native.like(self._by_size, self.native_kind)

    @property
    def _by_size(self) -> pl.DataFrame:
        begins = pl.lit(0)
        for first in _SIZES:
            begins = pl.when(pl.col("truth") >= first).then(first).otherwise(begins)
        grouped = self._cells.group_by(begins.cast(pl.Int64).alias("first_count"))
        return (
            grouped.agg(
                cells=pl.len().cast(pl.Int64), single=pl.col("right_before").mean(), averaged=pl.col("right").mean()
            )
            .rename({"first_count": "first"})
            .sort("first")
        )

    @property
    def _cells(self) -> pl.DataFrame:
        if self.cells is None:
            raise LazyInputError("A result that left its process takes no cells with it: run the attack again.")
        return self.cells

    @property
    def chart(self) -> Any:
        """How the result is drawn."""
        return draw_sizes if self.cells is not None else None

    def plot(self, language: str = "en", *, min_count: int = 1, top: float | None = None) -> alt.Chart:
        """The share of cells hit by the single figure and by averaging, by size of the true count."""
        return draw_sizes(self, Look(language, min_count, top))

    def to_frame(self) -> Any:
        """The figures, one a line, in the user's frame type."""
        return native.like(super().to_frame(), self.native_kind)

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process takes the figures, not the cells."""
        return {**self.__dict__, "data": None, "cells": None}


def class_text(first: int) -> str:
    """A class as people read it: 4, 5–9, ≥ 100."""
    place = _SIZES.index(first)
    if place == len(_SIZES) - 1:
        return f"≥ {first}"
    last = _SIZES[place + 1] - 1
    return str(first) if last == first else f"{first}–{last}"
