"""Group disclosure (Hundepool et al. 2012): where all people of a group are alike, the group's size protects nobody.

A group is what the other dimensions make (the women of a town), spread over the categories of `of` below one node. If
one category holds everybody but at most `outsiders`, all of the group's people are known to have it: to everyone, or to
the outsiders, who can subtract themselves. The cell is sensitive: the bounds of an intruder must allow for more
outsiders. The zeros beside it tell the same as the cell, so one that is empty but possible is sensitive with it, and
must be able to rise. Of several the first in the order of the table is taken, and below it the first at each level.

Categories in which nobody of the group can be (structural zeros) tell nothing. It speaks of counts, and does not see
groups that are nearly all alike beyond `outsiders`, nor what a survey of some of the people says: weighted tables are
refused.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.table.cells import Ints
from flou.describe.table.table import Table
from flou.engine.errors import DataError, did_you_mean
from flou.engine.taxonomy import always
from flou.risk.table.families import Families, group_cells, require_every_level
from flou.risk.table.primary_rule import Levels, PrimaryRule, Sensitive, TableFigure, has_negatives, one_rule
from flou.risk.table.threshold import per_contributor


class GroupDisclosure(PrimaryRule):
    """Cells that hold everybody of a group, or all but a few, with an empty cell beside each that is withheld too.

    Reference: Hundepool et al. (2012), chapter 5.
    Result: `.value` the share of cells that are sensitive and shown, `.n_sensitive`, `.by_cell`.
    """

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "group disclosure rule"
    audience = "public"
    answers_by = always(homogeneity="measures")

    of: str = Field(min_length=1, description="dimension whose categories must not be known of a whole group")
    outsiders: int = Field(
        0, ge=0, lt=2**31, description="how many of a group may be elsewhere while the rest is held to be disclosed"
    )

    @property
    def holds_zeros(self) -> bool:
        return True

    @property
    def label(self) -> str:
        more = f", outsiders={self.outsiders}" if self.outsiders else ""
        return f'group_disclosure("{self.of}"{more})'

    def sensitive(self, table: Table) -> Sensitive:
        along = _place_of(table, self.of)
        counts = table.true_counts
        if table.cells.weighted is not None:
            raise DataError(
                "GroupDisclosure goes by everybody of a group, and the table estimates counts from a sample: what all "
                "sampled people have the others need not have. Tabulate without weight=."
            )
        require_every_level(table, along)
        families = group_cells(table, along)
        lower, upper, alone = disclosed_levels(families, counts, self.outsiders)
        if alone:
            raise DataError(
                f"{alone:,} groups have all their people in one category of {self.of!r}, and the empty cells beside it "
                'are not listed, which tells so whatever is withheld. List them: tabulate(…, cells="all").'
            )
        cells = (lower > 0) | (upper > 0)
        nothing = np.zeros(len(cells))
        levels: dict[TableFigure, Levels] = {"count": Levels(lower, upper, nothing)}
        if table.cells.value is not None:
            # in amounts: as many people as the counts ask for, each with what one of the cell or table gives
            each = per_contributor(counts, np.abs(table.true_values))
            below = lower * each if has_negatives(table) else np.minimum(lower * each, np.abs(table.true_values))
            levels["value"] = Levels(below, upper * each, nothing)
        return one_rule(self.label, cells, levels)


def disclosed_levels(
    families: Families, counts: Ints, outsiders: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """How far the counts of disclosing cells must be able to fall, and those beside them to rise.

    The third figure is how many groups are disclosed by zeros that the table does not list. More people than a group
    has can never be outsiders: of a smaller one, it is enough that all may be elsewhere.
    """
    lower, upper = np.zeros(len(counts)), np.zeros(len(counts))
    total = families.sums(counts)
    wanted = np.minimum(outsiders + 1, total)
    which, inside = families.group, families.group >= 0
    elsewhere = np.where(inside, total[which] - counts, 0)
    found = np.flatnonzero(inside & (counts > 0) & (elsewhere <= outsiders) & (families.n_possible[which] > 1))
    lower[found] = (wanted[which] - elsewhere)[found]
    empty = families.first(inside & families.possible & (counts == 0))[which[found]]
    first = families.first(inside & (counts > 0))
    second = families.first(inside & (counts > 0) & (np.arange(len(counts)) != first[which]))
    others = np.where(first[which[found]] == found, second[which[found]], first[which[found]])
    beside = np.where(empty >= 0, empty, others)
    alone = len(np.unique(which[found][beside < 0]))
    asked = (wanted[which[found]])[beside >= 0]
    place = beside[beside >= 0]
    while len(place):
        np.maximum.at(upper, place, asked - counts[place])
        # an empty cell rises only if one below it does
        below = np.where(counts[place] == 0, families.below(place), -1)
        place, asked = below[below >= 0], asked[below >= 0]
    return lower, upper, alone


def _place_of(table: Table, name: str) -> int:
    """The number of the dimension of this name, or shown by a column of it."""
    for j, dim in enumerate(table.dims):
        if name == dim.name or name in dim.columns:
            return j
    known = [dim.name for dim in table.dims]
    raise DataError(
        f"of = {name!r} is no dimension of the table.{did_you_mean(name, known)} It has {', '.join(known)}."
    )
