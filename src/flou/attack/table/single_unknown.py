"""The intruder who knows everything but one value of one person (Abado and Stefan 2024, section 4.4).

The extreme case, and so a bound of what any intruder can reconstruct: every record is known, but for one value of one
person. Each value that this person can have, given all others of hers, makes complete counts; published tables allow
some of these and make each more or less likely. A value is determined when the tables allow no other: that is a proof.
Where several are left the intruder names the most likely one. Both are asked of every person and every variable.

A value that this intruder cannot determine nobody can who knows less. The converse does not hold: what is determined
here takes knowing all others. The attack changes nothing and draws nothing; without the true records it cannot be run.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from flou.attack.table.rebuild.best_guess import Guesses, Prior, guess_values
from flou.attack.table.rebuild.case import Case, read_case
from flou.attack.table.rebuild.matching import Likeness
from flou.attack.table.rebuild.single_move import Moves, find_targets
from flou.attack.table.rebuild.true_counts import TrueCounts, count_truth, true_records
from flou.attack.table.single_result import SingleResult, by_variable, sum_up
from flou.describe.table.unseen_cells import assumed_values
from flou.engine import native
from flou.engine.attack import Attack
from flou.engine.data import DataKind
from flou.engine.errors import DataError, ParameterError
from flou.engine.figure import Figure
from flou.engine.method import measured_on
from flou.engine.note import Note
from flou.engine.parameters import Combinations, Lists, Tolerance
from flou.engine.progress import tell
from flou.engine.risk_figure import SHARE
from flou.engine.secret import Secret
from flou.engine.taxonomy import always


class SingleUnknown(Attack):
    """Whether tables give away the one value that is not known: `SingleUnknown().run(release, truth=people)`.

    Reference: Abado and Stefan (2024).
    Result: `.value` the share of values that are determined, `.right` and `.baseline` the shares guessed with and
    without the tables, `.lift`, `.by_variable` one line a variable, `.by_record(reveal=True)` one a record.
    """

    takes: ClassVar[tuple[DataKind, ...]] = ("table", "table set")
    title: ClassVar[str] = "one unknown value"
    requires = ("true records",)
    answers_by = always(reconstruction="measures")
    headline: ClassVar[Figure] = Figure("value", "share of values that the tables determine", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("n_people", "people", "count"),
        Figure("n_values", "values that were attacked", "count"),
        Figure("by_rules", "share that structural rules determine without any table", "share", "low"),
        Figure("right", "share that the best guess gets right", "share", "low"),
        Figure("baseline", "share that a guess without tables gets right", "share"),
        Figure("lift", "lift of the best guess over that without tables", "number", "low"),
        Figure("feasible", "share right of a possible value taken at random", "share", "low"),
        Figure("left", "possible values left, on average", "number", "high"),
    )
    reference: ClassVar[str] = "abado2024"
    scored_by: ClassVar[Literal["tables", "records"]] = "records"

    tolerance: Tolerance | None = Field(None, description="how far a guess of a number may be off, by column")
    block: str | None = Field(None, description="the attribute whose categories are attacked one by one: an area")
    domain: Lists | None = Field(None, description="the values that a column can have, where no table declares them")
    incoherent: Combinations | None = Field(
        None, description="combinations that cannot exist, beside those of the tables' schema"
    )
    max_total: int | None = Field(None, description="the largest number of people, if no table bounds it", ge=1)
    prior: Prior = Field(
        "others", description='weight of values in a guess: as "others" have them, or "uniform", by likelihood alone'
    )

    def run(
        self,
        release: Any,
        *,
        truth: Any = None,
        control: Any = None,
        secret: Secret | int | None = None,
    ) -> SingleResult:
        """Attack tables that would be published; `truth` are the records that they were made of. Nothing is drawn."""
        released = self._accept(release)
        if truth is None:
            raise DataError(
                "SingleUnknown needs truth=, the records that the tables were made of: this intruder knows all of them "
                "but for one value."
            )
        people = true_records(truth, "SingleUnknown")
        if control is not None:
            raise ParameterError("SingleUnknown does not take control=: its intruder knows the people in the tables.")
        with native.engine_errors():
            case = read_case(
                released,
                block=self.block,
                domain=dict(self.domain or ()),
                incoherent=[dict(rule) for rule in self.incoherent or ()],
                max_total=self.max_total,
            )
            truth_counts = count_truth(case, people)
        reach = Likeness.of(case.universe, dict(self.tolerance or ())).reach
        guesses, soft = self._guesses(truth_counts, reach)
        frame = by_variable(case.universe.names, guesses, truth_counts.count, reach)
        return SingleResult(
            method=self.name(),
            title=self.title,
            settings=self.shown_settings(),
            **self.described(sum_up(frame, truth_counts.n_people)),
            notes=_notes(case, soft),
            measured_on=measured_on(released),
            test_only=released.marks.test_only,
            native_kind=released.native_kind,
            variables=frame,
            guesses=tuple(guesses),
            truth=truth_counts,
        )

    def _guesses(self, truth: TrueCounts, reach: tuple[float, ...]) -> tuple[list[Guesses], bool]:
        """The guesses of each variable, one line an occupied cell, and whether some figures rule nothing out."""
        universe = truth.case.universe
        codes = universe.codes[truth.cell]
        held = [np.bincount(codes[:, j], truth.count, n) for j, n in enumerate(universe.sizes)]
        near = [None if by == 0 else _near(universe.attributes[j].numbers, by) for j, by in enumerate(reach)]
        parts: list[list[Guesses]] = [[] for _ in universe.sizes]
        soft = False
        for done, (lines, problem, counts) in enumerate(truth.blocks()):
            tell("attack", done, truth.case.n_blocks)
            moves, origins = Moves(problem, counts), truth.cell[lines]
            soft |= not problem.hard.all()
            for j in range(len(universe.sizes)):
                targets = find_targets(universe, origins, j)
                possible, gains = moves.score(origins, targets)
                own = codes[lines, j]
                # the true value is always possible, so that one that is alone is the truth
                assert possible[np.arange(len(own)), own].all()
                parts[j].append(guess_values(targets >= 0, possible, gains, own, held[j], near[j], self.prior))
        return [Guesses.joined(p) for p in parts], soft


def _near(numbers: Any, by: float) -> Any:
    return np.abs(numbers[:, None] - numbers[None, :]) <= by + 1e-9


def _notes(case: Case, soft: bool) -> tuple[Note, ...]:
    notes = [Note("of equally likely values each is guessed with the same chance: shares are computed, not drawn")]
    if soft:
        notes.append(Note("figures with unbounded noise make values more or less likely, and determine none"))
    notes += assumed_values(case.assumed)
    block = "" if case.block is None else case.block.name
    if block:
        notes.append(
            Note("{block} is taken to be known of everybody, and totals over it are not used", {"block": block})
        )
    if case.left_out:
        names = ", ".join(case.left_out)
        notes.append(Note("tables left out, as they do not show {block}: {tables}", {"block": block, "tables": names}))
    return tuple(notes)
