"""Who reads a report, and how it is said to that reader: the public sees neither the original nor small counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flou.describe.schema import Schema
from flou.engine import registry
from flou.engine.figure import Figure
from flou.engine.note import Note
from flou.engine.parameters import HIDDEN
from flou.engine.public_settings import PublicSettings
from flou.engine.result import Result
from flou.engine.values import Proportion
from flou.engine.words import Words
from flou.reporting.subject import Subject

#: Places of a remark that hold names of columns.
_COLUMNS = ("column", "other", "columns", "by", "covariates")


@dataclass(frozen=True)
class Reader:
    """The office or the public, in one language."""

    words: Words
    public: bool
    #: The public reads no count below this.
    min_count: int
    #: Whether the public reads the parameters of rules on sensitive cells.
    public_rules: bool
    #: The original's, which names columns and values, and its columns; those that are not published.
    schema: Schema
    columns: frozenset[str]
    closed: frozenset[str | None]

    @classmethod
    def of(cls, subject: Subject, words: Words, *, public: bool) -> Reader:
        verdict, original = subject.verdict, subject.original
        min_count, rules = (verdict.min_count, verdict.public_rules) if verdict else (3, False)
        return cls(words, public, min_count, rules, original.schema, frozenset(original.columns), subject.closed)

    def is_told(self, method: str) -> bool:
        """Whether this reader may read of a method."""
        return not self.public or registry.is_public(method)

    def reads(self, figure: Figure) -> bool:
        """Whether this reader reads of a figure; one without a value tells the public something only in words."""
        told = figure.audience == "public" and (figure.value is not None or figure.absent != Figure.absent)
        return told or not self.public

    def either(self, texts: Mapping[str, str]) -> str:
        """A text that an office wrote, in this language or else in English."""
        return texts.get(self.words.language) or texts.get("en") or ""

    def count(self, n: int) -> str:
        """A count, hidden from the public when it is small."""
        return f"< {self.words.number(self.min_count)}" if self._is_small(n) else self.words.number(n)

    def share(self, value: float, total: object) -> str:
        """A share, hidden from the public when it stands for few of a total that is known."""
        if isinstance(total, int) and self._is_small(value * total):
            return f"< {self.words.share(self.min_count / total)}"
        return self.words.share(value)

    def _is_small(self, n: float) -> bool:
        return self.public and 0 < n < self.min_count - 1e-9  # what floats lose does not make a count small

    def figure(self, figure: Figure, result: Result) -> str:
        """A figure of a result."""
        value = figure.read
        if value is None:
            return self.words(figure.absent)
        asked, total = result.settings.get(figure.name), result.figures.get("n_records")
        met = figure.unit == "smallest" and isinstance(asked, int) and isinstance(value, int) and asked <= value
        if self.public and result.measured_on == "frame":
            # its size over that of the sample is secret: a count tells it, and so does a bound on a share
            if isinstance(value, Proportion) and isinstance(total, int) and not self._is_small(value * total):
                return self.words.share(value)
            return f"≥ {self.words.plain(asked)}" if met else self.words(HIDDEN)
        if isinstance(value, Proportion):
            return self.share(value, total)
        if isinstance(value, bool):
            return self.words("yes" if value else "no")
        if isinstance(value, str):
            return self.words(value)
        if met and self._is_small(value):
            return f"≥ {self.words.plain(asked)}"
        return self.count(value) if isinstance(value, int) else self.words.number(value)

    def interval(self, result: Result) -> str:
        """The interval of a headline."""
        if result.interval is None:
            return "–"
        if self.public and result.measured_on == "frame":
            return self.words(HIDDEN)
        show = self.words.share if result.headline.unit == "share" else self.words.number
        return f"{show(result.interval.low)} – {show(result.interval.high)}"

    def label(self, column: str) -> str:
        """What a column is called; the level of a hierarchy, `area@district`, with its name."""
        name, at, level = column.rpartition("@")
        if at and column not in self.columns:
            return f"{self.schema.label(name, self.words.language)} ({level})"
        return self.schema.label(column, self.words.language)

    def value(self, column: str, value: object) -> str:
        """What a value of a column is called."""
        if value is None:
            return self.words("undetermined")
        if isinstance(value, float) and column not in self.columns:
            return self.words.number(value)
        return self.schema.value_label(column, value, self.words.language)

    def settings(self, method: str, settings: Mapping[str, Any]) -> str:
        """The parameters of a method as this reader may read them."""
        return self.words.settings(self._settings(method, settings))

    def _settings(self, method: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        return PublicSettings(self.public_rules, self._is_closed).of(method, settings) if self.public else settings

    def _is_closed(self, name: str) -> bool:
        """Whether a name is that of a column that is not published: the public does not read it."""
        return self.public and name in self.closed

    def notes(self, notes: Iterable[Note]) -> list[str]:
        """Those remarks that this reader may read; of a column that is not published the public reads nothing."""
        if not self.public:
            return [self.note(note) for note in notes]
        open_ones = (self._without_closed(note) for note in notes if not note.internal)
        return [self.note(note) for note in open_ones if note is not None]

    def _without_closed(self, note: Note) -> Note | None:
        """A remark without the names of columns that are not published; None where nothing is left to say."""
        values = dict(note.values)
        for place in _COLUMNS:
            held = values.get(place)
            names = held.split(", ") if isinstance(held, str) else list(held) if isinstance(held, list | tuple) else []
            left = [name for name in names if not self._is_closed(name)]
            if names and not left:
                return None
            if len(left) < len(names):
                values[place] = ", ".join(left) if isinstance(held, str) else left
        return replace(note, values=values)

    def note(self, note: Note) -> str:
        """A remark; its counts are hidden from the public when they are small."""
        counts = {k: self.count(v) for k, v in note.values.items() if k.startswith("n_") and isinstance(v, int)}
        types = {k: self.words(str(v)) for k, v in note.values.items() if k.startswith("type_")}
        values = {**note.values, **counts, **types}
        if isinstance(settings := values.get("settings"), Mapping):
            values["settings"] = self._settings(note.method, settings)
        for name in ("column", "other"):
            if isinstance(values.get(name), str):
                values[name] = self.label(str(values[name]))
        return self.words.note(Note(note.text, values))
