"""Dropping: direct identifiers as columns, and the records that a risk measure flags.

Dropping records is the bluntest protection: those who leave are the unusual ones, so what is left is
biased. It is right for the few that nothing else saves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.data import has_several_rows
from flou.engine.errors import GuaranteeBrokenError, Infeasible, ParameterError
from flou.engine.guarantee import Guarantee
from flou.engine.measure import Measure
from flou.engine.note import Note
from flou.engine.parameters import Share
from flou.engine.progress import tell
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import CLOSED_BY_MODELS, Answers, always
from flou.engine.values import percent
from flou.protect.micro.promise import flags_nobody
from flou.risk.micro.diversity import LDiversity


class DropIdentifiers(Protection):
    """Drop the columns that the schema declares as identifiers.

    What the schema does not declare stays: the step promises nothing of other columns that name people. The internal id
    and household number stay with the data inside the process, for randomness and for measuring; like identifiers they
    are never published.
    """

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "dropping of identifiers"
    audience = "public"
    perturbative = False
    answers_by = always(identity="reduces")
    allows_several_rows: ClassVar[bool] = True
    preserves: ClassVar[tuple[Claim, ...]] = (
        "records",
        "untouched columns",
    )

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        names = data.schema.identifiers
        n = data.n_records
        changes = tuple(Change(name, n, dropped=True) for name in names)
        if not names:
            note = Note(
                "the schema declares no identifiers: nothing was dropped, and nothing is promised of the columns"
            )
            return Outcome(data, notes=(note,))
        released = data.with_frame(data.frame.drop(*names), data.schema.without(names))
        return Outcome(released, guarantees=(IdentifiersGone(names),), changes=changes)


@dataclass(frozen=True, eq=False)
class IdentifiersGone(Guarantee):
    """Columns were dropped."""

    columns: tuple[str, ...]

    text = "none of the columns that the schema declares as identifiers is left"

    def violations(self, data: Microdata) -> int:
        return len(set(self.columns) & set(data.columns))


class DropRecords(Protection):
    """Drop the records that a measure flags, until it flags none: `DropRecords(KAnonymity(k=3))`.

    Where nulls count as wildcards, a record that leaves may have carried others, so the measure is
    repeated. Its guarantee is the measure's: no record of the output is flagged.
    """

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "dropping of records"
    audience = "public"
    perturbative = False
    answers_by: ClassVar[Mapping[str, Answers]] = {"by a measure": dict.fromkeys(CLOSED_BY_MODELS, "closes")}
    allows_several_rows: ClassVar[bool] = True
    preserves: ClassVar[tuple[Claim, ...]] = ("untouched columns",)

    measure: Measure = Field(description="the risk measure whose flagged records go")
    max_share: Share = Field(1.0, description="largest share of records that may be dropped; more is refused")

    variant: ClassVar[str] = "by a measure"

    def answers(self) -> Answers:
        return {a: "closes" for a, answer in self.measure.answers().items() if answer == "closes"}

    @model_validator(mode="after")
    def _droppable(self) -> DropRecords:
        if self.measure.no_drop:
            raise ParameterError(
                f"records cannot be dropped by {self.measure.name()}: {self.measure.no_drop}. Drop by another measure, "
                "and measure this one before and after."
            )
        return self

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        total = data.n_records
        current, rounds = data, 0
        # what records that go could tell of the whole stays known
        against = data if self.measure.compares_with == "original" else None
        if isinstance(self.measure, LDiversity):
            self.measure.require_groups(data)
        while True:
            try:
                result = self.measure.measure(current, against=against)
            except ParameterError:
                if not rounds:
                    raise
                raise self._infeasible(total, total, rounds) from None  # fewer records are left than k
            if not result.n_flagged:
                break
            rounds += 1
            dropped = total - result.keys.n_records + result.n_flagged
            tell("protect: drop_records", dropped, total)
            if dropped == total or dropped > self.max_share * total:
                raise self._infeasible(dropped, total, rounds)
            left = current.with_frame(result.without_flagged())
            if left.n_records != current.n_records - result.n_flagged:
                raise GuaranteeBrokenError(
                    "DropRecords: the engine did not find the flagged records again; nothing is released."
                )
            current = left
        dropped = total - result.keys.n_records
        return Outcome(
            current,
            guarantees=(flags_nobody(self.measure, against, several=has_several_rows(data)),),
            figures={"n_dropped": dropped, "rounds": rounds},
        )

    def _infeasible(self, dropped: int, total: int, rounds: int) -> Infeasible:
        best = f"{dropped:,} of {total:,} records ({percent(dropped / total)}%) flagged, in {rounds} rounds"
        if dropped == total:
            step = "Recode the keys to coarser levels first."
            return Infeasible("DropRecords would drop every record.", best=best, next_step=step)
        step = "Recode the keys to coarser levels first, or raise max_share."
        return Infeasible(f"DropRecords would drop more than max_share = {self.max_share}.", best=best, next_step=step)
