"""The tables of a release: dimensions, margins, how many cells, and some lines of each.

Everything is read off what would be published, but for how many occupied cells are shown as zero, which is for the
office alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from flou.describe.table.dimension import Dimension
from flou.describe.table.drawn import MARK
from flou.describe.table.spec import FIGURES
from flou.describe.table.table import Table
from flou.reporting.reader import Reader
from flou.reporting.sections.noise import Noise, mechanisms
from flou.reporting.sections.section import Listing, Section
from flou.reporting.sections.suppressed import Suppressed, is_drawn
from flou.reporting.subject import Subject

#: Lines of a published table that a page shows.
_LINES_SHOWN = 12


@dataclass(frozen=True)
class Tables(Section, anchor="tables", link="Tables"):
    """Each table with its public form; remarks; how counts were protected; some lines of those that are not drawn."""

    lines: list[tuple[str, list[str], str, str, list[str]]]
    notes: list[str]
    suppressed: list[Suppressed]
    noise: list[Noise]
    previews: list[Listing]

    @classmethod
    def of(cls, subject: Subject, reader: Reader) -> Self:
        pairs = list(zip(subject.tables, subject.published_tables, strict=True))
        return cls(
            [_line(*pair, subject, reader) for pair in pairs],
            list(_notes(subject, reader)),
            [Suppressed.of(table, reader) for table in subject.tables if table.suppression is not None],
            [Noise.of(mechanism, reader) for mechanism in mechanisms(subject)],
            [_preview(public, reader) for table, public in pairs if not _is_whole(table, reader)],
        )


def _is_whole(table: Table, reader: Reader) -> bool:
    """Whether the table is drawn as a whole elsewhere on the page."""
    return table.suppression is not None and is_drawn(table.public() if reader.public else table)


def _line(
    table: Table, published: Table, subject: Subject, reader: Reader
) -> tuple[str, list[str], str, str, list[str]]:
    """Its name, dimensions with their categories, content, margins, and numbers of cells: published, shown as zero, of
    them with people (for the office), withheld (where some are).
    """
    number = reader.words.number
    cells = [number(published.n_cells), _zeros(table, published, reader)]
    if not reader.public:
        cells.append(number(int(((table.status == "zero").to_numpy() & (table.true_counts > 0)).sum())))
    if subject.withholds:
        cells.append(number(int((published.status == "suppressed").sum())))
    dims = [_dimension(dim, reader) for dim in published.dims]
    return table.name or reader.words("table"), dims, _what(table, reader), _margins(published, reader), cells


def _zeros(table: Table, published: Table, reader: Reader) -> str:
    """How many published cells show a zero; a table that lists occupied cells leaves them out."""
    if table.hides_zeros and table.suppression is None:
        return reader.words("left out")
    if table.listed == "occupied":
        return reader.words("empty cells are not listed")
    return reader.words.number(int((published.status == "zero").sum()))


def _dimension(dim: Dimension, reader: Reader) -> str:
    """Its levels with their numbers of categories: a > b where b lies in a, a | b where neither holds the other."""
    zonings = [" > ".join(_level(dim, j, number, reader) for j in columns) for number, columns in _zonings(dim)]
    if len(zonings) == 1:
        return zonings[0]
    return reader.words("{zonings} (zonings side by side)", zonings=" | ".join(zonings))


def _level(dim: Dimension, column: int, zoning: int, reader: Reader) -> str:
    depth = column - sum(dim.levels[:zoning]) + 1
    n = int(((dim.zonings == zoning) & (dim.depths == depth)).sum())
    return f"{reader.label(dim.columns[column])} ({reader.words.number(n)})"


def _zonings(dim: Dimension) -> Iterator[tuple[int, range]]:
    """The number of each zoning, and the places of its columns, coarse to fine."""
    first = 0
    for number, n_levels in enumerate(dim.levels):
        yield number, range(first, first + n_levels)
        first += n_levels


def _margins(table: Table, reader: Reader) -> str:
    with_margins = [
        " | ".join(reader.label(dim.columns[columns[-1]]) for _, columns in _zonings(dim))
        for j, dim in enumerate(table.dims)
        if not dim.is_finest[table.cells.codes[:, j]].all()
    ]
    if len(with_margins) == len(table.dims):
        return reader.words("all levels and totals")
    return ", ".join(with_margins) or reader.words("none: the finest cells alone")


def _what(table: Table, reader: Reader) -> str:
    parts = [reader.words("counts")]
    if table.published is not None and not table.published.counted:
        parts = []
    elif table.weight_name is not None:
        parts = [reader.words("estimates weighted by {column}", column=reader.label(table.weight_name))]
    if table.value_name is not None and table.published_values is not None:
        parts.append(reader.words("sums of {column}", column=reader.label(table.value_name)))
    return ", ".join(parts)


def _notes(subject: Subject, reader: Reader) -> Iterator[str]:
    """What readers of the tables should know."""
    words, tables = reader.words, subject.tables
    if mechanisms(subject):
        yield words("Counts were moved one by one, so that cells need not add up to their totals: read each by itself.")
    if subject.is_suppressed:
        yield words(
            "Figures that are shown are the true ones. Cells that would tell of people or firms are "
            "suppressed, and others with them, so that nobody can compute the first."
        )
    if subject.withholds and not all(table.suppression is not None and is_drawn(table) for table in tables):
        yield f"{MARK}{words.colon} {words('cell suppressed for statistical confidentiality')}"
    if any(table.hides_zeros and table.suppression is None for table in tables):
        yield words(
            "A cell that is not listed is empty, or shown as zero: both are left out. Figures beside it can tell which."
        )


def _preview(table: Table, reader: Reader) -> Listing:
    """Some lines of a table, as they are published."""
    words, frame = reader.words, table.shown_cells().drop("status", strict=False)
    columns = [(_heading(c, reader), c in FIGURES) for c in frame.columns]
    rows = [
        [_cell(table, column, value, reader) for column, value in zip(frame.columns, row, strict=True)]
        for row in frame[_extract(table)].iter_rows()
    ]
    text = "{name}: an extract, {n} of {all} cells"
    return Listing(columns, rows, words(text, name=table.name or words("table"), n=len(rows), all=frame.height))


def _heading(column: str, reader: Reader) -> str:
    if column in FIGURES:
        return reader.words("count") if column == "count" else reader.words("sum")
    return reader.label(column)


def _cell(table: Table, column: str, value: object, reader: Reader) -> str:
    if column in FIGURES:
        return MARK if value is None else reader.words.number(value)  # type: ignore[arg-type]
    return str(value) if value == table.dims[0].total else reader.value(column, value)


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
