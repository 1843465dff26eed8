"""Polars: joins on keys that may be null."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl

from flou.engine.errors import DataError


def columns(frame: pl.DataFrame | pl.LazyFrame) -> list[str]:
    return frame.collect_schema().names()


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """The streaming engine takes the file by morsels and goes to disk when memory is short."""
    return frame.collect(engine="streaming")


def batches(frame: pl.LazyFrame, size: int) -> Iterator[pl.DataFrame]:
    return iter(frame.collect_batches(chunk_size=size, maintain_order=True, engine="streaming"))


def null_columns(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> set[str]:
    """The columns of Polars' own type Null, in which nothing was ever written."""
    native = frame.to_native()
    if not isinstance(native, pl.DataFrame | pl.LazyFrame):
        return set()
    return {name for name, dtype in native.collect_schema().items() if dtype == pl.Null}


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows in buffers that hold nothing else, instants in UTC.

    Polars shares the buffer of a text column between a frame and what was filtered out of it, and leaves the
    former value beneath a null. A file or a pickle would carry texts of people who were dropped, and values
    that were made undetermined.
    """
    exprs = []
    for name, dtype in frame.schema.items():
        column = pl.col(name)
        if isinstance(dtype, pl.Datetime) and dtype.time_zone not in (None, "UTC"):
            frame = frame.with_columns(column.dt.convert_time_zone("UTC"))
            dtype = frame.schema[name]
        if dtype == pl.String:
            exprs.append(pl.concat_str([column, pl.lit("")]).alias(name))
        elif frame[name].null_count():
            zero = pl.lit(0).cast(dtype)
            exprs.append(pl.when(column.is_not_null()).then(column.fill_null(zero)).alias(name))
    return frame.with_columns(exprs)


def in_one_piece(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """The same rows, in memory each column without seams: sums have the same last digits however the rows came."""
    if isinstance(frame, nw.LazyFrame) or set(frame.to_polars().n_chunks("all")) <= {1}:
        return frame
    return nw.from_native(frame.to_polars().rechunk(), eager_only=True)


def match_eager(
    frame: pl.DataFrame, keys: pl.DataFrame, on: list[str], how: Literal["semi", "anti", "left"]
) -> pl.DataFrame:
    return frame.join(keys, on=on, how=how, nulls_equal=True, maintain_order="left")


def match_lazy(
    frame: pl.LazyFrame, keys: pl.DataFrame, on: list[str], how: Literal["semi", "anti", "left"]
) -> pl.LazyFrame:
    return frame.join(keys.lazy(), on=on, how=how, nulls_equal=True)


#: Cells that a table of packed integer keys may have, and values that packed keys may take.
_MAX_CELLS, _MAX_PACKED = 1 << 24, 1 << 62
#: With so many possible values for each row most occur once; so many rows are sorted in memory.
_SPARSE, _MAX_SORTED = 4, 20_000_000


@dataclass(frozen=True)
class Packing:
    """Integer columns as digits of one number: for each its smallest value and how many it spans, null being one."""

    lows: dict[str, int]
    spans: dict[str, int]

    @classmethod
    def of(cls, rows: pl.LazyFrame | pl.DataFrame, names: list[str], most: int) -> Packing | None:
        """The packing of columns of whole numbers that span little; None where it does not fit."""
        schema = rows.collect_schema()
        if not names or not all(schema[n].is_integer() for n in names):
            return None
        ends = [e for n in names for e in (pl.col(n).min().alias(f"low {n}"), pl.col(n).max().alias(f"high {n}"))]
        row = (collect(rows.select(ends)) if isinstance(rows, pl.LazyFrame) else rows.select(ends)).row(0, named=True)
        if any(value is None for value in row.values()):
            return None
        lows = {n: int(row[f"low {n}"]) for n in names}
        spans = {n: int(row[f"high {n}"]) - lows[n] + 2 for n in names}
        return cls(lows, spans) if math.prod(spans.values()) <= most else None

    @property
    def room(self) -> int:
        return math.prod(self.spans.values())

    def packed(self) -> pl.Expr:
        """One number a row; null where a value is not among those that the packing was made for."""
        place, known, radix = pl.lit(0, dtype=pl.Int64), pl.lit(True), 1
        for name, span in self.spans.items():
            digit = (pl.col(name).cast(pl.Int64) - self.lows[name]).fill_null(span - 1)
            known &= (digit >= 0) & (digit < span)
            place += digit * radix
            radix *= span
        return pl.when(known).then(place)

    def unpacked(self, packed: pl.Series) -> pl.DataFrame:
        """The columns again."""
        columns, left = [], packed
        for name, span in self.spans.items():
            digit = left % span
            left = left // span
            columns.append(pl.select(pl.when(digit < span - 1).then(digit + self.lows[name]).alias(name)).to_series())
        return pl.DataFrame(columns)


def group_packed(frame: pl.LazyFrame, names: list[str], count: str, sums: dict[str, str]) -> pl.DataFrame | None:
    """Group rows by whole numbers packed into one, which takes half the time and memory; None where they do not fit.

    `count` names the number of rows, `sums` the sums of columns. The rows are read twice, so sources that must be
    parsed are left to the ordinary way.
    """
    plan = frame.explain(optimized=False).upper()
    if any(word in plan for word in ("CSV", "JSON", "PYTHON")):
        return None
    packing = Packing.of(frame, names, _MAX_PACKED)
    if packing is None:
        return None
    number = _unused(names)
    rows = frame.select(packing.packed().alias(number), *sums.values())
    n = int(collect(frame.select(pl.len())).item())
    if not sums and packing.room > _SPARSE * n and n <= _MAX_SORTED:
        grouped = _group_sorted(collect(rows).to_series(), count)
    else:
        figures = [pl.len().cast(pl.Int64).alias(count), *(pl.col(c).sum().alias(name) for name, c in sums.items())]
        grouped = collect(rows.group_by(number).agg(figures))
    if grouped[number].null_count():
        raise DataError("The rows changed while they were counted: the file holds values that it did not hold before.")
    return pl.concat([packing.unpacked(grouped[number]), grouped.drop(number)], how="horizontal")


def _group_sorted(packed: pl.Series, count: str) -> pl.DataFrame:
    """Most values occur once: sorting takes less memory than hashing."""
    if packed.null_count():
        return packed.to_frame().head(1).with_columns(pl.lit(None, pl.Int64).alias(packed.name))
    values = np.sort(packed.to_numpy())
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    counts = np.diff(first, append=len(values))
    return pl.DataFrame({packed.name: values[first], count: counts})


def _unused(names: list[str]) -> str:
    return max(names, key=len) + "_packed"


def look_up(frame: pl.LazyFrame, keys: pl.DataFrame, on: list[str]) -> pl.LazyFrame | None:
    """Keys of integers that span little are packed and read off an array, which a join would hash; else None."""
    packing = Packing.of(keys, on, _MAX_CELLS)
    if packing is None:
        return None
    # for each cell the key that stands there, or null
    place = np.full(packing.room, -1, dtype=np.int64)
    place[keys.select(packing.packed()).to_series().to_numpy()] = np.arange(keys.height)
    held = pl.Series(place).replace(-1, None)
    others = [keys[c].gather(held) for c in keys.columns if c not in on]
    return frame.with_columns(pl.lit(values).gather(packing.packed()).alias(values.name) for values in others)
