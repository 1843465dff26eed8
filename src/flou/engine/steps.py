"""Carrying protections out, one after the other, and proving what they promise."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from flou.engine import native, registry
from flou.engine.checkpoints import Checkpoint, Checkpoints, latest
from flou.engine.data import data_kind
from flou.engine.errors import DataError, FlouError, GuaranteeBrokenError, listed
from flou.engine.former import FormerRelease, carried_on, notes_on_noise, require_one_noise
from flou.engine.former_columns import require_linked
from flou.engine.guarantee import Guarantee, Proof
from flou.engine.native.polars import in_one_piece
from flou.engine.progress import tell
from flou.engine.protection import Protection
from flou.engine.randomness import Draws
from flou.engine.release import Release, Step, Trail
from flou.engine.released_file import ReleasedFile, require_alone, require_named, require_records, with_data
from flou.engine.secret import Origin, Secret
from flou.engine.series import NO_SERIES, Series
from flou.engine.unshown import with_originals

#: From the most to the least trustworthy; a release is only as good as the worst secret behind it.
_TRUST: tuple[Origin, ...] = ("file", "environment", "demonstration", "entropy", "test")


def carry_out(
    methods: tuple[Protection, ...],
    data: Any,
    secret: Secret,
    series: Series = NO_SERIES,
    former: FormerRelease | None = None,
    kept: Checkpoints | None = None,
) -> Release:
    """Run protections one after the other and prove every guarantee, at its step and again at the end.

    `former` is the release of the series before this one, whose parameters are used again; `kept` keeps where the plan
    is after each step, and may know where an earlier run was.
    """
    start = _begun(data, secret)
    first = len(start.steps)
    return carry_on(methods, latest(kept, first, first + len(methods)) or start, first, secret, series, former, kept)


def _begun(data: Any, secret: Secret) -> Checkpoint:
    """Where a plan begins with these data."""
    current = data.data if isinstance(data, Release) else data
    if data_kind(current) is None:
        raise DataError(
            f"A plan protects microdata or tables, not {type(current).__name__}. Wrap a frame first: "
            "flou.Microdata(frame, keys=[…])."
        )
    secret.require_allowed(synthetic=current.marks.synthetic)
    if current.marks.released and current.trail is None:
        raise DataError("These released data have lost what was promised about them: start again from the original.")
    trail: Trail = current.trail or Trail(secret_origin=secret.origin)
    current = current.numbered()
    if current.kin.original is None:
        current = with_originals(current.with_kin(original=current))
    current = current.marked(released=True, test_only=secret.test_only)
    promised = tuple((proof.guarantee, proof.step) for proof in trail.guarantees)
    return Checkpoint(current, trail.steps, promised, trail.secret_origin, trail.keyed)


def carry_on(
    methods: tuple[Protection, ...],
    start: Checkpoint,
    first: int,
    secret: Secret,
    series: Series,
    former: FormerRelease | None,
    kept: Checkpoints | None,
) -> Release:
    """Carry out the methods, which follow after the first steps, from where the plan is."""
    current, steps, promised = start.data, list(start.steps), list(start.promised)
    #: What there was, and what each step gave, to name the one that broke a promise of another.
    given = {len(steps): current}
    noisy = [*(s.method for s in steps), *methods[len(steps) - first :]]
    if former is not None:
        require_linked(former, noisy)
    for i, method in enumerate(methods):
        if first + i < len(start.steps):
            continue
        tell(f"protect: {method.name()}", i, len(methods))
        frame = current.kin.frame
        require_alone(current.kin.files, f"Step {len(steps) + 1} ({method.name()})")
        _require_before_sample(method, len(steps) + 1, current)
        again = sum(s.method == method for s in steps)
        draws = Draws(secret, method.name(), method.fingerprint(), series=series, again=again)
        with _named(len(steps) + 1, method, len(methods) == 1):
            require_one_noise(method, steps)
            if former is not None:
                draws.former, draws.names = former.of_step(method), former.names
        step, current, guarantees = _one_step(method, current, len(steps) + 1, draws, alone=len(methods) == 1)
        step = replace(step, notes=(*step.notes, *notes_on_noise(method, former)))
        steps.append(step)
        if current.kin.frame is not frame:
            promised = [(g.of_frame(), number) for g, number in promised]
        given[len(steps)] = current
        promised += [(g, len(steps)) for g in guarantees]
        if kept is not None:
            kept.keep(Checkpoint(current, tuple(steps), tuple(promised), start.secret_origin, start.keyed))
    tell("protect: verify", len(methods), len(methods))
    current = current.compacted()
    if former is not None and data_kind(current) == "microdata":
        require_linked(former, noisy, [c for c in current.columns if c not in current.schema.hidden])
    proofs = tuple(_proof(g, number, current, promised, steps, _Given(first, given, kept)) for g, number in promised)
    drawn: tuple[Origin, ...] = ("entropy",) if any("system entropy" in m.uses for m in methods) else ()
    origin = max(start.secret_origin, secret.origin, *drawn, key=_TRUST.index)
    done = Trail(tuple(steps), proofs, "test" if current.marks.test_only else origin, start.keyed)
    current = current.with_kin(files=with_data(current.kin.files, lambda data: data.with_trail(done)))
    return Release(data=current.with_trail(done), trail=done)


def _one_step(
    method: Protection, before: Any, number: int, draws: Draws, *, alone: bool
) -> tuple[Step, Any, tuple[Guarantee, ...]]:
    """Carry one protection out and prove its guarantees on its own output."""
    started = time.perf_counter()
    with native.engine_errors(), _named(number, method, alone):
        outcome = method._protect(method._accept(before), draws)
        # marks and kin travel with the data whatever the method did with them
        found, had = outcome.data.kin, before.kin
        frame = had.frame if found.frame is None else found.frame
        after = _declared(outcome.data, before).marked(**asdict(before.marks))
        derived = found.derived or had.derived
        after = after.with_kin(
            original=had.original, frame=frame, records=had.records, ratios=found.ratios or had.ratios,
            derived=derived, files=_beside(outcome.files, method, number, before),
        )  # fmt: skip
        after = _in_one_piece(after)
        for guarantee in outcome.guarantees:
            guarantee.prove(after)
    step = Step(
        number=number,
        method=method,
        n_records_before=before.n_records,
        n_records_after=after.n_records,
        changes=outcome.changes,
        figures=outcome.figures,
        notes=outcome.notes,
        random=draws.used or "system entropy" in method.uses,
        seconds=time.perf_counter() - started,
        details=outcome.details,
        reusable=carried_on(draws.former, outcome.reusable),
        unit="records" if data_kind(before) == "microdata" else "cells",
    )
    if not registry.speaks_publicly(type(method)):
        return step, after, tuple(g.for_the_office() for g in outcome.guarantees)
    return step, after, outcome.guarantees


def _beside(files: Sequence[ReleasedFile], method: Protection, number: int, before: Any) -> dict[str, ReleasedFile]:
    """The files that a step made beside the data: released, marked and declared as these are."""
    require_records(files, before, f"Step {number} ({method.name()})")
    for file in files:
        others = [other.name for other in files if other is not file]
        require_named(file, others, f"Step {number} ({method.name()})")
    marks, original = asdict(before.marks), before.kin.original
    made = with_data(
        {file.name: file for file in files},
        lambda data: _declared(data, before).marked(**marks).with_kin(original=original),
    )
    secret = not registry.speaks_publicly(type(method))
    return {name: replace(file, audience="internal") if secret else file for name, file in made.items()}


@dataclass(frozen=True)
class _Given:
    """What each step gave, in this run or in the one that it goes on from."""

    #: How many steps there were before the plan.
    first: int
    held: Mapping[int, Any]
    kept: Checkpoints | None

    def after(self, number: int) -> Any:
        """The data after so many steps; None where nobody has them any more."""
        if number in self.held or self.kept is None:
            return self.held.get(number)
        found = self.kept.find(number)
        return None if found is None else found.data


def _proof(
    guarantee: Guarantee,
    number: int,
    final: Any,
    promised: Sequence[tuple[Guarantee, int]],
    steps: Sequence[Step],
    given: _Given,
) -> Proof:
    """The proof on the final file; where there is none, the step that undid what another one guarantees is named."""
    try:
        return guarantee.prove(final, number)
    except GuaranteeBrokenError:
        names, later, n_broken = {step.number: step.method.name() for step in steps}, 0, 0
        for later in range(max(number, given.first), len(steps) + 1):
            data = given.after(later)
            if data is None or (n_broken := guarantee.count_violations(data)):
                break
        if number not in names or not n_broken or later in (0, given.first):
            raise  # no step undid it: the data came so, or what lays the final file out did
        remedies = dict.fromkeys(g.remedy for g, n in promised if n in (number, later) and g.remedy)
        raise GuaranteeBrokenError(
            f"Step {later} ({names[later]}) undoes what step {number} ({names[number]}) guarantees: "
            f"«{guarantee.promise}» does not hold any more, {n_broken:,} violations. Nothing is released. "
            f"Put step {later} before step {number}, or leave one out."
            + (f" Where each undoes the other, {'; or '.join(remedies)}." if remedies else "")
        ) from None


def _declared(after: Any, before: Any) -> Any:
    """Records whose new columns have a role: what a step made and said nothing of may be released as it is."""
    if data_kind(after) != "microdata":
        return after
    new = [c for c in after.columns if c not in before.columns and c not in after.schema.declared]
    return (
        after.with_frame(after.frame, after.schema.with_changes(others=(*after.schema.others, *new))) if new else after
    )


def _in_one_piece(data: Any) -> Any:
    """Records as they would be read back: what is computed of them is the same to the last digit."""
    rows = in_one_piece(data.frame) if data_kind(data) == "microdata" else None
    return data if rows is None or rows is data.frame else data.with_frame(rows)


@contextmanager
def _named(number: int, method: Protection, alone: bool) -> Iterator[None]:
    """An error inside a plan of several steps says in which one it happened."""
    try:
        yield
    except FlouError as error:
        if not alone and error.args:
            error.args = (f"Step {number} ({method.name()}): {error.args[0]}", *error.args[1:])
        raise


def _require_before_sample(method: Protection, number: int, current: Any) -> None:
    """A step that would change what a sample was drawn from is refused before it works."""
    if current.kin.frame is None:
        return
    changed = [c for c in method.touches if c in current.kin.frame.columns and c != current.schema.weight]
    if changed:
        raise DataError(
            f"Step {number} ({method.name()}) would change {listed(changed)} after a sample was drawn, and what was "
            "promised of the file that it was drawn from would not be true of the sample. Put the sample after it."
        )
