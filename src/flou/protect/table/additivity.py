"""Margins that are the sums of their parts again, from the moved figures alone.

The finest cells are changed by whole steps until their sums come close to all moved figures, margins included: the sum
of the squared changes over all cells is made small by changing one finest cell after the other, in the order of the
table, to its best figure (coordinate descent; the least-squares adjustment of Stone, Champernowne and Meade 1942, in
whole numbers). Each change lowers a sum of whole squares, and nothing is drawn. It ends when going through all cells
lowers the sum by less than one part in 100,000, in small tables when no change of one cell improves anything; something
better may exist. Zeros stay zero unless noise made them, and figures that may not be shown stay out.

True counts are looked at for one thing: whether the margins of the table as it was made add up at all. It does not
protect anything, and it does not undo a protection: it works on what is published.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.roll_up import Digits
from flou.describe.table.table import Table
from flou.engine.errors import DataError, listed

Ints = NDArray[np.int64]

#: From this many finest cells on, a compiled loop is worth loading.
_MANY = 3_000
#: Going through all cells again is worth it while it lowers the sum by one part in so many.
_WORTH = 100_000


def restore_additivity(
    table: Table, moved: Ints, *, least: int, step: int, fixed: NDArray[np.bool_] | None = None
) -> Ints:
    """Figures near the moved ones of which every margin is the sum of its finest cells.

    A finest cell shows 0 or least, least + step, …; one that is `fixed` stays 0, by default those that are moved to 0.
    Moved figures may lie below 0, and are aimed at where they are.
    """
    inner, above = require_parts(table)
    settle = _compiled() if len(inner) >= _MANY else settle_cells
    start = np.maximum(np.ascontiguousarray(moved[inner], dtype=np.int64), 0)
    stays = start == 0 if fixed is None else np.ascontiguousarray(fixed[inner])
    settled = settle(start, np.ascontiguousarray(moved, dtype=np.int64), above, stays, least, step)
    return _sums(settled, above, table.n_cells)


def require_parts(table: Table) -> tuple[Ints, Ints]:
    """`find_parts` of a table that lists the finest cells below every margin; others are refused."""
    inner, above = find_parts(table)
    _require_complete(table, inner, above)
    return inner, above


def count_open_margins(table: Table) -> int:
    """How many cells do not show the sum of their finest cells."""
    inner, above = find_parts(table)
    shown = table.published_counts
    return int((shown != _sums(shown[inner], above, table.n_cells)).sum())


def find_parts(table: Table) -> tuple[Ints, Ints]:
    """The places of the finest cells, and for each of them those of all cells that hold it, -1 where there is none."""
    beside = [dim.name for dim in table.dims if dim.n_zonings > 1]
    if beside:
        raise DataError(
            f"Margins that add up need one zoning a dimension; {listed(beside)} has several side by side, whose parts "
            "have no figures of their own. Make a table for each of them."
        )
    codes, dims = table.cells.codes, table.dims
    digits = Digits(tuple(dim.n_nodes for dim in dims))
    packed = digits.pack(list(codes.T))  # ascending: cells stand in the order of their nodes
    finest = np.all([dim.is_finest[codes[:, j]] for j, dim in enumerate(dims)], axis=0)
    inner = np.flatnonzero(finest).astype(np.int64)
    wanted = packed[inner][:, None]
    for j, dim in enumerate(dims):
        levels, node = [], np.arange(dim.n_nodes, dtype=np.int64)
        passed = np.zeros(dim.n_nodes, dtype=np.bool_)
        at = codes[inner, j]
        for _ in range(dim.levels[0] + 1):
            moved = digits.replaced(wanted.reshape(-1), j, node).reshape(wanted.shape)
            # a short branch reaches the total sooner, which holds its cells once
            levels.append(np.where((wanted < 0) | passed[at][:, None], -1, moved))
            passed |= node == 0
            node = np.maximum(dim.parents[node], 0)
        wanted = np.concatenate(levels, axis=1)
    place = np.minimum(np.searchsorted(packed, wanted), len(packed) - 1)
    above: Ints = np.where(packed[place] == wanted, place, -1)
    return inner, above


def _require_complete(table: Table, inner: Ints, above: Ints) -> None:
    wrong = int((table.true_counts != _sums(table.true_counts[inner], above, table.n_cells)).sum())
    if wrong:
        raise DataError(
            f"Margins that add up need the finest cells below every margin; {wrong:,} of {table.n_cells:,} cells are "
            'not the sums of those that the table lists. Tabulate all levels (margins=True), or set additive = "no".'
        )


def _sums(parts: NDArray[Any], above: Ints, n_cells: int) -> Ints:
    """The figures of all cells from those of the finest ones."""
    held = above >= 0
    sums = np.zeros(n_cells, dtype=np.int64)
    np.add.at(sums, above[held], np.broadcast_to(parts[:, None], above.shape)[held].astype(np.int64))
    return sums


def settle_cells(start: Ints, moved: Ints, above: Ints, fixed: NDArray[np.bool_], least: int, step: int) -> Ints:
    """Figures of the finest cells that changes of one of them hardly improve; `start` are their moved figures."""
    parts = start.copy()
    gaps = -moved  # what each cell shows less what it was moved to
    for i in range(len(parts)):
        for c in above[i]:
            if c >= 0:
                gaps[c] += parts[i]
    cost = 0
    for gap in gaps:
        cost += gap * gap
    gained = cost
    while gained > 0 and gained * _WORTH >= cost:
        gained = 0
        for i in range(len(parts)):
            if fixed[i]:
                continue
            gap, n_held = 0, 0
            for c in above[i]:
                if c >= 0:
                    gap += gaps[c]
                    n_held += 1
            # the allowed figures around the best one, parts[i] - gap / n_held
            lower = least + (parts[i] * n_held - gap - least * n_held) // (n_held * step) * step
            best, gain = 0, 0
            for figure in (lower, lower + step, least, 0):
                if figure != 0 and figure < least:
                    continue
                change = figure - parts[i]
                more = 2 * change * gap + n_held * change * change
                if more < gain:
                    best, gain = change, more
            if gain < 0:
                gained -= gain
                parts[i] += best
                for c in above[i]:
                    if c >= 0:
                        gaps[c] += best
        cost -= gained
    return parts


@cache
def _compiled() -> Callable[..., Ints]:
    from flou.engine.compiled import njit

    compiled: Callable[..., Ints] = njit(cache=True)(settle_cells)
    return compiled
