"""What the largest contributors of each cell give, and what is left beside them: the input of the dominance rules.

A sampling weight w means w contributors of x each, filled from the top, never one of w·x: with w = 2.5 the largest, the
second largest and half of the third are of size x. A record with a weight below 1 was observed, so it counts as one
whole contributor of x. Contributions are ranked by size whatever their sign. What the others give is then only known as
a sum, in which gains and losses may cancel, so its size is the least that they can have moved: the rules see no more
uncertainty than an intruder has who subtracts the largest from the published total.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flou.describe.table.cells import Floats
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
    return fill_from_top(table.true_values, largest, table.cells.largest_weights, n)


def fill_from_top(totals: Floats, largest: Floats, weights: Floats | None, n: int) -> Top:
    """Take n contributors from the top of each cell; weights say how many each contribution stands for."""
    held = np.nan_to_num(largest)
    given = np.where(np.isnan(largest), 0.0, 1.0 if weights is None else np.nan_to_num(weights))
    stands = np.where(np.isnan(largest), 0.0, np.maximum(given, 1.0))
    before = np.cumsum(stands, axis=1) - stands
    taken = np.clip(n - before, 0.0, stands)
    # of a weight below 1 the total holds less than the contributor gives: the lesser of both readings is left
    whole = np.abs(totals - (taken * held).sum(axis=1))
    inside = np.abs(totals - (np.minimum(taken, given) * held).sum(axis=1))
    return Top((taken * np.abs(held)).sum(axis=1), np.minimum(whole, inside))


def excess(asked: Floats, top: Top) -> Floats:
    """Levels as far as they are more than what floats lose in adding up; 0 elsewhere."""
    return np.where(asked > _LOST * (top.sizes + top.rest), asked, 0.0)
