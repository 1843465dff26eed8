"""A table as it was published, without its true figures: some table that agrees with it stands in for the true one.

Every bound is a matter of what is published alone, so any table that agrees will do to start from. Where there is none
the published figures contradict each other, which is said. What a suppressed or unlisted cell tells is said in
`flou.describe.table.unseen_cells`; sums are not below zero where no published one is.

Where a mechanism moved the counts, a published count stands for all true counts that it can be published for, and
nothing but their bounds is known of it: the equations hold of the true ones. Of noise without bounds nothing follows
for certain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from flou.describe.table.apriori import Apriori
from flou.describe.table.cells import Cells, Floats, Ints, Published
from flou.describe.table.dimension import Dimension
from flou.describe.table.equations import Equations
from flou.describe.table.roll_up import Digits
from flou.describe.table.table import Table
from flou.describe.table.unseen_cells import least_suppressed
from flou.engine.errors import DataError
from flou.risk.table.bounds.needs import Needs
from flou.risk.table.bounds.programs import Program
from flou.risk.table.bounds.sides import NEARLY, Side
from flou.risk.table.bounds.view import View, is_whole
from flou.risk.table.bounds.whole_extremes import whole_base
from flou.risk.table.bounds.whole_table import WholeTable
from flou.risk.table.primary_rule import TableFigure

#: Published sums are floats, and may have been rounded for print: so much of the size of an equation is forgiven.
_LOST = 1e-9
#: Cells of a table that is laid out with those that it does not list.
_MOST_CELLS = 1_000_000


def laid_out(table: Table) -> Table:
    """A table whose counts a mechanism moved, with the cells that it leaves out because they are shown as zero."""
    published = table.published
    moved = table.mechanism is not None and table.unlisted == "zero" and table.listed != "all"
    if not moved or published is None or not published.counted:
        return table
    codes, digits = table.cells.codes, Digits(tuple(dim.n_nodes for dim in table.dims))
    depths = np.stack([dim.reaches[codes[:, j]] for j, dim in enumerate(table.dims)], axis=1)
    parts = []
    for combination in np.unique(depths, axis=0).tolist():
        nodes = [np.flatnonzero(dim.reaches == depth) for dim, depth in zip(table.dims, combination, strict=True)]
        parts.append(_grid(nodes, digits))
    packed = np.sort(np.concatenate(parts))
    count = np.zeros(len(packed))
    count[np.searchsorted(packed, digits.pack(list(codes.T)))] = published.count
    cells = Cells(codes=digits.unpack(packed), count=None)
    return table.with_changes(cells=cells, published=Published(count), listed="all")


def seen_table(table: Table) -> WholeTable:
    """The table with its margins and, where unlisted cells are unknown, every combination of its finest categories.

    Their counts are 0.
    """
    cells = table.cells.with_changes(count=np.zeros(table.n_cells, dtype=np.int64))
    if table.unlisted == "unknown":
        digits = Digits(tuple(dim.n_nodes for dim in table.dims))
        hint = ', or say that cells which are not listed are empty: cells = "occupied"'
        finest = _grid([_leaves(dim) for dim in table.dims], digits, hint)
        more = digits.unpack(np.setdiff1d(finest, digits.pack(list(cells.codes.T))))
        cells = Cells(np.concatenate([cells.codes, more]), np.zeros(cells.n + len(more), dtype=np.int64))
    whole = WholeTable.of(table.with_changes(cells=cells, published=None))
    return WholeTable(whole.table, whole.places[: table.n_cells])


def _leaves(dim: Dimension) -> Ints:
    """The finest categories."""
    return np.setdiff1d(np.arange(1, dim.n_nodes), dim.parents).astype(np.int64)


def _grid(nodes: Sequence[Ints], digits: Digits, hint: str = "") -> Ints:
    """All combinations of categories, as packed codes."""
    n = math.prod(len(held) for held in nodes)
    if n > _MOST_CELLS:
        raise DataError(
            f"With its unlisted cells the table has {n:,} cells, more than the {_MOST_CELLS:,} that can be attacked. "
            f"Take fewer or coarser dimensions{hint}."
        )
    return digits.pack([grid.ravel() for grid in np.meshgrid(*nodes, indexing="ij")])


def seen_sides(table: Table, whole_table: WholeTable, equations: Equations, apriori: Apriori) -> list[Side]:
    """The published figures, each with a table that agrees; of every suppressed cell it is asked that it can move."""
    published = table.published
    assert published is not None  # a table without true figures has published ones
    asked = np.zeros(whole_table.table.n_cells, dtype=np.bool_)
    asked[whole_table.places] = published.hidden
    figures: list[tuple[TableFigure, NDArray[Any]]] = []
    if published.counted:
        figures.append(("count", published.count))
    if published.value is not None:
        figures.append(("value", published.value))
    main = figures[-1][0]
    out = []
    for figure, seen in figures:
        least, most = np.full((2, whole_table.table.n_cells), np.nan)
        least[whole_table.places], most[whole_table.places] = _behind(table, figure, seen)
        known = np.where(least == most, least, np.nan)
        # of a published figure the mechanism alone says how small it may be
        lowest = _lowest(table, figure, seen.astype(np.float64))
        low = np.where(np.isnan(least), lowest, np.where(np.isnan(known), least, np.fmin(known, lowest)))
        low[~whole_table.is_listed] = min(lowest, 0.0)  # a margin that nobody lists may be empty
        high = np.where(np.isnan(known), np.nan_to_num(most, nan=np.inf, posinf=np.inf), np.inf)
        if figure == main:
            low, high = np.fmax(low, apriori.low), np.fmin(high, apriori.high)
        whole = figure == "count" and table.weight_name is None
        base = _agreeing(equations, known, low, high, whole=whole)
        # stated bounds hold of any table that agrees, also of this one
        view = View(equations.matrix, base, np.minimum(low, base), np.maximum(high, base), whole)
        levels = np.ones(len(base)) if whole else NEARLY * np.maximum(np.abs(base), _usual(base))
        out.append(Side(figure, view, Needs.of_levels(np.where(asked, levels, 0.0), np.zeros(len(base))), True))
    return out


def uncertain(table: Table) -> NDArray[np.bool_]:
    """The cells whose count is published and not known all the same."""
    published = table.published
    if table.mechanism is None or published is None or not published.counted:
        return np.zeros(table.n_cells, dtype=np.bool_)
    least, most = _behind(table, "count", published.count)
    return np.asarray(least < most)


def _behind(table: Table, figure: TableFigure, seen: NDArray[Any]) -> tuple[Floats, Floats]:
    """The least and the largest true figure behind each published one; NaN where it is withheld."""
    shown = seen.astype(np.float64)
    known = ~np.isnan(shown)
    if table.mechanism is None or figure != "count":
        return shown, shown
    least, most = shown.copy(), shown.copy()
    if not table.mechanism.bounded:
        least[known], most[known] = 0.0, np.inf
        return least, most
    low, high = table.mechanism.support(shown[known].astype(np.int64))
    if (wrong := low > high).any():
        raise DataError(
            f"{int(wrong.sum()):,} of the published counts, such as {shown[known][wrong][0]:g}, are none that "
            f"{table.mechanism.name} publishes. Give the mechanism that made them."
        )
    least[known], most[known] = low, high
    return least, most


def _lowest(table: Table, figure: TableFigure, shown: Floats) -> float:
    """What a suppressed figure is at least, by what everybody knows of such tables."""
    known = ~np.isnan(shown)
    if figure == "value":
        return -np.inf if (shown[known] < 0).any() else 0.0
    return float(least_suppressed(table))


def _usual(base: Floats) -> float:
    sizes = np.abs(base[base != 0])
    return float(np.median(sizes)) if len(sizes) else 1.0


def _agreeing(equations: Equations, shown: Floats, low: Floats, high: Floats, *, whole: bool) -> Floats:
    """A table that agrees with what is known of each figure; NaN where there are bounds alone."""
    cells = np.flatnonzero(np.isnan(shown))
    known = np.nan_to_num(shown)
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
            "No table agrees with what is published: the figures contradict each other or what is known beforehand, or "
            "there are categories that the table does not name. Where figures were rounded or moved by noise, name the "
            "mechanism; where margins were made to add up afterwards, bounds cannot be computed."
        )
    base = known.copy()
    base[cells] = np.rint(found) if whole else found
    return base
