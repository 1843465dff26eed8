"""A private place on disk for rows that come from a source which cannot be scanned again and again.

A database, a survey file or a CSV file for DuckDB is read once, batch by batch, into Parquet parts that
every engine then scans: memory stays small, and what is counted twice is counted on the same rows. The
folder is for the owner alone and goes when the process ends; `TMPDIR` says where it is made. A process that
is killed leaves its folder behind: the next one removes it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import polars as pl

from flou.engine import claim
from flou.engine.errors import DataError


def spool_folder() -> Path:
    """A new folder that only the owner can enter, removed at the end of the process."""
    return Path(tempfile.mkdtemp(dir=_home(tempfile.gettempdir(), os.getpid())))


@cache
def _home(place: str, process: int) -> Path:
    """The folder of this process for its spools, locked until the process ends, however it does."""
    _, folder = claim.new_folder(Path(place), claim.SPOOL)
    atexit.register(_remove_own, folder, process)
    return folder


def _remove_own(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked child ends before its parent has read everything
        shutil.rmtree(folder, ignore_errors=True)


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
