"""`[[tabulate]]` and `[record_keys]` of a plan: the tables made of the protected records, and the keys they carry.

The words are those of `Microdata.tabulate`. Here they are checked for their shape alone, so that a misspelt word is
found when a plan is read; whether the columns exist is seen when the tables are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from flou.engine.errors import PlanError, did_you_mean, listed

Listing = Literal["occupied", "all"]
_EXAMPLE = 'dims = ["region>department", "sex"]'


@dataclass(frozen=True)
class Tabulation:
    """One table of a plan: counts, and sums of `value`, by `dims`."""

    dims: Sequence[str]
    name: str = ""
    value: str | None = None
    #: True for every level and total, False for the finest cells alone, or the dimensions that get them.
    margins: bool | Sequence[str] = True
    weight: str | None = None
    holding: str | None = None
    largest: int = 3
    cells: Listing = "occupied"
    total: str = "Total"

    def __post_init__(self) -> None:
        dims = [self.dims] if isinstance(self.dims, str) else self.dims
        if not _texts(dims) or not dims:
            raise PlanError(f"[[tabulate]] dims = {self.dims!r} should be a list of dimensions: {_EXAMPLE}.")
        object.__setattr__(self, "dims", tuple(dims))
        if not isinstance(self.margins, bool):
            if not _texts(self.margins):
                raise PlanError(
                    f"[[tabulate]] margins = {self.margins!r} should be true, false or a list of dimensions."
                )
            object.__setattr__(self, "margins", tuple(self.margins))
            unknown = [m for m in self.margins if m not in self.dims]
            if unknown:
                raise PlanError(f"[[tabulate]] margins names {listed(unknown)}, not one of dims: {listed(self.dims)}.")
        for word in ("value", "weight", "holding", "total"):
            held = getattr(self, word)
            if not (isinstance(held, str) and held) and not (held is None and word != "total"):
                raise PlanError(f"[[tabulate]] {word} = {held!r} should be a text that is not empty.")
        if not isinstance(self.name, str):
            raise PlanError(f"[[tabulate]] name = {self.name!r} should be a text: the file is called by it.")
        if isinstance(self.largest, bool) or not isinstance(self.largest, int) or not 0 <= self.largest <= 100:
            raise PlanError(f"[[tabulate]] largest = {self.largest!r} should be a whole number from 0 to 100.")
        if self.cells not in ("occupied", "all"):
            raise PlanError(f'[[tabulate]] cells = {self.cells!r} should be "occupied" or "all".')

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Tabulation:
        """From the parsed TOML of one `[[tabulate]]`."""
        known = [f.name for f in fields(cls)]
        for word in table:
            if word not in known:
                raise PlanError(f"[[tabulate]] has an unknown word {word!r}.{did_you_mean(word, known)}")
        if "dims" not in table:
            raise PlanError(f"[[tabulate]] needs dims, the dimensions of the table: {_EXAMPLE}.")
        return cls(**table)

    def to_table(self) -> dict[str, Any]:
        """What differs from the defaults, as plain values."""
        found: dict[str, Any] = {}
        for field in fields(self):
            held = getattr(self, field.name)
            if field.name == "dims" or held != field.default:
                found[field.name] = list(held) if isinstance(held, tuple) else held
        return found

    def options(self) -> dict[str, Any]:
        """All of its words, as `tabulate` takes them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class RecordKeys:
    """`[record_keys]`: a column of keys that were drawn once and stored, instead of keys made from the role `id`."""

    stored: str

    def __post_init__(self) -> None:
        if not isinstance(self.stored, str) or not self.stored:
            raise PlanError(f"[record_keys] stored = {self.stored!r} should be the name of a column.")


def tabulations(tables: object) -> tuple[Tabulation, ...]:
    """The tables of a plan, each under a name of its own; a single one needs none."""
    if isinstance(tables, str | Mapping | Tabulation) or not isinstance(tables, Sequence):
        raise PlanError(f"A plan's tables are a list of Tabulation; given {tables!r}.")
    found = tuple(_tabulation(one) for one in tables)
    if len(found) > 1:
        unnamed = [number for number, one in enumerate(found, start=1) if not one.name]
        if unnamed:
            raise PlanError(
                f'[[tabulate]] number {unnamed[0]} has no name: of several tables each needs one, name = "ages".'
            )
    names = [one.name.casefold() for one in found]
    twice = sorted({one.name for one in found if names.count(one.name.casefold()) > 1})
    if twice:
        raise PlanError(f"[[tabulate]]: two tables are called {listed(twice)}; each needs a name of its own.")
    return found


def read_tabulations(entries: object) -> tuple[Tabulation, ...]:
    """From the `[[tabulate]]` sections of a plan file."""
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise PlanError("[[tabulate]] is written with double brackets, once for each table.")
    return tuple(Tabulation.from_table(entry) for entry in entries)


def _tabulation(one: object) -> Tabulation:
    if isinstance(one, Tabulation):
        return one
    if isinstance(one, Mapping):
        return Tabulation.from_table(one)
    if isinstance(one, str) or _texts(one):
        return Tabulation(one)  # type: ignore[arg-type]
    raise PlanError(f"A plan's tables are Tabulation objects, their words, or lists of dimensions; given {one!r}.")


def _texts(values: object) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(v, str) and v for v in values)
