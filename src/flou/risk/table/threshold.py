"""The threshold rule (minimum frequency; Hundepool et al. 2012): a cell of fewer than n contributors is not shown.

Few people in a cell can be recognised by those who know them, and each of two contributors knows the other's amount. An
intruder's upper bound on the count must reach n, so that a withheld cell may be one that was large enough. On a table
of amounts, where nothing links the sum to the number of contributors, both bounds stay `margin` percent away.

Contributors are the holdings where the table has them, else the records, those who give 0 included: they are in the
cell. Of a weighted table the sampled contributors count. It does not protect amounts that one contributor dominates
(`PPercent`, `Dominance`), nor groups of any size that are all alike (`GroupDisclosure`).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.table.cells import Floats
from flou.describe.table.table import Table
from flou.engine.errors import DataError
from flou.engine.taxonomy import always
from flou.risk.table.percentage import WholePercentage
from flou.risk.table.primary_rule import Levels, PrimaryRule, Sensitive, TableFigure, one_rule, symmetric


class Threshold(PrimaryRule):
    """Cells of fewer than n contributors, and empty ones where zeros are sensitive too.

    Reference: Hundepool et al. (2012), chapters 4 and 5.
    Result: `.value` the share of cells that are sensitive and shown, `.n_sensitive`, `.by_cell`.
    """

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "threshold rule"
    audience = "public"
    answers_by = always(identity="measures")

    n: int = Field(ge=2, lt=2**31, description="contributors from which on a cell may be shown")
    zeros: bool = Field(False, description="whether empty cells that somebody could be in are sensitive too")
    margin: WholePercentage = Field(
        10, description="percent of the sum that an intruder's bounds stay away from it, on a table of amounts"
    )

    @property
    def holds_zeros(self) -> bool:
        return self.zeros

    @property
    def label(self) -> str:
        return f"threshold({self.n}, zeros=true)" if self.zeros else f"threshold({self.n})"

    def sensitive(self, table: Table) -> Sensitive:
        contributors = contributors_of(table)
        cells = (contributors > 0) & (contributors < self.n)
        if self.zeros:
            _require_all_cells(table)
            possible = table.cells.possible
            cells |= (contributors == 0) & (True if possible is None else possible)
        figures = table.true_counts if table.cells.weighted is None else table.cells.weighted
        upper = np.where(cells, count_levels(contributors, figures, self.n), 0.0)
        nothing = np.zeros(len(cells))
        levels: dict[TableFigure, Levels] = {"count": Levels(nothing, upper, nothing)}
        if table.cells.value is not None:
            scale = value_scale(table, contributors, self.n)
            levels["value"] = symmetric(table, cells, self.margin / 100 * scale)
        return one_rule(self.label, cells, levels)


def contributors_of(table: Table) -> NDArray[np.int64]:
    """How many contribute to each cell: holdings where the table has them, else records."""
    return table.true_counts if table.cells.holdings is None else table.cells.holdings


def count_levels(contributors: NDArray[np.int64], figures: NDArray[np.generic], n: int) -> Floats:
    """How far the shown count must be able to rise for a cell to have n contributors.

    A contributor is so many records, or so much weight, as those of the cell are on average; in an empty cell as those
    of the table are. Whole counts are rounded up.
    """
    each = per_contributor(contributors, figures.astype(np.float64))
    levels = (n - contributors) * each
    whole = figures.dtype.kind in "iu"
    return np.maximum(np.ceil(levels - 1e-9), 1.0) if whole else levels


def value_scale(table: Table, contributors: NDArray[np.int64], n: int) -> Floats:
    """The size of each cell's sum that its margin is taken of: never 0, since no bound would be asked for.

    It is the sum; the largest contribution where gains and losses cancel; and where all give 0, or nobody is there,
    what n contributors would give on average.
    """
    scale = np.abs(table.true_values)
    if table.cells.largest is not None and table.cells.largest.shape[1]:
        scale = np.maximum(scale, np.abs(np.nan_to_num(table.cells.largest[:, 0])))
    return np.where(scale > 0, scale, n * typical(contributors, np.abs(table.true_values)))


def per_contributor(contributors: NDArray[np.int64], figures: Floats) -> Floats:
    """What one contributor of each cell is on average; where that is 0, or nobody is there, one of the table."""
    each = figures / np.maximum(contributors, 1)
    return np.where(each > 0, each, typical(contributors, figures))


def typical(contributors: NDArray[np.int64], figures: Floats) -> float:
    """What one contributor of the table is on average, and 1 in a table of nothing."""
    n, total = int(contributors.sum()), float(figures.sum())
    return total / n if n and total > 0 else 1.0


def _require_all_cells(table: Table) -> None:
    """Of a table that does not list its empty cells everybody knows which they are."""
    if table.n_unlisted_zeros:
        raise DataError(
            f"zeros = true holds empty cells sensitive, but the table leaves {table.n_unlisted_zeros:,} of them out, "
            'which tells that they are empty. List them: tabulate(…, cells="all").'
        )
