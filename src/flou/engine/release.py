"""A release: protected data, what each step did, and the proof of what was promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import polars as pl

from flou.engine import native
from flou.engine.comparison import ComparisonResult
from flou.engine.content import is_same
from flou.engine.data import data_kind
from flou.engine.errors import DataError
from flou.engine.figure import FigureValue
from flou.engine.guarantee import Guarantee, Proof
from flou.engine.note import Note
from flou.engine.released_file import ReleasedFile
from flou.engine.result import Result
from flou.engine.secret import Origin

if TYPE_CHECKING:
    from flou.engine.protection import Protection


@dataclass(frozen=True)
class Change:
    """What one step did to one column."""

    column: str
    #: How many values changed; None where the number would give a secret parameter away.
    n_changed: int | None
    n_values_before: int | None = None
    n_values_after: int | None = None
    dropped: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a protection's `_protect` returns: the data and the figures of the step."""

    data: Any
    #: What the step promises about its output; each is proven at once and again at the end of the plan.
    guarantees: tuple[Guarantee, ...] = ()
    changes: tuple[Change, ...] = ()
    figures: Mapping[str, FigureValue] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    #: What else the step can show: frames, levels, a drawing; for the eyes of those who protect, never written.
    details: Mapping[str, Any] = field(default_factory=dict)
    #: What the next release of a series needs to draw alike, as plain values: scales, matrices. For the office alone.
    reusable: Mapping[str, Any] = field(default_factory=dict)
    #: Files that are released beside the data; the public reads those that say so, of a method that says so.
    files: tuple[ReleasedFile, ...] = ()


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a plan as it was carried out."""

    number: int
    method: Protection
    n_records_before: int
    n_records_after: int
    changes: tuple[Change, ...]
    figures: Mapping[str, FigureValue]
    notes: tuple[Note, ...]
    #: Whether the step drew at random.
    random: bool
    seconds: float
    details: Mapping[str, Any] = field(default_factory=dict)
    #: What the next release of a series needs to draw alike; kept in the internal folder.
    reusable: Mapping[str, Any] = field(default_factory=dict)
    #: What it worked on.
    unit: Literal["records", "cells"] = "records"

    def __getattr__(self, name: str) -> Any:
        figures, details = self.__dict__.get("figures", {}), self.__dict__.get("details", {})
        if name in figures:
            return figures[name]
        if name in details:
            return details[name]
        known = ", ".join(sorted([*figures, *details])) or "none"
        raise AttributeError(f"step has no {name!r}; its own figures: {known}")

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process takes no details: they hold keys of the original."""
        return {**self.__dict__, "details": {}}

    def __repr__(self) -> str:
        size = f"{self.unit} {self.n_records_before:,} → {self.n_records_after:,}"
        return f"Step({self.number}, {self.method!r}, {size})"


@dataclass(frozen=True, eq=False)
class Trail:
    """What was done to data and promised about them; it travels with them, so that no promise is lost."""

    steps: tuple[Step, ...] = ()
    guarantees: tuple[Proof, ...] = ()
    secret_origin: Origin = "entropy"
    #: Whether record keys were made from the secret: noise hangs on it although no step draws.
    keyed: bool = False


@dataclass(frozen=True, eq=False)
class Release:
    """Protected data ready to be attacked, measured, judged and written."""

    data: Any
    trail: Trail

    @property
    def files(self) -> Mapping[str, ReleasedFile]:
        """Every file by its name: the data, or each of the tables, and those that a step made beside them."""
        kind, data = data_kind(self.data), self.data
        tables = data.tables if kind == "table set" else (data,) if kind == "table" else ()
        named = [(table.name or "table", table) for table in tables] or [("data", data)]
        return {**{name: ReleasedFile(name, held, "public") for name, held in named}, **data.kin.files}

    @property
    def steps(self) -> tuple[Step, ...]:
        """Each step as it was carried out."""
        return self.trail.steps

    @property
    def guarantees(self) -> tuple[Proof, ...]:
        """What was promised, proven on the final file."""
        return self.trail.guarantees

    @property
    def secret_origin(self) -> Origin:
        """Where the least trustworthy secret behind it came from."""
        return self.trail.secret_origin

    @property
    def random(self) -> bool:
        """Whether any step drew at random or goes by keys of the secret; else the release replays without it."""
        return self.trail.keyed or any(step.random for step in self.steps)

    @property
    def test_only(self) -> bool:
        """Made with a test seed: no policy releases it."""
        return self.secret_origin == "test"

    @property
    def changes(self) -> Any:
        """One line a step and column: how many values changed, how many records went."""
        rows = []
        for step in self.steps:
            dropped = step.n_records_before - step.n_records_after
            for change in step.changes or (Change("", 0),):
                rows.append(
                    (step.number, step.method.name(), change.column or None, change.n_changed, dropped,
                     change.n_values_before, change.n_values_after)
                )  # fmt: skip
        schema = {"step": pl.Int64, "method": pl.String, "column": pl.String, "n_changed": pl.Int64,
                  "n_dropped": pl.Int64, "n_values_before": pl.Int64, "n_values_after": pl.Int64}  # fmt: skip
        return native.like(pl.DataFrame(rows, schema=schema, orient="row"), self.data.native_kind)

    @property
    def parts(self) -> tuple[Any, ...]:
        """All data whose measures speak of it: what is released, the frame of a sample, the records behind tables."""
        kin = self.data.kin
        beside = (file.data for file in kin.files.values())
        found = (self.data, kin.frame, kin.records, None if kin.records is None else kin.records.kin.frame, *beside)
        return tuple(part for part in found if part is not None)

    def is_strange(self, result: Result) -> bool:
        """Whether a result speaks of another release."""
        measured = getattr(result, "data", None)
        if result.measured_on == "original" and not isinstance(result, ComparisonResult):
            return False
        return measured is not None and not any(is_same(measured, part) for part in self.parts)

    def __reduce__(self) -> NoReturn:
        raise DataError("A release holds checks that cannot leave the process: pickle its .data, or write it.")

    def to_frame(self, *, reveal: bool = False) -> Any:
        """The rows as they would be published, in the user's frame type."""
        return self.data.to_frame(reveal=reveal)

    def __repr__(self) -> str:
        unit = "records" if data_kind(self.data) == "microdata" else "cells"
        lines = [f"Release of {self.data.n_records:,} {unit} after {len(self.steps)} steps"]
        lines += [f"  {step!r}" for step in self.steps]
        lines += [f"  Beside it: {file!r}" for file in self.data.kin.files.values()]
        lines += [f"  Guaranteed: {proof}" for proof in self.guarantees]
        return "\n".join(lines)
