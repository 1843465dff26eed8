"""Continuous columns, as arrays: those of a file, or of a file beside the one that it was made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.keys import KeyTable
from flou.engine.method import require_columns
from flou.engine.parameters import Scalar
from flou.engine.release import Trail
from flou.engine.values import codes_in

Floats = NDArray[np.float64]
#: Beyond this squares overflow.
_LARGEST = 1e120


@dataclass(frozen=True, eq=False)
class Records:
    """One row a record: whose it is, and its values, NaN where they are undetermined."""

    data: Microdata
    units: KeyTable
    values: Floats


def continuous_columns(data: Microdata, given: tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns to look at: as given, else the numbers that are neither keys nor describe the survey."""
    schema = data.frame.collect_schema()
    if given is not None:
        require_columns(data, given, "columns")
        wrong = [c for c in given if not schema[c].is_numeric()]
        if wrong:
            raise ParameterError(f"columns names {listed(wrong)}, which holds no numbers.")
        hidden = [c for c in given if c in data.schema.hidden]
        if hidden:
            raise ParameterError(f"columns names {listed(hidden)}, which is never published.")
        return given
    found = [c for c in data.columns if schema[c].is_numeric() and set(data.schema.roles(c)) <= {"sensitive"}]
    if not found:
        raise DataError("The file has no continuous column: name them with columns = […]. Keys are not looked at here.")
    return tuple(found)


def records(data: Microdata, columns: tuple[str, ...]) -> Records:
    """The records of a file in memory, in the order of its rows."""
    unit = data.unit_column
    held = data.numbered()
    rows = native.collect(held.frame.select(unit, *columns))
    if not rows.height:
        raise DataError("The file has no records: there is nothing to measure.")
    if rows[unit].null_count() or rows[unit].n_unique() < rows.height:
        raise DataError(f"The id {unit!r} must be unique and never null for records to be told apart.")
    units = KeyTable((unit,), rows.select(unit), np.ones(rows.height, dtype=np.int64), None)
    return Records(held, units, _matrix(rows, columns, data.schema.not_applicable))


def paired(
    data: Microdata, original: Microdata, columns: tuple[str, ...], pair: Literal["id", "row"]
) -> tuple[Records, Floats]:
    """The records of a file, and the values that each of them had in the original."""
    require_columns(original, columns, "The original lacks a column: columns")
    theirs_schema = original.frame.collect_schema()
    texts = [c for c in columns if not theirs_schema[c].is_numeric()]
    if texts:
        raise DataError(f"The original holds no numbers in {listed(texts)}: the two files cannot be compared.")
    if (data.schema.id is None) != (original.schema.id is None):
        raise DataError(
            "The file and its original must both declare the role id, or neither: records are paired by it."
        )
    ours, theirs = records(data, columns), records(original, columns)
    if data.schema.id is None:
        _require_same_order(data, original, pair)
    mine, other = ours.units.frame.columns[0], theirs.units.frame.columns[0]
    numbered = theirs.units.frame.select(pl.col(other).alias(mine)).with_row_index("__flou_place")
    try:
        place = ours.units.frame.join(numbered, on=mine, how="left", maintain_order="left")["__flou_place"]
    except pl.exceptions.PolarsError:
        raise DataError(
            "The ids of the file and of the original are of different types: nobody is found again."
        ) from None
    if place.null_count():
        raise DataError(f"{place.null_count():,} records of the file are not in the original: they have other ids.")
    return ours, theirs.values[place.to_numpy()]


def _require_same_order(data: Microdata, original: Microdata, pair: str) -> None:
    """Without an id rows are paired by their number: refuse where that may be wrong."""
    if data.released and data.trail is not None:
        _require_made_from(data, data.trail, original)
        return
    if pair != "row":
        raise DataError(
            "No id says which records of the two files belong together. Declare the role id in both, or give "
            'pair = "row" if their rows are the same people in the same order.'
        )
    if data.n_records != original.n_records:
        raise DataError(
            f"The file has {data.n_records:,} records and the original {original.n_records:,}: rows cannot be paired "
            "by their number. Declare the role id in both."
        )


def _require_made_from(data: Microdata, trail: Trail, original: Microdata) -> None:
    """A release remembers the number of each row: what no step changed must be what the original has there."""
    changed = {change.column for step in trail.steps for change in step.changes}
    same = [c for c in data.columns if c in original.columns and c not in changed]
    rows = native.collect(data.numbered().frame)
    place = rows[data.unit_column].to_numpy()
    beyond = bool(len(place)) and place.max() >= original.n_records
    if beyond or (same and not rows.select(same).equals(native.collect(original.frame.select(*same))[place])):
        raise DataError(
            "The columns that no step changed differ between the release and the original, row by row: it was made "
            "from another file, or from these rows in another order. Declare the role id in both."
        )


def spreads(values: Floats, columns: tuple[str, ...]) -> Floats:
    """The standard deviation of each column; a constant one has none that could be compared."""
    found = _deviations(values)
    constant = [c for c, s in zip(columns, found, strict=True) if not s > 0]
    if constant:
        raise DataError(f"There is one value only in {listed(constant)}, which tells no records apart: leave it out.")
    return found


def spreads_or(values: Floats, others: Floats) -> Floats:
    """The standard deviation of each column, or another where a column is constant."""
    found = _deviations(values)
    return np.asarray(np.where(found > 0, found, others))


def _deviations(values: Floats) -> Floats:
    return np.array([np.std(c[~np.isnan(c)], ddof=1) if (~np.isnan(c)).sum() > 1 else 0.0 for c in values.T])


def _matrix(rows: pl.DataFrame, columns: tuple[str, ...], codes: Mapping[str, Sequence[Scalar]]) -> Floats:
    """Columns as numbers, NaN where a value is undetermined or a code that is no amount."""
    arrays = []
    for name in columns:
        held = rows[name]
        no_amount = codes_in(held.dtype, codes.get(name, ()))
        values = held.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        if no_amount:
            values = np.where(held.is_in(no_amount).fill_null(False).to_numpy(), np.nan, values)
        if (np.abs(values) > _LARGEST).any():
            raise DataError(f"The column {name!r} holds infinite values, or nearly: mend them, or leave it out.")
        if np.isnan(values).all():
            raise DataError(f"The column {name!r} has no value in any record: leave it out.")
        arrays.append(values)
    return np.stack(arrays, axis=1)
