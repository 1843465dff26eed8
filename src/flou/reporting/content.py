"""What the report says, section by section, in one language and for one audience."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flou.decide.verdict import Decision, Verdict
from flou.describe.microdata import Microdata
from flou.describe.overview import ColumnOverview, Overview
from flou.engine.charts import to_svg
from flou.engine.note import Note
from flou.engine.release import Release, Step
from flou.engine.result import Result, RiskResult
from flou.engine.values import Proportion, settings_text
from flou.engine.words import Words
from flou.reporting.charts import senses_chart
from flou.reporting.glossary import Term, glossary
from flou.reporting.senses import Sense, five_senses
from flou.risk.micro.frequency import MISSING
from flou.risk.micro.k_anonymity import KAnonymity

#: Keys shown in the internal list of the rarest.
_N_KEYS_SHOWN = 10


@dataclass(frozen=True)
class Pair:
    """A measure before and after protection."""

    before: Result | None
    after: Result | None

    @property
    def any(self) -> Result:
        found = self.after or self.before
        assert found is not None
        return found


@dataclass(frozen=True)
class Content:
    """Everything the template prints. `public` hides the original and small counts."""

    original: Microdata
    release: Release
    results: Sequence[Result]
    verdict: Verdict | None
    words: Words
    public: bool

    @property
    def title(self) -> str:
        held = self.original.schema.title
        return held.get(self.words.language) or held.get("en") or self.words("Disclosure control report")

    @property
    def min_count(self) -> int:
        return self.verdict.min_count if self.verdict else 3

    def decision(self, decision: Decision) -> str:
        """The name of a decision."""
        return self.words(
            {Decision.RELEASE: "Release", Decision.REVIEW: "Review", Decision.WITHHOLD: "Withhold"}[decision]
        )

    def decision_meaning(self, decision: Decision) -> str:
        """What a decision asks of the office."""
        meaning = {
            Decision.RELEASE: "The file may be published.",
            Decision.REVIEW: "Somebody must look at it before the file is published.",
            Decision.WITHHOLD: "The file must not be published.",
        }
        return self.words(meaning[decision])

    def count(self, n: int) -> str:
        """A count, hidden in the public version when it is small."""
        if self.public and 0 < n < self.min_count:
            return f"< {self.words.number(self.min_count)}"
        return self.words.number(n)

    def share(self, n: int, total: int) -> str:
        """A share of records, hidden in the public version when it stands for a small count."""
        if not total:
            return "–"
        if self.public and 0 < n < self.min_count:
            return f"< {self.words.share(self.min_count / total)}"
        return self.words.share(n / total)

    @cached_property
    def file(self) -> Overview:
        """The original in the internal version, the released file in the public one."""
        data: Microdata = self.release.data.public() if self.public else self.original
        return data.describe()

    def size(self) -> str:
        """How large the file is, and its key space."""
        file, m = self.file, len(self.file.columns)
        if self.public:
            size = self.words("The released file has {n} records and {m} columns.", n=file.n_records, m=m)
        else:
            size = self.words("The original has {n} records and {m} columns.", n=file.n_records, m=m)
        if file.n_keys is None:
            return size
        keys = self.words(
            "Its quasi-identifiers take {n} distinct combinations, {c} of them complete; "
            "{m} complete ones are possible.",
            n=file.n_keys,
            c=file.n_complete_keys,
            m=file.n_possible_keys,
        )
        return f"{size} {keys}"

    @property
    def n_released(self) -> int:
        return int(self.release.data.n_records)

    def label(self, column: str) -> str:
        return self.original.schema.label(column, self.words.language)

    def published(self, column: str) -> bool:
        return column in self.release.data.columns and column not in self.release.data.schema.hidden

    @cached_property
    def pairs(self) -> list[Pair]:
        """Risk measures, before and after matched by method and settings; the public version has no before."""
        found: dict[str, Pair] = {}
        for result in self.results:
            if not isinstance(result, RiskResult):
                continue
            name = f"{result.method} {sorted(result.settings.items(), key=str)}"
            pair = found.get(name, Pair(None, None))
            if result.measured_on == "release":
                found[name] = Pair(pair.before, result)
            elif not self.public:
                found[name] = Pair(result, pair.after)
        return [p for p in found.values() if p.before or p.after]

    @property
    def others(self) -> list[Result]:
        """Results of attacks and comparisons."""
        return [r for r in self.results if not isinstance(r, RiskResult)]

    def figures(self, pair: Pair) -> Iterator[tuple[str, str, str]]:
        """Label, before, after of each figure of a measure."""
        words, shown = self.words, pair.any
        yield words(shown.value_label), self._headline(pair.before), self._headline(pair.after)
        if shown.interval is not None:
            yield words("95% interval"), self._interval(pair.before), self._interval(pair.after)
        for name in shown.figures:
            label = words(shown.figure_labels.get(name, name))
            yield label, self._figure(pair.before, name), self._figure(pair.after, name)

    def _headline(self, result: Result | None) -> str:
        if result is None:
            return "–"
        n, total = result.figures.get("n_at_risk"), result.figures.get("n_records")
        if result.value_kind == "share" and isinstance(n, int) and isinstance(total, int):
            return self.share(n, total)
        return self.words.share(result.value) if result.value_kind == "share" else self.words.number(result.value)

    def _interval(self, result: Result | None) -> str:
        if result is None or result.interval is None:
            return "–"
        show = self.words.share if result.value_kind == "share" else self.words.number
        return f"{show(result.interval.low)} – {show(result.interval.high)}"

    def _figure(self, result: Result | None, name: str) -> str:
        value = None if result is None else result.figures.get(name)
        if value is None:
            return "–"
        if name == "k" and result is not None and isinstance(value, int):
            return self.smallest(value, result.settings)
        if isinstance(value, Proportion):
            return self.words.share(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return self.count(value)
        return self.words.number(value) if isinstance(value, float) else str(value)

    def charts(self, pair: Pair) -> list[tuple[str, str]]:
        """Caption and SVG of a measure's chart, before and after, drawn to one scale."""
        captions = (self.words("Before protection"), self.words("After protection"))
        drawn = [
            (c, r)
            for c, r in zip(captions, (pair.before, pair.after), strict=True)
            if isinstance(r, RiskResult) and r.chart is not None
        ]
        min_count = self.min_count if self.public else 1
        tops = [_top(result.plot(min_count=min_count).to_dict()) for _, result in drawn]
        top = math.ceil(max(tops, default=0.0) * 10) / 10
        return [(c, to_svg(r.plot(self.words.language, min_count=min_count, top=top))) for c, r in drawn]

    def senses(self, pair: Pair) -> list[Sense]:
        """k-anonymity under every way of counting undetermined values."""
        shown = pair.any
        if shown.method != KAnonymity.name():
            return []
        measure = KAnonymity(**{**shown.settings, "missing": MISSING[0]})
        return five_senses(measure, None if self.public else self.original, self.release.data)

    def senses_chart(self, senses: list[Sense]) -> str:
        chart = senses_chart(senses, self.words.language)
        return to_svg(chart) if chart is not None else ""

    def sense_share(self, share: float | None, *, after: bool) -> str:
        if share is None:
            return self.words("cannot be counted")
        total = self.n_released if after else self.original.n_records
        return self.share(round(share * total), total)

    def smallest(self, frequency: int | None, settings: dict[str, Any]) -> str:
        """The smallest frequency; for the public, where it is small, only that what was asked for is met."""
        if frequency is None:
            return "–"
        k = settings.get("k")
        if self.public and isinstance(k, int) and k <= frequency < self.min_count:
            return f"≥ {self.words.number(k)}"
        return self.count(frequency)

    def rarest(self, pair: Pair) -> tuple[list[str], list[list[str]]] | None:
        """The rarest keys of the release, or of the original; internal only."""
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
        return self.original.schema.value_label(column, value, self.words.language)

    def limits(self) -> list[str]:
        """What the verdict does not say, for those who sign."""
        words = self.words
        out = [
            words(
                "k-anonymity answers one question: can a person be singled out by the quasi-identifiers declared here? "
                "It says nothing about what people with the same key have in common."
            ),
            words("A column that is not declared as a key is not counted, even if somebody could know it."),
        ]
        fine = [self.label(c.name) for c in self.file.columns if self._nearly_unique(c)]
        if fine and not self.public:
            text = (
                "Exact amounts and dates can be matched with other files. "
                "Published columns with very many distinct values: {columns}."
            )
            out.append(words(text, columns=", ".join(fine)))
        else:
            out.append(words("Exact amounts and dates can be matched with other files."))
        return out

    def _nearly_unique(self, column: ColumnOverview) -> bool:
        """A published column, no key, with a distinct value for one record in twenty or more."""
        return (
            self.published(column.name) and "key" not in column.roles and 20 * column.n_distinct >= self.file.n_records
        )

    def note(self, note: Note) -> str:
        """A remark; its counts are hidden in the public version when they are small."""
        counts = {k: self.count(v) for k, v in note.values.items() if k.startswith("n_") and isinstance(v, int)}
        types = {k: self.words(str(v)) for k, v in note.values.items() if k.startswith("type_")}
        values = {**note.values, **counts, **types}
        if isinstance(values.get("column"), str):
            values["column"] = self.label(str(values["column"]))
        return self.words.note(Note(note.text, values))

    def steps(self) -> Iterator[dict[str, Any]]:
        """Each step: what it is, its parameters, and what it changed."""
        for step in self.release.steps:
            yield {
                "number": step.number,
                "title": self.words(step.method.title or step.method.name()),
                "name": step.method.name(),
                "settings": settings_text(self._settings(step.method.shown_settings())),
                "changed": self._changed_columns(step) if self.public else self._changed_values(step),
                "notes": [self.note(n) for n in step.notes],
            }

    def _settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Parameters for the audience: a mapping lists values of the original, which the public does not see."""
        return {k: "…" if self.public and isinstance(v, dict) and "method" not in v else v for k, v in settings.items()}

    def _changed_columns(self, step: Step) -> list[str]:
        """For the public: which published columns a step touched; how much is the original's own affair."""
        touched = [self.label(c.column) for c in step.changes if self.published(c.column)]
        lines = [self.words("changed: {columns}", columns=", ".join(touched))] if touched else []
        if step.n_records_before > step.n_records_after:
            lines.append(self.words("some records were dropped"))
        return lines or [self.words("no published column changed")]

    def _changed_values(self, step: Step) -> list[str]:
        lines = []
        for change in step.changes:
            label = self.label(change.column)
            if change.dropped:
                lines.append(self.words("{column}: column dropped", column=label))
                continue
            lines.append(self.words("{column}: {n} values changed", column=label, n=change.n_changed))
            if change.n_values_before is not None:
                text = "{column}: {before} distinct values became {after}"
                counts = {"before": change.n_values_before, "after": change.n_values_after}
                lines.append(self.words(text, column=label, **counts))
        n_dropped = step.n_records_before - step.n_records_after
        if n_dropped:
            share = self.share(n_dropped, step.n_records_before)
            lines.append(self.words("{n} records dropped ({share})", n=n_dropped, share=share))
        return lines or [self.words("nothing changed")]

    def secret(self) -> str:
        """What is said about the secret: never its value."""
        origins = {
            "file": "a secret read from a file: the same plan, data and secret give the same release",
            "environment": "a secret read from the environment: the same plan, data and secret give the same release",
            "entropy": "the operating system's entropy: this release cannot be replayed",
            "test": "a test seed, which anybody can guess: for tests only",
            "demonstration": "the published demonstration secret: for synthetic data only",
        }
        if not self.release.random and self.release.secret_origin != "test":
            return self.words("nothing was drawn at random: the same plan and data give the same release")
        return self.words(origins[self.release.secret_origin])

    def glossary(self) -> list[Term]:
        """The general terms, and those of the methods that were used."""
        used = {step.method.name() for step in self.release.steps} | {r.method for r in self.results}
        return [t for t in glossary(self.words.language) if not t.when or used & set(t.when)]


def _top(chart: dict[str, Any]) -> float:
    """The largest share that a chart draws, so that two charts can share an axis."""
    data: list[dict[str, Any]] = chart.get("data", {}).get("values") or next(
        iter(chart.get("datasets", {}).values()), []
    )
    return max((float(row["share"]) for row in data if "share" in row), default=0.0)
