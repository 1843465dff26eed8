"""Counts that stay close: the share of cells published within a distance d of the truth, P(|Z| <= d) (Jamme 2025, U1).

Over the whole table every cell counts once, also the empty ones, which a mechanism that keeps zeros never moves: a
table of many zeros looks well kept. The figure for large counts, which depends on the mechanism alone, stands beside.
Withheld cells count as lost. It does not see how far the other cells are off: MeanDeviation does. The paper's figure 3
writes d = 3 for deviations below 3; here d is the largest deviation that still counts as close, so that is d = 2.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from flou.engine.figure import Figure
from flou.engine.words import Words
from flou.utility.table.cells import Floats, Integers
from flou.utility.table.count_utility import CountUtility, count_figures


class WithinDistance(CountUtility):
    """Share of cells whose published count is at most d away from the true one.

    Reference: Jamme (2025).
    Result: `.value` over the whole table, zeros included, `.large` for large counts, `.expected` what the mechanism
    leads one to expect where the table is at hand, `.by_size`.
    """

    reference: ClassVar[str] = "jamme2025"
    title: ClassVar[str] = "counts that stay close"
    audience = "public"
    better: ClassVar[Literal["high", "low"]] = "high"
    headline: ClassVar[Figure] = Figure("value", "share of cells within the distance", "share")
    figures: ClassVar[tuple[Figure, ...]] = count_figures("share")
    withheld: ClassVar[float | None] = 0.0

    d: int = Field(ge=0, lt=2**53, description="largest deviation that still counts as close")

    def axis_title(self, words: Words) -> str:
        return words("share of cells within {d} of the true count", d=self.d)

    def _score(self, true: Integers, published: Floats) -> Floats:
        return (np.abs(published - true) <= self.d).astype(np.float64)
