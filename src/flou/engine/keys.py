"""The key table: one group-by in the engine gives the distinct keys with their counts.

Rows stay in the engine; every algorithm works on this small table in NumPy and goes back to the rows
by key. A key is the combination of a record's quasi-identifiers; code -1 stands for null
("undetermined").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.engine import native
from flou.engine.errors import DataError
from flou.engine.values import distinct

Codes = NDArray[np.int32]

_COUNT, _UNITS, _PEOPLE = "__flou_count", "__flou_units", "__flou_people"
#: Weights are added up in units of so small a part of one: integers give the same sum in any order of the rows.
WEIGHT_UNIT = 2.0**-30
#: What weights may add up to: more than there are people, and as much as 64 bits hold in that unit.
MAX_WEIGHT = 2.0**33


@dataclass(frozen=True, eq=False)
class KeyTable:
    """Distinct keys as integer codes, with the number of records and the sum of weights of each.

    Where a person may have several rows, the weights are those of persons.
    """

    columns: tuple[str, ...]
    frame: pl.DataFrame
    counts: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    #: The distinct persons of each key, where a person may have several rows; None where each record is a person.
    people: NDArray[np.int64] | None = None

    @property
    def persons(self) -> NDArray[np.int64]:
        """How many persons have each key: what hides them, however many rows they have."""
        return self.counts if self.people is None else self.people

    @property
    def n_keys(self) -> int:
        return len(self.counts)

    @cached_property
    def n_records(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def _factors(self) -> tuple[tuple[list[object], ...], Codes]:
        categories, codes = [], np.empty((len(self.columns), self.n_keys), dtype=np.int32)
        for j, column in enumerate(self.columns):
            values, codes[j] = factorise(self.frame[column])
            categories.append(values)
        return tuple(categories), codes

    @property
    def categories(self) -> tuple[list[object], ...]:
        """The observed values of each column, sorted."""
        return self._factors[0]

    @property
    def codes(self) -> Codes:
        """Position of each key's value in `categories`, column by column; -1 where it is null."""
        return self._factors[1].T

    def sorted(self) -> KeyTable:
        """The same keys in the order of their values, whatever the engine gave them in."""
        order = np.lexsort(self.codes.T[::-1])
        weights = None if self.weights is None else self.weights[order]
        people = None if self.people is None else self.people[order]
        made = KeyTable(self.columns, self.frame[order], self.counts[order], weights, people)
        made.__dict__["_factors"] = (self.categories, self._factors[1][:, order])
        return made

    def locate(self, rows: pl.DataFrame) -> NDArray[np.intp]:
        """For each row in memory, the position of its key in this table."""
        numbered = self.frame.select(self.columns).with_row_index("__flou_key")
        found = rows.select(self.columns).join(
            numbered, on=list(self.columns), how="left", nulls_equal=True, maintain_order="left"
        )
        return found["__flou_key"].to_numpy().astype(np.intp)

    def marginal(self, columns: Sequence[str]) -> tuple[KeyTable, NDArray[np.intp]]:
        """The distinct keys of fewer columns, and the place of each key of this table among them."""
        if self.people is not None:
            raise DataError("Persons with several rows may have several keys: they do not add up over keys.")
        chosen = [self.columns.index(c) for c in columns]
        packed = pack(self.codes[:, chosen], [len(self.categories[j]) for j in chosen])
        place, first = _numbered(packed)
        n = len(first)
        table = KeyTable(
            columns=tuple(columns),
            frame=self.frame.select(columns)[first],
            counts=np.bincount(place, self.counts, n).astype(np.int64),
            weights=None if self.weights is None else np.bincount(place, self.weights, n).astype(np.float64),
        )
        return table, place


#: Packed keys below this are numbered by a table instead of by sorting.
_MAX_TABLE = 1 << 24


