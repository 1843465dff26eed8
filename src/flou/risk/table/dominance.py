"""The dominance rule, or (n, k) rule (Hundepool et al. 2012): no few contributors may make up nearly all of a cell.

A cell is sensitive when its n largest contributors together give more than k percent of it: x1 + … + xn > (k/100) X. An
intruder's bounds must then reach a total of which they would be k percent: (100/k)(x1 + … + xn) - X on each side (Loeve
2001).

It does not see how close the second largest contributor comes to the first, so that (1, k) leaves cells of two equal
contributors, each of which knows the other; offices add (2, k') or prefer `PPercent`. It protects amounts alone, not
presence.
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


def dominance_levels(top: Top, share: float) -> Floats:
    """By how much a total falls short of one of which its first contributors would be the share."""
    return excess(top.sizes / share - (top.sizes + top.rest), top)


class Dominance(PrimaryRule):
    """Cells of which the n largest contributors give more than k percent.

    Reference: Hundepool et al. (2012), chapter 4; Loeve (2001) for the protection levels.
    Result: `.value` the share of cells that are sensitive and shown, `.n_sensitive`, `.by_cell`.
    """

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "dominance rule"
    audience = "public"
    answers_by = always(amounts="measures")

    n: int = Field(ge=1, le=100, description="how many of the largest contributors are taken together")
    k: Percentage = Field(description="percent of the total that they may give at most")

    @property
    def label(self) -> str:
        return f"({self.n},{short(self.k)})-dominance"

    def sensitive(self, table: Table) -> Sensitive:
        top = top_contributors(table, self.n)
        asked = dominance_levels(top, self.k / 100)
        cells = asked > 0
        return one_rule(self.label, cells, {"value": symmetric(table, cells, asked)})
