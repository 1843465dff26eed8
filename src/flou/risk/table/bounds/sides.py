"""The figures of a table that are published, as an intruder sees each of them, and what must stay possible of them.

A table shows counts, sums, or both; suppressed cells withhold whatever it shows. Counts are whole; where empty cells
are shown as empty, everybody knows that a suppressed one is not, so that it holds 1 at least, and an estimate of a
sample as much. Sums are not below zero
where nothing in the table is. What else an intruder knows beforehand the office may state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.apriori import Apriori
from flou.describe.table.equations import Equations, require_additive
from flou.describe.table.table import Table
from flou.risk.table.bounds.needs import Needs
from flou.risk.table.bounds.view import View
from flou.risk.table.primary_rule import Levels, Sensitive, TableFigure, has_negatives

#: What protection levels are taken for: bounds on either side, the width between them, or nothing but exactness.
Intervals = Literal["levels", "sliding", "exact"]
#: Which figures are published.
Show = Literal["auto", "both", "value", "count"]
#: A sum that is known to within this part of itself is as good as known.
NEARLY = 1e-3


@dataclass(frozen=True, eq=False)
class Side:
    """One figure: how it is seen, and what must be possible of it."""

    figure: TableFigure
    view: View
    #: Bounds that must be reached; of a `sliding` one, upwards, it suffices that the interval is so wide.
    needs: Needs
    sliding: bool

    def in_units(self) -> Side:
        """The same in the units of the table."""
        by = 1 / self.view.scale
        needs = Needs(self.needs.cells, self.needs.directions, self.needs.levels * by)
        return replace(self, view=self.view.scaled(by), needs=needs)

    def take(self, chosen: NDArray[np.bool_]) -> Side:
        """The same with some of the needs."""
        return replace(self, needs=self.needs.take(chosen))

    def eased(self, part: NDArray[np.float64]) -> Side:
        """The same with a part of the levels of each cell, at least 1 where figures are whole."""
        levels = self.needs.levels * part[self.needs.cells]
        if self.view.whole:
            levels = np.maximum(np.ceil(levels - NEARLY), 1.0)
        needs = Needs(self.needs.cells, self.needs.directions, np.minimum(levels, self.needs.levels))
        return replace(self, needs=needs)


def shown_figures(table: Table, show: Show) -> tuple[TableFigure, ...]:
    """The figures that are published."""
    if show == "both":
        return ("count", "value")
    if show == "auto":
        return ("count",) if table.cells.value is None else ("value",)
    return (show,)


def make_sides(
    table: Table,
    equations: Equations,
    sensitive: Sensitive,
    apriori: Apriori,
    *,
    show: Show,
    intervals: Intervals,
    hides_zeros: bool,
) -> list[Side]:
    """The published figures, with what the rules and the office ask for; tables that do not add up are refused."""
    out = []
    main = "count" if table.cells.value is None else "value"
    for figure in shown_figures(table, show):
        view = _view(table, equations, figure, hides_zeros)
        levels = sensitive.levels.get(figure, Levels.none(table.n_cells))
        if figure == main:
            view, levels = _with_statements(view, levels, apriori, sensitive.cells)
        needs = _needs(view, levels, sensitive.cells, intervals)
        if not view.whole and needs.n:
            # a power of two, which changes no digit: the least level becomes 1 or a little more
            by = 2.0 ** -np.floor(np.log2(needs.levels.min()))
            view, needs = view.scaled(by), Needs(needs.cells, needs.directions, needs.levels * by)
        out.append(Side(figure, view, needs, intervals != "levels"))
    return out


def _view(table: Table, equations: Equations, figure: TableFigure, hides_zeros: bool) -> View:
    n = table.n_cells
    if figure == "value":
        figures = table.true_values.astype(np.float64)
        low = np.full(n, -np.inf if has_negatives(table) else 0.0)
        whole = False
    elif table.cells.weighted is not None:
        figures, whole = table.cells.weighted, False
        low = np.zeros(n) if hides_zeros else np.minimum(figures, 1.0)
    else:
        figures, whole = table.true_counts.astype(np.float64), True
        low = np.zeros(n) if hides_zeros else np.minimum(figures, 1.0)
    require_additive(table, equations, figures, "sums" if figure == "value" else "counts")
    return View(equations.matrix, figures, low, np.full(n, np.inf), whole)


def _with_statements(view: View, levels: Levels, apriori: Apriori, primary: NDArray[np.bool_]) -> tuple[View, Levels]:
    """The view and the levels with what the office states of single cells."""
    # what is stated comes on top of what everybody knows
    low = np.minimum(np.fmax(view.low, apriori.low), view.figures)
    high = np.maximum(np.fmin(view.high, apriori.high), view.figures)
    lower = np.where(np.isnan(apriori.lower) | ~primary, levels.lower, apriori.lower)
    upper = np.where(np.isnan(apriori.upper) | ~primary, levels.upper, apriori.upper)
    return View(view.matrix, view.figures, low, high, view.whole), Levels(lower, upper, levels.sliding)


def _needs(view: View, levels: Levels, primary: NDArray[np.bool_], intervals: Intervals) -> Needs:
    """What must be possible; a primary cell for which nothing is asked must not be known exactly at least."""
    exact = np.ones(view.n_cells) if view.whole else NEARLY * np.abs(view.figures)
    # a sum of 0 has no size of its own: a thousandth of a usual figure is asked for
    usual = float(np.median(np.abs(view.figures[view.figures != 0]))) if view.figures.any() else 1.0
    exact = np.where(primary, np.where(exact > 0, exact, NEARLY * usual), 0.0)
    lower, upper = np.where(primary, levels.lower, 0.0), np.where(primary, levels.upper, 0.0)
    if intervals == "exact":
        return Needs.of_levels(exact, np.zeros(view.n_cells))
    upper = np.where(primary & (lower == 0) & (upper == 0) & (levels.sliding == 0), exact, upper)
    if intervals == "sliding":
        return Needs.of_levels(np.maximum(lower + upper, levels.sliding), np.zeros(view.n_cells))
    # a width that a rule asks for is asked for upwards
    return Needs.of_levels(np.maximum(upper, np.where(primary, levels.sliding, 0.0)), lower)
