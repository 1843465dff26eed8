"""What a comparison of a release with its original found: a headline, figures, and small tables of detail.

The tables hold aggregates of the original and are for those who protect; a count of records stands beside
every line, so that lines of small groups can be left out where others look on.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from flou.engine import native
from flou.engine.charts import Look
from flou.engine.result import Result
from flou.engine.values import plain_text
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

#: Lines of a table that a page shows, and that a terminal does.
MOST_LINES, FEW_LINES = 25, 6
_WIDTH = 80
#: What is smaller has no digits to show.
_TINY = 1e-6
_DAY_ZERO = dt.date(1970, 1, 1)

#: How a column of a table is read. "value": a value of the column named in the same line; "amount": a number, or
#: a day where the line says that its type is "date"; "signed" and "change": deviations, which keep their sign;
#: "range": a class of numbers, such as 100–999.
Kind = Literal["column", "value", "text", "name", "count", "amount", "units", "number", "share", "signed", "change",
             "term", "range"]  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """A column of a table: its name, what people call it, and how it is read."""

    name: str
    title: str
    kind: Kind
    #: A shorter title, for terminals.
    short: str = ""

    @property
    def is_number(self) -> bool:
        return self.kind not in ("column", "value", "text", "name", "term", "range")


@dataclass(frozen=True, eq=False)
class Detail:
    """A table of detail, one line a column, a group, a pair, a coefficient."""

    title: str
    frame: pl.DataFrame
    columns: tuple[Shown, ...]
    #: The column whose largest size makes a line the worst, or whose smallest value does.
    worst: str
    smallest_first: bool = False
    #: Columns that count the records behind a line.
    counts: tuple[str, ...] = ()
    #: The columns that a terminal has room for.
    brief: tuple[str, ...] = ()

    def ranked(self) -> pl.DataFrame:
        """The lines, the worst first; those that nothing can be said of come last."""
        size = pl.col(self.worst) if self.smallest_first else -pl.col(self.worst).abs()
        return self.frame.sort(size, maintain_order=True, nulls_last=True)

    def safe(self, min_count: int) -> Detail:
        """Without the lines that fewer records stand behind, in either file."""
        enough = [pl.col(c).fill_null(0) >= min_count for c in self.counts]
        kept = self.frame.filter(enough) if enough else self.frame
        return Detail(self.title, kept, self.columns, self.worst, self.smallest_first, self.counts, self.brief)

    def _shown_lines(self, most: int) -> pl.DataFrame:
        """The worst lines; of a table that is cut, those without any deviation would say nothing."""
        ranked = self.ranked()
        if ranked.height > most and not self.smallest_first:
            ranked = ranked.filter(pl.col(self.worst).is_null() | (pl.col(self.worst) != 0))
        return ranked.head(most)

    def lines(
        self, words: Words, schema: Any, most: int, only: tuple[str, ...] = ()
    ) -> tuple[list[Shown], list[list[str]]]:
        """The columns and the worst lines, as texts in one language."""
        columns = [c for c in self.columns if not only or c.name in only]
        rows = self._shown_lines(most).iter_rows(named=True)
        return columns, [[_text(row, c, words, schema) for c in columns] for row in rows]


def _text(row: dict[str, Any], column: Shown, words: Words, schema: Any) -> str:
    value = row[column.name]
    if column.kind == "value":
        if value is None and "by" in row and row["by"] is None:
            return words("all records")
        if value is None:
            return words("undetermined")
        return str(schema.value_label(row.get("by") or row.get("column"), value, words.language))
    if column.kind == "term":
        return term_text(row, words, schema)
    if value is None or value != value:
        return "–"
    if column.kind == "column":
        return str(schema.label(value, words.language))
    if column.kind == "text":
        return words(str(value))
    if column.kind == "name":
        return str(value)
    if column.kind == "range":
        return range_text(str(value), words)
    if column.kind == "amount" and row.get("type") == "date":
        return (_DAY_ZERO + dt.timedelta(days=round(value))).isoformat()
    return number_text(value, column.kind, words)


def term_text(row: dict[str, Any], words: Words, schema: Any) -> str:
    """A coefficient: its column, with the value whose indicator it is; without a column the intercept."""
    column, level = row["column"], row["level"]
    if column is None:
        return words("intercept")
    label = str(schema.label(column, words.language))
    return label if level is None else f"{label}{words.colon} {schema.value_label(column, level, words.language)}"


def range_text(value: str, words: Words) -> str:
    """A class of whole numbers; French sets thousands apart."""
    if words.language == "en":
        return value
    return re.sub(r"\d{4,}", lambda digits: words.number(int(digits[0])), value)


def number_text(value: float, kind: str, words: Words) -> str:
    """A number as a table shows it: few digits, in the language's form."""
    if kind == "share":
        return words.share(value)
    if kind == "signed":
        sign = "+" if value > 0 else "−" if value < 0 else ""
        return f"{sign}{words.share(abs(value))}"
    size = abs(value)
    if kind == "count" or size == 0:
        shown = words.number(size)
    elif size < _TINY:
        shown = f"< {words.decimal(_TINY)}"
    else:
        # three digits that count, and no decimals where they no longer do
        digits = 0 if size >= 10_000 else 1 if size >= 1000 else 2 if size >= 10 else 2 - math.floor(math.log10(size))
        shown = words.decimal(round(size, digits))
    sign = "−" if value < 0 else "+" if value > 0 and kind in ("units", "change") else ""
    return f"{sign}{shown}"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ComparisonResult(Result):
    """The result of a comparison: `.table` is its detail, `.tables` all of them by name, also as attributes."""

    #: The release that was compared, and the original's schema, which names columns and values.
    data: Any = field(repr=False)
    schema: Any = field(repr=False)
    details: Mapping[str, Detail] = field(default_factory=dict, repr=False)
    chart: Callable[[ComparisonResult, Look], alt.Chart] | None = field(default=None, repr=False)
    #: What a chart draws that is in no table.
    drawn: Mapping[str, Any] = field(default_factory=dict, repr=False)
    native_kind: native.Kind = "polars"

    def __getattr__(self, name: str) -> Any:
        details = self.__dict__.get("details", {})
        if name in details:
            return self.tables[name]
        return super().__getattr__(name)

    @property
    def table(self) -> Any:
        """The first table of detail, in the user's frame type."""
        return next(iter(self.tables.values()))

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The tables of detail by name, in the user's frame type."""
        return {name: native.like(detail.frame, self.native_kind) for name, detail in self.details.items()}

    def to_frame(self) -> Any:
        """The figures, one a line, in the user's frame type."""
        return native.like(super().to_frame(), self.native_kind)

    def plot(self, language: str = "en", *, min_count: int = 1, top: float | None = None) -> alt.Chart:
        """A chart of aggregates; what fewer than `min_count` records of either file stand behind is not drawn."""
        if self.chart is None:
            raise AttributeError(f"{self.method} has no chart.")
        return self.chart(self, Look(language, min_count, top))

    def summary(self) -> str:
        """The figures, and the worst lines of each table, in 80 columns."""
        lines = _wrapped(f"{self.title} ({self._short_settings})" if self._short_settings else self.title, "")
        for label, shown in self._rows():
            lines += _wrapped(f"{label}: {shown}")
        for note in self.notes:
            lines += _wrapped(f"Note: {note}")
        for detail in self.details.values():
            lines += ["", *self._text_table(detail)]
        return "\n".join(lines)

    @property
    def _short_settings(self) -> str:
        return ", ".join(f"{k} = {plain_text(v)}" for k, v in self.settings.items())

    def _text_table(self, detail: Detail) -> Iterator[str]:
        columns, rows = detail.lines(Words(), self.schema, FEW_LINES, detail.brief)
        if not rows:
            return
        left = detail.frame.height - len(rows)
        yield f"  {detail.title}" + (f" (the worst {len(rows)} of {detail.frame.height:,})" if left else "")
        cells = [[c.short or c.title for c in columns], *rows]
        room = _WIDTH - 2 - 2 * (len(columns) - 1)
        widths = _fitted([max(len(r[i]) for r in cells) for i in range(len(columns))], room)
        for row in cells:
            shown = (
                _cut(cell, w).rjust(w) if c.is_number else _cut(cell, w).ljust(w)
                for cell, w, c in zip(row, widths, columns, strict=True)
            )
            yield ("  " + "  ".join(shown)).rstrip()

    def _repr_html_(self) -> str:
        return super()._repr_html_() + "".join(self._html_table(d) for d in self.details.values())

    def _html_table(self, detail: Detail) -> str:
        columns, rows = detail.lines(Words(), self.schema, MOST_LINES)
        head = "".join(f"<th>{escape(c.title)}</th>" for c in columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><caption>{escape(detail.title)}</caption><tr>{head}</tr>{body}</table>"

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process takes the figures, not the release."""
        return {**{k: v for k, v in self.__dict__.items() if k != "tables"}, "data": None}


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)


def _fitted(widths: list[int], room: int) -> list[int]:
    """Widths that fit: the widest gives way first."""
    widths = list(widths)
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
