"""What the report says of tables: which they are, how their counts were protected, and what may be read off them.

The public reads what is in the published files and the chances of the noise, which everybody may know; never a true
count, a key, or how many cells a step changed. The office reads that as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.mechanism.transition_matrix import TransitionMatrix
from flou.describe.table.dimension import Dimension
from flou.describe.table.table import FIGURES, Table
from flou.describe.table.table_set import TableSet
from flou.engine.charts import to_svg
from flou.engine.data import data_kind
from flou.engine.release import Step
from flou.engine.result import Result
from flou.reporting.audience import Audience

#: Lines of a published table that a page shows.
_LINES_SHOWN = 12
#: True counts whose chances a page lists.
_COUNTS_SHOWN = (1, 2, 3, 5, 10, 20)
#: Of fewer cells a percentage with one decimal would count them: one who knows all but one could tell the last.
_ENOUGH_CELLS = 1000


def speaks_of_tables(result: Result) -> bool:
    """Whether a result was measured on tables."""
    return data_kind(getattr(result, "data", None)) in ("table", "table set")


@dataclass(frozen=True)
class TableSection(Audience):
    """The tables of a release."""

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The released tables; none where the release is a file of records."""
        data = self.release.data
        return data.tables if isinstance(data, TableSet) else (data,) if isinstance(data, Table) else ()

    @cached_property
    def published_tables(self) -> tuple[Table, ...]:
        """The same as the public gets them."""
        return tuple(table.public() for table in self.tables)

    @property
    def n_published_cells(self) -> int:
        return sum(table.n_cells for table in self.published_tables)

    @property
    def figures_withheld(self) -> bool:
        """Whether figures that were computed from the true counts would tell of single cells."""
        return self.public and bool(self.tables) and self.n_published_cells < _ENOUGH_CELLS

    def table_lines(self) -> Iterator[dict[str, Any]]:
        """Each table: its dimensions with their categories, its margins, how many cells are published or left out."""
        for table, published in zip(self.tables, self.published_tables, strict=True):
            yield {
                "name": table.name or self.words("table"),
                "dims": [self._dimension(dim) for dim in published.dims],
                "margins": self._margins(published),
                "what": self._what(table),
                "cells": self.words.number(published.n_cells),
                "zeros": self._zeros(table, published),
                "hidden": self._hidden_zeros(table),
                "withheld": self.words.number(int((published.status == "suppressed").sum())),
            }

    @property
    def withholds(self) -> bool:
        """Whether some cells are listed without a figure."""
        return any((table.status == "suppressed").any() for table in self.published_tables)

    def _dimension(self, dim: Dimension) -> str:
        path = " > ".join(self.column_label(column) for column in dim.columns)
        text = "{dimension} ({n} categories)"
        return self.words(text, dimension=path, n=dim.n_nodes - 1)

    def column_label(self, shown: str) -> str:
        """The label of a column of a table; of a level of a hierarchy, with its name."""
        column, at, level = shown.rpartition("@")
        if not at or shown in self.original.columns:
            return self.label(shown)
        return f"{self.label(column)} ({level})"

    def _margins(self, table: Table) -> str:
        with_margins = [
            self._dimension_name(dim)
            for j, dim in enumerate(table.dims)
            if not dim.is_finest[table.cells.codes[:, j]].all()
        ]
        if len(with_margins) == len(table.dims):
            return self.words("all levels and totals")
        return ", ".join(with_margins) or self.words("none: the finest cells alone")

    def _dimension_name(self, dim: Dimension) -> str:
        return self.column_label(dim.columns[-1])

    def _what(self, table: Table) -> str:
        parts = [self.words("counts")]
        if table.weight_name is not None:
            parts = [self.words("estimates weighted by {column}", column=self.label(table.weight_name))]
        if table.value_name is not None and table.published_values is not None:
            parts.append(self.words("sums of {column}", column=self.label(table.value_name)))
        return ", ".join(parts)

    def _zeros(self, table: Table, published: Table) -> str:
        """How many published cells show a zero; a table that lists occupied cells leaves them out."""
        if table.listed == "occupied":
            return self.words("left out")
        return self.words.number(int((published.status == "zero").sum()))

    def _hidden_zeros(self, table: Table) -> str:
        """How many cells that somebody is in are shown as zero: for the office alone."""
        if self.public:
            return ""
        return self.words.number(int(((table.published_counts == 0) & (table.true_counts > 0)).sum()))

    def previews(self) -> Iterator[dict[str, Any]]:
        """The first lines of each table, as they are published."""
        for table in self.published_tables:
            frame = table.shown_cells()
            columns = [c for c in frame.columns if c != "status"]
            names = [(self._heading(c), c in FIGURES) for c in columns]
            rows = [
                [self._cell(table, column, value) for column, value in zip(columns, row, strict=True)]
                for row in frame.select(columns).head(_LINES_SHOWN).iter_rows()
            ]
            yield {
                "title": self.words(
                    "{name}: the first {n} of {all} cells",
                    name=table.name or self.words("table"),
                    n=len(rows),
                    all=frame.height,
                ),
                "columns": names,
                "rows": rows,
            }

    def _heading(self, column: str) -> str:
        if column in FIGURES:
            return self.words("count") if column == "count" else self.words("sum")
        return self.column_label(column)

    def _cell(self, table: Table, column: str, value: object) -> str:
        if column in FIGURES:
            return "–" if value is None else self.words.number(value)  # type: ignore[arg-type]
        if value == table.dims[0].total or column not in self.original.columns:
            return str(value)
        return str(self.original.schema.value_label(column, value, self.words.language))

    @property
    def mechanisms(self) -> list[Mechanism]:
        """What moved the counts, each once."""
        found: list[Mechanism] = []
        for table in self.tables:
            if table.mechanism is not None and all(table.mechanism != m for m in found):
                found.append(table.mechanism)
        return found

    def chances(self, mechanism: Mechanism) -> list[list[str]]:
        """What becomes of a true count: public knowledge, and what an analyst needs."""
        lines = [(self.words.number(i), i) for i in _COUNTS_SHOWN]
        if isinstance(mechanism, TransitionMatrix):  # its last row serves every larger count
            lines = [(name, i) for name, i in lines if i < mechanism.last]
            lines.append((self.words("{n} and more", n=mechanism.last), mechanism.last))
        return [[name, *self._chances(mechanism, i)] for name, i in lines]

    def _chances(self, mechanism: Mechanism, i: int) -> Sequence[str]:
        row = mechanism.deviation_row(i)
        deviations = np.abs(np.arange(-mechanism.reach, mechanism.reach + 1))
        shown_as_zero = float(mechanism.probability([0], [i])[0])
        return (
            self.words.share(float(row[mechanism.reach])),
            self.words.share(float(row[deviations <= 2].sum())),
            self.words.share(shown_as_zero),
            self.words.number(round(float(np.sqrt(mechanism.variance(i))), 2)),
        )

    def noise_charts(self, mechanism: Mechanism) -> list[str]:
        """The noise of a small count and of large ones, where the mechanism can be drawn."""
        if not isinstance(mechanism, TransitionMatrix):
            return []
        counts: tuple[Any, ...] = (1, "large")
        return [to_svg(mechanism.plot(count, language=self.words.language)) for count in counts]

    def table_limits(self) -> list[str]:
        """What a verdict on tables does not say."""
        words = self.words
        found = [
            words(
                "What was measured speaks of single cells. Differences of cells, and of these tables and others of the "
                "same people, can tell more."
            )
        ]
        if self.release.trail.keyed and not self.public:
            found.append(
                words(
                    "The noise of a cell hangs on who is in it. Protect every table of these people with the same "
                    "secret and the same parameters: noise that is drawn anew can be averaged away."
                )
            )
        if not self.records.released and not self.public:
            found.append(words("The records behind the tables were not changed; they must not be published."))
        return found

    def table_notes(self) -> list[str]:
        """What readers of the tables should know."""
        words, found = self.words, []
        if self.mechanisms:
            found.append(
                words(
                    "Counts were moved one by one, so that cells need not add up to their totals: read each by itself."
                )
            )
        if any(table.hides_zeros for table in self.tables):
            text = "A cell that is not listed is empty, or shown as zero: nobody can tell which, and both are left out."
            found.append(words(text))
        return found

    def changed_counts(self, step: Step) -> list[str]:
        """What a step did to the tables; how much is for the office alone."""
        words = self.words
        if self.public:
            return [words("counts changed")]
        figures = step.figures
        lines = [
            words(
                "{n} of {all} cells changed", n=sum(c.n_changed or 0 for c in step.changes), all=step.n_records_before
            )
        ]
        if "mean_deviation" in figures and "largest_deviation" in figures:
            lines.append(
                words(
                    "mean absolute deviation {mean}, largest {largest}",
                    mean=round(float(figures["mean_deviation"] or 0), 2),
                    largest=figures["largest_deviation"],
                )
            )
        return lines
