"""Rows to a file, some at a time: the same rows give the same bytes, whichever engine they come from."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import copy_context
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from flou.engine.native import BATCH
from flou.engine.progress import tell

#: Ending → kind of file that is written.
WRITTEN = {
    ".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow",
    ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip


class Rows:
    """Batches of rows that can be taken part by part."""

    def __init__(self, batches: Iterator[pl.DataFrame], total: int) -> None:
        first = next(batches)
        self.schema = first.schema
        self._batches = chain([first], batches)
        self._left: pl.DataFrame | None = None
        self._done, self._total = 0, total
        # the writer asks for rows in a thread of its own, where nobody listens to progress
        self._context = copy_context()

    def take(self, most: int | None) -> Iterator[pl.DataFrame]:
        """The next rows, `most` of them at most; all without a bound."""
        taken = 0
        while most is None or taken < most:
            batch = self._left if self._left is not None else next(self._batches, None)
            self._left = None
            if batch is None:
                return
            if most is not None and taken + batch.height > most:
                batch, self._left = batch[: most - taken], batch[most - taken :]
            taken += batch.height
            self._done += batch.height
            self._context.run(tell, "write data", self._done, self._total)
            yield batch

    @property
    def exhausted(self) -> bool:
        if self._left is None:
            self._left = next(self._batches, None)
        return self._left is None


def write_file(rows: Iterator[pl.DataFrame], schema: pl.Schema, file: Any, kind: str) -> None:
    """Write rows as they come. Groups of rows have one size, so that batches do not shape the file."""
    stopped: list[BaseException] = []

    def source(columns: object, predicate: object, n_rows: object, size: object) -> Iterator[pl.DataFrame]:
        try:
            yield from rows
        except BaseException as error:
            stopped.append(error)
            raise

    scan = register_io_source(source, schema=schema, validate_schema=True)
    try:
        if kind in ("csv", "tsv"):
            scan.sink_csv(file, check_extension=False, separator="\t" if kind == "tsv" else ",")
        elif kind == "parquet":
            scan.sink_parquet(file, compression="zstd", statistics=False, row_group_size=BATCH)
        else:
            scan.sink_ipc(file, compression="zstd", record_batch_size=BATCH)
    except (Exception, pl.exceptions.PanicException):
        if stopped:
            raise stopped[0] from None
        raise


def write_parts(rows: Rows, folder: Path, suffix: str, rows_per_part: int) -> None:
    """Write rows as numbered files of one size into a folder."""
    number = 0
    while number == 0 or not rows.exhausted:
        with (folder / f"part-{number:05}{suffix}").open("wb") as file:
            write_file(rows.take(rows_per_part), rows.schema, file, WRITTEN[suffix])
        number += 1
