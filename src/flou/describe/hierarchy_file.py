"""Hierarchies as CSV files: one line a value, the value first, then its ancestors, as ARX writes them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from os import PathLike

from flou.engine.errors import HierarchyError, listed
from flou.engine.output import PUBLIC, checked_path, written_whole
from flou.engine.parsing import decoded

Row = tuple[str, ...]

_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_NEEDS_QUOTES = re.compile(r'[;,"]')


def read_rows(path: str | PathLike[str], delimiter: str | None, encoding: str) -> list[Row]:
    """The lines of a hierarchy file; `;` or `,` is recognised."""
    if not isinstance(path, str | PathLike) or (delimiter is not None and len(delimiter) != 1):
        raise HierarchyError(
            f"A hierarchy file needs a path and a delimiter of one character; given {path!r}, {delimiter!r}."
        )
    try:
        text = decoded(checked_path(path, "A hierarchy file", HierarchyError), encoding, HierarchyError)
    except OSError as error:
        raise HierarchyError(f"The hierarchy file {str(path)!r} cannot be read ({error.strerror}).") from None
    except UnicodeError:
        raise HierarchyError(f"The hierarchy file {str(path)!r} is not {encoding}: pass encoding=.") from None
    try:
        rows = _parsed(text, delimiter)
    except csv.Error as error:
        raise HierarchyError(f"The hierarchy file {str(path)!r} is not a CSV file: {error}.") from None
    if not rows:
        raise HierarchyError(f"The hierarchy file {str(path)!r} is empty.")
    roots = {row[-1] for row in rows[1:] if row}
    if len(rows) > 2 and len(roots) == 1 and rows[0][-1:] and rows[0][-1] not in roots:
        raise HierarchyError(
            f"The first line of the hierarchy file {str(path)!r} ends in {rows[0][-1]!r}, all the others in "
            f"{roots.pop()!r}: leave out the line of headings, or give {rows[0][0]!r} the same last group."
        )
    return rows


def write_rows(rows: Sequence[Row], path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a hierarchy file that reads back equal; values that a line cannot hold are refused."""
    lines = [";".join(_cell(cell) for cell in row) for row in rows]
    lost = [row[0] for row, line in zip(rows, lines, strict=True) if not _reads_back(row, line)]
    if lost:
        raise HierarchyError(
            "A line of a hierarchy file holds names without spaces at their ends and without line breaks; "
            f"these do not fit: {listed(lost)}. Clean the values, or keep the hierarchy in the schema (schema.save)."
        )
    with written_whole(path, overwrite=overwrite, mode=PUBLIC) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def _parsed(text: str, delimiter: str | None) -> list[Row]:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    bare = _QUOTED.sub("", lines[0])
    sep = delimiter or (";" if bare.count(";") >= bare.count(",") else ",")
    return [tuple(cell.strip() for cell in row) for row in csv.reader(lines, delimiter=sep, strict=True)]


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _reads_back(row: Row, line: str) -> bool:
    try:
        # as the file is read: a byte-order mark in front of the first line is lost
        return _parsed(line.encode().decode("utf-8-sig"), None) == [row]
    except (csv.Error, UnicodeEncodeError):
        return False
