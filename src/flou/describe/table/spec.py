"""What a user writes for a dimension of a table.

    "sex"                    the values of a column
    "region>department"      nested columns, coarse to fine: each department lies in one region
    "age@2", "age@decade"    a level of the column's hierarchy, by number or name
    "decade"                 the same, where no column and no other hierarchy's level has this name
    "age@2>age"              nested levels of a hierarchy; "age@*" is all of them
    "commune|district"       zonings that do not nest, side by side under one total

A column whose own name has one of these signs is taken by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flou.describe.schema import Schema
from flou.engine.errors import DataError, HierarchyError, ParameterError, did_you_mean, listed
from flou.engine.values import whole_number

#: Columns of `to_frame` that are not dimensions; no dimension may be called so.
FIGURES = ("count", "value", "status", "flag", "reason", "contributors", "holdings", "cell_key", "true_count",
           "true_value", "deviation")  # fmt: skip


def reserved(names: Sequence[str]) -> list[str]:
    """Which of these names a table's own columns have."""
    return [name for name in names if name in FIGURES or re.fullmatch(r"largest_\d+", name)]


@dataclass(frozen=True)
class Level:
    """One level of a dimension: a column as it is (level 0) or at a level of its hierarchy."""

    column: str
    number: int = 0
    #: The name of the column that shows it.
    shown: str = ""

    @property
    def name(self) -> str:
        """The one name of the level, however it was asked for: draws go by it."""
        return self.column if self.number == 0 else f"{self.column}@{self.number}"


@dataclass(frozen=True)
class DimensionSpec:
    """A dimension as it was asked for: one or more zonings, each a path from coarse to fine."""

    name: str
    zonings: tuple[tuple[Level, ...], ...]

    @property
    def levels(self) -> tuple[Level, ...]:
        return tuple(level for path in self.zonings for level in path)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the records that it needs."""
        return tuple(dict.fromkeys(level.column for level in self.levels))


def parse_dims(dims: object, columns: Sequence[str], schema: Schema) -> tuple[DimensionSpec, ...]:
    """The dimensions that `dims` asks for, checked against the columns there are."""
    texts = [dims] if isinstance(dims, str) else list(dims) if isinstance(dims, Iterable) else None
    if texts is None or not all(isinstance(t, str) for t in texts):
        raise ParameterError(f'dims takes a list of dimensions such as ["region>department", "sex"]; given {dims!r}.')
    if not texts:
        raise ParameterError('dims is empty: a table needs at least one dimension, such as dims=["sex"].')
    found = tuple(_parse(text, columns, schema) for text in texts)
    used = [c for spec in found for c in spec.columns]
    twice = sorted({c for c in used if used.count(c) > 1})
    if twice:
        raise ParameterError(
            f"{listed(twice)} stands in two dimensions; a column belongs to one. Nest its levels in one dimension "
            '("age@2>age"), or put zonings side by side ("commune|district").'
        )
    shown = [level.shown for spec in found for level in spec.levels]
    same = sorted({s for s in shown if shown.count(s) > 1})
    if same:
        raise ParameterError(
            f"Two dimensions would be shown in a column {listed(same)}: a level of a hierarchy and a column have this "
            "name. Rename the column."
        )
    return found


def _parse(text: str, columns: Sequence[str], schema: Schema) -> DimensionSpec:
    if text in columns:
        return DimensionSpec(text, ((_level(text, text, columns, schema),),))
    zonings = []
    for part in text.split("|"):
        path = [level for word in part.split(">") for level in _levels(word.strip(), text, columns, schema)]
        zonings.append(tuple(path))
    shown = [level.shown for path in zonings for level in path]
    twice = sorted({s for s in shown if shown.count(s) > 1})
    if twice:
        raise ParameterError(f"The dimension {text!r} has {listed(twice)} twice.")
    return DimensionSpec(text, tuple(zonings))


def _levels(word: str, text: str, columns: Sequence[str], schema: Schema) -> Iterable[Level]:
    if word.endswith("@*") and word not in columns:
        column = word[:-2]
        hierarchy = schema.hierarchies.get(_known(column, text, columns))
        if hierarchy is None:
            raise HierarchyError(_no_hierarchy(column, text))
        for number in range(hierarchy.height - 1, 0, -1):
            yield Level(column, number, f"{column}@{_level_name(hierarchy.names, number)}")
        yield Level(column, 0, column)
    else:
        yield _level(word, text, columns, schema)


def _level(word: str, text: str, columns: Sequence[str], schema: Schema) -> Level:
    if word not in columns and "@" not in word:
        owners = [c for c, h in schema.hierarchies.items() if c in columns and word in h.names]
        if len(owners) > 1:
            raise HierarchyError(
                f"The dimension {text!r} asks for {word!r}, a level of {listed(owners)}. Say which: "
                f'"{owners[0]}@{word}".'
            )
        if owners:
            return Level(owners[0], schema.hierarchies[owners[0]].level_number(word), word)
    if word in columns or "@" not in word:
        return Level(_known(word, text, columns), 0, word)
    column, _, wanted = word.rpartition("@")
    hierarchy = schema.hierarchies.get(_known(column, text, columns))
    if hierarchy is None:
        raise HierarchyError(_no_hierarchy(column, text))
    counted = whole_number(wanted)
    number = hierarchy.level_number(wanted if counted is None else counted)
    shown = f"{column}@{wanted if counted is None else number}"
    return Level(column, number, column if number == 0 else shown)


def level_name(shown: str, schema: Schema) -> str:
    """The one name of the level that a column of a counted table shows, as far as a schema tells."""
    columns = schema.declared
    named = any(shown in h.names for h in schema.hierarchies.values())
    known = shown not in columns and (named or shown.rpartition("@")[0] in schema.hierarchies)
    return _level(shown, shown, columns, schema).name if known else shown


def _level_name(names: Sequence[str], number: int) -> str:
    return names[number - 1] if number <= len(names) else str(number)


def _no_hierarchy(column: str, text: str) -> str:
    return (
        f"The dimension {text!r} asks for a level of {column!r}, which has no hierarchy. Declare one: "
        f"hierarchies={{{column!r}: flou.Hierarchy.bands(5, 10)}}."
    )


def _known(column: str, text: str, columns: Sequence[str]) -> str:
    if column in columns:
        return column
    raise DataError(
        f"The dimension {text!r} names the column {column!r}, which the data do not have."
        f"{did_you_mean(column, columns)} Columns: {', '.join(columns)}."
    )
