"""What it costs to withhold a cell, by what the office counts as lost."""

from __future__ import annotations

from typing import Literal

import numpy as np

from flou.describe.table.apriori import Apriori
from flou.describe.table.cells import Floats
from flou.describe.table.table import Table

#: By what cells are told apart: their figure, their contributors, the rank of their figure, or not at all.
Cost = Literal["value", "count", "rank", "cells"]
#: At equal cost cells with fewer levels above them are withheld last.
_A_LITTLE = 1e-3
#: The part of a usual figure that any cell costs.
_USUAL = 0.1


def cell_costs(table: Table, cost: Cost, apriori: Apriori) -> Floats:
    """The cost of each cell, above zero; what the office states goes before.

    By figure, count or rank a part of the usual cost is added to each cell: it is worth something to withhold few
    cells, not only little of the whole.
    """
    value = table.cells.value
    figures = np.abs(value) if value is not None and cost != "count" else table.true_counts.astype(np.float64)
    if value is None and table.cells.weighted is not None and cost != "count":
        figures = table.cells.weighted
    if cost == "rank":
        figures = np.unique(figures, return_inverse=True)[1].astype(np.float64)
    if cost == "cells":
        base = np.ones(table.n_cells)
    else:
        filled = figures[figures > 0]
        base = figures + (_USUAL * float(np.median(filled)) if len(filled) else 1.0)
    depth = sum(dim.depths[table.cells.codes[:, j]] for j, dim in enumerate(table.dims))
    base = base * (1 + _A_LITTLE * (np.max(depth) - depth))
    return np.where(np.isnan(apriori.cost), base, np.maximum(apriori.cost, 1e-9 * float(base.min())))
