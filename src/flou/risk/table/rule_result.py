"""What a primary rule found in a table, or in a set of them, as a result: figures, one line a cell, one chart.

The headline is the share of the cells that are sensitive and shown; empty cells count only where a rule holds them
sensitive. Which cells are sensitive, and by how much, tells that their figures are small or dominated: `by_cell`, the
units and the chart are for those who protect, never for the public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.cells import Floats
from flou.describe.table.table import Table
from flou.engine import native
from flou.engine.charts import Look, bars
from flou.engine.figure import FigureValue
from flou.engine.note import Note
from flou.engine.result import Result

if TYPE_CHECKING:
    import altair as alt

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a rule says of each cell of one table."""

    table: Table
    sensitive: Flags
    #: Whether some figure of the cell is seen.
    shown: Flags
    #: Levels by figure, below and above.
    bounds: Mapping[str, tuple[Floats, Floats]]

    @classmethod
    def of(cls, table: Table, sensitive: Flags, bounds: Mapping[str, tuple[Floats, Floats]]) -> Verdicts:
        shown = ~np.isnan(np.asarray(table.published_counts, dtype=np.float64))
        if table.published_values is not None:
            shown |= ~np.isnan(table.published_values)
        return cls(table, sensitive, shown, bounds)

    @property
    def counted(self) -> Flags:
        """Cells that somebody is in, and those that are sensitive although nobody is."""
        return (self.table.true_counts > 0) | self.sensitive

    @property
    def finest(self) -> Flags:
        """Cells that are no margin of others."""
        codes = self.table.cells.codes
        return np.asarray(np.all([dim.is_finest[codes[:, j]] for j, dim in enumerate(self.table.dims)], axis=0))

    @property
    def crossed(self) -> NDArray[np.int64]:
        """Of how many dimensions a cell is not the total."""
        return np.asarray((self.table.cells.codes != 0).sum(axis=1), dtype=np.int64)

    def frame(self) -> pl.DataFrame:
        """One line a cell."""
        cells = self.table.cells
        count = self.table.true_counts if cells.weighted is None else cells.weighted
        held = [pl.Series("count", count)]
        if cells.value is not None:
            held.append(pl.Series("value", cells.value))
        contributors = self.table.true_counts if cells.holdings is None else cells.holdings
        held += [pl.Series("contributors", contributors), pl.Series("sensitive", self.sensitive)]
        held.append(pl.Series("shown", self.shown))
        for figure, (lower, upper) in self.bounds.items():
            held += [pl.Series(f"{figure}_lower", lower), pl.Series(f"{figure}_upper", upper)]
        return pl.concat([self.table.labels(), pl.DataFrame(held)], how="horizontal")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RuleResult(Result):
    """Figures on the sensitive cells; `.by_cell` has them one by one, for those who protect."""

    #: The table or the set of tables that was measured.
    data: Any = field(repr=False)
    verdicts: tuple[Verdicts, ...] = field(repr=False)
    native_kind: native.Kind = "polars"

    @cached_property
    def units(self) -> Flags:
        """Whether each cell is sensitive, in the order of the cells, table after table."""
        return np.concatenate([v.sensitive for v in self.verdicts])

    @property
    def by_cell(self) -> Any:
        """One line a cell: its labels, true figures, whether it is sensitive and shown, and the levels it needs."""
        if len(self.verdicts) == 1:
            return native.like(self.verdicts[0].frame(), self.native_kind)
        frames = [v.frame().select(pl.lit(v.table.name).alias("table"), pl.all()) for v in self.verdicts]
        return native.like(pl.concat(frames, how="diagonal_relaxed"), self.native_kind)

    def to_frame(self) -> Any:
        """The figures, one a line, in the user's frame type."""
        return native.like(super().to_frame(), self.native_kind)

    @property
    def chart(self) -> Any:
        """How the result is drawn."""
        return by_detail

    def plot(self, language: str = "en", *, min_count: int = 1, top: float | None = None) -> alt.Chart:
        """The share of sensitive cells by how many dimensions they cross; `top` ends its axis."""
        return by_detail(self, Look(language, min_count, top))

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process takes the figures, not the tables nor what is said of their cells."""
        return {**{k: v for k, v in self.__dict__.items() if k != "units"}, "data": None, "verdicts": ()}


def figures_of(found: Sequence[Verdicts]) -> tuple[float, dict[str, FigureValue]]:
    """The headline and the other figures, over all tables."""
    n_sensitive = sum(int(v.sensitive.sum()) for v in found)
    n_shown = sum(int((v.sensitive & v.shown).sum()) for v in found)
    n_cells = sum(int(v.counted.sum()) for v in found)
    figures: dict[str, FigureValue] = {"n_sensitive": n_sensitive, "n_shown": n_shown, "n_cells": n_cells}
    amounts = [v for v in found if v.table.cells.value is not None]
    if amounts:
        total = sum(float(np.abs(v.table.true_values[v.finest]).sum()) for v in amounts)
        inside = sum(float(np.abs(v.table.true_values[v.finest & v.sensitive]).sum()) for v in amounts)
        figures["value_share"] = inside / total if total else 0.0
    return n_shown / n_cells if n_cells else 0.0, figures


def rule_notes(tables: Sequence[Table]) -> tuple[Note, ...]:
    """What a reader of the figures should know of the tables."""
    changed = [table for table in tables if table.published is not None and _is_changed(table)]
    if not changed:
        return ()
    return (Note("the rule goes by the true figures: what the noise in the published ones hides is not counted"),)


def _is_changed(table: Table) -> bool:
    """Whether some figure is shown that is not the true one."""
    true = table.true_counts if table.cells.weighted is None else table.cells.weighted
    shown = np.asarray(table.published_counts, dtype=np.float64)
    return bool((~np.isnan(shown) & (shown != true)).any())


def by_detail(result: RuleResult, look: Look) -> alt.Chart:
    """The share of sensitive cells among those that cross so many dimensions: 0 is the total."""
    none = np.zeros(0, dtype=np.bool_)
    crossed = np.concatenate([v.crossed[v.counted] for v in result.verdicts] or [none.astype(np.int64)])
    flagged = np.concatenate([v.sensitive[v.counted] for v in result.verdicts] or [none])
    seen = np.concatenate([(v.sensitive & v.shown)[v.counted] for v in result.verdicts] or [none])
    lines = [
        {"class": str(depth), "share": float(flagged[here].mean()), "flag": bool(seen[here].any())}
        for depth, here in ((depth, crossed == depth) for depth in np.unique(crossed))
    ]
    return bars(
        pl.DataFrame(lines, schema={"class": pl.String, "share": pl.Float64, "flag": pl.Boolean}),
        category="class",
        value="share",
        flag="flag",
        titles=("dimensions that a cell crosses (0: the total)", "share of cells that are sensitive"),
        flag_names=("some of them are shown", "none of them is shown"),
        look=look,
    )
