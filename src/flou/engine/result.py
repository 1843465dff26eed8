"""Results: what a measure, an attack or a comparison found, in one shape.

`.value` is the headline figure, with an interval or the reason there is none. Figures of their own
(`.k`, `.expected`, …) stand in `.figures` and can be read as attributes. Figures per key stay small;
figures per record are computed on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.engine import native
from flou.engine.charts import Look
from flou.engine.content import content_of
from flou.engine.errors import LazyInputError
from flou.engine.figure import Figure, Figures
from flou.engine.note import Note
from flou.engine.sense import Missing
from flou.engine.taxonomy import AttackName
from flou.engine.values import figure_text, settings_text

if TYPE_CHECKING:
    import altair as alt

    from flou.engine.data import Data
    from flou.engine.keys import KeyTable

#: The file as it came, as it would be published, or as it was before a sample was drawn from it.
MeasuredOn = Literal["original", "release", "frame"]
Array = NDArray[Any]


def unused(name: str, taken: Iterable[str]) -> str:
    """A column name that does not collide with the user's own."""
    names = set(taken)
    while name in names:
        name += "_"
    return name


@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """What every result has. `measured_on` says whether a policy may rely on it."""

    method: str
    title: str
    settings: dict[str, Any]
    #: What it found, in one figure.
    headline: Figure
    interval: Interval | None = None
    no_interval: str = ""
    figures: Figures = field(default_factory=Figures)
    notes: tuple[Note, ...] = ()
    measured_on: MeasuredOn
    #: The sense in which undetermined keys were counted, where the method counts keys.
    sense: Missing | None = None
    test_only: bool = False
    #: The attacks that it shows to be closed, and those that it shows to be open.
    closes: tuple[AttackName, ...] = ()
    opens: tuple[AttackName, ...] = ()

    def __getattr__(self, name: str) -> Any:
        figures = self.__dict__.get("figures", {})
        if name in figures:
            return figures[name]
        known = ", ".join(sorted(figures)) or "none"
        raise AttributeError(
            f"{type(self).__name__} of {self.__dict__.get('method')} has no {name!r}; its own figures: {known}"
        )

    @property
    def value(self) -> float:
        """The headline."""
        assert isinstance(self.headline.value, int | float)
        return self.headline.value

    @property
    def value_label(self) -> str:
        """What the headline is called."""
        return self.headline.label

    @property
    def measured_with(self) -> dict[str, Any]:
        """The settings, with the sense that was taken where none was given."""
        return self.settings if self.sense is None else {**self.settings, "missing": self.sense}

    def figure(self, name: str) -> Figure:
        """The headline or one of the method's own figures, by name."""
        if name != "value" and name not in self.figures:
            raise KeyError(name)
        return self.headline if name == "value" else self.figures.of(name)

    @property
    def content_id(self) -> str:
        """What the result says, and of which data, by content."""
        data = getattr(self, "data", None)
        return content_of({"says": self.to_dict(), "of": None if data is None else data.content_id})

    def to_dict(self) -> dict[str, Any]:
        """Everything but the per-record and per-key detail, as plain values."""
        interval = None if self.interval is None else [self.interval.low, self.interval.high, self.interval.level]
        return {
            "method": self.method,
            "settings": self.settings,
            **({} if self.sense is None else {"sense": self.sense}),
            "measured_on": self.measured_on,
            "value": self.value,
            "interval": interval,
            "no_interval": self.no_interval,
            "figures": dict(self.figures),
            "notes": [str(note) for note in self.notes],
            "test_only": self.test_only,
        }

    def to_frame(self) -> Any:
        """The figures, one a line."""
        rows = [("value", self.value), *self.figures.items()]
        return pl.DataFrame({"figure": [n for n, _ in rows], "value": [None if v is None else str(v) for _, v in rows]})

    def _rows(self) -> list[tuple[str, str]]:
        rows = [(self.headline.label, figure_text(self.headline.read))]
        if self.interval is not None:
            ends = (self.interval.low, self.interval.high)
            shown = [figure_text(self.headline.with_value(x).read) for x in ends]
            rows.append((f"{round(100 * self.interval.level)}% interval", " to ".join(shown)))
        return rows + [(figure.label, figure_text(figure.read)) for figure in self.figures.held]

    @property
    def _heading(self) -> str:
        parameters = settings_text(self.measured_with)
        return f"{self.title} ({parameters})" if parameters else self.title

    def summary(self) -> str:
        """A few lines of text."""
        lines = [self._heading]
        lines += [f"  {label}: {shown}" for label, shown in self._rows()]
        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in self._rows())
        notes = "".join(f"<p>{escape(str(n))}</p>" for n in self.notes)
        return f"<table><caption>{escape(self._heading)}</caption>{rows}</table>{notes}"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RiskResult(Result):
    """The result of a risk measure on keys.

    `key_values` holds the measure's figure per key and `at_risk` which keys it flags; the detail
    frame is made by `detail` only when somebody looks at it. A measure of households or of single
    records has their numbers for keys, which are never shown with a release.
    """

    data: Data = field(repr=False)
    keys: KeyTable = field(repr=False)
    key_values: Array = field(repr=False)
    #: What the figure of a key or record is called: "frequency", "risk", …
    unit_label: str
    at_risk: NDArray[np.bool_] = field(repr=False)
    #: Whether a large figure is the bad one; `by_key` begins with it.
    largest_first: bool = False
    #: Whether the figures beside a release would give the original back.
    needs_reveal: bool = False
    detail: Callable[[], pl.DataFrame] = field(default=pl.DataFrame, repr=False)
    chart: Callable[[RiskResult, Look], alt.Chart] | None = field(default=None, repr=False)

    @cached_property
    def by_key(self) -> Any:
        """One line a distinct key: its values, records, figure, flag; in the user's frame type.

        Of a release the numbers of households and units, which are never published, are left out.
        """
        hidden = [c for c in self._hidden if c in self._by_key.columns]
        return native.like(self._by_key.drop(hidden), self.data.native_kind)

    @property
    def _hidden(self) -> list[str]:
        """Key columns that would not be published with a release."""
        if not self.data.released:
            return []
        shown = self.data.shown().collect_schema().names()
        return [c.removeprefix(native.RESERVED) for c in self.keys.columns if c not in shown]

    @cached_property
    def _by_key(self) -> pl.DataFrame:
        keys = self.keys.frame.rename(lambda name: name.removeprefix(native.RESERVED))
        figures = [
            pl.Series(unused(name, keys.columns), values)
            for name, values in (
                ("records", self.keys.counts),
                (self.unit_label, self.key_values),
                ("at_risk", self.at_risk),
            )
        ]
        frame = pl.concat([keys, pl.DataFrame(figures), self.detail()], how="horizontal")
        order = [figures[1].name, *keys.columns]
        return frame.sort(order, descending=[self.largest_first, *(False for _ in keys.columns)], nulls_last=True)

    @cached_property
    def units(self) -> Array:
        """The figure of each record, in the order of the data's `to_frame()`."""
        return self.key_values[self._key_of_rows]

    @cached_property
    def flagged(self) -> NDArray[np.bool_]:
        """Whether each record is at risk, in the order of the data's `to_frame()`."""
        return self.at_risk[self._key_of_rows]

    @property
    def n_flagged(self) -> int:
        """How many records are at risk."""
        return int(self.keys.counts[self.at_risk].sum())

    def without_flagged(self) -> native.Frame:
        """The rows that are not at risk, where they are; for methods."""
        flagged = self.keys.frame.filter(self.at_risk)
        return native.match_keys(self.data.frame, flagged, list(self.keys.columns), "anti")

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process keeps no array of another order of rows, nor what its detail is made from."""
        if self._hidden:
            raise LazyInputError(
                f"The result of {self.method} on a release goes by numbers that are never published, so it cannot be "
                "pickled. Keep .to_dict(), or .units."
            )
        return self.stored_state()

    def stored_state(self) -> dict[str, Any]:
        """What the office may keep: the same, with numbers that are never published."""
        computed = ("units", "flagged", "_key_of_rows", "by_key", "_by_key")
        state = {name: held for name, held in self.__dict__.items() if name not in computed}
        # what makes it may hold the key space, which names values that no released record shows
        return {**state, "detail": partial(pl.DataFrame, self.detail())}

    @cached_property
    def _key_of_rows(self) -> NDArray[np.intp]:
        if native.is_lazy(self.data.frame):
            raise LazyInputError(
                "The rows stay in their engine and have no order, so there is no array of figures per record. "
                "Use .joined(), which adds the column in the engine, or load the file with .collect() first."
            )
        return self.keys.locate(native.collect(self.data.shown(also=self.keys.columns)))

    def joined(self, *, reveal: bool = False) -> Any:
        """The data's `to_frame()` with the figure as one more column; lazy input stays lazy."""
        self.data.require_unchanged()
        if self.needs_reveal and self.data.released and not reveal:
            raise LazyInputError(
                f"The figures of {self.method} beside the released rows would give the original back: "
                "joined(reveal=True) shows them, for your eyes alone."
            )
        small = self.keys.frame.with_columns(pl.Series(unused(self.method, self.data.columns), self.key_values))
        shown = self.data.shown(reveal=reveal).collect_schema().names()
        rows = native.match_keys(
            self.data.shown(reveal=reveal, also=self.keys.columns), small, list(self.keys.columns), "left"
        )
        return native.leave(rows.select(*shown, small.columns[-1]), self.data.native_kind)

    def to_frame(self) -> Any:
        """The figures, one a line, in the user's frame type."""
        return native.like(super().to_frame(), self.data.native_kind)

    def plot(self, language: str = "en", *, min_count: int = 1, top: float | None = None) -> alt.Chart:
        """A chart of aggregates, never of records; counts below `min_count` are not drawn, `top` ends the axis."""
        if self.chart is None:
            raise AttributeError(f"{self.method} has no chart.")
        return self.chart(self, Look(language, min_count, top))
