"""The file: the original for the office, the released one for the public; and what changed since a former one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from flou.describe.overview import Overview
from flou.reporting.reader import Reader
from flou.reporting.sections.section import Section
from flou.reporting.subject import Subject


@dataclass(frozen=True)
class File(Section, anchor="file", link="The file"):
    """The file in figures, and columns that the schema lets be released as they are."""

    overview: Overview
    size: str
    others: frozenset[str]

    @classmethod
    def of(cls, subject: Subject, reader: Reader) -> Self:
        file = (subject.released_overview if reader.public else None) or subject.original_overview
        others = frozenset((*subject.original.schema.others, *subject.records.schema.others))
        return cls(file, _size(file, reader), others)


def _size(file: Overview, reader: Reader) -> str:
    """How large the file is, and its key space."""
    text = "The original has {n} records and {m} columns."
    if reader.public:
        text = "The released file has {n} records and {m} columns."
    size = reader.words(text, n=file.n_records, m=len(file.columns))
    if file.n_keys is None:
        return size
    text = "Its quasi-identifiers take {n} distinct combinations, {c} of them complete; {m} complete ones are possible."
    keys = reader.words(text, n=file.n_keys, c=file.n_complete_keys, m=file.n_possible_keys)
    return f"{size} {keys}"


@dataclass(frozen=True)
class Changed(Section, anchor="changed"):
    """What changed since the former file, for the office."""

    notes: list[str]
