"""Columns of every record in memory, in the order of unit ids, and the way back to the file.

A perturbation works on values, not on keys. What it needs of them is read in one pass and sorted by unit
id, so that nothing it computes, down to the last digit of a sum, depends on the order of rows or on the
engine; the other columns stay where they are. Changed columns go back by place where rows have one, by unit
id where they do not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.describe.units import declared_ids
from flou.engine import native
from flou.engine.errors import DataError
from flou.engine.method import require_columns
from flou.engine.values import codes_in, text_of
from flou.protect.micro.exact_floats import exact_floats

_ID = f"{native.RESERVED}id"
#: From the lowest, up to and without the end, rounding included: whole numbers of 64 bits, and the years 1 to 9999 in
#: days from 1970.
_WHOLE = (-(2.0**63), 2.0**63)
_DAYS = (-719_162.0, 2_932_896.5)


@dataclass(frozen=True)
class Rows:
    """Some columns of all records, in the order of their ids."""

    data: Microdata
    #: What randomness hangs on, sorted.
    ids: NDArray[Any]
    frame: pl.DataFrame
    #: Whose row each is, whatever becomes of its values.
    owners: NDArray[Any]
    #: Where each of these rows stands in the file; None where they are in that order already, or have no place.
    _places: NDArray[np.intp] | None

    def __len__(self) -> int:
        return len(self.ids)

    def put_back(self, columns: Mapping[str, pl.Series], schema: Schema | None = None) -> Microdata:
        """The data with these columns replaced, or added at the end."""
        data = self.data
        if not data.is_lazy:
            rows = native.collect(data.frame).with_columns(
                self.in_place(values).alias(name) for name, values in columns.items()
            )
            return data.with_frame(nw.from_native(rows, eager_only=True), schema)
        unit = data.unit_column
        new = {f"{native.RESERVED}new_{i}": name for i, name in enumerate(columns)}
        table = pl.DataFrame({unit: self.ids, **{short: columns[name] for short, name in new.items()}})
        names = data.frame.collect_schema().names()
        joined = native.match_keys(data.frame, table, [unit], "left")
        shown = [nw.col(short).alias(name) for short, name in new.items()]
        order = [*names, *(n for n in columns if n not in names)]
        return data.with_frame(joined.with_columns(*shown).select(*order), schema)

    def in_place(self, values: pl.Series) -> pl.Series:
        """Values of these rows in the order of the file."""
        if self._places is None:
            return values
        back = np.empty(len(values), dtype=np.int64)
        back[self._places] = np.arange(len(values))
        return values.gather(back)

    def amounts(self, column: str) -> Amounts:
        """A numeric or date column as numbers."""
        return Amounts.of(self.data, self.frame[column])

    def strata(self, by: Sequence[str]) -> NDArray[np.int64]:
        """The number of each record's stratum, 0 where there are no strata; a null is a value like any other."""
        return stratum_numbers(self.frame, by) if by else np.zeros(len(self), dtype=np.int64)


def read_rows(data: Microdata, columns: Sequence[str], what: str) -> Rows:
    """Read columns of every record; `what` names the method in the error that a missing column raises."""
    wanted = list(dict.fromkeys(columns))
    require_columns(data, tuple(wanted), what)
    if data.schema.id is None:
        ids, owners = data.unit_ids(), data.owners()  # refused where rows have no order
        rows = native.collect(data.frame.select(*wanted)) if wanted else pl.DataFrame()
    else:
        read = native.collect(data.frame.select(nw.col(data.schema.id).alias(_ID), *wanted))
        ids, rows = declared_ids(read[_ID]), read.drop(_ID)
        owners = ids
    places = _sorted_places(ids)
    if places is None:
        return Rows(data, ids, rows, owners, None)
    return Rows(data, ids[places], rows[places] if wanted else rows, owners[places], places)


