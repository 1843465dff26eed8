"""Carry a plan out: read, measure, protect, measure again, attack, compare, judge."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from flou.decide.policy import Policy
from flou.decide.verdict import Decision, Reason, Verdict
from flou.describe.formulas import GUESSED
from flou.describe.microdata import Microdata
from flou.describe.profile import Profile
from flou.engine.errors import PlanError
from flou.engine.former import FormerRelease
from flou.engine.method import require_columns
from flou.engine.note import Note
from flou.engine.output import checked_path
from flou.engine.places import within
from flou.engine.plan import Plan
from flou.engine.progress import Progress, listening, tell
from flou.engine.release import Release
from flou.engine.result import Result
from flou.engine.secret import Secret
from flou.engine.steps import carry_out as protect_steps
from flou.engine.table_steps import works_on_tables
from flou.engine.values import settings_text
from flou.job import findings
from flou.job.source import find_secret, plan_data, plan_population
from flou.job.store import inputs
from flou.job.store.keeper import BEFORE, Keeper, KeepsNothing
from flou.job.store.open import open_store, require_resumable
from flou.job.tables import Stages, measure_tables, require_file_names
from flou.reporting.document import Report
from flou.risk.micro.senses import SensesResult, count_ways

_FORMULAS = {
    "escaped": Note(
        "In CSV files a text that a spreadsheet would carry out as a formula has an apostrophe in front; one that "
        "begins with an apostrophe has two. Values that the schema declares and numbers stand as they are."
    ),
    "plain": Note("In CSV files every text stands as it is: a spreadsheet may carry it out as a formula."),
}


@dataclass(frozen=True)
class Done:
    """All that a plan gave, still in memory."""

    plan: Plan
    original: Microdata
    release: Release
    results: tuple[Result, ...]
    #: k-anonymity in every way of counting undetermined values, which the report shows beside the results.
    senses: tuple[SensesResult, ...]
    verdict: Verdict
    policy: Policy | None
    secret: Secret
    profile: Profile
    #: What is different from a former run's file; None when none was named.
    changed: tuple[Note, ...] | None
    #: The release of the series before this one; None when none was named.
    former: FormerRelease | None
    #: (stage, seconds), for the log alone.
    timings: tuple[tuple[str, float], ...]
    #: Who has kept what for another run to go on from.
    keeper: Keeper = field(default_factory=KeepsNothing)

    @cached_property
    def report(self) -> Report:
        return Report(
            self.original,
            self.release,
            results=(*self.results, *self.senses),
            verdict=self.verdict,
            title=self.plan.title,
            changed=self.changed,
            written=self._written,
        )

    @property
    def _written(self) -> tuple[Note, ...]:
        """How texts that a spreadsheet would carry out stand in the files."""
        return (_FORMULAS[self.plan.output.formulas],) if self.plan.file_format in GUESSED else ()


@dataclass
class _Clock:
    timings: list[tuple[str, float]] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.timings.append((stage, now - self.started))
        self.started = now


def carry_out(
    plan: Plan,
    *,
    engine: str | None = None,
    secret: str | None = None,
    since: str | None = None,
    progress: Progress | None = None,
    keep: bool = False,
    resume: bool = False,
) -> Done:
    """Run every section of a plan; nothing is written. `since`: a former run's folder, to compare the file with.

    `keep` keeps steps and results as they come, and `resume` goes on from what an earlier run has kept.
    """
    running = plan
    if since is not None:
        running = replace(
            plan, release=replace(plan.release, since=str(checked_path(since, "--since", PlanError).resolve()))
        )
    before = None if running.release.since is None else plan.folder / running.release.since
    former = None if before is None else Profile.load(before)
    with listening(progress), within(plan.folder):
        clock = _Clock()
        policy = Policy.of_plan(plan.policy, plan.folder) if plan.policy is not None else None
        if policy is not None:
            _require_measured(policy, plan)
        _require_population(plan)
        require_file_names(plan)
        key = find_secret(secret, plan)
        if resume:
            require_resumable(key)
        tell("read", 0, 1)
        seen = inputs.seen(plan) if keep else {}
        original = plan_data(plan, engine)
        _require_recodable(plan, original.schema.keys)
        _require_compared(plan, original)
        profile = Profile.of(original)
        clock.lap("read")
        population = plan_population(plan, original.schema, engine)
        keeper: Keeper = KeepsNothing()
        if keep:
            parameters = running.former()
            keeper = open_store(running, key, original, population, parameters, resume=resume, seen=seen)
        keeper.knows(population=population)
        measured = findings.measure(plan, original, None, population, BEFORE, keeper)
        clock.lap("measure before")
        release = running.protect(original, secret=key, kept=keeper.checkpoints)
        clock.lap("protect")
        public = _as_released(plan, population)
        stages = Stages.of(plan, original, release)
        frame = stages.frame
        keeper.knows(release=release.data, frame=frame, behind=stages.counted, made=stages.made, public=public)
        sampled_from = (
            findings.measure(plan, frame, original, public, "of the frame", keeper) if frame is not None else []
        )
        after = (
            findings.measure(plan, stages.records, original, public, "after", keeper)
            if stages.records is not None
            else []
        )
        of_tables = measure_tables(plan, stages, keeper)
        clock.lap("measure after")
        attacks = findings.attack(plan, stages, key, keeper)
        clock.lap("attack")
        comparisons = findings.compare(plan, stages, keeper)
        clock.lap("compare")
        results = (*measured, *sampled_from, *after, *of_tables, *attacks, *comparisons)
        senses = count_ways(results, original, release)
        clock.lap("ways of counting")
        findings.look_for_inferable(policy.rules if policy else (), (*results, release), keeper)
        clock.lap("inferable")
        verdict = policy.judge(*results, release) if policy else _no_policy()
        changed = profile.changes_since(former) if former is not None else None
        kept = running.former()
        timings = tuple(clock.timings)
        return Done(
            plan, original, release, results, senses, verdict, policy, key, profile, changed, kept, timings, keeper
        )


def _require_measured(policy: Policy, plan: Plan) -> None:
    """A rule that the plan does not measure would withhold after all the work: say so before it."""
    planned = [m for methods in (plan.measures, plan.attacks, plan.comparisons) for m in methods]
    for rule in policy.rules:
        alike = [m for m in planned if m.name() == rule.method]
        if not any(rule.met_by(m.shown_settings()) for m in alike):
            measured = ", ".join(f"{m.name()} ({settings_text(m.shown_settings())})" for m in planned) or "nothing"
            differ = sorted({name for m in alike for name in rule.unmet(m.shown_settings())})
            hint = f" They differ in {', '.join(differ)}; what a rule does not name is the default." if differ else ""
            raise PlanError(
                f"The policy asks for {rule.method} ({settings_text(rule.settings)}), but the plan measures {measured}."
                f"{hint} Measure it in the plan as the rule says, as [[measure]], or name the settings in the rule."
            )


def _require_population(plan: Plan) -> None:
    """A measure that cannot do without a public table is refused before any work."""
    for measure in plan.measures:
        if measure.needs_against and measure.compares_with == "population" and plan.population is None:
            raise PlanError(
                f"{measure.name()} compares the file with a public table of the people it may hold: add [population] "
                "with its source to the plan."
            )


def _require_recodable(plan: Plan, keys: Sequence[str]) -> None:
    """A public table follows the recodings of the file's keys; others it cannot follow."""
    if plan.population is None:
        return
    for step in plan.steps:
        if step.chooses_keys:
            raise PlanError(
                f"{step.name()} chooses by the file what its keys show, so that the public table cannot follow: recode "
                "the keys by steps of their own, or leave out [population]."
            )
        column = next((c for c in step.touches if c in keys), None)
        if column is not None and step.recodes is None:
            raise PlanError(
                f"{step.name()} changes the key {column!r} in a way that depends on the file, so that the public "
                "table cannot follow: give the bound itself, at = …, or leave out [population]."
            )


def _require_compared(plan: Plan, original: Microdata) -> None:
    """A misspelt column of a comparison would be found after all the work: look for it before."""
    for comparison in (c for c in plan.comparisons if not (plan.tables and works_on_tables(c))):
        for parameter in ("column", "outcome", "columns", "on", "by"):
            held = getattr(comparison, parameter, None) or ()
            names = (held,) if isinstance(held, str) else tuple(held)
            require_columns(original, names, f"[[compare]] {comparison.name()}: {parameter}")


def _as_released(plan: Plan, population: Microdata | None) -> Microdata | None:
    """The public table with its keys recoded as the plan recodes those of the file."""
    if population is None:
        return None
    steps = tuple(s for s in plan.steps if not works_on_tables(s) and s.recodes in population.columns)
    recoded: Microdata = protect_steps(steps, population, Secret.generate()).data
    return recoded


def _no_policy() -> Verdict:
    """Without thresholds nobody has said what is safe, so nothing is."""
    note = Note("the plan names no policy: add [policy] with the office's thresholds")
    return Verdict(Decision.WITHHOLD, (Reason(Decision.WITHHOLD, note, note, {}),), {})
