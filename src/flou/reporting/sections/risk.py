"""Risk: each measure before and after protection, its chart, who is most exposed, and what hidden values follow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from flou.engine.charts import to_svg
from flou.engine.result import MeasuredOn, Result, RiskResult
from flou.reporting.reader import Reader
from flou.reporting.sections.section import Charts, Listing, Rows, Section
from flou.reporting.sections.senses import Senses
from flou.reporting.subject import Subject, speaks_of_tables
from flou.risk.micro.inferable.inferable import found_before
from flou.risk.micro.k_anonymity import KAnonymity
from flou.risk.table.rule_result import RuleResult

#: Keys shown in the internal list of the most exposed.
_N_KEYS_SHOWN = 10
#: The files in the order of the work, with the headings of their columns and the captions of their charts.
_FILES: dict[MeasuredOn, tuple[str, str]] = {
    "original": ("Before", "Before protection"),
    "frame": ("Frame", "Before the sample was drawn"),
    "release": ("After", "After protection"),
}
#: What one measure found in each of them.
Found = Mapping[MeasuredOn, Result]


@dataclass(frozen=True)
class Measure:
    """What one measure found, file by file; `result` is what it found in the last one."""

    result: Result
    files: Found
    #: Whether it speaks of the records behind tables.
    is_behind: bool
    headings: list[str]
    rows: Rows
    notes: list[str]
    charts: Charts
    senses: Senses | None
    exposed: Listing | None

    @classmethod
    def of(cls, files: Found, subject: Subject, reader: Reader, senses: Senses | None) -> Self:
        result, words = list(files.values())[-1], reader.words
        headings = [words(_FILES[on][0]) for on in files] if len(files) > 1 else [words("Value")]
        charts = _charts(files, result, reader) if reader.reads(result.headline) else []
        rows, notes, exposed = list(_rows(files, result, reader)), _notes(files, reader), _exposed(files, reader)
        return cls(result, files, subject.lies_behind(result), headings, rows, notes, charts, senses, exposed)


@dataclass(frozen=True)
class Risk(Section, anchor="risk", link="Risk"):
    """Measures, those of what is published first; `inferred` is what can be read off the release."""

    measures: list[Measure]
    inferred: list[str]

    @property
    def leading(self) -> Rows:
        """The first figures of a measure of what is published, for the head of the page."""
        return next((measure.rows[:2] for measure in self.measures if not measure.is_behind), [])

    @classmethod
    def of(cls, subject: Subject, reader: Reader, results: Sequence[Result]) -> Self:
        measures, is_first = [], True
        for files in _by_measure(subject, reader, results):
            result, senses = list(files.values())[-1], None
            if is_first and result.method == KAnonymity.name():
                senses, is_first = Senses.of(result, subject, reader, has_before="original" in files), False
            measures.append(Measure.of(files, subject, reader, senses))
        leaks = () if reader.public else found_before(subject.release.data)
        return cls(measures, [reader.note(leak.message) for leak in leaks])


def _by_measure(subject: Subject, reader: Reader, results: Sequence[Result]) -> list[Found]:
    """Results matched by method and settings, in the order of the files; the public version has no before."""
    found: dict[str, dict[MeasuredOn, Result]] = {}
    for result in results:
        if reader.is_told(result.method) and (not reader.public or _is_published(result, subject)):
            name = f"{result.method} {sorted(result.measured_with.items(), key=str)}"
            found.setdefault(name, {})[result.measured_on] = result
    ordered = [{on: held[on] for on in _FILES if on in held} for held in found.values()]
    return sorted(ordered, key=lambda files: subject.lies_behind(list(files.values())[-1]))


def _is_published(result: Result, subject: Subject) -> bool:
    """Whether it was measured on what is published: neither the original nor records behind tables are.

    A rule counts the sensitive cells of the true table: the public is told that none of them is shown, or nothing.
    """
    if result.measured_on == "original" or (isinstance(result, RuleResult) and result.value > 0):
        return False
    return not subject.tables or (speaks_of_tables(result) and not subject.has_few_cells)


def _rows(files: Found, shown: Result, reader: Reader) -> Iterator[tuple[str, list[str]]]:
    words, results = reader.words, files.values()
    if reader.reads(shown.headline):
        yield words(shown.headline.label), [reader.figure(r.headline, r) for r in results]
        if shown.interval is not None:
            yield words("95% interval"), [reader.interval(r) for r in results]
    for figure in filter(reader.reads, shown.figures.held):
        name = figure.name
        held = [reader.figure(r.figures.of(name), r) if name in r.figures else "–" for r in results]
        yield words(figure.label), held


def _notes(files: Found, reader: Reader) -> list[str]:
    """Notes on a measure; a note that holds for some of the measured files names them."""
    told = [(on, r) for on, r in files.items() if not (reader.public and on == "frame")]  # they count its records
    found = [(reader.words(_FILES[on][0]), reader.notes(result.notes)) for on, result in told]
    shared = [note for note in (found[0][1] if found else []) if all(note in notes for _, notes in found)]
    own = [(name, note) for name, notes in found for note in notes if note not in shared]
    return shared + [f"{name}{reader.words.colon} {note}" for name, note in own]


def _charts(files: Found, shown: Result, reader: Reader) -> Charts:
    """Caption and SVG of each chart, drawn to one scale."""
    words, title = reader.words, f"{reader.words.colon} {reader.words(shown.title)}"
    drawn: list[tuple[str, Any]] = [
        (f"{words(_FILES[on][1])}{title}", result)
        for on, result in files.items()  # heights of bars are fractions whose denominator is the size of the frame
        if getattr(result, "chart", None) is not None and not (reader.public and on == "frame")
    ]
    if speaks_of_tables(shown):  # drawn from the true counts: for the office alone
        return [] if reader.public else [(caption, to_svg(r.plot(words.language))) for caption, r in drawn]
    min_count = reader.min_count if reader.public else 1
    tops = [_top(result.plot(min_count=min_count).to_dict()) for _, result in drawn]
    top = math.ceil(max(tops, default=0.0) * 10) / 10
    return [(caption, to_svg(r.plot(words.language, min_count=min_count, top=top))) for caption, r in drawn]


def _top(chart: dict[str, Any]) -> float:
    """The largest share that a chart draws, so that two charts can share an axis."""
    data: list[dict[str, Any]] = chart.get("data", {}).get("values") or next(
        iter(chart.get("datasets", {}).values()), []
    )
    return max((float(row["share"]) for row in data if "share" in row), default=0.0)


def _exposed(files: Found, reader: Reader) -> Listing | None:
    """The keys (households, records) of the release, or of the original, at the highest risk, for the office."""
    result, words = files.get("release") or files.get("original"), reader.words
    if reader.public or not isinstance(result, RiskResult):
        return None
    header = [*map(reader.label, result.keys.columns), words("records"), words(result.unit_label)]
    frame = result._by_key.head(_N_KEYS_SHOWN)
    frame = frame.select(frame.columns[: len(header)])
    rows = [[reader.value(c, value) for c, value in zip(frame.columns, row, strict=True)] for row in frame.iter_rows()]
    after = "release" in files
    title = words("The most exposed after protection" if after else "The most exposed before protection")
    return Listing([(name, False) for name in header], rows, title)
