"""What must be known of the columns of a file before a policy may release it: that somebody looked at each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flou.describe.identifying.scan import Finding, scan_of
from flou.describe.microdata import Microdata
from flou.engine.errors import listed
from flou.engine.note import Note
from flou.engine.release import Release
from flou.engine.result import Result


def not_for_release(records: Sequence[Microdata]) -> Iterator[tuple[Note, Note]]:
    """Why the columns of a file may not leave: what the office reads, and what the public does."""
    for data in records:
        unknown = [c for c in data.public().columns if c not in data.schema.declared]
        if unknown:
            yield (
                Note(
                    "nobody has said what these columns are: {columns}. Give each a role in the schema: other if it "
                    "may leave as it is, not_released or identifier if it may not",
                    {"columns": listed(unknown)},
                ),
                Note("nobody has said what some of the columns are"),
            )
        for finding in scan_of(data):
            yield _described(finding), Note("some columns look as if they named people")


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
    releases = [r.data for r in results if isinstance(r, Release)]
    known = releases or [getattr(r, "data", None) for r in results if getattr(r, "measured_on", "") == "release"]
    held: list[Microdata] = []
    for data in known:
        if isinstance(data, Microdata) and data.released and all(data is not other for other in held):
            held.append(data)
    return held
