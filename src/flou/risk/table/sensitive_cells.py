"""Which cells of a table are sensitive: what rules find, and what an office states of single cells.

Suppression and the attack on it ask the same question, and must get the same answer: a cell is sensitive when any rule
says so or the office wants it protected, unless the office calls it safe. Rules that speak of figures which the table
does not show would protect nothing, and are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator

from flou.describe.table.apriori import Apriori
from flou.describe.table.table import Table
from flou.engine.errors import DataError, listed
from flou.engine.measure import Measures
from flou.risk.table.bounds.sides import Show, shown_figures
from flou.risk.table.primary_rule import PrimaryRule, Sensitive, combine


def _rules(value: tuple[Any, ...]) -> tuple[Any, ...]:
    for rule in value:
        if not isinstance(rule, PrimaryRule):
            raise ValueError(
                f"{type(rule).__name__} finds no sensitive cells: primary takes Threshold, Dominance, PPercent, PQ "
                "and GroupDisclosure."
            )
    return value


#: Rules that find sensitive cells.
PrimaryRules = Annotated[Measures, AfterValidator(_rules)]


def sensitive_cells(rules: Sequence[Any], apriori: Apriori, table: Table, show: Show) -> Sensitive:
    """What the rules and the office hold sensitive, without what the office calls safe."""
    found = combine([rule for rule in rules if isinstance(rule, PrimaryRule)], table)
    shown = shown_figures(table, show)
    if found.levels and not set(found.levels) & set(shown):
        raise DataError(
            f"The rules speak of {listed(sorted(found.levels))} and the table shows {listed(shown)}: nothing that "
            'is published is protected by them. Set show = "both", or use other rules.'
        )
    because = found.because & ~apriori.safe[:, None]
    reasons = found.reasons
    if apriori.protect.any():
        because = np.concatenate([because, apriori.protect[:, None]], axis=1)
        reasons = (*reasons, "a-priori list")
    cells = (found.cells & ~apriori.safe) | apriori.protect
    return Sensitive(cells=cells, levels=found.levels, reasons=reasons, because=because)


def may_be_empty(rules: Sequence[Any], table: Table, withheld: NDArray[np.bool_]) -> bool:
    """Whether a suppressed cell may be empty, for all that everybody knows: the rules say so, or one is.

    Rules are known, so this must not hang on whether the table happens to have an empty cell that they find.
    """
    by_rule = table.listed == "all" and any(rule.holds_zeros for rule in rules if isinstance(rule, PrimaryRule))
    return by_rule or bool((withheld & (table.true_counts == 0)).any())
