"""A table as it was published, without its true figures: some table that agrees with it stands in for the true one.

Every bound is a matter of what is published alone, so any table that agrees will do to start from. Where there is none
the published figures contradict each other, which is said. An office that shows empty cells as empty is taken to
withhold none, so that a suppressed count is 1 at least; sums are not below zero where no published one is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from flou.describe.table.apriori import Apriori
from flou.describe.table.cells import Floats
from flou.describe.table.equations import Equations
from flou.describe.table.table import Table
from flou.engine.errors import DataError
from flou.risk.table.bounds.needs import Needs
from flou.risk.table.bounds.programs import Program
from flou.risk.table.bounds.sides import NEARLY, Side
from flou.risk.table.bounds.view import View, is_whole
from flou.risk.table.bounds.whole_extremes import whole_base
from flou.risk.table.bounds.whole_table import WholeTable
from flou.risk.table.primary_rule import Figure

#: Published sums are floats, and may have been rounded for print: so much of the size of an equation is forgiven.
_LOST = 1e-9


def seen_table(table: Table) -> WholeTable:
    """The cells of a published table with the margins that it does not list; its counts are none."""
    nothing = np.zeros(table.n_cells, dtype=np.int64)
    return WholeTable.of(table.with_changes(cells=table.cells.with_changes(count=nothing)))


def seen_sides(table: Table, whole_table: WholeTable, equations: Equations, apriori: Apriori) -> list[Side]:
    """The published figures, each with a table that agrees; of every suppressed cell it is asked that it can move."""
    published = table.published
    assert published is not None  # a table without true figures has published ones
    asked = np.zeros(whole_table.table.n_cells, dtype=np.bool_)
    asked[whole_table.places] = published.hidden
    figures: list[tuple[Figure, NDArray[Any]]] = []
    if published.counted:
        figures.append(("count", published.count))
    if published.value is not None:
        figures.append(("value", published.value))
    main = figures[-1][0]
    out = []
    for figure, seen in figures:
        shown = np.full(whole_table.table.n_cells, np.nan)
        shown[whole_table.places] = seen
        hidden = np.isnan(shown)
        lowest = _lowest(table, figure, seen.astype(np.float64))
        low = np.where(hidden, lowest, np.minimum(np.nan_to_num(shown), lowest))
        low[~whole_table.is_listed] = min(lowest, 0.0)  # a margin that nobody lists may be empty
        high = np.full(len(shown), np.inf)
        if figure == main:
            low, high = np.fmax(low, apriori.low), np.fmin(high, apriori.high)
        whole = figure == "count" and table.weight_name is None
        base = _agreeing(equations, shown, hidden, low, high, whole=whole)
        # stated bounds hold of any table that agrees, also of this one
        view = View(equations.matrix, base, np.minimum(low, base), np.maximum(high, base), whole)
        levels = np.ones(len(base)) if whole else NEARLY * np.maximum(np.abs(base), _usual(base))
        out.append(Side(figure, view, Needs.of_levels(np.where(asked, levels, 0.0), np.zeros(len(base))), True))
    return out


def _lowest(table: Table, figure: Figure, shown: Floats) -> float:
    """What a suppressed figure is at least, by what everybody knows of such tables."""
    known = ~np.isnan(shown)
    if figure == "value":
        return -np.inf if (shown[known] < 0).any() else 0.0
    possible = np.ones(len(shown), dtype=np.bool_) if table.cells.possible is None else table.cells.possible
    told = table.listed == "occupied" or bool((shown[known & possible] == 0).any())
    return 1.0 if told and table.weight_name is None else 0.0


def _usual(base: Floats) -> float:
    sizes = np.abs(base[base != 0])
    return float(np.median(sizes)) if len(sizes) else 1.0


def _agreeing(
    equations: Equations, shown: Floats, hidden: NDArray[np.bool_], low: Floats, high: Floats, *, whole: bool
) -> Floats:
    """A table that agrees with what is published."""
    cells = np.flatnonzero(hidden)
    known = np.where(hidden, 0.0, shown)
    matrix = csr_array(equations.matrix)
    rest = -(matrix @ known)
    held = csr_array(matrix[:, cells])
    found = Program(held, low[cells], high[cells], np.zeros(len(cells)), rest, rest).solve()
    if found is None and not whole:
        slack = _LOST * (np.abs(matrix) @ np.abs(known))
        found = Program(held, low[cells], high[cells], np.zeros(len(cells)), rest - slack, rest + slack).solve()
    if found is not None and whole and not is_whole(found):
        found = whole_base(held, low[cells], high[cells], rest)
    if found is None:
        raise DataError(
            "No table agrees with what is published: the figures contradict each other, or what is known beforehand. "
            "Where they were rounded or moved by noise, bounds of suppressed cells cannot be computed from them."
        )
    base = known.copy()
    base[cells] = np.rint(found) if whole else found
    return base
