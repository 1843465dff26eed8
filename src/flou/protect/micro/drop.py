"""Dropping: direct identifiers as columns, and the records that a risk measure flags.

Dropping records is the bluntest protection: those who leave are the unusual ones, so what is left is
biased. It is right for the few that nothing else saves.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import Infeasible
from flou.engine.guarantee import Guarantee
from flou.engine.method import Measure, Protection
from flou.engine.note import Note
from flou.engine.parameters import Share
from flou.engine.progress import tell
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome


class DropIdentifiers(Protection):
    """Drop the columns that name a person directly (role `identifiers`).

    The internal id and household number stay with the data inside the process, for randomness and for
    measuring; like identifiers they are never published.
    """

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "dropping of identifiers"
    preserves: ClassVar[tuple[Literal["records", "marginal", "untouched columns"], ...]] = (
        "records",
        "untouched columns",
    )

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        names = data.schema.identifiers
        n = data.n_records
        kept = [c for c in data.columns if c not in names]
        changes = tuple(Change(name, n) for name in names)
        notes = () if names else (Note("the schema declares no identifiers: nothing was dropped"),)
        frame = data.frame.select(*kept) if names else data.frame
        return Outcome(data.with_frame(frame, data.schema.without(names)), changes=changes, notes=notes)

    def _guarantees(self, before: Any, after: Any) -> tuple[Guarantee, ...]:
        names = set(before.schema.identifiers)
        promise = Note("no column names a person directly")
        return (Guarantee(promise, lambda data: len(names & set(data.columns))),)  # type: ignore[attr-defined]


class DropRecords(Protection):
    """Drop the records that a measure flags, until it flags none: `DropRecords(KAnonymity(k=3))`.

    Where nulls count as wildcards, a record that leaves may have carried others, so the measure is
    repeated. Its guarantee is the measure's: no record of the output is flagged.
    """

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "dropping of records"
    preserves: ClassVar[tuple[Literal["records", "marginal", "untouched columns"], ...]] = ("untouched columns",)

    measure: Measure = Field(description="the risk measure whose flagged records go")
    max_share: Share = Field(1.0, description="largest share of records that may be dropped; more is refused")

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        total = data.n_records
        current, dropped, rounds = data, 0, 0
        while True:
            result = self.measure.measure(current)
            n_flagged = int(result.keys.counts[result.at_risk].sum())
            if not n_flagged:
                break
            rounds += 1
            dropped += n_flagged
            tell("protect: drop_records", dropped, total)
            if dropped == total or dropped > self.max_share * total:
                raise self._infeasible(dropped, total, rounds)
            gone = result.keys.frame.filter(result.at_risk)
            current = current.with_frame(native.match_keys(current.frame, gone, list(result.keys.columns), "anti"))
        return Outcome(current, n_dropped=dropped, figures={"n_dropped": dropped, "rounds": rounds})

    def _infeasible(self, dropped: int, total: int, rounds: int) -> Infeasible:
        best = f"{dropped:,} of {total:,} records flagged after {rounds} rounds"
        if dropped == total:
            step = "Recode the keys to coarser levels first."
            return Infeasible("DropRecords would drop every record.", best=best, next_step=step)
        step = "Recode the keys to coarser levels first, or raise max_share."
        return Infeasible(f"DropRecords would drop more than max_share = {self.max_share}.", best=best, next_step=step)

    def _guarantees(self, before: Any, after: Any) -> tuple[Guarantee, ...]:
        promise = Note("no record is flagged by {measure}", {"measure": repr(self.measure)})

        def violations(data: object) -> int:
            result = self.measure.measure(data)
            return int(result.keys.counts[result.at_risk].sum())

        return (Guarantee(promise, violations),)
