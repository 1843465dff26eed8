"""The profile of a file: enough to say, a year later, how the next file differs.

A profile holds names, types, categories, counts and means, no record. It is written beside a run's reports,
for the office alone, since a rare category is itself something about a person.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import DataError
from flou.engine.note import Note
from flou.engine.output import checked_path
from flou.engine.parsing import parsed_json
from flou.engine.values import Proportion, distinct, text_of

#: Categories of a column with more distinct values than this are counted, not kept.
_MAX_CATEGORIES = 10_000
#: New or lost categories named in one line.
_NAMED = 8
_FORMAT = 1


@dataclass(frozen=True)
class ColumnProfile:
    """One column: its type and role, its nulls, its categories if there are few, the mean of numbers."""

    type: str
    key: bool
    hidden: bool
    n_undetermined: int
    n_distinct: int
    categories: tuple[str, ...] | None = None
    mean: float | None = None


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
        means = _means(data, [c.name for c in found.columns if c.type in ("integer", "number")])
        columns = {}
        for column in found.columns:
            few = column.n_distinct <= _MAX_CATEGORIES and (column.type == "text" or "key" in column.roles)
            hidden = column.name in data.schema.hidden
            values = _categories(data, column.name, held) if few and not hidden else None
            columns[column.name] = ColumnProfile(
                column.type,
                "key" in column.roles,
                hidden,
                column.n_undetermined,
                column.n_distinct,
                values,
                means.get(column.name),
            )
        return cls(found.n_records, columns)

    def to_json(self) -> str:
        return json.dumps({"flou_profile": _FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Profile:
        """Read the profile of a former run: its folder, or the file itself."""
        given = checked_path(path, "A former run", DataError)
        file = given / "internal" / "profile.json" if given.is_dir() else given
        try:
            held = parsed_json(Path(file).read_text(encoding="utf-8"))
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
            notes += _other_nulls(name, former, self)
        if self.n_records != former.n_records:
            counts: dict[str, object] = {"n_former": former.n_records, "n_now": self.n_records}
            notes.append(Note("{n_now} records, {n_former} then", counts))
        return tuple(notes)


def _categories(data: Microdata, column: str, held: dict[str, list[object]]) -> tuple[str, ...]:
    """The values of a column; those of the keys have been counted already."""
    values = held.get(column) or distinct(native.collect(data.frame.select(column).unique())[column])
    return tuple(sorted(map(text_of, values)))


def _means(data: Microdata, columns: list[str]) -> dict[str, float]:
    """The mean of each column of numbers; identifiers and internal numbers have none worth telling."""
    shown = [c for c in columns if c not in data.schema.hidden]
    if not shown:
        return {}
    row = native.collect(data.frame.select(*(nw.col(c).cast(nw.Float64).mean() for c in shown))).row(0, named=True)
    return {name: float(mean) for name, mean in row.items() if mean is not None and math.isfinite(mean)}


def _column(held: dict[str, Any]) -> ColumnProfile:
    categories, mean = held["categories"], held["mean"]
    return ColumnProfile(
        str(held["type"]), bool(held["key"]), bool(held["hidden"]),
        int(held["n_undetermined"]), int(held["n_distinct"]),
        None if categories is None else tuple(map(str, categories)), None if mean is None else float(mean),
    )  # fmt: skip


def _keys(profile: Profile) -> set[str]:
    return {name for name, c in profile.columns.items() if c.key}


def _if(text: str, names: list[str]) -> Iterable[Note]:
    return [Note(text, {"names": ", ".join(names)})] if names else []


def _other_nulls(name: str, former: Profile, profile: Profile) -> Iterable[Note]:
    """Undetermined values that appear, go, or become more than twice or less than half as frequent."""
    n_then, n_now = former.columns[name].n_undetermined, profile.columns[name].n_undetermined
    then, now = n_then / max(former.n_records, 1), n_now / max(profile.n_records, 1)
    if n_now and not n_then:
        yield Note(
            "{column}: {n_undetermined} undetermined values, none then", {"column": name, "n_undetermined": n_now}
        )
    elif n_then and not n_now:
        yield Note("{column}: no undetermined value any more", {"column": name})
    elif _apart(then, now):
        values: dict[str, object] = {"column": name, "share_now": Proportion(now), "share_then": Proportion(then)}
        yield Note("{column}: {share_now} of the values undetermined, {share_then} then", values)


def _apart(then: float, now: float) -> bool:
    """Whether one is more than twice the other, or they have other signs."""
    small, large = sorted((abs(then), abs(now)))
    return large > 0 and (then * now <= 0 or large > 2 * small)


def _column_changes(name: str, then: ColumnProfile, now: ColumnProfile) -> Iterable[Note]:
    if then.type != now.type:
        values: dict[str, object] = {"column": name, "type_now": now.type, "type_then": then.type}
        yield Note("{column}: {type_now} values, {type_then} then", values)
    if then.mean is not None and now.mean is not None and _apart(then.mean, now.mean):
        values = {"column": name, "mean_now": float(f"{now.mean:.4g}"), "mean_then": float(f"{then.mean:.4g}")}
        yield Note("{column}: mean {mean_now}, {mean_then} then; are the units the same?", values)
    if then.type != now.type:
        return
    if then.categories is None or now.categories is None:
        many = max(then.n_distinct, now.n_distinct) > _MAX_CATEGORIES
        if many and not now.hidden and (now.type == "text" or now.key):
            # said even of equal numbers: the categories may all be others
            values = {"column": name, "n_now": now.n_distinct, "n_then": then.n_distinct}
            yield Note("{column}: {n_now} categories, {n_then} then; too many to compare one by one", values)
        return
    for text, more, fewer in (
        ("{column}: new categories {names}", now.categories, then.categories),
        ("{column}: categories that nobody has any more {names}", then.categories, now.categories),
    ):
        found = sorted(set(more) - set(fewer))
        if found:
            rest = f", … ({len(found) - _NAMED} more)" if len(found) > _NAMED else ""
            yield Note(text, {"column": name, "names": ", ".join(found[:_NAMED]) + rest})