def _numbered(packed: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The number of each packed key among the distinct ones, in order, and the first row that has each."""
    top = int(packed.max(initial=0))
    if top >= _MAX_TABLE:
        _, first, place = np.unique(packed, return_index=True, return_inverse=True)
        return place, first
    seen = np.full(top + 1, -1, dtype=np.intp)
    seen[packed[::-1]] = np.arange(len(packed) - 1, -1, -1)
    present = seen >= 0
    number = np.cumsum(present) - 1
    return number[packed], seen[present]


def count_keys(
    frame: native.Frame, columns: Sequence[str], weight: str | None = None, person: str | None = None
) -> KeyTable:
    """Group the rows by `columns` in their engine; nulls form keys of their own.

    The weights are neither null nor negative and add up to less than `MAX_WEIGHT`. Where a column says whose row each
    row is, persons are counted beside the records.
    """
    if person is not None:
        return _count_persons(frame, columns, weight, person)
    names = list(dict.fromkeys(columns))
    if weight is not None:
        units = (nw.col(weight).cast(nw.Float64) / WEIGHT_UNIT).round().cast(nw.Int64)
        frame = frame.select(*names, units.alias(_UNITS))
    grouped = native.group_integers(frame, names, _COUNT, {} if weight is None else {_UNITS: _UNITS})
    if grouped is None:
        figures = [nw.len().cast(nw.Int64).alias(_COUNT)]
        if weight is not None:
            figures.append(nw.col(_UNITS).sum().cast(nw.Int64))
        grouped = native.collect(frame.group_by(*names).agg(*figures) if names else frame.select(*figures))
    counts = grouped[_COUNT].to_numpy().astype(np.int64)
    if counts.sum() == 0:
        raise DataError("The file has no records: there is nothing to count.")
    return KeyTable(
        columns=tuple(columns),
        frame=grouped.select(names),
        counts=counts,
        weights=None if weight is None else grouped[_UNITS].to_numpy().astype(np.float64) * WEIGHT_UNIT,
    )


def _count_persons(frame: native.Frame, columns: Sequence[str], weight: str | None, person: str) -> KeyTable:
    """The same with each person once a key, of his weights there the smallest: fewer people hide him."""
    names = list(dict.fromkeys(columns))
    figures, sums = [nw.len().cast(nw.Int64).alias(_COUNT)], [nw.col(_COUNT).sum(), nw.len().alias(_PEOPLE)]
    if weight is not None:
        units = (nw.col(weight).cast(nw.Float64) / WEIGHT_UNIT).round().cast(nw.Int64)
        frame = frame.with_columns(units.alias(_UNITS))
        figures.append(nw.col(_UNITS).min())
        sums.append(nw.col(_UNITS).sum())
    each = frame.group_by(*names, person).agg(*figures)
    sums = [figure.cast(nw.Int64) for figure in sums]
    grouped = native.collect(each.group_by(*names).agg(*sums) if names else each.select(*sums))
    counts = grouped[_COUNT].fill_null(0).to_numpy().astype(np.int64)
    if counts.sum() == 0:
        raise DataError("The file has no records: there is nothing to count.")
    weights = None if weight is None else grouped[_UNITS].to_numpy().astype(np.float64) * WEIGHT_UNIT
    return KeyTable(
        tuple(columns), grouped.select(names), counts, weights, grouped[_PEOPLE].to_numpy().astype(np.int64)
    )


#: Integers that span no more than this are looked up in a table instead of hashed.
_MAX_SPAN = 1 << 16


def factorise(series: pl.Series) -> tuple[list[object], Codes]:
    """The distinct values of a column, sorted, and the position of each entry among them (-1 for null)."""
    if series.dtype.is_integer() and series.null_count() < len(series):
        low, high = int(series.min()), int(series.max())  # type: ignore[arg-type]
        if high - low <= _MAX_SPAN:
            return _factorise_span(series, low, high)
    categories = distinct(series)
    if not categories:
        return [], np.full(len(series), -1, dtype=np.int32)
    if series.dtype == pl.String:
        codes = series.cast(pl.Enum(pl.Series(categories, dtype=pl.String))).to_physical()
    else:
        known = pl.Series(categories, dtype=series.dtype)
        codes = series.replace_strict(known, pl.Series(range(len(categories)), dtype=pl.Int32))
    return categories, codes.cast(pl.Int32).fill_null(-1).to_numpy()


def _factorise_span(series: pl.Series, low: int, high: int) -> tuple[list[object], Codes]:
    """Integers of a short span: null takes the place behind the last one."""
    offset = (series - low).fill_null(high - low + 1).to_numpy()
    present = np.bincount(offset, minlength=high - low + 2)[:-1] > 0
    code_of = np.full(high - low + 2, -1, dtype=np.int32)
    code_of[:-1][present] = np.arange(present.sum(), dtype=np.int32)
    values: list[object] = [*(np.flatnonzero(present) + low).tolist()]
    return values, code_of[offset]


def pack(codes: Codes, sizes: Sequence[int]) -> NDArray[np.int64]:
    """One integer a row from its codes (-1 allowed), equal exactly where the rows are equal.

    Mixed radix while it fits in 63 bits; beyond that the digits so far are renumbered.
    """
    packed = np.zeros(len(codes), dtype=np.int64)
    room = 1
    for j, size in enumerate(sizes):
        radix = size + 1
        if room * radix >= 2**62:
            _, packed = np.unique(packed, return_inverse=True)
            packed = packed.astype(np.int64)
            room = int(packed.max(initial=0)) + 1
        packed = packed * radix + (codes[:, j] + 1)
        room *= radix
    return packed
