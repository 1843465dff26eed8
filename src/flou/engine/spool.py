"""A private place on disk for rows that come from a source which cannot be scanned again and again.

A database, a survey file or a CSV file for DuckDB is read once, batch by batch, into Parquet parts that
every engine then scans: memory stays small, and what is counted twice is counted on the same rows. The
folder is for the owner alone and goes when the process ends; `TMPDIR` says where it is made.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from flou.engine.errors import DataError


def spool_folder() -> Path:
    """A new folder that only the owner can enter, removed at the end of the process."""
    folder = Path(tempfile.mkdtemp(prefix="flou-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def spooled(batches: Iterable[pl.DataFrame]) -> Path:
    """Write batches of one schema as Parquet parts; the folder that holds them."""
    folder = spool_folder()
    try:
        n_parts = 0
        for batch in batches:
            batch.write_parquet(folder / f"part-{n_parts:05}.parquet", compression="lz4", statistics=False)
            n_parts += 1
        if not n_parts:
            raise DataError("The source has no records.")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def scan_spool(folder: Path) -> pl.LazyFrame:
    """The rows of a spool, in the order in which they came."""
    return pl.scan_parquet(folder / "*.parquet")


def spooled_scan(frame: pl.LazyFrame) -> Path:
    """Write the rows of a scan as one Parquet file, streaming; its path."""
    path = spool_folder() / "part-00000.parquet"
    frame.sink_parquet(path, compression="lz4", statistics=False)
    return path
