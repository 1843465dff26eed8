"""The glossary, in both languages, from one file that the report and the documentation share."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Self

from flou.reporting.reader import Reader
from flou.reporting.sections.risk import Risk
from flou.reporting.sections.section import Section
from flou.reporting.subject import Subject


@dataclass(frozen=True)
class Term:
    """One term: its name and definition in one language, and the methods that it belongs to, if to some only."""

    code: str
    name: str
    definition: str
    when: tuple[str, ...] = ()
    #: What it is about, where a page on tables may do without it: the columns of records, their keys, a released file.
    about: str = ""


@cache
def glossary(language: str) -> tuple[Term, ...]:
    """All terms in a language, in its alphabetical order."""
    text = (resources.files("flou.reporting") / "glossary.toml").read_text(encoding="utf-8")
    terms = [
        Term(code, t[language]["name"], t[language]["definition"], tuple(t.get("when", ())), t.get("about", ""))
        for code, t in tomllib.loads(text).items()
    ]
    return tuple(sorted(terms, key=lambda t: t.name.casefold()))


@dataclass(frozen=True)
class Glossary(Section, anchor="glossary", link="Glossary"):
    """General terms and those of the methods that were used; on tables none of what the page does not show."""

    terms: list[Term]

    @classmethod
    def of(cls, subject: Subject, reader: Reader, risk: Risk) -> Self:
        steps, untold = subject.release.steps, set()
        used = {step.method.name() for step in steps} | {r.method for r in subject.results}
        used = set(filter(reader.is_told, used))
        on_records = any(step.unit == "records" for step in steps)
        if subject.tables:
            untold = {"file", "records", "keys"}
            if on_records or not reader.public:  # the office reads which columns there are
                untold.discard("records")
            if on_records or any(measure.is_behind for measure in risk.measures):
                untold.discard("keys")
        told = [term for term in glossary(reader.words.language) if not term.when or used & set(term.when)]
        return cls([term for term in told if term.about not in untold])
