"""Files in which a person may have several rows: methods that count persons say so, all others refuse.

Records are not persons there: three rows of one person hide nobody. A method declares `allows_several_rows` when it
counts persons or counts nobody at all; one that would count records, or draw by id, never sees such a file.
"""

from __future__ import annotations

from flou.engine.data import has_several_rows
from flou.engine.errors import DataError
from flou.engine.note import Note

#: What every measure of such a file says.
COUNTED_BY_PERSON = Note(
    "A person may have several rows here: each counts once in a class, and shares are of records. That somebody knows "
    "several rows of one person is not covered."
)


def refuse_several_rows(data: object, what: str, *, counts_persons: bool = False) -> None:
    """Refuse a file in which a person may have several rows; `what` would take its records for persons.

    What counts persons is refused such a file only where its ids are gone.
    """
    if not has_several_rows(data):
        return
    if not counts_persons:
        raise DataError(
            f'{what} takes each record for a person, and rows_per_person = "several" says that a person may have '
            "several. Give each person one row first, or use a method that counts persons: "
            "docs/explain/persons-and-records.md lists them."
        )

    if getattr(data, "schema").id is None:  # noqa: B009
        raise DataError(
            f"{what} counts persons, and the ids by which they are counted are gone from this file. Use the release "
            "itself instead of what is published of it."
        )
