"""The steps: what each changed, and what was promised and proven of the outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from flou.engine import registry
from flou.engine.release import Step
from flou.reporting.reader import Reader
from flou.reporting.sections.section import Section
from flou.reporting.subject import Subject


@dataclass(frozen=True)
class Steps(Section, anchor="steps", link="Protection"):
    """Steps with what they changed, and guarantees by the file that they hold for."""

    steps: list[tuple[Step, list[str]]]
    proofs: list[tuple[str, list[str]]]

    @classmethod
    def of(cls, subject: Subject, reader: Reader) -> Self:
        told = [s for s in subject.release.steps if not reader.public or registry.speaks_publicly(type(s.method))]
        return cls([(step, list(_changed(step, subject, reader))) for step in told], _proofs(subject, reader))


def _proofs(subject: Subject, reader: Reader) -> list[tuple[str, list[str]]]:
    words = reader.words
    final = "Guarantees, checked on the final tables" if subject.tables else "Guarantees, checked on the final file"
    behind = words("Guarantees, checked on the records behind the tables")
    frame = words("Guarantees, checked on the file that the sample was drawn from")
    found: dict[str, list[str]] = {words(final): [], behind: [], frame: []}
    for proof in subject.release.guarantees:
        on = frame if proof.guarantee.on_frame else behind if proof.guarantee.on_records else words(final)
        found[on] += reader.notes([proof.promise])
    return [(heading, promises) for heading, promises in found.items() if promises]


def _changed(step: Step, subject: Subject, reader: Reader) -> Iterator[str]:
    if step.unit == "cells":
        return _changed_cells(step, subject, reader)
    return _changed_columns(step, subject, reader) if reader.public else _changed_values(step, reader)


def _changed_columns(step: Step, subject: Subject, reader: Reader) -> Iterator[str]:
    """For the public: which published columns a step touched; how much is the original's own affair."""
    touched = [reader.label(c.column) for c in step.changes if subject.publishes(c.column)]
    dropped = step.n_records_before > step.n_records_after
    if touched:
        yield reader.words("changed: {columns}", columns=", ".join(touched))
    if dropped:
        yield reader.words("some records were dropped")
    if not touched and not dropped:
        yield reader.words("no published column changed")


def _changed_values(step: Step, reader: Reader) -> Iterator[str]:
    words, n_dropped = reader.words, step.n_records_before - step.n_records_after
    for change in step.changes:
        label, before, after = reader.label(change.column), change.n_values_before, change.n_values_after
        if change.dropped:
            yield words("{column}: column dropped", column=label)
        elif change.n_changed is None:
            yield words("{column}: some values changed, how many is secret", column=label)
        else:
            yield words("{column}: {n} values changed", column=label, n=change.n_changed)
        if before != after and not change.dropped:
            yield words("{column}: {before} distinct values became {after}", column=label, before=before, after=after)
    if n_dropped:
        yield words("{n} records dropped ({share})", n=n_dropped, share=words.share(n_dropped / step.n_records_before))
    elif not step.changes:
        yield words("nothing changed")


def _changed_cells(step: Step, subject: Subject, reader: Reader) -> Iterator[str]:
    """What a step did to the tables; how much is for the office alone."""
    words, figures, n_changed = reader.words, step.figures, sum(c.n_changed or 0 for c in step.changes)
    if reader.public:
        yield words("cells suppressed" if subject.is_suppressed else "counts changed")
        return
    text = "{n} of {all} cells suppressed" if subject.is_suppressed else "{n} of {all} cells changed"
    yield words(text, n=n_changed, all=step.n_records_before)
    if not subject.is_suppressed and {"mean_deviation", "largest_deviation"} <= set(figures):
        mean, largest = round(float(figures["mean_deviation"] or 0), 2), figures["largest_deviation"]
        yield words("mean absolute deviation {mean}, largest {largest}", mean=mean, largest=largest)
