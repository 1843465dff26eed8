"""Classes and what is sensitive in them: for each distinct key, how many records have each sensitive value.

One group-by of keys and sensitive column, remembered with the data. A class is made of the records that show
the very same key, null being a category: they cannot be told apart, whatever an intruder knows. Sensitive values that
are spellings of one count as one; a blank text is undetermined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.describe.spellings import first_spellings, spelling
from flou.engine import native
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.keys import KeyTable, factorise
from flou.engine.measure import RiskMeasure
from flou.engine.note import Note
from flou.engine.parameters import Scalar
from flou.engine.several_rows import refuse_several_rows
from flou.engine.values import text_of
from flou.risk.micro.setting import require_keys

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Pairs of class and value that are counted in a table instead of being sorted.
_MAX_DENSE = 1 << 21

_RESPELT = "{column} spells a value in several ways (case, spaces, accents, digits): they count as one value."


@dataclass(frozen=True, eq=False)
class SensitiveClasses:
    """Pairs of class and sensitive value that occur, each once, with the number of records.

    Where a person may have several rows, persons are counted instead: one with two values counts for both.
    """

    column: str
    keys: KeyTable
    #: For each pair its class, its value among `values` (-1 for null) and its records.
    place: NDArray[np.intp]
    code: NDArray[np.int64]
    count: Ints
    values: list[object]
    #: Whether one value had several spellings.
    respelt: bool = False

    @property
    def sizes(self) -> Ints:
        """The number of records of each class, or of persons."""
        return self.keys.persons

    def totals(self) -> Ints:
        """How many records have each value, in the whole file."""
        return np.bincount(self.code[self.code >= 0], self.count[self.code >= 0], len(self.values)).astype(np.int64)

    @cached_property
    def n_null(self) -> int:
        """Records whose sensitive value is undetermined."""
        return int(self.count[self.code < 0].sum())

    def with_null_as_value(self) -> SensitiveClasses:
        """The same with null as one value more."""
        if not self.n_null:
            return self
        code = np.where(self.code < 0, len(self.values), self.code)
        return replace(self, code=code, values=[*self.values, None])


class Part(NamedTuple):
    """One sensitive column: its classes, how often each value occurs in the whole, and what is to be said."""

    classes: SensitiveClasses
    totals: Ints
    notes: tuple[Note, ...] = ()


def notes_of(parts: Sequence[Part]) -> tuple[Note, ...]:
    """What is to be said of the sensitive columns, each thing once."""
    found: list[Note] = []
    for part in parts:
        respelt = (Note(_RESPELT, {"column": part.classes.column}, internal=True),) if part.classes.respelt else ()
        found += [note for note in (*part.notes, *respelt) if note not in found]
    return tuple(found)


class ClassMeasure(RiskMeasure):
    """A measure of what is sensitive in a class: it judges each class by itself, also classes that do not exist yet."""

    def classes_of(self, data: Microdata, against: Microdata | None) -> list[Part]:
        """The classes of a file, one part a sensitive column."""
        raise NotImplementedError

    def judge(self, data: Microdata, parts: list[Part]) -> tuple[list[Floats], NDArray[np.bool_]]:
        """The figure of each class by sensitive column, and which classes are at risk."""
        raise NotImplementedError


def sensitive_classes(
    data: Microdata, column: str, groups: Mapping[str, Scalar] | None = None, level: int | str | None = None
) -> SensitiveClasses:
    """The classes of a file and one sensitive column, its values grouped if wanted."""
    columns = require_keys(data)
    joint = data.key_table((*columns, column))
    if joint.people is None:
        keys, place = joint.marginal(columns)
    elif groups is None and level is None:
        keys = data.key_table(columns)
        place = keys.locate(joint.frame)
    else:
        refuse_several_rows(data, "A measure of groups of sensitive values")
    values, code = factorise(joint.frame[column])
    found = SensitiveClasses(column, keys, place, code.astype(np.int64), joint.persons, values)
    found = spelt_once(found, first_spellings(values))
    if groups is None and level is None:
        return found
    names = _group_names(data, column, found.values, groups, level)
    return replace(spelt_once(found, first_spellings(names)), respelt=found.respelt)


def _values_before(data: Microdata, column: str) -> list[object]:
    """The values of a column in the plan's input, where that is known."""
    original: Microdata | None = data.kin.original
    if original is None or column not in original.columns:
        return []
    found = native.collect(original.frame.select(nw.col(column).unique()))
    return found[column].drop_nulls().to_list()


