"""What the report says of risk: each measure before and after, its chart, and who is most exposed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from flou.engine import registry
from flou.engine.charts import to_svg
from flou.engine.figure import Figure
from flou.engine.parameters import HIDDEN
from flou.engine.result import Result, RiskResult
from flou.engine.sense import MISSING
from flou.engine.values import Proportion
from flou.reporting.charts import senses_chart
from flou.reporting.senses import Sense, five_senses
from flou.reporting.table_section import TableSection, speaks_of_tables
from flou.risk.micro.inferable.inferable import found_before
from flou.risk.micro.k_anonymity import KAnonymity
from flou.risk.table.rule_result import RuleResult

#: Keys shown in the internal list of the most exposed.
_N_KEYS_SHOWN = 10
#: Captions of the charts: the file as it came, the one a sample was drawn from, the release.
_WHEN = ("Before protection", "Before the sample was drawn", "After protection")


@dataclass(frozen=True)
class Pair:
    """A measure before and after protection, and of the file that a sample was drawn from."""

    before: Result | None = None
    after: Result | None = None
    frame: Result | None = None

    @property
    def any(self) -> Result:
        found = self.after or self.frame or self.before
        assert found is not None
        return found

    @property
    def each(self) -> list[tuple[str, Result]]:
        """What was measured, with the heading of its column, in the order of the work."""
        named = (("Before", self.before), ("Frame", self.frame), ("After", self.after))
        return [(name, result) for name, result in named if result is not None]


@dataclass(frozen=True)
class RiskSection(TableSection):
    """Risk before and after protection."""

    @cached_property
    def pairs(self) -> list[Pair]:
        """Risk measures, before and after matched by method and settings; the public version has no before."""
        found: dict[str, Pair] = {}
        for result in self.results:
            if (
                not is_measure(result)
                or not self.is_told(result.method)
                or (self.public and not self._published(result))
            ):
                continue
            name = f"{result.method} {sorted(result.measured_with.items(), key=str)}"
            place = {"original": "before", "frame": "frame", "release": "after"}[result.measured_on]
            if place != "before" or not self.public:
                found[name] = replace(found.get(name, Pair()), **{place: result})
        return sorted(found.values(), key=self.lies_behind)  # what is published first

    def lies_behind(self, pair: Pair) -> bool:
        """Whether a measure is of the records behind tables."""
        return bool(self.tables) and not speaks_of_tables(pair.any)

    def _published(self, result: Result) -> bool:
        """Whether it was measured on what is published: records behind tables are not.

        A rule counts the sensitive cells of the true table: the public is told that none of them is shown, or nothing.
        """
        if isinstance(result, RuleResult) and result.value > 0:
            return False
        return not self.tables or (speaks_of_tables(result) and not self.figures_withheld)

    def risk_notes(self, pair: Pair) -> list[str]:
        """The remarks on a measure; those that do not hold of every file that was measured say of which."""
        found = {
            self.words(name): self.notes(result.notes)
            for name, result in pair.each
            if not (self.public and result is pair.frame)  # they count records of the frame
        }
        if not found:
            return []
        shared = [note for note in next(iter(found.values())) if all(note in notes for notes in found.values())]
        own = [
            f"{name}{self.words.colon} {note}" for name, notes in found.items() for note in notes if note not in shared
        ]
        return shared + own

    @property
    def inferred(self) -> list[str]:
        """What the verdict's check found that hidden values can be read off, or nearly; internal only."""
        return [] if self.public else [self.note(leak.message) for leak in found_before(self.release.data)]

    def figures(self, pair: Pair) -> Iterator[tuple[str, list[str]]]:
        """Label of each figure of a measure, and its value in each file that was measured."""
        words, shown = self.words, pair.any
        results = [result for _, result in pair.each]
        yield words(shown.headline.label), [self._headline(r) for r in results]
        if shown.interval is not None:
            yield words("95% interval"), [self._interval(r) for r in results]
        for figure in shown.figures.held:
            if not self.public or self._is_public(figure):
                yield words(figure.label), [self._figure(r, figure.name) for r in results]

    def _is_public(self, figure: Figure) -> bool:
        """Whether the public reads of a figure; one without a value tells it something only where it says what."""
        return figure.audience == "public" and (figure.value is not None or figure.absent != Figure.absent)

    def _is_closed_frame(self, result: Result | None) -> bool:
        """Whether a figure is of the file that a sample was drawn from: its size over that of the sample is secret."""
        return self.public and result is not None and result.measured_on == "frame"

    def _frame_figure(self, result: Result, figure: Figure) -> str:
        """For the public: shares that stand for many records, and that a smallest frequency meets what was asked for.

        A count of the frame, or a bound on a share of its records, tells the size of the frame.
        """
        value, k, n = figure.read, result.settings.get(figure.name), result.figures.get("n_records")
        if isinstance(value, Proportion) and isinstance(n, int) and not 0 < value * n < self.min_count:
            return self.words.share(value)
        if figure.unit == "smallest" and isinstance(k, int) and isinstance(value, int) and value >= k:
            return f"≥ {self.words.number(k)}"
        return self.words(HIDDEN)

    def _headline(self, result: Result | None) -> str:
        if result is None:
            return "–"
        if self._is_closed_frame(result):
            return self._frame_figure(result, result.headline)
        return self._shown(result, result.headline)

    def _share_of(self, result: Result, share: float) -> str:
        """A share of records, hidden in the public version when it stands for few of them."""
        total = result.figures.get("n_records")
        if self.public and isinstance(total, int) and 0 < share * total < self.min_count:
            return f"< {self.words.share(self.min_count / total)}"
        return self.words.share(share)

    def _interval(self, result: Result | None) -> str:
        if result is None or result.interval is None:
            return "–"
        if self._is_closed_frame(result):
            return self.words(HIDDEN)
        show = self.words.share if result.headline.unit == "share" else self.words.number
        return f"{show(result.interval.low)} – {show(result.interval.high)}"

    def _figure(self, result: Result | None, name: str) -> str:
        if result is None or name not in result.figures:
            return "–"
        figure = result.figures.of(name)
        if figure.value is None:
            return self.words(figure.absent)
        return self._frame_figure(result, figure) if self._is_closed_frame(result) else self._shown(result, figure)

    def _shown(self, result: Result, figure: Figure) -> str:
        """A figure as this audience reads it."""
        value = figure.read
        if figure.unit == "smallest" and isinstance(value, int):
            return self.smallest(value, result.settings, figure.name)
        if isinstance(value, Proportion):
            return self._share_of(result, value)
        if isinstance(value, int) and not isinstance(value, bool):
            return self.count(value)
        return self.words.number(value) if isinstance(value, float) else str(value)

    def charts(self, pair: Pair) -> list[tuple[str, str]]:
        """Caption and SVG of a measure's chart, before and after, drawn to one scale."""
        title = self.words(pair.any.title)
        captions = tuple(f"{self.words(when)}{self.words.colon} {title}" for when in _WHEN)
        drawn = [
            (c, r)
            for c, r in zip(captions, (pair.before, pair.frame, pair.after), strict=True)
            if getattr(r, "chart", None) is not None and isinstance(r, Result)
        ]
        if self.public:  # a drawing is exact: heights of bars are fractions whose denominator is the size of the frame
            drawn = [(c, r) for c, r in drawn if r is not pair.frame]
        if speaks_of_tables(pair.any):  # drawn to one scale, and from the true counts: for the office alone
            return [] if self.public else [(c, to_svg(_plot(r, self.words.language))) for c, r in drawn]
        min_count = self.min_count if self.public else 1
        tops = [_top(_plot(result, min_count=min_count).to_dict()) for _, result in drawn]
        top = math.ceil(max(tops, default=0.0) * 10) / 10
        return [(c, to_svg(_plot(r, self.words.language, min_count=min_count, top=top))) for c, r in drawn]

    def senses(self, pair: Pair) -> list[Sense]:
        """The first k-anonymity of the report under every way of counting undetermined values."""
        shown = pair.any
        if pair is not next((p for p in self.pairs if p.any.method == KAnonymity.name()), None):
            return []
        measure = KAnonymity(**{**shown.settings, "missing": MISSING[0]})
        released = self.records if self.records.released else None
        return five_senses(measure, None if self.public else self.original, released)

    def senses_chart(self, senses: list[Sense]) -> str:
        chart = senses_chart(senses, self.words.language)
        return to_svg(chart) if chart is not None else ""

    def sense_share(self, share: float | None, *, after: bool) -> str:
        if share is None:
            return self.words("cannot be counted")
        total = self.records.n_records if after else self.original.n_records
        return self.share(round(share * total), total)

    def smallest(self, frequency: int | None, settings: dict[str, Any], name: str = "k") -> str:
        """The smallest frequency; for the public, where it is small, only that what was asked for is met."""
        if frequency is None:
            return "–"
        k = settings.get(name)
        if self.public and isinstance(k, int) and k <= frequency < self.min_count:
            return f"≥ {self.words.number(k)}"
        return self.count(frequency)

    def exposed(self, pair: Pair) -> tuple[list[str], list[list[str]]] | None:
        """The keys (households, records) of the release, or of the original, at the highest risk; internal only."""
        result = pair.after or pair.before
        if self.public or not isinstance(result, RiskResult):
            return None
        frame = result._by_key.head(_N_KEYS_SHOWN)
        header = [self.label(c) for c in result.keys.columns]
        header += [self.words("records"), self.words(result.unit_label)]
        chosen = frame.columns[: len(header)]
        rows = [
            [self._value(column, value) for column, value in zip(chosen, row, strict=True)]
            for row in frame.select(chosen).iter_rows()
        ]
        return header, rows

    def _value(self, column: str, value: object) -> str:
        if value is None:
            return self.words("undetermined")
        if isinstance(value, float) and column not in self.original.columns:
            return self.words.number(value)
        return self.original.schema.value_label(column, value, self.words.language)


def is_measure(result: Result) -> bool:
    """Whether it is the result of a risk measure, of records or of tables."""
    return isinstance(result, RiskResult) or result.method in registry.names("measure")


def _plot(result: Any, *arguments: Any, **options: Any) -> Any:
    return result.plot(*arguments, **options)


def _top(chart: dict[str, Any]) -> float:
    """The largest share that a chart draws, so that two charts can share an axis."""
    data: list[dict[str, Any]] = chart.get("data", {}).get("values") or next(
        iter(chart.get("datasets", {}).values()), []
    )
    return max((float(row["share"]) for row in data if "share" in row), default=0.0)
