"""What the largest contributors of each cell give, and what is left beside them: the input of the dominance rules.

A sampling weight w means w contributors of x each, filled from the top, never one of w·x: with w = 2.5 the largest, the
second largest and half of the third are of size x. A record with a weight below 1 was observed, so it counts as one
whole contributor of x. Contributions are ranked by size whatever their sign; of equal sizes with opposite signs those
come first that leave the others least. What the others give is then only known as
a sum, in which gains and losses may cancel, so its size is the least that they can have moved: the rules see no more
uncertainty than an intruder has who subtracts the largest from the published total.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Floats, Ints
from flou.describe.table.table import Table
from flou.engine.errors import DataError

#: A level below this share of the cell is what floats lose in adding up: a tie is no excess.
_LOST = 1e-12


@dataclass(frozen=True, eq=False)
class Top:
    """The first n contributors of each cell: the sum of their sizes, and the size of what all others give."""

    sizes: Floats
    rest: Floats


def top_contributors(table: Table, n: int) -> Top:
    """The first n contributors of each cell of a table of amounts that keeps the largest contributions."""
    largest = table.cells.largest
    if largest is None or largest.shape[1] < n:
        kept = 0 if largest is None else largest.shape[1]
        value = table.value_name or "turnover"
        raise DataError(
            f"The rule needs the {n} largest contributions of each cell, and the table "
            + (f"keeps {kept}" if kept else "keeps none")
            + f': make it from the records with tabulate(…, value="{value}", largest={n}).'
        )
    n_contributors: Ints = table.true_counts if table.cells.holdings is None else table.cells.holdings
    more = n_contributors > largest.shape[1]
    return fill_from_top(table.true_values, largest, table.cells.largest_weights, n, more)


def fill_from_top(
    totals: Floats, largest: Floats, weights: Floats | None, n: int, more: NDArray[np.bool_] | None = None
) -> Top:
    """Take n contributors from the top of each cell; weights say how many each contribution stands for.

    `more` says which cells have contributors beyond those that are kept.
    """
    top = _taken(totals, largest, weights, n)
    if not ((largest < 0).any() or (totals < 0).any()):
        return top
    beyond = np.zeros(len(totals), dtype=np.bool_) if more is None else more
    for cell in np.flatnonzero(_tied(largest, weights, n, beyond)).tolist():
        row, weight = largest[cell], None if weights is None else weights[cell]
        top.rest[cell] = min(
            _taken(totals[[cell]], given[None], None if stands is None else stands[None], n).rest[0]
            for given, stands in _orders(row, weight, n, hidden=bool(beyond[cell]))
        )
    return top


def _tied(largest: Floats, weights: Floats | None, n: int, more: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Cells where another contribution, of the size of the last that is taken, may have the other sign."""
    stands = _stands(largest, weights)
    after = np.cumsum(stands, axis=1)
    last = np.argmax(after >= n, axis=1)  # 0 where all are taken: then nothing is left to choose
    size = np.abs(largest[np.arange(len(largest)), last])
    alike = np.abs(largest) == size[:, None]
    mixed = (alike & (largest > 0)).any(axis=1) & (alike & (largest < 0)).any(axis=1)
    chosen = np.where(alike, after, 0.0).max(axis=1) > n
    unseen = more & alike[:, -1]
    return np.asarray((after[:, -1] >= n) & (size > 0) & ((mixed & chosen) | unseen))


def _orders(row: Floats, weights: Floats | None, n: int, *, hidden: bool) -> Iterator[tuple[Floats, Floats | None]]:
    """The ways in which a cell's contributions of one size can stand, by how many positive ones come first."""
    after = np.cumsum(_stands(row[None], None if weights is None else weights[None])[0])
    size = abs(row[int(np.argmax(after >= n))])
    alike = np.abs(row) == size
    plus, minus = (np.flatnonzero(alike & (sign * row > 0)) for sign in (1, -1))
    before, behind = np.flatnonzero(np.abs(row) > size), np.flatnonzero(np.abs(row) < size)
    for first in range(len(plus) + 1):
        order = np.concatenate([before, plus[:first], minus, plus[first:], behind]).astype(np.intp)
        yield row[order], None if weights is None else weights[order]
    if hidden and alike[-1]:
        # what is not kept may be as large, with either sign
        for sign in (1.0, -1.0):
            given = np.concatenate([row[before], np.full(n, sign * size)])
            yield given, None if weights is None else np.concatenate([weights[before], np.ones(n)])


def _stands(largest: Floats, weights: Floats | None) -> Floats:
    """How many contributors each contribution is."""
    given = np.ones(largest.shape) if weights is None else np.nan_to_num(weights)
    return np.where(np.isnan(largest), 0.0, np.maximum(given, 1.0))


def _taken(totals: Floats, largest: Floats, weights: Floats | None, n: int) -> Top:
    """The first n contributors in the order that they stand in."""
    held = np.nan_to_num(largest)
    given = np.where(np.isnan(largest), 0.0, 1.0 if weights is None else np.nan_to_num(weights))
    stands = _stands(largest, weights)
    before = np.cumsum(stands, axis=1) - stands
    taken = np.clip(n - before, 0.0, stands)
    # of a weight below 1 the total holds less than the contributor gives: the lesser of both readings is left
    whole = np.abs(totals - (taken * held).sum(axis=1))
    inside = np.abs(totals - (np.minimum(taken, given) * held).sum(axis=1))
    return Top((taken * np.abs(held)).sum(axis=1), np.minimum(whole, inside))


def excess(asked: Floats, top: Top) -> Floats:
    """Levels as far as they are more than what floats lose in adding up; 0 elsewhere."""
    return np.where(asked > _LOST * (top.sizes + top.rest), asked, 0.0)
