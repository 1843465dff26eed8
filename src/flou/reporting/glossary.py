"""The glossary, in both languages, from one file that the report and the documentation share."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources


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
