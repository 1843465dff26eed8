"""Microaggregation (Defays & Nanopoulos 1993; MDAV: Domingo-Ferrer & Torra 2005): groups show one value.

Records that are alike form groups of at least `group_size`, and each shows the average of its group. All columns are
grouped together by MDAV and then by exchanges that lower the loss further, or each column alone, optimally (Hansen &
Mukherjee 2003). The mean of every column is kept, in each stratum; variances and correlations between groups nearly.
It does not protect where a group shares its value already (all have the same income: it is shown), nor the other
columns; columns that are grouped each alone can still be unique together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import narwhals as nw
import polars as pl
from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.guarantee import Guarantee
from flou.engine.note import Note
from flou.engine.parameters import Columns, Names
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.engine.values import Proportion
from flou.protect.micro.microaggregation.centre import Ints, Show
from flou.protect.micro.microaggregation.grouping import Groups, Improve, by_mdav, by_optimal_cuts, group_records
from flou.protect.micro.microaggregation.new_schema import schema_with
from flou.protect.micro.microaggregation.variable import Category, Variable, variable_of
from flou.protect.micro.promise import LARGER_CLASSES
from flou.protect.micro.rows import read_rows

_N = f"{native.RESERVED}n"


class Microaggregation(Protection):
    """Show what groups of alike records have on average: `Microaggregation(["income", "wage"], group_size=3)`.

    Reference: Domingo-Ferrer & Torra (2005). The step carries `.n_groups` and `.variance_lost`, the sum of squares
    within groups as a share of the whole.
    """

    reference: ClassVar[str] = "domingoferrer2005"
    title: ClassVar[str] = "microaggregation"
    audience = "public"
    perturbative = True
    answers_by = always(identity="reduces", amounts="reduces")
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns", "mean")

    columns: Columns = Field(description="numbers or dates to average, or categories")
    group_size: int = Field(3, ge=2, description="each combination shown is shared by at least so many records")
    by: Names = Field((), description="strata that groups never cross; their columns keep their values")
    partition: Literal["mdav", "univariate"] = Field(
        "mdav", description="mdav: all columns together; univariate: each alone, optimally"
    )
    show: Show = Field("mean", description="what a group shows of numbers and dates; categories show the mode")
    improve: Improve = Field(
        "exchange", description="after MDAV: exchanges between groups that lower the loss; none: MDAV as published"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Microaggregation:
        if both := [c for c in self.by if c in self.columns]:
            raise ParameterError(f"by names {listed(both)}, which columns names too: strata keep their values.")
        return self

    @property
    def claims(self) -> tuple[Claim, ...]:
        """A median or a mode does not keep the mean."""
        return tuple(c for c in self.preserves if c != "mean" or self.show == "mean")

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        if hidden := [c for c in self.columns if c in data.schema.hidden]:
            raise DataError(f"columns names {listed(hidden)}, never published: there is nothing to average.")
        if data.schema.weight in self.columns:
            raise DataError(f"columns names {data.schema.weight!r}, the weight: averaged it would bias estimates.")
        rows = read_rows(data, (*self.columns, *self.by), type(self).__name__)
        variables = [variable_of(rows, column) for column in self.columns]
        found = self._groups(variables, rows.strata(self.by))
        shown = {
            column: variable.shown(groups.of, self.show)
            for column, variable, groups in zip(self.columns, variables, found, strict=True)
        }
        schema = data.schema
        for column, variable in zip(self.columns, variables, strict=True):
            schema = schema_with(schema, column, variable, shown[column], self.show)
        figures = _figures(variables, found)
        text = "{n_groups} groups; {variance_lost} of the variance lies within them"
        return Outcome(
            rows.put_back(shown, schema),
            guarantees=(SharedByGroup(self, remedy=LARGER_CLASSES),),
            changes=tuple(_change(rows.frame[column], new) for column, new in shown.items()),
            figures=figures,
            notes=(Note(text, {**figures}, internal=True),),
        )

    def _groups(self, variables: Sequence[Variable], strata: Ints) -> list[Groups]:
        """The groups of each column; with MDAV all columns have the same."""
        if self.partition == "mdav":
            together = group_records(variables, strata, self.group_size, by_mdav(self.group_size, self.improve))
            return [together] * len(variables)
        if nominal := [v.held.name for v in variables if isinstance(v, Category)]:
            raise DataError(
                f'partition = "univariate" sorts the values, and {listed(nominal)} holds categories, which have no '
                'order: use partition = "mdav".'
            )
        cuts = by_optimal_cuts(self.group_size)
        return [group_records([v], strata, self.group_size, cuts) for v in variables]


@dataclass(frozen=True, eq=False)
class SharedByGroup(Guarantee):
    """What the columns show, together or each by itself, is shown by as many records as a group has."""

    method: Microaggregation

    @property
    def promise(self) -> Note:
        own, together = self.method, self.method.partition == "mdav"
        values: dict[str, object] = {"columns": list(own.columns), "group_size": own.group_size}
        if together:
            text = "every combination of {columns} that is shown is shown by at least {group_size} records"
        else:
            text = "every value of {columns} that is shown is shown by at least {group_size} records"
        if not own.by:
            return Note(text, values)
        if together:
            text = "within {by}, every combination of {columns} is shown by at least {group_size} records"
        else:
            text = "within {by}, every value of {columns} is shown by at least {group_size} records"
        return Note(text, {**values, "by": list(own.by)})

    def violations(self, data: Microdata) -> int:
        own = self.method
        sets = [own.columns] if own.partition == "mdav" else [(c,) for c in own.columns]
        return sum(_n_rare(data, columns, own.by, own.group_size) for columns in sets)


def _n_rare(data: Microdata, columns: Sequence[str], by: Sequence[str], size: int) -> int:
    """Records whose combination of values fewer than `size` show in their stratum; of columns that are still there."""
    shown = [c for c in columns if c in data.columns]
    if not shown:
        return 0
    something = nw.any_horizontal(*(~nw.col(c).is_null() for c in shown), ignore_nulls=True)
    names = [*(c for c in by if c in data.columns), *shown]
    counted = data.frame.filter(something).group_by(*names).agg(nw.len().alias(_N))
    rare = counted.filter(nw.col(_N) < size).select(nw.col(_N).sum())
    return int(native.collect(rare).item() or 0)


def _figures(variables: Sequence[Variable], found: Sequence[Groups]) -> dict[str, int | float]:
    distinct = list({id(groups): groups for groups in found}.values())
    total, within = sum(v.total for v in variables), sum(groups.squares for groups in distinct)
    lost = Proportion(within / total if total else 0.0)
    return {"n_groups": sum(groups.n for groups in distinct), "variance_lost": lost}


def _change(before: pl.Series, after: pl.Series) -> Change:
    if before.dtype != after.dtype:
        before = before.cast(after.dtype)
    n_changed = int(before.ne_missing(after).sum())
    return Change(before.name, n_changed, before.drop_nulls().n_unique(), after.drop_nulls().n_unique())
