"""A release: protected data, what each step did, and the proof of what was promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from flou.engine import native
from flou.engine.guarantee import Proof
from flou.engine.note import Note
from flou.engine.result import Figure
from flou.engine.secret import Origin

if TYPE_CHECKING:
    from flou.engine.method import Protection


@dataclass(frozen=True)
class Change:
    """What one step did to one column."""

    column: str
    n_changed: int
    n_values_before: int | None = None
    n_values_after: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a protection's `_protect` returns: the data and the figures of the step."""

    data: Any
    changes: tuple[Change, ...] = ()
    n_dropped: int = 0
    figures: Mapping[str, Figure] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a plan as it was carried out."""

    number: int
    method: Protection
    n_records_before: int
    n_records_after: int
    changes: tuple[Change, ...]
    figures: Mapping[str, Figure]
    notes: tuple[Note, ...]
    seconds: float

    def __getattr__(self, name: str) -> Any:
        figures = self.__dict__.get("figures", {})
        if name in figures:
            return figures[name]
        raise AttributeError(f"step has no {name!r}; its own figures: {', '.join(sorted(figures)) or 'none'}")

    def __repr__(self) -> str:
        return f"Step({self.number}, {self.method!r}, records {self.n_records_before:,} → {self.n_records_after:,})"


@dataclass(frozen=True, eq=False)
class Release:
    """Protected data ready to be attacked, measured, judged and written."""

    data: Any
    steps: tuple[Step, ...]
    guarantees: tuple[Proof, ...]
    secret_origin: Origin

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

    def __repr__(self) -> str:
        lines = [f"Release of {self.data.n_records:,} records after {len(self.steps)} steps"]
        lines += [f"  {step!r}" for step in self.steps]
        lines += [f"  Guaranteed: {proof}" for proof in self.guarantees]
        return "\n".join(lines)
