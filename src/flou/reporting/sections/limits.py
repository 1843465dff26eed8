"""What a verdict does not say, for those who sign."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flou.describe.overview import Overview
from flou.reporting.reader import Reader
from flou.reporting.sections.section import Section
from flou.reporting.subject import Subject, speaks_of_tables
from flou.risk.attacks import left_open


@dataclass(frozen=True)
class Limits(Section, anchor="limits"):
    """Of tables that nobody has judged."""

    limits: list[str]


def limits(subject: Subject, reader: Reader) -> list[str]:
    """What the figures do not say, of records or of tables."""
    released = subject.released_overview
    return list(_of_tables(subject, reader) if released is None else _of_records(released, subject, reader))


def _of_records(released: Overview, subject: Subject, reader: Reader) -> Iterator[str]:
    words = reader.words
    # of a sample the frame protects: that is where measures close attacks
    judged = [r for r in subject.results if r.measured_on == ("frame" if subject.is_sample else "release")]
    if left := left_open(judged, subject.release.data.schema.sensitive):
        names = ", ".join(words(attack.title) for attack in left)
        yield words("No measure of the release closes these attacks: {names}.", names=names)
    yield words(
        "k-anonymity answers one question: can a person be singled out by the quasi-identifiers declared here? "
        "It says nothing about what people with the same key have in common."
    )
    yield words("A column that is not declared as a key is not counted, even if somebody could know it.")
    # a distinct value for one record in twenty or more
    fine = [c for c in released.columns if 20 * c.n_distinct >= released.n_records]
    names = ", ".join(reader.label(c.name) for c in fine if not {"key", "weight"} & set(c.roles))
    text = "Exact amounts and dates can be matched with other files."
    if names and not reader.public:
        text = (
            "Exact amounts and dates can be matched with other files. "
            "Published columns with very many distinct values: {columns}."
        )
    yield words(text, columns=names)


def _of_tables(subject: Subject, reader: Reader) -> Iterator[str]:
    words, results = reader.words, subject.results
    text = (
        "What was measured speaks of single cells. Differences of cells, and of these tables and others of the "
        "same people, can tell more."
    )
    if any(r.method == "difference_inference" and speaks_of_tables(r) for r in results):
        text = (
            "What was measured speaks of single cells and of differences of two. More cells at a time, and other "
            "tables of the same people, can tell more."
        )
    if subject.is_suppressed:
        text = (
            "The audit speaks of each table by itself. Other tables of the same people or firms, published now or "
            "before, can tell more."
        )
    if not reader.public and any(r.method == "reconstruction" for r in results):
        text = (
            "All tables were attacked together. Other tables of the same people, and what somebody knows of them "
            "besides, can tell more."
        )
    yield words(text)
    if subject.is_keyed and not reader.public:
        yield words(
            "The noise of a cell hangs on who is in it. Protect every table of these people with the same "
            "secret and the same parameters: noise that is drawn anew can be averaged away."
        )
    if not subject.records.released and not reader.public:
        yield words("The records behind the tables were not changed; they must not be published.")
