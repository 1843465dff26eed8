"""The attributes that tables speak of: the finest categories that any of them shows, and the coarser ones above these.

An attribute may be shown at several levels in several tables (age in years here, in bands of five years there); what
lies in what is known from the schema that travels with the tables, or from tables that nest the levels themselves. An
intruder knows which values are possible at all: declared modalities, or what is asked for in `domain`; the categories
that a table lists are all there are only where it shows its figures as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flou.describe.schema import Schema
from flou.describe.table.cells import Ints
from flou.describe.table.dimension import Dimension
from flou.describe.table.table import Table
from flou.engine.errors import DataError, listed
from flou.engine.values import text_of, whole_number


@dataclass(frozen=True, eq=False)
class Attribute:
    """The values of an attribute, finest first known, and their labels at each level that a table shows."""

    #: The column of records that has it, and the level of the column's hierarchy at which it is known.
    column: str
    level: int
    #: The values themselves at level 0; the labels of bands or groups above.
    values: tuple[Any, ...]
    #: The name of a level → the label of each value there.
    labels: Mapping[str, tuple[str, ...]]
    #: The name of a level → what tables call it.
    shown: Mapping[str, str]
    #: For each value of the column that is declared, the place of its category among `values`; empty where none is.
    base: Mapping[Any, int] = field(default_factory=dict)

    @property
    def finest(self) -> str:
        """The name of its finest level."""
        return self.column if self.level == 0 else f"{self.column}@{self.level}"

    @property
    def name(self) -> str:
        """What tables call it at its finest level."""
        return self.shown[self.finest]

    def level_called(self, word: str) -> str | None:
        """The name of the level that a user calls so; None where there is none."""
        return next((level for level, shown in self.shown.items() if word in (level, shown)), None)

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def numbers(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """The values as numbers, if all of them are."""
        try:
            return np.array([float(v) for v in self.values])
        except (TypeError, ValueError):
            return None

    def codes_at(self, name: str) -> tuple[Ints, list[str]]:
        """The place of each value's label among the distinct labels of a level, and these."""
        labels = list(dict.fromkeys(self.labels[name]))
        place = {label: i for i, label in enumerate(labels)}
        return np.array([place[label] for label in self.labels[name]], dtype=np.int64), labels

    def place_of(self, values: Sequence[object], schema: Schema) -> Ints:
        """The place of each of a column's values among the attribute's; -1 for one that is not among them."""
        place = {text_of(value): i for i, value in enumerate(self.values)}
        distinct = list(dict.fromkeys(values))
        if self.level == 0:
            unknown = [text_of(v) for v in schema.undetermined.get(self.column, ())[:1]]
            texts = [unknown[0] if v is None and unknown else text_of(v) for v in distinct]
        else:
            kept = schema.not_applicable.get(self.column, ())
            present = [v for v in distinct if v is not None]
            up = schema.hierarchies[self.column].generalise(present, self.level, keep=kept)
            texts = ["" if v is None else text_of(up[v]) for v in distinct]
        found = {value: place.get(text, -1) for value, text in zip(distinct, texts, strict=True)}
        return np.array([found[value] for value in values], dtype=np.int64)


def level_names(dim: Dimension) -> tuple[str, ...]:
    """The one name of each level of a dimension, coarse to fine."""
    return dim.names or dim.columns


def find_attributes(
    tables: Sequence[Table], exact: Sequence[bool], domain: Mapping[str, Sequence[Any]]
) -> tuple[Attribute, ...]:
    """The attributes of tables, in the order in which they appear; `exact` tells which show true figures."""
    for table in tables:
        beside = [dim.name for dim in table.dims if dim.n_zonings > 1]
        if beside:
            raise DataError(
                f"{listed(beside)} has zonings side by side, of which nobody says what lies in both: the combinations "
                "of attributes cannot be laid out. Leave the table out, or make one of a single zoning."
            )
    groups = _groups(tables)
    unknown = sorted(set(domain) - {_column(name) for group in groups for name in group})
    if unknown:
        raise DataError(f"domain names {listed(unknown)}, which no table shows.")
    return tuple(_attribute(group, tables, exact, domain) for group in groups)


def _column(name: str) -> str:
    column, sign, number = name.rpartition("@")
    return column if sign and whole_number(number) is not None else name


def _number(name: str) -> int:
    return 0 if _column(name) == name else int(name.rpartition("@")[2])


def _groups(tables: Sequence[Table]) -> list[list[str]]:
    """The names of levels that belong together: nested in one dimension, or levels of one column."""
    paths = [level_names(dim) for table in tables for dim in table.dims]
    group_of: dict[str, list[str]] = {}
    for path in paths:
        held: list[str] = []
        for name in (*path, *(_column(name) for name in path)):
            for other in group_of.get(name, [name]):
                if other not in held:
                    held.append(other)
        for name in held:
            group_of[name] = held
    shown = {name for path in paths for name in path}
    distinct = list({id(group): group for group in group_of.values()}.values())
    return [[name for name in group if name in shown] for group in distinct]


