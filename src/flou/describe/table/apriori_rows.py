"""The lines of a list of cells: from a CSV file, a frame or dictionaries, each with where it stands.

A line names a cell by the labels of its columns, says an `action`, and gives up to two numbers, `first` and `second`.
An empty label leaves a column open: it is a total, or follows from a finer column of its dimension. Every dimension
needs a column all the same: one that was forgotten would make each line speak of another cell than was meant.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from flou.describe.table.table import Table
from flou.engine import native
from flou.engine.errors import DataError, ParameterError, did_you_mean, listed
from flou.engine.output import checked_path
from flou.engine.parsing import decoded
from flou.engine.values import text_of

#: The columns of a list that are not labels.
ACTION, FIRST, SECOND = "action", "first", "second"
_OURS = (ACTION, FIRST, SECOND)
_DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True)
class Said:
    """What one line says of one cell, before anything is checked; a number is None where none is given."""

    where: str
    labels: Mapping[str, str]
    action: str
    first: float | str | None = None
    second: float | str | None = None


def read_said(
    source: object, table: Table, *, delimiter: str | None = None, decimal: str = ".", encoding: str = "utf-8"
) -> list[Said]:
    """The lines of a file, a frame, or a list of dictionaries."""
    clash = [c for c in table.columns if c in _OURS]
    if clash:
        raise DataError(
            f"The table has a column {listed(clash)}, which has a meaning of its own in a list of cells: rename it."
        )
    if isinstance(source, str | PathLike):
        return _of_file(source, table, delimiter, decimal, encoding)
    if isinstance(source, Sequence) and not isinstance(source, bytes):
        return _of_dictionaries(source, table)
    rows = native.collect(native.enter(source).frame)
    _require_columns(rows.columns, table, "The frame")
    return [_said(f"row {i}", row, table) for i, row in enumerate(rows.iter_rows(named=True), start=1)]


def _of_file(path: object, table: Table, delimiter: str | None, decimal: str, encoding: str) -> list[Said]:
    if decimal not in (".", ","):
        raise ParameterError(f'decimal = {decimal!r} must be "." or ",".')
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
        raise ParameterError(f"delimiter = {delimiter!r} must be one character.")
    name = f"The list of cells {str(path)!r}"
    text = read_text(path, "A list of cells", encoding)
    chosen = delimiter or _delimiter(text)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=chosen, strict=True)
        lines, start = [], 1
        for fields in reader:
            if any(f.strip() for f in fields):
                lines.append((start, fields))
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{name} is not a CSV file: {error}.") from None
    if not lines:
        raise DataError(f"{name} is empty: its first line names the columns, {', '.join(table.columns)} and {ACTION}.")
    header = [h.strip() if h.strip().casefold() not in _OURS else h.strip().casefold() for h in lines[0][1]]
    _require_columns(header, table, name)
    torn = [(number, len(fields)) for number, fields in lines[1:] if len(fields) > len(header)]
    if torn:
        raise DataError(
            f"{name} has {len(header)} columns, but line {torn[0][0]} has {torn[0][1]} fields ({len(torn):,} lines are "
            'so). A number with a decimal comma needs another delimiter or quotes, and decimal=",".'
        )
    out = []
    for number, fields in lines[1:]:
        row: dict[str, Any] = dict(zip(header, fields + [""] * (len(header) - len(fields)), strict=True))
        for column in (FIRST, SECOND):
            row[column] = _plain_number(row.get(column), decimal)
        out.append(_said(f"line {number}", row, table))
    return out


def _plain_number(text: str | None, decimal: str) -> str | None:
    """A number as Python writes it; what is none stays as it is, for the message."""
    held = (text or "").strip()
    if decimal == "," and "." not in held:
        return held.replace(",", ".")
    # one thousand and one point two must not be mixed up
    return held if decimal == "." or not held else f"{held} (decimal is ',')"


def read_text(path: object, what: str, encoding: str) -> str:
    """The text of a file, without a byte-order mark."""
    found = checked_path(path, what, DataError)
    try:
        return decoded(found, encoding)  # line ends inside quotes are part of a label
    except OSError as error:
        raise DataError(f"{what} {str(path)!r} cannot be read ({error.strerror}).") from None
    except UnicodeError:
        raise DataError(f"{what} {str(path)!r} is not {encoding}: pass encoding=.") from None


def _delimiter(text: str) -> str:
    """The delimiter with which the first line has a column of actions; the most frequent one if none does."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    for sign in _DELIMITERS:
        if ACTION in [h.strip().strip('"').casefold() for h in first.split(sign)]:
            return sign
    return max(_DELIMITERS, key=first.count)


def _require_columns(header: Sequence[str], table: Table, name: str) -> None:
    known = (*table.columns, *_OURS)
    doubled = sorted({h for h in header if header.count(h) > 1})
    if doubled:
        raise DataError(f"{name} has the column {listed(doubled)} twice.")
    if ACTION not in header:
        raise DataError(f"{name} has no column {ACTION!r}; its columns are {listed(header)}.")
    for column in header:
        if column not in known:
            raise DataError(f"{name} has a column {column!r}, which the table does not.{did_you_mean(column, known)}")
    for dim in table.dims:
        if not set(dim.columns) & set(header):
            raise DataError(
                f"{name} has no column {dim.columns[-1]!r}: a line must say which cell of {dim.name!r} it means, "
                f"{dim.total!r} for the total. Its columns are {listed(header)}."
            )


def _of_dictionaries(source: Sequence[object], table: Table) -> list[Said]:
    out = []
    known = (*table.columns, *_OURS)
    for i, row in enumerate(source, start=1):
        if not isinstance(row, Mapping) or ACTION not in row:
            raise DataError(
                f"Entry {i} of a list of cells is a dictionary of labels with an {ACTION!r}, such as "
                f"{{{table.columns[-1]!r}: …, 'action': 'keep'}}; given {row!r}."
            )
        for column in row:
            if column not in known:
                raise DataError(f"Entry {i} names {column!r}, no column.{did_you_mean(str(column), known)}")
        out.append(_said(f"entry {i}", row, table))
    return out


def _said(where: str, row: Mapping[str, Any], table: Table) -> Said:
    labels = {}
    for dim in table.dims:
        for column in dim.columns:
            held = row.get(column)
            if held is None or (held == "" and not (dim.labels[column] == "").any()):
                continue
            labels[column] = text_of(held)
    action = "" if row[ACTION] is None else str(row[ACTION]).strip().casefold()
    return Said(where, labels, action, _number(row.get(FIRST)), _number(row.get(SECOND)))


def _number(value: object) -> float | str | None:
    """A number, or nothing; any other text stays one, and is refused where a number is needed."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = str(value).strip()
    try:
        return float(text) if text else None
    except ValueError:
        return text
