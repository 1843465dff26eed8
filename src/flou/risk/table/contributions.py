"""What the largest contributors of each cell give, and what is left beside them: the input of the dominance rules.

A sampling weight w means w contributors of x each, filled from the top, never one of w·x: with w = 2.5 the largest, the
second largest and half of the third are of size x. A record with a weight below 1 was observed, so it counts as one
whole contributor of x. Contributions are ranked by size whatever their sign; of equal sizes with opposite signs those
come first that leave the others least. Contributors that the table does not keep may be as large as the last one that
it keeps, with either sign, each for itself: the verdict is never laxer than with all of them kept. What the others give
is then only known as a sum, in which gains and losses may cancel, so its size is the least that they can have moved:
the rules see no more uncertainty than an intruder has who subtracts the largest from the published total.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    unseen = np.maximum(n_contributors - largest.shape[1], 0)
    return fill_from_top(table.true_values, largest, table.cells.largest_weights, n, unseen)


def fill_from_top(totals: Floats, largest: Floats, weights: Floats | None, n: int, unseen: Ints | None = None) -> Top:
    """Take n contributors from the top of each cell; weights say how many each contribution stands for.

    `unseen` says how many contributors each cell has beyond those that are kept.
    """
    top = Top(_sizes(largest, weights, n), np.minimum(*(np.abs(totals - t) for t in _taken(largest, weights, n))))
    shown = np.nan_to_num(largest) * (1.0 if weights is None else np.nan_to_num(weights))
    if not ((largest < 0).any() or (totals < (1 - _LOST) * shown.sum(axis=1)).any()):
        return top  # nobody loses: of equal sizes any may come first
    hidden = np.zeros(len(totals)) if unseen is None else unseen.astype(np.float64)
    return Top(top.sizes, np.minimum(top.rest, _least_rest(totals, largest, weights, n, hidden)))


def _least_rest(totals: Floats, largest: Floats, weights: Floats | None, n: int, unseen: Floats) -> Floats:
    """What is left beside the first n, whichever of equal sizes come first; infinite where there is no choice.

    Contributors that are not kept may be as large as the last one that is, with either sign; with weights they may be
    any number. `gains` of one size are then among the first, and losses in the other places.
    """
    stands = _stands(largest, weights)
    after = np.cumsum(stands, axis=1)
    size = np.abs(np.take_along_axis(largest, np.argmax(after >= n, axis=1)[:, None], axis=1))
    before, alike = np.abs(largest) > size, np.abs(largest) == size
    hidden = np.where(alike[:, -1], unseen if weights is None else np.where(unseen > 0, np.inf, 0.0), 0.0)
    n_plus, n_minus = (np.where(alike & (sign * largest > 0), stands, 0.0).sum(axis=1) + hidden for sign in (1, -1))
    places = n - np.where(before, stands, 0.0).sum(axis=1)
    low, high = np.maximum(places - n_minus, 0.0), np.minimum(n_plus, places)
    choice = (after[:, -1] >= n) & (size[:, 0] > 0) & (low < high)
    apart = np.full(len(totals), np.inf)
    if not choice.any():
        return apart
    size = np.where(choice, size[:, 0], 1.0)
    whole = np.isfinite(hidden) & (np.where(alike, stands % 1, 0.0).sum(axis=1) == 0) & (places % 1 == 0)
    # of a weight below 1 the total holds less than a contributor gives: anything from none of it on
    part = np.zeros(len(totals), dtype=np.bool_) if weights is None else (alike & (weights < 1)).any(axis=1)
    for taken in _taken(np.where(before, largest, np.nan), weights, n):
        left = totals - taken
        gains = np.clip((left / size + places) / 2, low, high)
        gains = np.where(whole, np.clip(np.rint(gains), low, high), gains)
        nearest = np.where(part, np.clip(left / size, -np.minimum(n_minus, places), high), 2 * gains - places)
        apart = np.minimum(apart, np.abs(left - size * nearest))
    return np.where(choice, apart, np.inf)


def _stands(largest: Floats, weights: Floats | None) -> Floats:
    """How many contributors each contribution is."""
    given = np.ones(largest.shape) if weights is None else np.nan_to_num(weights)
    return np.where(np.isnan(largest), 0.0, np.maximum(given, 1.0))


def _sizes(largest: Floats, weights: Floats | None, n: int) -> Floats:
    """The sizes of the first n contributors in the order that they stand in, added up."""
    sizes: Floats = (_places(largest, weights, n) * np.abs(np.nan_to_num(largest))).sum(axis=1)
    return sizes


def _taken(largest: Floats, weights: Floats | None, n: int) -> tuple[Floats, Floats]:
    """What the first n give: as whole contributors, and as far as their weights below 1 let them into the total.

    The lesser of what both leave is what somebody is off who subtracts them.
    """
    held, places = np.nan_to_num(largest), _places(largest, weights, n)
    given = np.where(np.isnan(largest), 0.0, 1.0 if weights is None else np.nan_to_num(weights))
    return (places * held).sum(axis=1), (np.minimum(places, given) * held).sum(axis=1)


def _places(largest: Floats, weights: Floats | None, n: int) -> Floats:
    """How many of the first n places each contribution fills."""
    stands = _stands(largest, weights)
    before = np.cumsum(stands, axis=1) - stands
    places: Floats = np.clip(n - before, 0.0, stands)
    return places


def excess(asked: Floats, top: Top) -> Floats:
    """Levels as far as they are more than what floats lose in adding up; 0 elsewhere."""
    return np.where(asked > _LOST * (top.sizes + top.rest), asked, 0.0)
