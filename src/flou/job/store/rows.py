"""Rows in the store: Parquet files, read again into memory or by the engine that the rows were in.

Rows in memory are kept column by column, for most steps change one or two; rows in an engine are kept as they pass by.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import narwhals as nw
import numpy as np
import polars as pl

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.native import duckdb
from flou.engine.spool import scan_spool, spool_folder
from flou.job.store.seal import SCANNED, NotKeptError, Writer

#: Files of columns that are read into memory.
_LOADED = ".column.parquet"


def write_rows(writer: Writer, place: str, data: Microdata) -> None:
    """Write the rows of some data into an entry, under names that begin with `place`."""
    if not data.is_lazy:
        for number, column in enumerate(native.collect(data.frame).iter_columns()):
            frame = column.to_frame()
            known = writer.memory.equal(("column", column.name, len(column)), column, _is_same)
            writer.add_value(f"{place}.{number:05}{_LOADED}", known, partial(_parquet, frame))
        return
    if data.native_kind == "spark":
        raise NotKeptError("rows that stay in Spark are not kept")
    if data.native_kind == "duckdb":
        _require_read_back(data)
    for number, batch in enumerate(native.batches(data.frame)):
        writer.add(f"{place}.{number:05}{SCANNED}", _parquet(batch))


def _is_same(one: pl.Series, other: pl.Series) -> bool:
    """Whether two columns are the same to the last bit; 0.0 and -0.0 are equal, but written otherwise."""
    same = one.dtype == other.dtype and one.equals(other)
    if same and one.dtype.is_float():
        signs = [np.signbit(column.fill_null(0.0).to_numpy()) for column in (one, other)]
        return bool((signs[0] == signs[1]).all())
    return same


def _require_read_back(data: Microdata) -> None:
    """Refuse columns that DuckDB would read back as another type."""
    path = spool_folder() / f"empty{SCANNED}"
    path.write_bytes(_parquet(native.collect(data.frame.head(0))))
    if _scanned(data, path.parent).collect_schema() != data.frame.collect_schema():
        raise NotKeptError("a column has a type that Parquet does not hold")


def _parquet(rows: pl.DataFrame) -> bytes:
    held = io.BytesIO()
    rows.write_parquet(held, compression="lz4", statistics=False)
    content = held.getvalue()
    if pl.read_parquet_schema(io.BytesIO(content)) != rows.schema:
        raise NotKeptError("a column has a type that Parquet does not hold")
    return content


def _scanned(data: Microdata, folder: Path) -> native.Frame:
    """The parts of a folder in the engine of some records."""
    if data.native_kind == "duckdb":
        scan: native.Frame = nw.from_native(duckdb.scan_again(data.frame.to_native(), folder))
        return scan
    return nw.from_native(scan_spool(folder))


def read_rows(files: Mapping[str, bytes], scanned: Sequence[Path], original: Microdata) -> native.Frame:
    """The rows again: in memory in one piece, or in the engine of the plan's input."""
    if scanned:
        folder = spool_folder()  # of these rows alone
        for path in scanned:
            path.rename(folder / path.name)
        return _scanned(original, folder)
    columns = [pl.read_parquet(io.BytesIO(files[name])) for name in sorted(files)]
    return nw.from_native(pl.concat(columns, how="horizontal").rechunk(), eager_only=True)
