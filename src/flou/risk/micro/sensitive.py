"""Classes and what is sensitive in them: for each distinct key, how many records have each sensitive value.

One group-by of keys and sensitive column, remembered with the data. A class is made of the records that show
the very same key, null being a category: they cannot be told apart, whatever an intruder knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.keys import KeyTable, factorise
from flou.engine.method import RiskMeasure
from flou.engine.note import Note
from flou.engine.parameters import Scalar
from flou.engine.several_rows import refuse_several_rows
from flou.engine.values import text_of
from flou.risk.micro.setting import require_keys

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Pairs of class and value that are counted in a table instead of being sorted.
_MAX_DENSE = 1 << 21


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
        return SensitiveClasses(self.column, self.keys, self.place, code, self.count, [*self.values, None])


class Part(NamedTuple):
    """One sensitive column: its classes, how often each value occurs in the whole, and what is to be said."""

    classes: SensitiveClasses
    totals: Ints
    notes: tuple[Note, ...] = ()


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
    if groups is None and level is None:
        return found
    return _grouped(found, _group_names(data, column, values, groups, level))


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
    unknown = sorted(set(groups) - {text_of(v) for v in values})
    if unknown and not data.released:  # a release may have lost the records that had them
        raise DataError(f"groups names {listed(unknown)}, which {column!r} never holds. Values: {listed(values)}.")
    return [text_of(groups.get(text_of(v), v)) for v in values]


def _grouped(classes: SensitiveClasses, names: list[str]) -> SensitiveClasses:
    """The same records by group of values instead of by value."""
    values = sorted(set(names))
    of_value = np.array([values.index(n) for n in names] or [0], dtype=np.int64)
    code = np.where(classes.code < 0, -1, of_value[classes.code])
    return _paired(classes.column, classes.keys, classes.place, code, classes.count, list(values))


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
