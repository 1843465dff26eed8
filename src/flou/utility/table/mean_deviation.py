"""The mean absolute deviation of published counts, E|Z| (Jamme 2025, U2; Shlomo, Antal and Elliot 2015).

In units of the table, over all cells with the empty ones, and for large counts alone. It sees how far cells are off and
not which: a deviation of 2 weighs the same on a count of 3 and on one of 3,000 (RelativeDeviation tells them apart).
The R package ckm drops the zeros of each file before it compares, so that its cells no longer belong to each other
where a count became 0; here cells are compared one by one. Withheld cells have no deviation and are left out.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from flou.engine.figure import Figure
from flou.utility.table.cells import Floats, Integers
from flou.utility.table.count_utility import CountUtility, count_figures


class MeanDeviation(CountUtility):
    """Mean absolute deviation of the published counts.

    Reference: Jamme (2025); Shlomo, Antal and Elliot (2015).
    Result: `.value` over the whole table, zeros included, `.large` for large counts, `.expected`, `.by_size`.
    """

    reference: ClassVar[str] = "jamme2025"
    title: ClassVar[str] = "deviation of counts"
    audience = "public"
    headline: ClassVar[Figure] = Figure("value", "mean absolute deviation")
    figures: ClassVar[tuple[Figure, ...]] = count_figures("number")

    def _score(self, true: Integers, published: Floats) -> Floats:
        return np.abs(published - true)