def _attribute(
    group: Sequence[str], tables: Sequence[Table], exact: Sequence[bool], domain: Mapping[str, Sequence[Any]]
) -> Attribute:
    finest = _finest(group, tables)
    column, number = _column(finest), _number(finest)
    schema = next((t.schema for t in tables if t.schema is not None and column in t.schema.hierarchies), None)
    schema = schema or next((t.schema for t in tables if t.schema and column in t.schema.declared_modalities), None)
    shown = _shown(finest, tables)
    known = _declared(column, tables, domain)
    base: dict[Any, int] = {}
    if known is None:
        # as levels above are found by what a value lies in, only values can be lifted
        if not any(e and finest in names_of(t) for t, e in zip(tables, exact, strict=True)):
            raise DataError(
                f"Which values {column!r} can have is not known: a table whose figures were moved does not list those "
                f"that it shows as zero. Declare modalities for {column!r} before tabulating, or give them to the "
                f"attack: domain={{{column!r}: […]}}, such as range(121) for ages."
            )
        values, texts = _typed(shown), list(shown)
    else:
        lifted = _lifted(known, column, number, schema)
        texts = list(dict.fromkeys(text_of(v) for v in lifted))
        place = {text: i for i, text in enumerate(texts)}
        base = {value: place[text_of(label)] for value, label in zip(known, lifted, strict=True)}
        unknown = [text for text in shown if text not in place]
        if unknown and column in domain:
            raise DataError(
                f"domain: {column!r} lacks {listed(unknown)}, which the tables show. List every value that it can have."
            )
        texts += unknown  # a table may show what was not declared
        values = [*(known if number == 0 else texts[: len(place)]), *texts[len(place) :]]
    labels = {finest: tuple(texts)}
    for name in group:
        if name != finest:
            labels[name] = _labels_above(name, finest, values, texts, base, schema, tables)
    return Attribute(column, number, tuple(values), labels, _called(group, tables), base)


def _called(group: Sequence[str], tables: Sequence[Table]) -> dict[str, str]:
    """What the first table that shows a level calls it."""
    called: dict[str, str] = {}
    for table in tables:
        for dim in table.dims:
            for name, shown in zip(level_names(dim), dim.columns, strict=True):
                if name in group:
                    called.setdefault(name, shown)
    return called


def names_of(table: Table) -> list[str]:
    """The names of all levels that a table shows."""
    return [name for dim in table.dims for name in level_names(dim)]


def _finest(group: Sequence[str], tables: Sequence[Table]) -> str:
    """The level below all others of its group."""
    coarser = {name for name in group if any(_column(o) == _column(name) and _number(o) < _number(name) for o in group)}
    for table in tables:
        for dim in table.dims:
            coarser |= set(level_names(dim)[:-1])
    below = [name for name in group if name not in coarser]
    if len(below) != 1:
        raise DataError(
            f"{listed(below or group)} belong to one attribute, but no table says what of the one lies in what of the "
            "other. Add a table that nests them, or leave one of them out."
        )
    return below[0]


def _shown(name: str, tables: Sequence[Table]) -> list[str]:
    """The labels of a level that tables list."""
    found: dict[str, None] = {}
    for table in tables:
        for dim in table.dims:
            names = level_names(dim)
            if name in names:
                labels = dim.full_labels[dim.columns[names.index(name)]]
                found |= dict.fromkeys(label for label in labels.to_list() if label != dim.total)
    return list(found)


def _declared(column: str, tables: Sequence[Table], domain: Mapping[str, Sequence[Any]]) -> list[Any] | None:
    """The values that a column can have, if anybody says so; the code of an undetermined value is one of them."""
    if column in domain:
        return list(dict.fromkeys(domain[column]))
    for table in tables:
        schema = table.schema
        if schema is not None and column in schema.declared_modalities:
            unknown = schema.undetermined.get(column, ())[:1]
            return list(dict.fromkeys([*schema.declared_modalities[column], *unknown]))
    return None


def _lifted(values: Sequence[Any], column: str, number: int, schema: Schema | None) -> list[Any]:
    """The label of each value at a level of its column's hierarchy."""
    if number == 0:
        return list(values)
    if schema is None or column not in schema.hierarchies:
        raise DataError(f"What lies in which category of {column}@{number} is not known: the table has no schema.")
    kept = (*schema.not_applicable.get(column, ()), *schema.undetermined.get(column, ())[:1])
    up = schema.hierarchies[column].generalise(values, number, keep=kept)
    return [up[value] for value in values]


def _labels_above(
    name: str,
    finest: str,
    values: Sequence[Any],
    texts: Sequence[str],
    base: Mapping[Any, int],
    schema: Schema | None,
    tables: Sequence[Table],
) -> tuple[str, ...]:
    """The label of each of the finest categories at a coarser level."""
    above: dict[str, str] = {}
    if _column(name) == _column(finest) and schema is not None and _column(name) in schema.hierarchies:
        if base:
            lifted = _lifted(list(base), _column(name), _number(name), schema)
            above = {texts[place]: text_of(label) for place, label in zip(base.values(), lifted, strict=True)}
        if _number(finest) == 0:
            left = [text for text in texts if text not in above]
            lifted = _lifted(_typed(left), _column(name), _number(name), schema)
            above |= {text: text_of(label) for text, label in zip(left, lifted, strict=True)}
    for table in tables:
        for dim in table.dims:
            names = level_names(dim)
            if name in names and finest in names:
                pairs = dim.full_labels.select(dim.columns[names.index(finest)], dim.columns[names.index(name)]).rows()
                above |= {fine: coarse for fine, coarse in pairs if fine != dim.total}
    lost = [text for text in texts if text not in above]
    if lost:
        raise DataError(
            f"Which {name} {listed(lost)} of {finest} lies in is not known. Declare a hierarchy before tabulating, or "
            "add a table that nests them."
        )
    return tuple(above[text] for text in texts)


def _typed(texts: Sequence[str]) -> list[Any]:
    """Labels as the numbers that they are, if all of them are."""
    for kind in (int, float):
        try:
            numbers = [kind(text) for text in texts]
        except ValueError:
            continue
        if [text_of(number) for number in numbers] == list(texts):
            return numbers
    return list(texts)
