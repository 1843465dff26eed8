"""Utility: each comparison's headline, figures, worst lines and chart.

The tables and charts hold figures of the original and are for the office alone. The public reads the headline and
the figures that compare the two files, never a figure of the original by itself. Of tables it reads what the mechanism
leads one to expect: what was observed is a count of true cells under another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from flou.engine.comparison import MOST_LINES, ComparisonResult, number_text
from flou.engine.figure import Figure
from flou.engine.values import Proportion
from flou.reporting.reader import Reader
from flou.reporting.sections.section import Listing, Section, Shown, draw
from flou.reporting.subject import Subject, speaks_of_tables

#: Figures of tables that follow from the mechanism, and what the public is told that they are.
_EXPECTED = {"expected": "{figure}, expected", "large": "{figure}, expected for large counts"}


@dataclass(frozen=True)
class Utility(Section, anchor="utility", link="Utility"):
    """Comparisons of the release with the original."""

    comparisons: list[Shown]

    @classmethod
    def of(cls, subject: Subject, reader: Reader, results: Sequence[ComparisonResult]) -> Self | None:
        told = [r for r in results if reader.is_told(r.method) and not (reader.public and _is_withheld(r, subject))]
        if reader.public and min(subject.original.n_records, subject.release.data.n_records) < reader.min_count:
            return None  # a file of very few people is compared with nothing in public
        shown = []
        for result in told:
            rows = list((_expected if reader.public and subject.tables else _observed)(result, reader))
            listings = [] if reader.public else list(_listings(result, reader))
            notes, charts = reader.notes(result.notes), draw(result, reader)
            shown.append(Shown(result, rows=rows, notes=notes, charts=charts, listings=listings))
        return cls(shown) if shown else None


def _is_withheld(result: ComparisonResult, subject: Subject) -> bool:
    """Of tables the public reads what is expected of many cells; the records behind them are not published."""
    if not subject.tables:
        return False
    return subject.has_few_cells or not speaks_of_tables(result) or not set(_EXPECTED) & set(result.figures)


def _observed(result: ComparisonResult, reader: Reader) -> Iterator[tuple[str, list[str]]]:
    for figure in (result.headline, *result.figures.held):
        if not reader.public or figure.audience == "public":
            yield reader.words(figure.label), [_figure(figure, result, reader)]


def _expected(result: ComparisonResult, reader: Reader) -> Iterator[tuple[str, list[str]]]:
    """What follows from the mechanism, with the name of the figure."""
    label = reader.words(result.value_label)
    for name, text in _EXPECTED.items():
        if name in result.figures:
            yield reader.words(text, figure=label), [_figure(result.figures.of(name), result, reader)]


def _figure(figure: Figure, result: ComparisonResult, reader: Reader) -> str:
    value = figure.read
    if isinstance(value, Proportion | bool | str) or value is None or figure.unit == "count":
        return reader.figure(figure, result)
    return number_text(value, "number", reader.words) if isinstance(value, float) else reader.words.number(value)


def _listings(result: ComparisonResult, reader: Reader) -> Iterator[Listing]:
    """The worst lines of each table."""
    words = reader.words
    for detail in result.details.values():
        columns, rows = detail.lines(words, reader.schema, MOST_LINES)
        title, n, n_all = words(detail.title), len(rows), detail.frame.height
        if n < n_all:
            title = words("{title}: the worst {n} of {all} lines", title=title, n=n, all=n_all)
        if rows:  # a long table without a single deviation has none
            yield Listing([(words(c.title), c.is_number) for c in columns], rows, title)
