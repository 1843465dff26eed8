"""What is told to whom: the public does not see the original nor small counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flou.decide.verdict import Reason, Verdict
from flou.describe.microdata import Microdata
from flou.engine import registry
from flou.engine.note import Note
from flou.engine.public_settings import PublicSettings
from flou.engine.release import Release
from flou.engine.result import Result
from flou.engine.words import Words

#: Places of a remark that hold names of columns.
_COLUMNS = ("column", "other", "columns", "by", "covariates")


@dataclass(frozen=True)
class Audience:
    """What a report is about, its language and its readers. `public` hides the original and small counts."""

    original: Microdata
    release: Release
    results: Sequence[Result]
    verdict: Verdict | None
    words: Words
    public: bool

    @property
    def min_count(self) -> int:
        return self.verdict.min_count if self.verdict else 3

    def is_told(self, method: str) -> bool:
        """Whether this audience may read of a method."""
        return not self.public or registry.is_public(method)

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

    @property
    def n_released(self) -> int:
        return int(self.release.data.n_records)

    @property
    def records(self) -> Microdata:
        """The protected records: the release, or those that its tables were made of, as far as it is known."""
        data = self.release.data
        return data if isinstance(data, Microdata) else data.kin.records or self.original

    def label(self, column: str) -> str:
        return self.original.schema.label(column, self.words.language)

    def published(self, column: str) -> bool:
        """Whether a column is in the published file."""
        data = self.release.data
        return column in data.columns and column not in data.schema.hidden

    def is_closed(self, name: str) -> bool:
        """Whether a name is that of a column that is not published: the public does not read it."""
        known = name in self.original.columns or name in self.records.columns
        return self.public and known and not self.published(name)

    def settings(self, method: str, settings: Mapping[str, Any]) -> str:
        """The parameters of a method as this audience may read them."""
        return self.words.settings(self._settings(method, settings))

    def _settings(self, method: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.public:
            return settings
        rules = self.verdict is not None and self.verdict.public_rules
        return PublicSettings(rules, self.is_closed).of(method, settings)

    def reasons(self) -> list[Reason]:
        """Why the verdict is what it is; of a rule on what is for the office alone the public reads nothing."""
        held = () if self.verdict is None else self.verdict.reasons
        return [r for r in held if not r.rule.method or self.is_told(r.rule.method)]

    def reason(self, reason: Reason) -> str:
        """Why a rule decided as it did; for the public, what it asks for."""
        return self.note(reason.rule) if self.public else self.words.note(reason.text)

    def notes(self, notes: Iterable[Note]) -> list[str]:
        """Those remarks that the audience may read; of a column that is not published the public reads nothing."""
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
            left = [name for name in names if not self.is_closed(name)]
            if names and not left:
                return None
            if len(left) < len(names):
                values[place] = ", ".join(left) if isinstance(held, str) else left
        return replace(note, values=values)

    def note(self, note: Note) -> str:
        """A remark; its counts are hidden in the public version when they are small."""
        counts = {k: self.count(v) for k, v in note.values.items() if k.startswith("n_") and isinstance(v, int)}
        types = {k: self.words(str(v)) for k, v in note.values.items() if k.startswith("type_")}
        values = {**note.values, **counts, **types}
        if isinstance(settings := values.get("settings"), Mapping):
            values["settings"] = self._settings(note.method, settings)
        for name in ("column", "other"):
            if isinstance(values.get(name), str):
                values[name] = self.label(str(values[name]))
        return self.words.note(Note(note.text, values))
