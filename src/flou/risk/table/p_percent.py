"""The p% rule (Cox 1981; Hundepool et al. 2012): nobody may estimate another's contribution to within p percent.

The second largest contributor of a cell, who subtracts its own amount from the total, knows the largest one to within
what all others give: X - x1 - x2. The cell is sensitive when that is less than p percent of x1, and the bounds of an
intruder must then leave (p/100) x1 - (X - x1 - x2) on each side of the total (Loeve 2001). It is the pq rule with q =
100: nobody knows anything of the others beforehand.

It protects amounts, not presence: whether somebody contributes is told by a count, for which `Threshold` is there. It
does not see coalitions of three and more, nor contributors who belong together unless the table was made by holdings.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from flou.describe.table.cells import Floats
from flou.describe.table.table import Table
from flou.engine.taxonomy import always
from flou.risk.table.contributions import Top, excess, top_contributors
from flou.risk.table.percentage import Percentage, short
from flou.risk.table.primary_rule import PrimaryRule, Sensitive, one_rule, symmetric


def closeness_levels(first: Top, two: Top, share: float) -> Floats:
    """By how much the others fall short of a share of the largest contribution."""
    return excess(share * first.sizes - two.rest, two)


class PPercent(PrimaryRule):
    """Cells where the second largest contributor can estimate the largest to within p percent.

    Reference: Hundepool et al. (2012), chapter 4; Loeve (2001) for the protection levels.
    Result: `.value` the share of cells that are sensitive and shown, `.n_sensitive`, `.by_cell`.
    """

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "p% rule"
    audience = "public"
    answers_by = always(amounts="measures")

    p: Percentage = Field(description="percent of the largest contribution within which nobody may estimate it")

    @property
    def label(self) -> str:
        return f"p%({short(self.p)})"

    def sensitive(self, table: Table) -> Sensitive:
        two, first = (top_contributors(table, n) for n in (2, 1))
        asked = closeness_levels(first, two, self.p / 100)
        cells = asked > 0
        return one_rule(self.label, cells, {"value": symmetric(table, cells, asked)})
