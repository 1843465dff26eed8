"""Figures: what a method says in numbers, each with a label, a unit, the direction in which it is safe, and readers.

A class declares its figures once; a result holds them with their values. What a class does not declare is internal, and
no rule of a policy can judge it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from flou.engine.risk_figure import Safe
from flou.engine.values import Proportion

FigureValue = bool | int | float | str | None
#: How it is read: a share as a percentage; a count of people, records or cells, which public pages mask where it is
#: small; `smallest`, the smallest class, of which the public reads that it reaches the bound asked for.
Unit = Literal["share", "count", "smallest", "number", "text"]
Audience = Literal["public", "internal"]


@dataclass(frozen=True)
class Figure:
    """One figure. In a declaration it has no value, and a name that ends in `*` stands for any ending."""

    name: str
    label: str = ""
    unit: Unit = "number"
    #: None: no rule can judge it.
    safe: Safe | None = "either"
    audience: Audience = "internal"
    value: FigureValue = None
    #: What is said where it has no value.
    absent: str = "–"

    @classmethod
    def public(cls, name: str, label: str, unit: Unit, safe: Safe = "either", *, absent: str = "–") -> Figure:
        """A figure that everybody may read, as far as its unit lets small numbers be read."""
        return cls(name, label, unit, safe, "public", absent=absent)

    def with_value(self, value: FigureValue) -> Figure:
        """The figure of a result. An estimate is no count that could be masked where it is small: it is internal."""
        if self.unit in ("count", "smallest") and isinstance(value, float):
            return replace(self, value=value, unit="number", audience="internal")
        return replace(self, value=value)

    @property
    def read(self) -> FigureValue:
        """The value in the form in which it is read."""
        share = self.unit == "share" and isinstance(self.value, int | float)
        return Proportion(self.value) if share else self.value  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Figures(Mapping[str, FigureValue]):
    """The figures of a result by name: a mapping to values, and `.of(name)` for all that is known of one."""

    held: tuple[Figure, ...] = ()

    def of(self, name: str) -> Figure:
        """A figure by its name."""
        return next(figure for figure in self.held if figure.name == name)

    def __getitem__(self, name: str) -> FigureValue:
        try:
            return self.of(name).read
        except StopIteration:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return (figure.name for figure in self.held)

    def __len__(self) -> int:
        return len(self.held)

    def __repr__(self) -> str:
        return repr(dict(self))


def declared(figures: Iterable[Figure], name: str) -> Figure | None:
    """What a class declares of a figure."""
    return next((figure for figure in figures if fnmatchcase(name, figure.name)), None)


def with_values(figures: Iterable[Figure], values: Mapping[str, FigureValue | Figure]) -> Figures:
    """The figures of a result: what their class declares of each, or a figure that says it of itself."""
    held = []
    for name, value in values.items():
        if isinstance(value, Figure):
            held.append(value)
        else:
            known = declared(figures, name) or Figure(name, name, safe=None)
            held.append(replace(known.with_value(value), name=name))
    return Figures(tuple(held))
