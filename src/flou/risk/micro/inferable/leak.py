"""What can be read off a release: the column, from which others, and of how many records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flou.engine.note import Note

Level = Literal["withhold", "review", "note"]
_ORDER: tuple[Level, ...] = ("withhold", "review", "note")


#: Why a release could not be compared with the plan's input.
_UNCHECKED = Note(
    "rows in their engine without an id cannot be compared with the plan's input, so nobody has looked what the "
    "release tells of hidden values: declare the role id, or load the rows with .collect()"
)
_NO_ORIGINAL = Note(
    "these records are a copy of a release, which does not know what they were made of, so nobody has looked what they "
    "tell of hidden values: judge the release where it was made, with policy.judge(…, release)"
)


@dataclass(frozen=True)
class Leak:
    """A hidden column that released ones tell."""

    #: What is read off; empty where the release could not be compared with the plan's input.
    column: str
    #: The released columns that tell it.
    by: tuple[str, ...]
    #: Records whose value is read off, of those screened.
    recovered: int
    #: Screened records whose value was hidden.
    n_treated: int
    #: What it asks of a verdict; a note stands in the internal report alone.
    level: Level
    #: How an amount is computed, such as "a * tax"; empty where the others who share the columns tell it.
    formula: str = ""
    #: The 99th percentile of what permuted columns give back; None where nothing was permuted.
    by_chance: int | None = None
    #: Whether nothing was compared because the records are a copy of a release.
    is_copy: bool = False

    @property
    def message(self) -> Note:
        """What is told by what, and what can be done."""
        if not self.column:
            return _NO_ORIGINAL if self.is_copy else _UNCHECKED
        values: dict[str, object] = {
            "column": self.column,
            "by": ", ".join(self.by),
            "recovered": self.recovered,
            "n_treated": self.n_treated,
        }
        if self.level == "note":
            text = (
                "{column}: {by} hits {recovered} of {n_treated} hidden values, which is below the floor of the check "
                "or what chance gives"
            )
            return Note(text, {**values, "by": self.formula or ", ".join(self.by)}, internal=True)
        if self.formula:
            text = (
                "{column} was hidden and can be computed from {by} ({formula}): {recovered} of {n_treated} records. "
                "Blur or leave out {by}, or compute it anew from what is released"
            )
            return Note(text, {**values, "formula": self.formula}, internal=True)
        text = (
            "{column} was hidden and can be read off {by}: {recovered} of {n_treated} records. Coarsen {by}, null it "
            "together with {column}, or leave it out"
        )
        return Note(text, values, internal=True)

    @property
    def rank(self) -> tuple[int, int, int, str, tuple[str, ...]]:
        """The worst first, of two that tell as much the simpler one."""
        return _ORDER.index(self.level), -self.recovered, len(self.by), self.column, self.by
