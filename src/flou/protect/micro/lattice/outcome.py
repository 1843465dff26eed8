"""From a choice of levels, or of one for each key, to released rows with their promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from flou.engine.errors import Infeasible
from flou.engine.note import Note
from flou.engine.release import Outcome
from flou.engine.values import percent
from flou.protect.micro.lattice.key_file import KeyFile, hide
from flou.protect.micro.lattice.ladder import Codes
from flou.protect.micro.lattice.problem import Levels
from flou.protect.micro.lattice.quality import QUALITY_LABELS
from flou.protect.micro.lattice.requirement import Flags
from flou.protect.micro.lattice.shown_schema import schema_at
from flou.protect.micro.shown_keys import Shown, as_text, mixed_schema, remembering, show


def release_at(
    file: KeyFile,
    levels: Levels,
    limit: int,
    figures: Mapping[str, Any],
    details: Mapping[str, Any],
    notes: tuple[Note, ...] = (),
) -> Outcome:
    """Every key at one level; classes that fail the models are suppressed, no more than `limit` records."""
    suppressed, dropped = file.settle(file.problem.shown_codes(levels))
    require_limit(file, suppressed, dropped, limit)
    shown = file.shown_at(levels, suppressed, dropped)
    released = show(file.data, shown, schema_at(file, levels))
    chosen = dict(zip(file.table.columns, levels, strict=True))
    return Outcome(
        released,
        guarantees=file.requirement.guarantees(),
        changes=shown.changes(),
        figures={"n_suppressed": n_lost(file, suppressed, dropped), **figures},
        notes=(*notes, *suppression_notes(n_lost(file, suppressed, dropped), dropped)),
        details={"levels": chosen, **details},
    )


def release_mixed(
    file: KeyFile,
    codes: Codes,
    labels: list[list[str]],
    limit: int,
    figures: Mapping[str, Any],
    notes: tuple[Note, ...] = (),
) -> Outcome:
    """Each key with values of its own: `codes` point into the labels of each column, -1 for null."""
    suppressed, dropped = file.settle(codes)
    require_limit(file, suppressed, dropped, limit)
    columns = {}
    for j, column in enumerate(file.table.columns):
        old = file.table.frame[column]
        names = pl.Series(column, [*labels[j], None], dtype=pl.String)
        new = names[np.where(codes[j] < 0, len(labels[j]), codes[j])]
        # a column that shows nothing but its own values keeps its type
        columns[column] = hide(old if new.eq_missing(as_text(old)).all() else new, suppressed)
    shown = Shown(file.table.frame, file.table.counts, columns, dropped)
    return Outcome(
        show(file.data, shown, remembering(mixed_schema(file.data.schema, columns), file.data, shown)),
        guarantees=file.requirement.guarantees(),
        changes=shown.changes(),
        figures={"n_suppressed": n_lost(file, suppressed, dropped), **figures},
        notes=(*notes, *suppression_notes(n_lost(file, suppressed, dropped), dropped)),
    )


def levels_notes(file: KeyFile, levels: Levels, score: float, quality: object) -> tuple[Note, ...]:
    """The chosen levels in words, each with a value that it shows, and what they cost."""
    shown = ", ".join(f"{file.table.columns[j]} {v}{_example(file, j, v)}" for j, v in enumerate(levels))
    name = QUALITY_LABELS.get(str(quality), "score")
    cost = {"type_quality": name, "score": round(score, 6)}
    notes = [Note("levels: {levels}", {"levels": shown}), Note("{type_quality} {score}", cost, internal=True)]
    if levels == file.problem.heights:
        notes.append(Note("every key is hidden: the release shows none of them"))
    return tuple(notes)


def _example(file: KeyFile, j: int, level: int) -> str:
    """The label that most records show at a level above the values."""
    if not level:
        return ""
    ladder = file.problem.ladders[j]
    n = np.bincount(ladder.up[level][file.problem.codes[j]], file.problem.counts)
    return f" ({ladder.texts(level)[int(n.argmax())]})"


def require_limit(file: KeyFile, suppressed: Flags, dropped: Flags, limit: int) -> None:
    """Refuse to lose more records than the user allows."""
    n = n_lost(file, suppressed, dropped)
    total = file.problem.n_records
    if n > limit or n == total:
        raise Infeasible(
            f"The models cannot be met without suppressing more records than suppression_limit allows ({limit:,}).",
            best=f"{n:,} of {total:,} records ({percent(n / total)}%) suppressed",
            next_step="Raise suppression_limit, or ask for less.",
        )


def n_lost(file: KeyFile, suppressed: Flags, dropped: Flags) -> int:
    """The records that lost every key, or, where they are dropped, all that are: some may have had no key before."""
    return int(file.table.counts[dropped].sum()) if dropped.any() else file.n_hidden(suppressed)


def suppression_notes(n_suppressed: int, dropped: Flags) -> tuple[Note, ...]:
    """How many records lost every key, and whether they could be kept at all."""
    if dropped.any():
        text = "{n_suppressed} records were suppressed; together they do not meet the models, so they were dropped"
        return (Note(text, {"n_suppressed": n_suppressed}, internal=True),)
    # in the file itself anybody can count them; but a later step may draw a sample, or drop records
    text = "{n_suppressed} records were suppressed: every key of theirs is null"
    return (Note(text, {"n_suppressed": n_suppressed}, internal=True),) if n_suppressed else ()


def granularity(file: KeyFile, shares: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """What is left of the detail, from 1 (nothing lost) to 0: `shares` of the leaves, one row a column."""
    least = 1.0 / file.problem.domains
    mean = shares @ file.table.counts / file.problem.n_records
    lost = np.where(least < 1.0, (mean - least) / np.where(least < 1.0, 1.0 - least, 1.0), 0.0)
    return float(1.0 - np.clip(lost, 0.0, 1.0).mean())
