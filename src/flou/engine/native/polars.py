"""Polars: joins on keys that may be null."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl


def columns(frame: pl.DataFrame | pl.LazyFrame) -> list[str]:
    return frame.collect_schema().names()


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """The streaming engine takes the file by morsels and goes to disk when memory is short."""
    return frame.collect(engine="streaming")


def batches(frame: pl.LazyFrame, size: int) -> Iterator[pl.DataFrame]:
    return iter(frame.collect_batches(chunk_size=size, maintain_order=True, engine="streaming"))


def is_null_type(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], name: str) -> bool:
    """A column of Polars' own type Null, in which nothing was ever written."""
    native = frame.to_native()
    return isinstance(native, pl.DataFrame | pl.LazyFrame) and native.collect_schema()[name] == pl.Null


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


def match_eager(
    frame: pl.DataFrame, keys: pl.DataFrame, on: list[str], how: Literal["semi", "anti", "left"]
) -> pl.DataFrame:
    return frame.join(keys, on=on, how=how, nulls_equal=True, maintain_order="left")


def match_lazy(
    frame: pl.LazyFrame, keys: pl.DataFrame, on: list[str], how: Literal["semi", "anti", "left"]
) -> pl.LazyFrame:
    return frame.join(keys.lazy(), on=on, how=how, nulls_equal=True)


#: Cells that a table of packed integer keys may have.
_MAX_CELLS = 1 << 24


def look_up(frame: pl.LazyFrame, keys: pl.DataFrame, on: list[str]) -> pl.LazyFrame | None:
    """Keys of integers that span little are packed and read off an array, which a join would hash; else None."""
    place, in_keys, room = pl.lit(0, dtype=pl.Int64), np.zeros(keys.height, dtype=np.int64), 1
    for name in on:
        if not keys[name].dtype.is_integer() or keys[name].null_count() == keys.height:
            return None
        low, high = int(keys[name].min()), int(keys[name].max())  # type: ignore[arg-type]
        null = high - low + 1
        if room * (null + 1) > _MAX_CELLS:
            return None
        place += (pl.col(name) - low).fill_null(null) * room
        in_keys += (keys[name] - low).fill_null(null).to_numpy() * room
        room *= null + 1
    found = []
    for name in (c for c in keys.columns if c not in on):
        cells = np.zeros(room, dtype=keys[name].to_numpy().dtype)
        held = np.zeros(room, dtype=bool)
        cells[in_keys], held[in_keys] = keys[name].to_numpy(), True
        values = pl.Series(name, cells) if held.all() else pl.select(pl.when(pl.Series(held)).then(pl.Series(cells)))
        found.append(pl.lit(values if isinstance(values, pl.Series) else values.to_series()).gather(place).alias(name))
    return frame.with_columns(found)
