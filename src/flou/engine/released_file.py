"""The files of a release: the data that steps work on, and files that a step makes beside them.

Bucketisation gives two tables instead of one, and a file goes with its codebook. A file beside the data is internal
unless the step says that the public may read it. Once there is one no further step may change the data: the other file
would still tell what the step took away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from flou.engine.data import DataKind, data_kind
from flou.engine.errors import DataError, listed
from flou.engine.figure import Audience

#: Names that a run gives to files of its own.
_TAKEN = ("data", "tables", "report", "manifest", "profile", "parameters", "log")
_NAME, _TEXT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}"), re.compile(r"[a-z0-9][a-z0-9_-]{0,60}\.(txt|md|json)")


@dataclass(frozen=True, eq=False)
class ReleasedFile:
    """One file of a release: microdata, a table, a set of tables, or a text such as a codebook (`codebook.md`)."""

    name: str
    data: Any
    audience: Audience = "internal"

    @property
    def kind(self) -> DataKind | Literal["text"]:
        """What it holds."""
        return "text" if isinstance(self.data, str) else data_kind(self.data) or "microdata"

    @property
    def schema(self) -> Any:
        """What is known of its columns; a text has none."""
        return getattr(self.data, "schema", None)

    @property
    def is_public(self) -> bool:
        return self.audience == "public"

    def __repr__(self) -> str:
        return f"ReleasedFile({self.name!r}, {self.kind}, {self.audience})"


def require_records(files: Iterable[ReleasedFile], data: Any, step: str) -> None:
    """Refuse files beside tables: nothing writes them, and the tables alone are not what the step guarantees."""
    named = [file.name for file in files]
    if named and data_kind(data) != "microdata":
        raise DataError(
            f"{step} makes {listed(named)} beside tables. A step on tables gives all of them as one set of tables; a "
            "text such as a codebook goes with a step on records."
        )


def require_named(file: ReleasedFile, others: Iterable[str], step: str) -> None:
    """Refuse a file without a usable name, or of a kind that cannot be written."""
    pattern, example = (_TEXT_NAME, "codebook.md") if file.kind == "text" else (_NAME, "sensitive")
    if not pattern.fullmatch(file.name) or file.name.partition(".")[0] in _TAKEN or file.name in others:
        raise DataError(
            f"{step} makes a file named {file.name!r}: give it a name of its own in small letters, digits, - and _, "
            f"such as {example!r}, and none of {listed(_TAKEN)}."
        )
    if file.kind != "text" and data_kind(file.data) not in ("microdata", "table", "table set"):
        raise DataError(f"{step} makes a file {file.name!r} of {type(file.data).__name__}, which is no data or text.")


def require_alone(files: Mapping[str, ReleasedFile], step: str) -> None:
    """Refuse to change data that a step has made other files of."""
    if files:
        raise DataError(
            f"{step} would change the data and leave {listed(files)} as it is, which an earlier step made beside them: "
            f"what both tell together would not be what that step guarantees. Put it before that step."
        )


def with_data(files: Mapping[str, ReleasedFile], changed: Any) -> dict[str, ReleasedFile]:
    """The same files with their data changed; texts stay."""
    return {n: f if f.kind == "text" else replace(f, data=changed(f.data)) for n, f in files.items()}
