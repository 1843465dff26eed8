"""What is told to whom: the public does not see the original nor small counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flou.decide.verdict import Verdict
from flou.describe.microdata import Microdata
from flou.engine.note import Note
from flou.engine.release import Release
from flou.engine.result import Result
from flou.engine.words import Words


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

    def note(self, note: Note) -> str:
        """A remark; its counts are hidden in the public version when they are small."""
        counts = {k: self.count(v) for k, v in note.values.items() if k.startswith("n_") and isinstance(v, int)}
        types = {k: self.words(str(v)) for k, v in note.values.items() if k.startswith("type_")}
        values = {**note.values, **counts, **types}
        for name in ("column", "other"):
            if isinstance(values.get(name), str):
                values[name] = self.label(str(values[name]))
        return self.words.note(Note(note.text, values))
