"""The intruder who knows everything but one value of one person (Abado and Stefan 2024, section 4.4).

The extreme case, and so a bound of what any intruder can reconstruct: every record is known, but for one value of one
person. Each value that this person can have, given all others of hers, makes complete counts; published tables allow
some of these and make each more or less likely. A value is determined when the tables allow no other: that is a proof.
Where several are left the intruder names the most likely one. Both are asked of every person and every variable.

A value that this intruder cannot determine nobody can who knows less. The converse does not hold: what is determined
here takes knowing all others. The attack changes nothing and draws nothing; without the true records it cannot be run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from flou.attack.results.rates import RatesResult
from flou.attack.results.shares_chart import BESIDE, FOUND, WITHOUT, Bars
from flou.attack.table.rebuild.best_guess import Guesses, Prior, guess_values
from flou.attack.table.rebuild.case import Case, read_case
from flou.attack.table.rebuild.matching import Likeness
from flou.attack.table.rebuild.single_move import Moves, find_targets
from flou.attack.table.rebuild.true_counts import TrueCounts, count_truth, true_records
from flou.describe.microdata import Microdata
from flou.describe.table.unseen_cells import assumed_values
from flou.engine import native
from flou.engine.attack import Attack, Judge, kept, lift_over, wilson
from flou.engine.data import DataKind
from flou.engine.errors import DataError, LazyInputError, ParameterError
from flou.engine.figure import Figure
from flou.engine.note import Note
from flou.engine.parameters import Combinations, Lists, Tolerance
from flou.engine.progress import tell
from flou.engine.result import unused
from flou.engine.risk_figure import SHARE
from flou.engine.taxonomy import always
from flou.engine.values import Proportion


@dataclass(frozen=True, eq=False)
class SingleGuesses:
    """The guesses of each variable, one line a distinct record, and how far each may be off."""

    records: TrueCounts
    guesses: tuple[Guesses, ...]
    reach: tuple[float, ...]
    #: Whether some figures rule nothing out.
    soft: bool


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SingleResult(RatesResult):
    """Shares of values that are determined and guessed; `.by_variable` has them one by one."""

    found: SingleGuesses | None = field(repr=False)
    internal: ClassVar[tuple[str, ...]] = ("data", "found")
    bars: ClassVar[Bars] = {
        "determined": ("determined", FOUND),
        "right": ("best guess right", BESIDE),
        "baseline": ("guess without tables", WITHOUT),
    }
    axis: ClassVar[str] = "share of people"

    @property
    def by_variable(self) -> Any:
        """One row per variable: shares determined and guessed right, with intervals, and the baseline."""
        return native.like(kept(self.rates, "rates"), self.native_kind)

    def by_record(self, *, reveal: bool = False) -> Any:
        """One line a distinct record and variable: its values, how many people have them, and what is left to doubt.

        It says who is exposed and is internal: `reveal=True` shows it, in the process that ran the attack.
        """
        found = kept(self.found, "records")
        if not reveal:
            raise LazyInputError(
                "by_record shows the records behind the tables and who of them is exposed: by_record(reveal=True) "
                "shows them, for your eyes alone."
            )
        known, case = found.records, found.records.case
        records = case.universe.frame(known.cell)
        if case.block is not None:
            labels = pl.Series(case.block.name, list(case.figures.blocks))
            records = records.insert_column(0, labels.gather(known.block.astype(np.uint32)))
        parts = []
        for name, guess in zip(case.universe.names, found.guesses, strict=True):
            columns = {
                "records": known.count,
                "variable": [name] * len(known.count),
                "n_candidates": guess.n_candidates,
                "n_left": guess.n_left,
                "determined": guess.n_left == 1,
                "right": guess.right,
                "baseline": guess.baseline,
            }
            figures = [pl.Series(unused(n, records.columns), values) for n, values in columns.items()]
            parts.append(pl.concat([records, pl.DataFrame(figures)], how="horizontal"))
        return native.like(pl.concat(parts), self.native_kind)


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
    draws: ClassVar[bool] = False

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

    def _judge(self, released: Any, truth: Any, control: Any) -> Judge:
        if truth is None:
            raise DataError(
                "SingleUnknown needs truth=, the records that the tables were made of: this intruder knows all of them "
                "but for one value."
            )
        people = true_records(truth, "SingleUnknown")
        if control is not None:
            raise ParameterError("SingleUnknown does not take control=: its intruder knows the people in the tables.")
        return Judge(released, people)

    def _public(self, released: Any) -> Case:
        return read_case(
            released,
            block=self.block,
            domain=dict(self.domain or ()),
            incoherent=[dict(rule) for rule in self.incoherent or ()],
            max_total=self.max_total,
        )

    def _known(self, people: Microdata) -> Microdata:
        """All records: each value of each is in turn the one that is not known."""
        return people

    def _find(self, public: Case, known: Microdata, draw: Any) -> SingleGuesses:
        """Guess each value of each record from all others; a guess holds the chance that it is right."""
        records = count_truth(public, known)
        reach, universe = Likeness.of(public.universe, dict(self.tolerance or ())).reach, public.universe
        codes = universe.codes[records.cell]
        held = [np.bincount(codes[:, j], records.count, n) for j, n in enumerate(universe.sizes)]
        near = [None if by == 0 else _near(universe.attributes[j].numbers, by) for j, by in enumerate(reach)]
        parts: list[list[Guesses]] = [[] for _ in universe.sizes]
        soft = False
        for done, (lines, problem, counts) in enumerate(records.blocks()):
            tell("attack", done, public.n_blocks)
            moves, origins = Moves(problem, counts), records.cell[lines]
            soft |= not problem.hard.all()
            for j in range(len(universe.sizes)):
                targets = find_targets(universe, origins, j)
                possible, gains = moves.score(origins, targets)
                own = codes[lines, j]
                # the true value is always possible, so that one that is alone is the truth
                assert possible[np.arange(len(own)), own].all()
                parts[j].append(guess_values(targets >= 0, possible, gains, own, held[j], near[j], self.prior))
        return SingleGuesses(records, tuple(Guesses.joined(p) for p in parts), reach, soft)

    def _score(self, found: SingleGuesses, judge: Judge, draw: Any) -> SingleResult:
        n, case = found.records.n_people, found.records.case
        rates = _rates_by_variable(case.universe.names, found)
        names = ("determined", "by_rules", "right", "feasible", "baseline", "left")
        share = {name: float(rates[name].to_numpy().mean()) for name in names}
        return self._result(
            SingleResult,
            judge,
            value=share["determined"],
            # the values of one person stand or fall together, so that people are counted, not values
            interval=wilson(share["determined"] * n, n),
            figures={
                "n_people": n,
                "n_values": n * rates.height,
                "by_rules": Proportion(share["by_rules"]),
                "right": Proportion(share["right"]),
                "baseline": Proportion(share["baseline"]),
                "lift": lift_over(share["right"], share["baseline"]),
                "feasible": Proportion(share["feasible"]),
                "left": share["left"],
            },
            notes=_notes(case, found.soft),
            rates=rates,
            found=found,
        )


def _rates_by_variable(names: Sequence[str], found: SingleGuesses) -> pl.DataFrame:
    """The shares of each variable, over people."""
    counts = found.records.count
    n = int(counts.sum())
    rows = []
    for name, guess, by in zip(names, found.guesses, found.reach, strict=True):
        n_determined = int(counts[guess.n_left == 1].sum())
        n_right = float(counts @ guess.right)
        baseline = float(counts @ guess.baseline) / n
        determined, right = wilson(n_determined, n), wilson(n_right, n)
        rows.append(
            {
                "variable": name,
                "people": n,
                "determined": n_determined / n,
                "determined_low": determined.low,
                "determined_high": determined.high,
                "by_rules": float(counts[guess.n_candidates == 1].sum()) / n,
                "right": n_right / n,
                "right_low": right.low,
                "right_high": right.high,
                "feasible": float(counts @ guess.feasible) / n,
                "baseline": baseline,
                "lift": lift_over(n_right / n, baseline),
                "candidates": float(counts @ guess.n_candidates) / n,
                "left": float(counts @ guess.n_left) / n,
                "tolerance": by or None,
                "within": float(counts @ guess.within) / n if by else None,
                "baseline_within": float(counts @ guess.baseline_within) / n if by else None,
            }
        )
    maybe = dict.fromkeys(("tolerance", "within", "baseline_within"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=maybe)


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
