"""What must be known of the columns of a file before a policy may release it: that somebody looked at each.

Tables pass the same gate as records: a category of a table is published as a value of a record is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from flou.describe.identifying.scan import Finding, scan_of
from flou.describe.identifying.scan_table import published_value, scan_table, source_columns
from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet, tables_of
from flou.engine.data import Data, data_kind
from flou.engine.errors import listed
from flou.engine.note import Note
from flou.engine.release import Release
from flou.engine.result import Result

#: Kinds of data that are published.
_PUBLISHED = ("microdata", "table", "table set")
#: What the public reads of a reason.
_UNKNOWN = Note("nobody has said what some of the columns are")
_NOT_RELEASED = Note("some columns were said not to leave")
_NAMES_PEOPLE = Note("some columns look as if they named people")


def not_for_release(released: Sequence[Microdata | Table | TableSet]) -> Iterator[tuple[Note, Note]]:
    """Why columns may not leave: what the office reads, and what the public does."""
    for data in released:
        if isinstance(data, Microdata):
            unknown = [c for c in data.public().columns if c not in data.schema.declared]
            yield from _reasons(unknown, [], scan_of(data))
            continue
        for table in tables_of(data):
            schema, columns = table.schema or Schema(), _columns_of(table)
            unknown = [c for c in columns if c not in schema.declared]
            yield from _reasons(unknown, [c for c in columns if c in schema.hidden], scan_table(table))


def _columns_of(table: Table) -> list[str]:
    """The columns of the records that a table shows: its dimensions', and the one whose sums it publishes."""
    named = [c for j in range(len(table.dims)) for c in source_columns(table, j)]
    return list(dict.fromkeys([*named, *filter(None, [published_value(table)])]))


def _reasons(unknown: Sequence[str], hidden: Sequence[str], found: Sequence[Finding]) -> Iterator[tuple[Note, Note]]:
    if unknown:
        text = (
            "nobody has said what these columns are: {columns}. Give each a role in the schema: other if it "
            "may leave as it is, not_released or identifier if it may not"
        )
        yield Note(text, {"columns": listed(unknown)}), _UNKNOWN
    if hidden:
        text = "the schema says that these columns do not leave, and a table shows them: {columns}. Leave them out"
        yield Note(text, {"columns": listed(hidden)}), _NOT_RELEASED
    for finding in found:
        yield _described(finding), _NAMES_PEOPLE


def _described(finding: Finding) -> Note:
    values: dict[str, object] = {"column": finding.column, "looks": finding.looks_like}
    if finding.by == "name":
        return Note(
            "the column {column} is named like {looks}: make it an identifier or not_released, or say in the schema "
            "why it may leave (scan, in the table of the column)",
            values,
        )
    return Note(
        "the column {column} looks as if it held {looks}: make it an identifier or not_released, or say in the schema "
        "why it may leave (scan, in the table of the column)",
        values,
    )


def released_records(results: Sequence[Result | Release]) -> list[Microdata]:
    """The records that would leave: those of the releases given, else those that something was measured on."""
    return [data for data in _released(results) if isinstance(data, Microdata)]


def released_tables(results: Sequence[Result | Release]) -> list[Table | TableSet]:
    """The tables that would leave."""
    return [data for data in _released(results) if isinstance(data, Table | TableSet)]


def released_beside(results: Sequence[Result | Release]) -> list[Microdata | Table | TableSet]:
    """What would leave beside the data; a text is looked at line by line."""
    files = [f for data in _released(results) for f in data.kin.files.values() if f.is_public]
    return [_as_lines(file.data) if file.kind == "text" else file.data for file in files]


def _as_lines(text: str) -> Microdata:
    lines = pl.DataFrame({"text": text.splitlines() or [""]})
    return Microdata(lines, others=["text"])


def _released(results: Sequence[Result | Release]) -> list[Data]:
    releases = [r.data for r in results if isinstance(r, Release)]
    known = releases or [getattr(r, "data", None) for r in results if getattr(r, "measured_on", "") == "release"]
    held: list[Data] = []
    for data in known:
        if data_kind(data) in _PUBLISHED and data.released and all(data is not other for other in held):
            held.append(data)
    return held
