"""Rows in the store: Parquet parts, read again into memory or by the engine that the rows were in."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import narwhals as nw
import polars as pl

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.native import duckdb
from flou.engine.spool import scan_spool, spool_folder
from flou.job.store.seal import SCANNED, NotKeptError

#: Files of rows that are read into memory.
_LOADED = ".rows.parquet"


def parts(data: Microdata) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files that hold the rows, in their order."""
    if data.native_kind == "spark" and data.is_lazy:
        raise NotKeptError("rows that stay in Spark are not kept")
    batches = native.batches(data.frame) if data.is_lazy else native.collect(data.frame).iter_slices(native.BATCH)
    ending = SCANNED if data.is_lazy else _LOADED
    n_parts = 0
    for batch in batches:
        content = _parquet(batch)
        if not n_parts:
            _require_read_back(data, batch, content)
        yield f"{n_parts:05}{ending}", content
        n_parts += 1
    if not n_parts:
        yield f"{0:05}{ending}", _parquet(native.collect(data.frame))


def _parquet(rows: pl.DataFrame) -> bytes:
    held = io.BytesIO()
    rows.write_parquet(held, compression="lz4", statistics=False)
    return held.getvalue()


def _require_read_back(data: Microdata, batch: pl.DataFrame, content: bytes) -> None:
    """Refuse columns that would come back as another type."""
    same = pl.read_parquet_schema(io.BytesIO(content)) == batch.schema
    if same and data.is_lazy and data.native_kind == "duckdb":
        path = spool_folder() / f"empty{SCANNED}"
        path.write_bytes(_parquet(batch.head(0)))
        same = _scanned(data, path.parent).collect_schema() == data.frame.collect_schema()
    if not same:
        raise NotKeptError("a column has a type that Parquet does not hold")


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
    read = [pl.read_parquet(io.BytesIO(files[name])) for name in sorted(files)]
    return nw.from_native(pl.concat(read).rechunk(), eager_only=True)