def _group_names(
    data: Microdata, column: str, values: list[object], groups: Mapping[str, Scalar] | None, level: int | str | None
) -> list[str]:
    if groups is None:
        hierarchy = data.schema.hierarchies.get(column)
        if hierarchy is None or level is None:
            raise ParameterError(
                f"level = {level!r} needs a hierarchy of {column!r}: declare it in the schema, or name the groups with "
                "groups = {…}."
            )
        above = hierarchy.generalise(values, level, keep=data.schema.not_applicable.get(column, ()))
        return [text_of(above[v]) for v in values]
    if not data.released:  # a release may have lost the records that had them
        require_values(groups, column, values, data)
    group_of: dict[str | float, str] = {}
    for name, group in groups.items():
        if group_of.setdefault(spelling(name), text_of(group)) != text_of(group):
            raise ParameterError(f"groups has {name!r} in two groups, in two spellings: give it one group.")
    return [group_of.get(spelling(t), t) for t in map(text_of, values)]


def require_values(
    groups: Mapping[str, Scalar], column: str, values: Sequence[object], data: Microdata | None = None
) -> None:
    """Refuse groups of values that a column cannot hold: a slip of the pen would leave values ungrouped.

    Values that are declared, or that an earlier step of the plan took away with their records, are none.
    """
    held = {spelling(text_of(v)) for v in values}
    known = () if data is None else (*data.declared_modalities.get(column, ()), *data.orders.get(column, ()))
    held |= {spelling(text_of(v)) for v in known}
    if data is not None and not held.issuperset(map(spelling, groups)):
        held |= {spelling(text_of(v)) for v in _values_before(data, column)}
    if unknown := sorted(name for name in groups if spelling(name) not in held):
        raise DataError(f"groups names {listed(unknown)}, which {column!r} never holds. Values: {listed(values)}.")


def spelt_once(classes: SensitiveClasses, names: Sequence[object]) -> SensitiveClasses:
    """The same records with one value for all those of one name; where the name is None it is undetermined."""
    values = [name for name in dict.fromkeys(names) if name is not None]
    if len(values) == len(names):
        return classes if values == classes.values else replace(classes, values=values)
    number: dict[object, int] = {name: i for i, name in enumerate(values)} | {None: -1}
    of_value = np.array([number[n] for n in names], dtype=np.int64)
    code = np.where(classes.code < 0, -1, of_value[classes.code])
    paired = _paired(classes.column, classes.keys, classes.place, code, classes.count, values)
    return replace(paired, respelt=True)


def coarsened(classes: SensitiveClasses, keys: KeyTable, place: NDArray[np.intp]) -> SensitiveClasses:
    """The same records in coarser classes: `place` says which one of `keys` each class becomes part of."""
    return _paired(classes.column, keys, place[classes.place], classes.code, classes.count, classes.values)


def _paired(
    column: str, keys: KeyTable, place: NDArray[np.intp], code: Ints, count: Ints, values: list[object]
) -> SensitiveClasses:
    """Each pair of class and value once."""
    radix = len(values) + 1
    packed = place * np.int64(radix) + code + 1
    if keys.n_keys * radix <= _MAX_DENSE:
        dense = np.bincount(packed, count, keys.n_keys * radix)
        pairs = np.flatnonzero(dense)
        total = dense[pairs].astype(np.int64)
    else:
        pairs, where = np.unique(packed, return_inverse=True)
        total = np.bincount(where, count).astype(np.int64)
    return SensitiveClasses(column, keys, (pairs // radix).astype(np.intp), pairs % radix - 1, total, values)
