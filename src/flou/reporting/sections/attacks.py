"""Attacks: what each found, as a sentence, figures and a chart. The office reads all; the public, of some, a sentence.

How often guesses are right would tell an intruder how far to trust what he found, and how many cells somebody is in,
some of them shown as zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from flou.engine.result import Result
from flou.reporting.reader import Reader
from flou.reporting.sections.section import Section, Shown, draw


@dataclass(frozen=True)
class Attacks(Section, anchor="others", link="Attacks"):
    """Attacks on what would be published."""

    answers: list[Shown]


def guesses(result: Result, reader: Reader) -> Shown | None:
    """An attack that guesses: for the public its headline, where the class says that everybody may read it."""
    words, headline = reader.words, result.headline
    if not reader.is_told(result.method):
        return None
    if not reader.reads(headline):
        return Shown(result, words("What was measured is for the office alone."))
    sentence = f"{words(headline.label)}{words.colon} {reader.figure(headline, result)}"
    if result.interval is not None:
        sentence += f" [{words.share(result.interval.low)}, {words.share(result.interval.high)}]"
    if reader.public:
        return Shown(result, sentence)
    figures = [figure for figure in (headline, *result.figures.held) if figure.value is not None]
    rows = [(words(figure.label), [reader.figure(figure, result)]) for figure in figures]
    return Shown(result, sentence, rows, reader.notes(result.notes), draw(result, reader))


def general(result: Result, reader: Reader) -> Shown | None:
    """A result of a class that nobody here knows: for the office alone."""
    return None if reader.public else guesses(result, reader)
