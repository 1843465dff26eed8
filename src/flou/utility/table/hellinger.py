"""The Hellinger distance between the published table and the true one (Hellinger 1909; Shlomo, Antal and Elliot 2015).

Both tables are taken as distributions over their cells: H = √(½ Σ (√(x/n) - √(x'/n'))²), between 0 for equal shapes and
1 for tables without a cell in common. Roots make it heed small cells more than large ones, and it does not depend on
the size of the population. What a mechanism is expected to do is the root of E H² with n' taken to be n, which holds up
to the noise of a total; no simulation is needed. A table twice as large with the same shares is at distance 0, so look
at deviations as well. Withheld cells are left out of both tables, with a note.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from flou.describe.mechanism.mechanism import Mechanism
from flou.engine.errors import DataError
from flou.engine.figure import Figure
from flou.utility.table.cells import Cells, Floats, Integers
from flou.utility.table.count_utility import CountUtility, count_figures


class Hellinger(CountUtility):
    """Hellinger distance between the distributions of true and published counts over the cells.

    Reference: Shlomo, Antal and Elliot (2015); Hellinger (1909).
    Result: `.value` the distance, `.expected` the root of its expected square, `.by_size` the mean of (√x - √x')².
    """

    reference: ClassVar[str] = "shlomo2015"
    title: ClassVar[str] = "Hellinger distance of counts"
    audience = "public"
    headline: ClassVar[Figure] = Figure("value", "Hellinger distance")
    figures: ClassVar[tuple[Figure, ...]] = count_figures("number")

    def _score(self, true: Integers, published: Floats) -> Floats:
        difference: Floats = (np.sqrt(true) - np.sqrt(published)) ** 2
        return difference

    def _join(self, scores: Floats, true: Integers, weights: Floats) -> float:
        held = ~np.isnan(scores)
        total = float(true[held] @ weights[held])
        if total == 0:
            raise DataError("Hellinger: the table has no units, so it has no distribution over its cells.")
        return float(np.sqrt(min(float(scores[held] @ weights[held]) / total / 2, 1.0)))

    def _join_cells(self, cells: Cells, scores: Floats) -> float:
        held = ~np.isnan(cells.published)
        true, published = cells.true[held].astype(np.float64), cells.published[held]
        if true.sum() == 0 or published.sum() == 0:
            raise DataError("Hellinger: one of the tables has no units, so it has no distribution over its cells.")
        gaps = np.sqrt(true / true.sum()) - np.sqrt(published / published.sum())
        return float(np.sqrt(min(float(gaps @ gaps) / 2, 1.0)))

    def _large(self, mechanism: Mechanism) -> float | None:
        return None  # it depends on the whole table
