"""Differentially private counts (Dwork, McSherry, Nissim & Smith 2006): noise in proportion to what a record changes.

Every figure of a table, or of all tables of a set, gets whole-number noise that OpenDP draws: geometric where delta is
0 (Ghosh, Roughgarden & Sundararajan 2012), discrete Gaussian else (Canonne, Kamath & Steinke 2020). Whoever reads the
tables, and knows everything of everybody else, can hardly tell whether one record was in the file: its presence changes
the chance of anything that is published by a factor of exp(epsilon) at most, but for a chance of delta. This holds
against any attack, together with whatever else is known, and it is the only thing that holds.

Zeros move as well. Which cells are listed must not hang on the records, so all of them are, of declared categories.
Afterwards figures below zero become 0, and margins add up if asked: both work on noisy figures alone and cost nothing,
but small counts are too large on average. A cell that stands in two tables is drawn twice, and the budget pays for it.
It does not hide what is true of a large group, and it protects one record: whoever has ten is hidden ten times worse.
Losses of several releases of the same records add up: give them one budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from pydantic import Field, InstanceOf, PlainSerializer, WithJsonSchema, model_validator

from flou.describe.table.cells import Published
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet, tables_of
from flou.engine.errors import DataError, ParameterError, did_you_mean, listed
from flou.engine.note import Note
from flou.engine.parameters import Numbers
from flou.engine.places import located
from flou.engine.randomness import Draws
from flou.engine.release import Outcome, Release
from flou.engine.secret import Secret
from flou.engine.taxonomy import always
from flou.protect.table.additivity import require_parts, restore_additivity
from flou.protect.table.count_protection import Additive, AddsUp, NoSums, tell_of_sums, with_costs
from flou.protect.table.privacy_budget import PURPOSE, PrivacyBudget
from flou.protect.table.privacy_ledger import checked_loss
from flou.protect.table.privacy_loss import (
    Loss,
    count_queries,
    find_loss,
    largest_factor,
    noised_cells,
    spent_loss,
)
from flou.protect.table.protection import TableGuarantee, TableProtection, require_unprotected


def _ledger(budget: PrivacyBudget | str) -> object:
    """A budget in a plan is the file of its ledger; one in memory is for Python alone."""
    return budget if isinstance(budget, str) or budget.path is None else budget.path


#: A budget as a parameter: an object, or the file of its ledger.
Budget = Annotated[
    InstanceOf[PrivacyBudget] | Annotated[str, Field(min_length=1)],
    PlainSerializer(_ledger),
    WithJsonSchema({"type": "string", "minLength": 1}),
]


class NoisyCounts(TableProtection):
    """Add differentially private noise to every count: `NoisyCounts(epsilon=1.0)`."""

    title: ClassVar[str] = "differentially private noise on counts"
    audience = "public"
    perturbative = True
    answers_by = always(inference="reduces", differencing="reduces", reconstruction="reduces")
    reference: ClassVar[str] = "dwork2006"
    uses = ("system entropy",)

    epsilon: float = Field(description="privacy loss of one record that all tables together may cost")
    delta: float = Field(0.0, description="chance with which more may be lost; above 0 the noise is Gaussian")
    shares: Numbers | None = Field(None, description="share of epsilon that each table of a set gets, by its name")
    additive: Additive = Field("no", description='"repair" changes cells further until margins add up')
    budget: Budget | None = Field(
        None,
        description="budget that pays for it, or the file of its ledger",
        json_schema_extra={"secret": True},  # a place on somebody's machine
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        checked_loss(self.epsilon, self.delta, ValueError)
        for name, share in self.shares or ():
            if share <= 0:
                raise ValueError(f"shares: {name} = {share!r} must be above 0: without a share nothing can be shown.")
        total = sum(self._parts.values(), Fraction())
        if total > 1:
            raise ValueError(f"shares add up to {float(total):g}; they are parts of epsilon and add up to 1 at most.")
        return self

    @property
    def _parts(self) -> dict[str, Fraction]:
        """The shares as they are written: 0.7 and 0.3 are 1."""
        return {name: Fraction(repr(share)) for name, share in self.shares or ()}

    def stored_state(self) -> dict[str, Any]:
        """The parameters as an office may keep them: a budget is the file of its ledger."""
        return {**self.__dict__, "budget": None if self.budget is None else _ledger(self.budget)}

    def protect(
        self, data: Any, *, secret: Secret | int | None = None, series: str = "", period: str | None = None
    ) -> Release:
        """Protect a table or a set of tables: a plan of one step. It takes no secret."""
        if secret is not None:
            raise ParameterError(
                "NoisyCounts takes no secret=: its noise is drawn by OpenDP from the operating system, anew at each "
                "call, and whoever had a secret or a seed could draw it again and take it off. Leave secret= out."
            )
        return super().protect(data)

    def _protect(self, data: Any, draw: Draws) -> Outcome:
        tables = tables_of(data)
        require_unprotected(tables)
        for table in tables:
            self._require_known(table)
        loss = self._loss(data)
        noises = loss.noises  # a scale that is out of bounds is refused before anything is spent
        budget = self._open_budget(draw)
        if budget is not None:
            told = f"{len(tables)} tables, {sum(loss.queries)} figures a record"
            # shares of less than 1 leave some over; what Gaussian noise costs is not in proportion to them
            whole = self.shares is None or sum(self._parts.values()) == 1
            budget.spend(self.epsilon if whole else loss.epsilon, self.delta, told)
        drawn = [loss.draw(table, place) for place, table in enumerate(tables)]
        done = []
        for table, figures, noise in zip(tables, drawn, noises, strict=True):
            shown, repaired = np.maximum(figures, 0), self.additive == "repair"
            if repaired:
                shown = restore_additivity(table, figures, least=1, step=1, fixed=~noised_cells(table))
            published = Published(count=shown)
            done.append(table.with_changes(published=published, mechanism=None if repaired else noise))
        outcome = self._outcome(data, done, self._promised(tables, loss))
        if self.additive == "repair":
            outcome = with_costs(outcome, np.maximum(np.concatenate(drawn), 0))
        return self._with_loss(outcome, tables, loss, budget)

    def _open_budget(self, draw: Draws) -> PrivacyBudget | None:
        if not isinstance(self.budget, str):
            return self.budget
        # a ledger is begun in Python or by hand, and read under the plan's secret
        return PrivacyBudget.with_key(located(self.budget), draw.lasting_key(PURPOSE))

    def _loss(self, data: Table | TableSet) -> Loss:
        tables = tables_of(data)
        queries = [count_queries(table) for table in tables]
        if not all(queries):
            raise DataError("A table has no cell that somebody can be in: there is nothing to protect.")
        if self.shares is None:
            return find_loss(queries, self.epsilon, self.delta)
        names, parts = [table.name for table in tables], self._parts
        for name in parts:
            if name not in names:
                raise ParameterError(f"shares names {name!r}, and no table is called so.{did_you_mean(name, names)}")
        without = [name for name in names if name not in parts]
        if without:
            raise ParameterError(f"shares leaves out {listed(without)}: every table needs a part of epsilon.")
        return find_loss(queries, self.epsilon, self.delta, [parts[name] for name in names])

    def _require_known(self, table: Table) -> None:
        """Refuse tables whose noise, or whose list of cells, would hang on the records."""
        named = f"The table{f' {table.name!r}' if table.name else ''}"
        if table.cells.weighted is not None:
            raise DataError(
                f"{named} shows weighted estimates, which one record changes by its weight: noise for counts does not "
                "hide that. Tabulate without weight=."
            )
        # null is a category where it occurs alone; columns of other tables of the set may be in the schema as well,
        # which refuses too much and never too little
        nulls = [] if table.schema is None else [c for c, codes in table.schema.undetermined.items() if codes]
        hangs = list(dict.fromkeys([*(dim.name for dim in table.dims if not dim.declared), *nulls]))
        if table.listed != "all" or table.n_unlisted_zeros or hangs:
            of = f" of {listed(hangs)}" if hangs else ""
            raise DataError(
                f"{named} lists cells or categories{of} that occur in the records: that they are listed would tell who "
                'is there. Make it with tabulate(…, cells="all"), from one column a dimension whose values are '
                "declared, modalities={…}, and where null is no category (codes for it are modalities as well)."
            )
        coherent = table.cells.coherent
        n_wrong = 0 if coherent is None else int((table.true_counts[~coherent] > 0).sum())
        if n_wrong:
            raise DataError(
                f"{named} has records in {n_wrong:,} cells that the schema declares incoherent. Such cells are shown "
                "as zero and get no noise, so the loss could not be bounded. Mend the records, or the schema."
            )
        if self.additive == "repair":
            require_parts(table)

    def _promised(self, tables: Sequence[Table], loss: Loss) -> Sequence[TableGuarantee]:
        added = (AddsUp(),) if self.additive == "repair" else ()
        within = LossWithin(self.epsilon, self.delta, loss, tuple(table.name for table in tables))
        return (within, NoneBelowZero(), ImpossibleStayZero(), *added, NoSums())

    def _notes(self, tables: Sequence[Table]) -> Sequence[Note]:
        return tell_of_sums(tables)

    def _with_loss(
        self, outcome: Outcome, tables: Sequence[Table], loss: Loss, budget: PrivacyBudget | None
    ) -> Outcome:
        """The outcome with what was spent, table by table and together."""
        alike = len(set(loss.scales)) == 1
        figures: dict[str, Any] = {
            "n_queries": sum(loss.queries),
            "scale": loss.scales[0] if alike else None,
            "epsilon": loss.epsilon,
            "delta": loss.delta,
        }
        if budget is not None:
            figures |= {"epsilon_left": budget.left[0], "delta_left": budget.left[1]}
        spending = pl.DataFrame(
            {
                "table": [table.name for table in tables],
                "n_queries": loss.queries,
                "scale": loss.scales,
                "epsilon": loss.by_table,
                "delta": [loss.delta] * len(tables),
            }
        )
        return replace(
            outcome,
            figures={**outcome.figures, **figures},
            notes=(*self._spoken(outcome, tables, loss, budget), *outcome.notes),
            details={**outcome.details, "spending": spending},
        )

    def _spoken(
        self, outcome: Outcome, tables: Sequence[Table], loss: Loss, budget: PrivacyBudget | None
    ) -> Sequence[Note]:
        text = (
            "one record added or removed changes {n} figures by one each; with epsilon = {epsilon} the odds of any "
            "guess about it change by a factor of {factor} at most, but for a chance of {delta}"
        )
        values = {"n": sum(loss.queries), "epsilon": self.epsilon, "delta": self.delta}
        notes = [Note(text, {**values, "factor": largest_factor(self.epsilon)})]
        for table, n, scale, cost in zip(tables, loss.queries, loss.scales, loss.by_table, strict=True):
            said = {"table": table.name or "table 1", "n": n, "scale": round(scale, 4), "epsilon": round(cost, 6)}
            text = (
                "{table}: {n} figures a record, Gaussian noise of scale {scale}, which alone costs {epsilon}"
                if loss.delta
                else "{table}: {n} figures a record, geometric noise of scale {scale}, which alone costs {epsilon}"
            )
            notes.append(Note(text, said))
        if self.additive == "no":
            text = "figures below zero are shown as 0: small counts are too large on average, an empty cell by {bias}"
            notes.append(Note(text, {"bias": ", ".join(f"{b:.3g}" for b in sorted({n.bias for n in loss.noises}))}))
        else:
            notes.append(
                Note(
                    "noisy figures were changed until margins add up and none is below zero: small counts are too "
                    "large on average, and by how much is not known of single cells"
                )
            )
        notes.append(Note("each figure is drawn by itself, also where a cell stands in several tables"))
        if budget is None:
            notes.append(Note("no budget was given: what other releases of the same records cost comes on top"))
        records = outcome.data.kin.records
        if records is not None and records.trail is not None and records.trail.steps:
            notes.append(Note("the loss is that of the records as the steps before left them"))
        return notes


@dataclass(frozen=True, eq=False)
class LossWithin(TableGuarantee):
    """The noise that each table was paid for costs epsilon and delta together."""

    epsilon: float
    delta: float
    loss: Loss
    #: The tables that were paid for.
    tables: tuple[str, ...]

    text = (
        "one record more or less changes the chance of any release by a factor of exp({epsilon}) at most, but for "
        "a chance of {delta}"
    )

    def wrong(self, table: Table) -> int:
        loss = self.loss
        paid_for = dict(zip(self.tables, zip(loss.queries, loss.noises, strict=True), strict=True))
        if table.published is None or table.name not in paid_for:
            return table.n_cells  # figures without noise
        queries, noise = paid_for[table.name]
        again = spent_loss(loss.queries, loss.scales, self.delta)
        wrong = count_queries(table) != queries or table.mechanism not in (None, noise)
        return int(wrong or again.epsilon > self.epsilon or again.delta > self.delta)


class NoneBelowZero(TableGuarantee):
    """Counts are counts."""

    text = "no count below zero is shown"

    def wrong(self, table: Table) -> int:
        return int((table.published_counts < 0).sum())


class ImpossibleStayZero(TableGuarantee):
    """Cells that the schema rules out get no noise."""

    text = "a cell that nobody can be in is shown as zero"

    def wrong(self, table: Table) -> int:
        return int((table.published_counts[~noised_cells(table)] != 0).sum())
