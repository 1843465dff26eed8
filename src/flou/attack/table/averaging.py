"""Averaging (Asghar and Kaafar 2020): the same count asked for many times and in many guises, until its noise is gone.

The intruder takes every figure that published tables have of a cell, and every set of parts that adds up to it, each
with the precision that the public mechanism gives, and averages. The result says how often the true count is hit
exactly, beside the best guess from the single figure that a reader sees first. Noise that is drawn anew for each table
does not survive repetition; cell keys and rounding with a lasting secret do, since they repeat the same figure, but
sums of parts still thin the noise of cells that many parts add up to.

Cells that somebody is in are counted, each once. It does not search for a table that fits all figures at once, as a
reconstruction does, nor does it use what the intruder knows of people; it says nothing of who is in a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from flou.attack.results.rates import RatesResult
from flou.attack.results.shares_chart import BESIDE, FOUND, Bars
from flou.attack.table.answers import Published, gather_answers
from flou.attack.table.guises import Grouping
from flou.attack.table.true_cells import (
    TrueCells,
    held_truth,
    read_truth,
    require_covered,
    require_made_of,
    require_same,
)
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.table.table import Table
from flou.describe.table.table_set import tables_of
from flou.engine import native
from flou.engine.attack import Attack, Judge, Rate, kept, lift_over
from flou.engine.charts import Look
from flou.engine.comparison import range_text
from flou.engine.data import DataKind
from flou.engine.errors import DataError, listed
from flou.engine.figure import Figure, FigureValue
from flou.engine.note import Note
from flou.engine.risk_figure import SHARE
from flou.engine.taxonomy import always
from flou.engine.values import Proportion
from flou.engine.words import Words

Using = Literal["parts", "repeats"]
#: Counts up to this are called small.
SMALL = 4
#: Where classes of true counts begin.
_SIZES = (1, 2, 3, 4, 5, 10, 100)
_FIGURES = ("published", "first", "estimates", "average", "guess", "truth", "right", "right_before")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AveragingResult(RatesResult):
    """Shares of cells whose count is hit; `.findings` and `.by_size` are internal."""

    cells: pl.DataFrame | None = field(repr=False)
    internal: ClassVar[tuple[str, ...]] = ("data", "rates", "cells")
    bars: ClassVar[Bars] = {"single": ("by the single figure", BESIDE), "averaged": ("by averaging", FOUND)}
    axis: ClassVar[str] = "share of cells whose true count is hit"
    along: ClassVar[str] = "true count"

    @property
    def findings(self) -> Any:
        """One line a cell that somebody is in: labels (null for a total that its table does not have), `published`
        (null where withheld), `estimates` how many there are, their `average`, `guess` (null where there is none),
        `truth` and whether it was hit (`right`)."""
        cells = kept(self.cells, "cells")
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
        return native.like(kept(self.rates, "cells"), self.native_kind)

    def _drawn(self, look: Look) -> pl.DataFrame:
        rates, words = kept(self.rates, "cells").filter(pl.col("cells") >= look.min_count), Words(look.language)
        classes = [range_text(_class_text(first), words) for first in rates["first"]]
        return rates.select(pl.Series("class", classes, dtype=pl.String), "single", "averaged")


class Averaging(Attack):
    """What averaging published figures gives away: `Averaging().run(release)`.

    Reference: Asghar and Kaafar (2020).
    Result: `.value` the share of cells whose true count is hit, `.baseline` the same by the single figure, `.lift`,
    `.small` and `.baseline_small` for counts of 1 to 4, `.mean_estimates`, `.findings` one line a cell, `.by_size`.
    """

    takes: ClassVar[tuple[DataKind, ...]] = ("table", "table set")
    title: ClassVar[str] = "averaging of repeated figures"
    answers_by = always(inference="measures")
    headline: ClassVar[Figure] = Figure("value", "share of cells whose true count is hit by averaging", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("n_cells", "cells that somebody is in", "count"),
        Figure("n_right", "cells whose true count is hit", "count", "low"),
        Figure("baseline", "share hit by the single figure", "share"),
        Figure("lift_over", "what the lift is over", "text"),
        Figure("lift", "lift: share hit of those that the single figure misses", "number", "low"),
        Figure("n_small", "cells of 1 to 4", "count"),
        Figure("small", "share of cells of 1 to 4 that is hit by averaging", "share", "low"),
        Figure("baseline_small", "share of cells of 1 to 4 that is hit by the single figure", "share", "low"),
        Figure("mean_estimates", "independent estimates a cell, on average", "number", "low"),
        Figure("error_before", "mean absolute error of the single figure", "number", "high"),
        Figure("error_after", "mean absolute error after averaging", "number", "high"),
        Figure("control", "share hit of the counts of other people", "share"),
    )
    reference: ClassVar[str] = "asghar2020"
    draws: ClassVar[bool] = False

    using: Using = Field(
        "parts", description='figures of the cell itself in all tables ("repeats"), or sums of its parts as well'
    )

    def _public(self, released: Any) -> Any:
        _require_counts(tables_of(released))
        return released.public()

    def _find(self, public: Any, known: Any, draw: Any) -> Published:
        """Average what the published tables answer."""
        return gather_answers(tables_of(public), parts=self.using == "parts")

    def _score(self, found: Published, judge: Judge, draw: Any) -> AveragingResult:
        tables = tables_of(judge.released)
        cells = _judged(found, self._truth(found, judge, tables))
        figures = _figures(cells)
        if judge.control is not None:
            others = read_truth(judge.control, tables, "control")
            require_covered(others, list(found.answers), "control")
            figures["control"] = _share(_judged(found, others), "right")
        rate = Rate(int(cells["right"].sum()), cells.height)
        return self._result(
            AveragingResult,
            judge,
            value=rate.value,
            interval=rate.interval,
            figures=figures,
            notes=self._notes(found, tables),
            rates=_rates_by_size(cells),
            cells=cells,
        )

    def _truth(self, found: Published, judge: Judge, tables: Sequence[Table]) -> dict[Grouping, TrueCells]:
        """The true counts of all cells that are published, as they are given or as the release holds them."""
        own = held_truth(tables)
        true = own if judge.truth is None else read_truth(judge.truth, tables)
        if true is None:
            raise DataError(
                "Averaging needs truth=, the original tables or records, to say how often the intruder is right: "
                "these are tables as they were published."
            )
        require_covered(true, list(found.answers))
        if own is not None:
            require_same(own, true)
        for grouping, answers in found.answers.items():
            require_made_of(true[grouping], answers)
        return true

    def _notes(self, published: Published, tables: Sequence[Table]) -> tuple[Note, ...]:
        notes = [
            Note("cells share people and noise: the interval, which takes them for independent, is too narrow"),
            Note("cells that nobody is in are not counted; a cell that stands in several tables counts once"),
        ]
        mechanisms: list[Mechanism] = [t.mechanism for t in tables if t.mechanism is not None]
        lasting = [m for m in mechanisms if m.shared_by != "nothing" and m not in published.drawn_anew]
        if published.drawn_anew:
            notes.append(Note("the same cell is shown with different figures: its noise was drawn anew for each table"))
        elif lasting and published.n_repeats > 1:
            notes.append(Note("the noise of a cell is the same in every table: repeated figures tell nothing new"))
        bias = max((m.bias for m in mechanisms), default=0.0)
        if bias > 1e-6 and self.using == "parts":
            text = "the mechanism moves counts by up to {bias} on average, which sums of parts carry along"
            notes.append(Note(text, {"bias": round(bias, 3)}))
        return tuple(notes)


def _judged(published: Published, truth: dict[Grouping, TrueCells]) -> pl.DataFrame:
    """One line a cell that somebody is in: labels, what is published of it, what averaging gives, and the truth."""
    frames = []
    for grouping, answers in published.answers.items():
        true = truth[grouping]
        if not len(true.names):
            continue
        shown, first = answers.single()
        found = {"published": shown, "first": first, "estimates": answers.n_estimates(), "average": answers.average(),
                 "guess": answers.guess()}  # fmt: skip
        if (found["guess"] == -2).any() or (first == -2).any():
            raise DataError(
                "The figures of a cell contradict each other: no true count can have been published as all of them. "
                "The tables are not of the same people, or their mechanism is another one."
            )
        # what no table lists is shown as zero throughout, or unknown
        n, zero = answers.n_unlisted, answers.n_unlisted > 0
        unlisted = {"published": 0.0 if zero else np.nan, "first": 0 if zero else -1, "estimates": n,
                    "average": 0.0 if zero else np.nan, "guess": 0 if zero else -1}  # fmt: skip
        place = np.minimum(np.searchsorted(answers.names, true.names), len(answers.names) - 1)
        listed_ = answers.names[place] == true.names
        columns = {n: np.where(listed_, held[place], unlisted[n]) for n, held in found.items()}
        line = pl.DataFrame(columns).with_columns(truth=pl.Series(true.counts))
        # a column of the data may be called as a figure is
        labels = true.labels.rename({c: f"{c}_" for c in (*line.columns, "right") if c in true.labels.columns})
        frames.append(pl.concat([labels, line], how="horizontal"))
    cells = pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame(_NOTHING)
    return cells.with_columns(right=pl.col("guess") == pl.col("truth"), right_before=pl.col("first") == pl.col("truth"))


_NOTHING: dict[str, list[float]] = {
    "published": [], "first": [], "estimates": [], "average": [], "guess": [], "truth": []
}  # fmt: skip


def _rates_by_size(cells: pl.DataFrame) -> pl.DataFrame:
    """The shares hit of each class of true counts."""
    begins = pl.lit(0)
    for first in _SIZES:
        begins = pl.when(pl.col("truth") >= first).then(first).otherwise(begins)
    grouped = cells.group_by(begins.cast(pl.Int64).alias("first_count"))
    shares = grouped.agg(
        cells=pl.len().cast(pl.Int64), single=pl.col("right_before").mean(), averaged=pl.col("right").mean()
    )
    return shares.rename({"first_count": "first"}).sort("first")


def _class_text(first: int) -> str:
    """A class as people read it: 4, 5–9, ≥ 100."""
    place = _SIZES.index(first)
    if place == len(_SIZES) - 1:
        return f"≥ {first}"
    last = _SIZES[place + 1] - 1
    return str(first) if last == first else f"{first}–{last}"


def _figures(cells: pl.DataFrame) -> dict[str, FigureValue]:
    small = cells.filter(pl.col("truth") <= SMALL)
    both = cells.filter((pl.col("guess") >= 0) & (pl.col("first") >= 0))
    rate, before = _share(cells, "right"), _share(cells, "right_before")
    return {
        "n_cells": cells.height,
        "n_right": int(cells["right"].sum()),
        "baseline": before,
        "lift_over": "baseline",
        "lift": lift_over(rate, before),
        "n_small": small.height,
        "small": _share(small, "right"),
        "baseline_small": _share(small, "right_before"),
        "mean_estimates": _mean(cells["estimates"]),
        "error_before": _mean((both["first"] - both["truth"]).abs()),
        "error_after": _mean((both["guess"] - both["truth"]).abs()),
    }


def _share(cells: pl.DataFrame, column: str) -> Proportion:
    return Proportion(_mean(cells[column]))


def _mean(series: pl.Series) -> float:
    return int(series.sum()) / len(series) if len(series) else 0.0  # whole numbers, so that no order matters


def _require_counts(tables: Sequence[Table]) -> None:
    for table in tables:
        called = f"The table{f' {table.name!r}' if table.name else ''}"
        if table.weight_name is not None or table.cells.weighted is not None:
            raise DataError(
                f"{called} shows weighted estimates: Averaging guesses whole counts. Tabulate without weight=."
            )
        if table.published is not None and not table.published.counted:
            raise DataError(f"{called} publishes sums and no counts: Averaging guesses counts.")
        beside = [dim.name for dim in table.dims if dim.n_zonings > 1]
        if beside:
            raise DataError(
                f"{listed(beside)} has zonings side by side, whose zones Averaging does not compare. Make a table of "
                "each zoning."
            )
        shown = np.asarray(table.published_counts, dtype=np.float64)
        shown = shown[~np.isnan(shown)]
        if (shown != np.floor(shown)).any() or (shown < 0).any():
            raise DataError(f"{called} shows counts that are not whole, or negative: Averaging takes whole counts.")