def _sorted_places(ids: NDArray[Any]) -> NDArray[np.intp] | None:
    """The order that sorts ids, which all differ; None where they are sorted."""
    if len(ids) < 2 or bool((ids[1:] > ids[:-1]).all()):
        return None
    if ids.dtype.kind == "i":
        low, span = int(ids.min()), int(ids.max()) - int(ids.min()) + 1
        if span <= 8 * len(ids):  # each goes straight to its place
            rows = np.full(span, -1, dtype=np.intp)
            rows[ids - low] = np.arange(len(ids))
            return rows[rows >= 0]
    return np.argsort(ids, kind="stable")


def stratum_numbers(frame: pl.DataFrame, by: Sequence[str]) -> NDArray[np.int64]:
    """Numbers of the distinct combinations of some columns, in the order of their values."""
    if not by:
        return np.zeros(frame.height, dtype=np.int64)
    distinct = frame.select(by).unique().sort(by, nulls_last=True).with_row_index(_ID)
    numbers = frame.select(by).join(distinct, on=by, how="left", nulls_equal=True, maintain_order="left")[_ID]
    return numbers.cast(pl.Int64).to_numpy()


def stratum_names(frame: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """What the strata are called, in the order of their numbers; one without a name where there are none."""
    if not by:
        return [""]
    distinct = frame.select(by).unique().sort(by, nulls_last=True)
    return [json.dumps([text_of(v) for v in row], ensure_ascii=False) for row in distinct.iter_rows()]


@dataclass(frozen=True)
class Amounts:
    """The values of a numeric or date column as floats; dates are days since 1970."""

    column: str
    #: NaN where there is none.
    values: NDArray[np.float64]
    #: Whether a record has an amount: nulls and not-applicable codes such as 999 have none and stay as they are.
    known: NDArray[np.bool_]
    held: pl.Series
    #: Numbers that mean "not applicable" in this column: no new value may be one of them.
    codes: NDArray[np.float64]

    @classmethod
    def of(cls, data: Microdata, held: pl.Series) -> Amounts:
        dtype = held.dtype
        if not (dtype.is_numeric() or dtype == pl.Date):
            hint = " Convert it to a date, without the time." if dtype == pl.Datetime else ""
            raise DataError(f"A column of numbers or dates is needed; {held.name!r} is {dtype}.{hint}")
        codes = codes_in(data.frame.collect_schema()[held.name], data.schema.not_applicable.get(held.name, ()))
        known = held.is_not_null() & ~held.is_in(codes) if codes else held.is_not_null()
        mask = known.fill_null(False).to_numpy()
        values, taken = _numbers(held), _numbers(pl.Series(codes, dtype=dtype))
        return cls(held.name, values if mask.all() else np.where(mask, values, np.nan), mask, held, taken)

    @property
    def whole(self) -> bool:
        """Whether the column holds whole numbers or days."""
        return self.held.dtype.is_integer() or self.held.dtype == pl.Date

    def shown(self, values: NDArray[np.float64]) -> pl.Series:
        """New values in the column's type, where there were values; whole numbers are rounded."""
        everybody = bool(self.known.all())
        filled = values if everybody else np.where(self.known, values, 0.0)
        if not np.isfinite(filled).all():
            raise DataError(f"The new values of {self.column!r} are not all finite numbers; nothing is released.")
        low, high = _DAYS if self.held.dtype == pl.Date else _WHOLE
        if self.whole and not ((filled >= low) & (filled < high)).all():
            raise DataError(
                f"The new values of {self.column!r} go beyond what the column holds: "
                f"{'the years 1 to 9999' if self.held.dtype == pl.Date else 'whole numbers below 9.2e18'}. Code its "
                "largest values first, for instance by top_code; nothing is released."
            )
        new = pl.Series(self.column, np.rint(filled).astype(np.int64) if self.whole else filled)
        if self.held.dtype == pl.Date:
            new = new.cast(pl.Int32).cast(pl.Date)
        return new if everybody else self.held.cast(new.dtype).zip_with(pl.Series(~self.known), new)


def _numbers(held: pl.Series) -> NDArray[np.float64]:
    """Numbers, or dates as days since 1970, as floats; NaN where there is none."""
    numbers = held.cast(pl.Int32) if held.dtype == pl.Date else held
    return exact_floats(numbers).fill_null(float("nan")).to_numpy()
