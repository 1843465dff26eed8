"""The pq rule (prior-posterior ambiguity; Cox 1981, Hundepool et al. 2012): what was known before counts too.

Before the table appears everybody can estimate any contribution to within q percent; after it nobody may to within p
percent. The second largest contributor then knows what the others give to within (q/100)(X - x1 - x2), so the cell is
sensitive when that is less than (p/100) x1, and bounds must stay (p/q) x1 - (X - x1 - x2) away on each side (Loeve
2001). With q = 100, nothing known beforehand, it is the p% rule.

It protects amounts, not presence, and sees no coalitions: see `PPercent`.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from flou.describe.table.table import Table
from flou.engine.taxonomy import always
from flou.risk.table.contributions import top_contributors
from flou.risk.table.p_percent import closeness_levels
from flou.risk.table.percentage import Percentage, WholePercentage, short
from flou.risk.table.primary_rule import PrimaryRule, Sensitive, one_rule, symmetric


class PQ(PrimaryRule):
    """Cells where the largest contribution can be estimated to within p percent by those who knew all to within q.

    Reference: Hundepool et al. (2012), chapter 4; Loeve (2001) for the protection levels.
    Result: `.value` the share of cells that are sensitive and shown, `.n_sensitive`, `.by_cell`.
    """

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "pq rule"
    audience = "public"
    answers_by = always(amounts="measures")

    p: Percentage = Field(description="percent of the largest contribution within which nobody may estimate it")
    q: WholePercentage = Field(description="percent within which everybody knows each contribution beforehand")

    @model_validator(mode="after")
    def _learns(self) -> PQ:
        if not self.p < self.q:
            raise ValueError(
                f"p = {self.p!r} must be less than q = {self.q!r}: what is known to within p percent beforehand cannot "
                "be kept from being known so. A usual choice is p = 10, q = 50."
            )
        return self

    @property
    def label(self) -> str:
        return f"pq({short(self.p)},{short(self.q)})"

    def sensitive(self, table: Table) -> Sensitive:
        two, first = (top_contributors(table, n) for n in (2, 1))
        asked = closeness_levels(first, two, self.p / self.q)
        cells = asked > 0
        return one_rule(self.label, cells, {"value": symmetric(table, cells, asked)})
