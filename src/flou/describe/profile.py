"""The profile of a file: enough to say, a year later, how the next file differs.

A profile holds names, types, categories and counts, no record. It is written beside a run's reports,
for the office alone, since a rare category is itself something about a person.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import DataError
from flou.engine.note import Note
from flou.engine.output import checked_path
from flou.engine.values import distinct, text_of

#: Columns with more distinct values than this are measured by their type and nulls alone.
_MAX_CATEGORIES = 1000
#: New or lost categories named in one line.
_NAMED = 8
_FORMAT = 1


@dataclass(frozen=True)
class ColumnProfile:
    """One column: its type, whether it is a key, its nulls, and its categories if there are few."""

    type: str
    key: bool
    n_undetermined: int
    categories: tuple[str, ...] | None


@dataclass(frozen=True)
class Profile:
    """A file in outline."""

    n_records: int
    columns: dict[str, ColumnProfile]

    @classmethod
    def of(cls, data: Microdata) -> Profile:
        """The profile of a file; identifiers and internal numbers have no categories in it."""
        found = data.describe()
        held = dict(zip(data.schema.keys, data.key_table(data.schema.keys).categories, strict=True))
        columns = {}
        for column in found.columns:
            few = column.n_distinct <= _MAX_CATEGORIES and (column.type == "text" or "key" in column.roles)
            few = few and column.name not in data.schema.hidden
            values = _categories(data, column.name, held) if few else None
            columns[column.name] = ColumnProfile(column.type, "key" in column.roles, column.n_undetermined, values)
        return cls(found.n_records, columns)

    def to_json(self) -> str:
        return json.dumps({"flou_profile": _FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Profile:
        """Read the profile of a former run: its folder, or the file itself."""
        given = checked_path(path, "A former run", DataError)
        file = given / "internal" / "profile.json" if given.is_dir() else given
        try:
            held = json.loads(Path(file).read_text(encoding="utf-8"))
            if held["flou_profile"] != _FORMAT:
                raise DataError(f"{str(file)!r} is a profile of another version of Flou.")
            return cls(int(held["n_records"]), {n: _column(c) for n, c in held["columns"].items()})
        except FileNotFoundError:
            raise DataError(
                f"{str(given)!r} holds no profile of a former run: give the folder that `flou run --out` wrote."
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{str(file)!r} is not the profile of a former run ({type(error).__name__}).") from None

    def changes_since(self, former: Profile) -> tuple[Note, ...]:
        """What is different now, the most consequential first."""
        both = [c for c in self.columns if c in former.columns]
        keys, former_keys = _keys(self), _keys(former)
        notes = [
            *_if("new keys: {names}", sorted(keys - former_keys)),
            *_if("no longer keys: {names}", sorted(former_keys - keys)),
            *_if("new columns: {names}", [c for c in self.columns if c not in former.columns]),
            *_if("columns that are gone: {names}", [c for c in former.columns if c not in self.columns]),
        ]
        for name in both:
            notes += _column_changes(name, former.columns[name], self.columns[name])
        if self.n_records != former.n_records:
            counts: dict[str, object] = {"n_former": former.n_records, "n_now": self.n_records}
            notes.append(Note("{n_now} records, {n_former} then", counts))
        return tuple(notes)


def _categories(data: Microdata, column: str, held: dict[str, list[object]]) -> tuple[str, ...]:
    """The values of a column; those of the keys have been counted already."""
    values = held.get(column) or distinct(native.collect(data.frame.select(column).unique())[column])
    return tuple(sorted(map(text_of, values)))


def _column(held: dict[str, Any]) -> ColumnProfile:
    categories = held["categories"]
    return ColumnProfile(
        str(held["type"]), bool(held["key"]), int(held["n_undetermined"]),
        None if categories is None else tuple(map(str, categories)),
    )  # fmt: skip


def _keys(profile: Profile) -> set[str]:
    return {name for name, c in profile.columns.items() if c.key}


def _if(text: str, names: list[str]) -> Iterable[Note]:
    return [Note(text, {"names": ", ".join(names)})] if names else []


def _column_changes(name: str, then: ColumnProfile, now: ColumnProfile) -> Iterable[Note]:
    if then.type != now.type:
        values: dict[str, object] = {"column": name, "type_now": now.type, "type_then": then.type}
        yield Note("{column}: {type_now} values, {type_then} then", values)
    if now.n_undetermined and not then.n_undetermined:
        values = {"column": name, "n_undetermined": now.n_undetermined}
        yield Note("{column}: {n_undetermined} undetermined values, none then", values)
    elif then.n_undetermined and not now.n_undetermined:
        yield Note("{column}: no undetermined value any more", {"column": name})
    if then.categories is None or now.categories is None or then.type != now.type:
        return
    for text, more, fewer in (
        ("{column}: new categories {names}", now.categories, then.categories),
        ("{column}: categories that nobody has any more {names}", then.categories, now.categories),
    ):
        found = sorted(set(more) - set(fewer))
        if found:
            rest = f", … ({len(found) - _NAMED} more)" if len(found) > _NAMED else ""
            yield Note(text, {"column": name, "names": ", ".join(found[:_NAMED]) + rest})
