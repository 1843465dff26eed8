"""The tables of a release as the report lists them: dimensions, margins, how many cells, and some lines of each.

Everything is read off what would be published, but for how many occupied cells are shown as zero, which is for the
office alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flou.describe.table.dimension import Dimension
from flou.describe.table.drawn import MARK
from flou.describe.table.spec import FIGURES
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet
from flou.reporting.audience import Audience

#: Lines of a published table that a page shows.
_LINES_SHOWN = 12
#: Of fewer cells a percentage with one decimal would count them: one who knows all but one could tell the last. What
#: is measured speaks of small counts and of zeros, so there must be as many of these.
_ENOUGH_CELLS, _SMALL = 1000, 10


@dataclass(frozen=True)
class TableListing(Audience):
    """Which tables there are."""

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The released tables; none where the release is a file of records."""
        data = self.release.data
        return data.tables if isinstance(data, TableSet) else (data,) if isinstance(data, Table) else ()

    def published(self, column: str) -> bool:
        """Whether a column is in the published file, or a dimension of a table."""
        if not self.tables:
            return super().published(column)
        dims = {shown for table in self.tables for shown in table.columns}
        return any(shown in (column, f"{column}@{shown.rpartition('@')[2]}") for shown in dims)

    def is_closed(self, name: str) -> bool:
        """What tables add up is published with them."""
        return name not in self._added_up and super().is_closed(name)

    @cached_property
    def _added_up(self) -> set[str | None]:
        weights = {table.weight_name for table in self.tables}
        return weights | {t.value_name for t in self.published_tables if t.published_values is not None}

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
        if not self.public or not self.tables:
            return False
        counts = np.concatenate([table.published_counts for table in self.published_tables])
        n_small, n_zeros = int(((counts > 0) & (counts <= _SMALL)).sum()), int((counts == 0).sum())
        return n_small < _ENOUGH_CELLS or 0 < n_zeros < _ENOUGH_CELLS

    def table_lines(self) -> Iterator[dict[str, Any]]:
        """Each table: its dimensions with their categories, its margins, how many cells are published or left out."""
        for table, published in zip(self.tables, self.published_tables, strict=True):
            yield {
                "name": table.name or self.words("table"),
                "dims": [self.dimension_text(dim) for dim in published.dims],
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

    def dimension_text(self, dim: Dimension) -> str:
        """Its levels with their numbers of categories: a > b where b lies in a, a | b where neither holds the other."""
        zonings = [" > ".join(self._level(dim, j, number) for j in columns) for number, columns in _zonings(dim)]
        if len(zonings) == 1:
            return zonings[0]
        return self.words("{zonings} (zonings side by side)", zonings=" | ".join(zonings))

    def _level(self, dim: Dimension, column: int, zoning: int) -> str:
        depth = column - sum(dim.levels[:zoning]) + 1
        n = int(((dim.zonings == zoning) & (dim.depths == depth)).sum())
        return f"{self.column_label(dim.columns[column])} ({self.words.number(n)})"

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
        return " | ".join(self.column_label(dim.columns[columns[-1]]) for _, columns in _zonings(dim))

    def _what(self, table: Table) -> str:
        parts = [self.words("counts")]
        if table.published is not None and not table.published.counted:
            parts = []
        elif table.weight_name is not None:
            parts = [self.words("estimates weighted by {column}", column=self.label(table.weight_name))]
        if table.value_name is not None and table.published_values is not None:
            parts.append(self.words("sums of {column}", column=self.label(table.value_name)))
        return ", ".join(parts)

    def _zeros(self, table: Table, published: Table) -> str:
        """How many published cells show a zero; a table that lists occupied cells leaves them out."""
        if table.hides_zeros and table.suppression is None:
            return self.words("left out")
        if table.listed == "occupied":
            return self.words("empty cells are not listed")
        return self.words.number(int((published.status == "zero").sum()))

    def _hidden_zeros(self, table: Table) -> str:
        """How many cells that somebody is in are shown as zero: for the office alone."""
        if self.public:
            return ""
        return self.words.number(int(((table.status == "zero").to_numpy() & (table.true_counts > 0)).sum()))

    def previews(self) -> Iterator[dict[str, Any]]:
        """Some lines of each table, as they are published."""
        for whole, table in zip(self.tables, self.published_tables, strict=True):
            if whole.suppression is not None and self.is_drawn(table if self.public else whole):
                continue
            frame = table.shown_cells()
            columns = [c for c in frame.columns if c != "status"]
            names = [(self._heading(c), c in FIGURES) for c in columns]
            rows = [
                [self._cell(table, column, value) for column, value in zip(columns, row, strict=True)]
                for row in frame.select(columns)[_extract(table)].iter_rows()
            ]
            yield {
                "title": self.words(
                    "{name}: an extract, {n} of {all} cells",
                    name=table.name or self.words("table"),
                    n=len(rows),
                    all=frame.height,
                ),
                "columns": names,
                "rows": rows,
            }

    def is_drawn(self, table: Table) -> bool:
        """Whether the table is shown as a whole elsewhere on the page."""
        return False

    def _heading(self, column: str) -> str:
        if column in FIGURES:
            return self.words("count") if column == "count" else self.words("sum")
        return self.column_label(column)

    def _cell(self, table: Table, column: str, value: object) -> str:
        if column in FIGURES:
            return MARK if value is None else self.words.number(value)  # type: ignore[arg-type]
        if value == table.dims[0].total or column not in self.original.columns:
            return str(value)
        return str(self.original.schema.value_label(column, value, self.words.language))


def _zonings(dim: Dimension) -> Iterator[tuple[int, range]]:
    """The number of each zoning, and the places of its columns, coarse to fine."""
    first = 0
    for number, n_levels in enumerate(dim.levels):
        yield number, range(first, first + n_levels)
        first += n_levels


def _extract(table: Table) -> list[int]:
    """Lines that show what a published table is like: its first one, and finest cells from all over it."""
    finest = np.ones(table.n_cells, dtype=np.bool_)
    for j, dim in enumerate(table.dims):
        finest &= dim.is_finest[table.cells.codes[:, j]]
    filled = finest & (table.status != "zero").to_numpy()
    shown = np.flatnonzero(filled if filled.sum() >= _LINES_SHOWN else finest)
    if table.n_cells <= _LINES_SHOWN or not len(shown):
        return list(range(min(table.n_cells, _LINES_SHOWN)))
    places = np.linspace(0, len(shown) - 1, min(_LINES_SHOWN - 1, len(shown))).astype(np.intp)
    return [int(line) for line in np.union1d(shown[places], [0])]
