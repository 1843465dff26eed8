"""Reading and writing: files of every usual kind and PostgreSQL, on Polars, DuckDB or Spark.

Reading is lazy: rows stay in the file until something is counted. A file that does not fit its schema
is refused with the list of what is wrong. Writing puts out only what would be published, batch by
batch, under a temporary name that is renamed when all of it is there; nothing is overwritten silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from flou.describe.formulas import GUESSED, escape_formulas
from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.describe.sink import WRITTEN, Rows, write_file, write_parts
from flou.describe.sources import database
from flou.describe.sources.scan import open_source
from flou.engine import native
from flou.engine.calls import in_words
from flou.engine.data import data_kind
from flou.engine.errors import DataError, OutputError, ParameterError, SchemaError, listed
from flou.engine.output import (
    PRIVATE,
    PUBLIC,
    Formulas,
    checked_path,
    folder_written_whole,
    require_formulas,
    require_new,
    written_whole,
)
from flou.engine.release import Release
from flou.engine.released_file import ReleasedFile
from flou.engine.values import as_texts

if TYPE_CHECKING:
    from flou.describe.table.table import Table
    from flou.describe.table.table_set import TableSet


@in_words("flou.read")
def read(
    source: str | PathLike[str],
    *,
    schema: Schema | str | PathLike[str] | None = None,
    engine: str = "polars",
    table: str | None = None,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    formulas: Formulas | None = None,
    **roles: Any,
) -> Microdata:
    """Read a file as microdata; rows stay in the file until needed (`.collect()` loads them).

    `source` is a CSV, Parquet, Arrow, SPSS, Stata, SAS or Excel file, a folder of CSV, Parquet or Arrow files, a
    pattern with `*`, or a database as `postgresql://user@host/name` with its `table`. `engine` is polars, duckdb,
    spark or the address of a Spark master. `schema` is a `flou.Schema` or the path of a schema file; roles
    can also be given by name, as to `flou.Microdata`. Texts of a CSV file lose the apostrophe that keeps a spreadsheet
    from carrying them out; with `formulas="plain"` they are taken as they stand.
    """
    chosen = native.require_engine(engine, ParameterError)
    described = _schema(schema, roles)
    options: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "formulas": formulas}
    scan = open_source(source, described, table=table, sheet=sheet, **options)
    frame, files = scan.in_engine(chosen)
    data = Microdata.from_source(frame, scan.schema, files, scan.orders)
    if data.n_records == 0:
        raise DataError(f"{_shown(source)!r} has no records.")
    return data


def _schema(schema: object, roles: dict[str, Any]) -> Schema:
    if schema is None:
        return Schema(**roles)
    if roles:
        raise ParameterError("Give either schema= or roles by name, not both.")
    return schema if isinstance(schema, Schema) else Schema.load(checked_path(schema, "A schema file", SchemaError))


def _shown(source: object) -> str:
    return database.without_password(str(source)) if database.is_database(source) else str(source)


@in_words("flou.write")
def write(
    data: Microdata | Table | TableSet | Release,
    target: str | PathLike[str],
    *,
    table: str | None = None,
    rows_per_part: int | None = None,
    overwrite: bool = False,
    unprotected: bool = False,
    formulas: Formulas = "escaped",
) -> Path | str:
    """Write what would be published to a CSV, Parquet or Arrow file, by its ending, or to a database table.

    Identifiers, internal ids and household numbers are never written, and rows stand in an order given by
    their values. Rows in an engine pass by in batches: they need not fit in memory. With `rows_per_part`
    the target becomes a folder of files with that many rows each. A protected table is written as `Table.write` does.
    Records and tables that nothing protects are written with `unprotected=True` alone, readable for the owner: they
    came so, or no step changed or removed anything. In a CSV file, texts that a spreadsheet would carry out get an
    apostrophe in front, unless `formulas="plain"`.
    """
    require_formulas(formulas)
    inner: Any = data.data if isinstance(data, Release) else data
    if data_kind(inner) in ("table", "table set") and table is None and rows_per_part is None:
        inner.write(target, overwrite=overwrite, unprotected=unprotected, formulas=formulas)
        return Path(target)
    if not isinstance(inner, Microdata):
        raise ParameterError(
            f"flou.write takes Microdata, a table, a set of tables or a Release of these, not {type(data).__name__}."
        )
    protected = is_protected(inner)
    if not protected and not unprotected:
        raise OutputError(
            "These records are as they came: nothing protects them. Write a release, plan.protect(people), in which a "
            "step changed or removed something, or pass unprotected=True if the file stays in the office."
        )
    mode = PUBLIC if protected else PRIVATE
    if any(file.is_public for file in inner.kin.files.values()):
        options = {"table": table, "rows_per_part": rows_per_part, "overwrite": overwrite}
        return write_all(inner, target, mode=mode, formulas=formulas, **options)
    return write_records(
        inner, target, table=table, rows_per_part=rows_per_part, overwrite=overwrite, mode=mode, formulas=formulas
    )


def write_all(
    data: Microdata,
    target: str | PathLike[str],
    *,
    mode: int,
    formulas: Formulas,
    **options: Any,
) -> Path:
    """Write the records and the files beside them that the public may read to a new folder, `data.parquet` first."""
    folder = checked_path(target, "A folder to write", OutputError)
    if folder.suffix or any(options.values()):
        names = ["data", *(file.name for file in data.kin.files.values() if file.is_public)]
        raise OutputError(
            f"This release has several files that belong together: {listed(names)}. Write them to a new folder: "
            'flou.write(release, "folder").'
        )
    with folder_written_whole(folder, mode=mode) as new:
        write_records(data, new / "data.parquet", mode=mode, formulas=formulas)
        for file in data.kin.files.values():
            if file.is_public:
                write_beside(file, new, ending="parquet", mode=mode, formulas=formulas)
    return folder


def write_beside(file: ReleasedFile, folder: Path, *, ending: str, mode: int, formulas: Formulas) -> Path:
    """Write a file that a step made beside the data into a folder; tables are CSV files where the data are Parquet."""
    if file.kind == "text":
        target = folder / file.name
        with written_whole(target, mode=mode) as out:
            out.write(file.data.encode())
        return target
    if file.kind == "microdata":
        target = folder / f"{file.name}.{ending}"
        write_records(file.data, target, mode=mode, formulas=formulas)
        return target
    target = folder / (f"{file.name}.csv" if file.kind == "table" else file.name)
    file.data.write(target, formulas=formulas)
    return target


def is_protected(data: Microdata) -> bool:
    """Whether a step changed or removed something of the records; what nobody knows of a copy counts as no.

    Columns that a step added, and other weights, protect nobody.
    """
    if not data.released or data.trail is None:
        return False
    original = data.kin.original
    if any(step.n_records_after < step.n_records_before for step in data.trail.steps):
        return True
    return any(
        change.dropped or change.n_changed != 0
        for step in data.trail.steps
        for change in step.changes
        if original is None or (change.column in original.columns and change.column != original.schema.weight)
    )


def write_records(
    inner: Microdata,
    target: str | PathLike[str],
    *,
    table: str | None = None,
    rows_per_part: int | None = None,
    overwrite: bool = False,
    mode: int,
    formulas: Formulas = "escaped",
) -> Path | str:
    """Write what would be published of records, whatever was done to them; `mode` says who may read the file."""
    if database.is_database(target):
        if table is None or rows_per_part is not None:
            raise ParameterError('A database is written to with table = "name", and without rows_per_part.')
        database.write_table(_rows(inner).take(None), str(target), table, overwrite=overwrite)
        return table
    if table is not None:
        raise ParameterError("table is for a database; a file has none.")
    if rows_per_part is None:
        path = require_writable(target, overwrite=overwrite)
        inner.require_other(path)
        rows = _rows(inner, path, formulas)
        with written_whole(path, overwrite=overwrite, mode=mode) as file:
            write_file(rows.take(None), rows.schema, file, WRITTEN[path.suffix.lower()])
        return path
    if isinstance(rows_per_part, bool) or not isinstance(rows_per_part, int) or rows_per_part < 1:
        raise ParameterError(f"rows_per_part = {rows_per_part!r} must be a whole number, 1 at least.")
    path = _require_suffix(target)
    with folder_written_whole(path, mode=mode) as folder:
        write_parts(_rows(inner, path, formulas), folder, path.suffix.lower(), rows_per_part)
    return path


def _rows(data: Microdata, path: Path | None = None, formulas: Formulas = "plain") -> Rows:
    """The rows to write, as the kind of file wants them."""
    published = data.public()
    rows = _unchanged(published)
    if path is not None and WRITTEN[path.suffix.lower()] in GUESSED:  # where a column has no type
        rows = (batch.with_columns(map(as_texts, batch.select(cs.duration()))) for batch in rows)
    if path is not None and formulas == "escaped" and WRITTEN[path.suffix.lower()] in GUESSED:
        rows = (escape_formulas(batch, published.schema.declared_modalities) for batch in rows)
    return Rows(rows, published.n_records)


def _unchanged(published: Microdata) -> Iterator[pl.DataFrame]:
    """The rows; behind the last one it is sure that they all came from the file that was opened."""
    yield from native.batches(published.frame)
    published.require_unchanged()


def _require_suffix(path: object) -> Path:
    target = checked_path(path, "A file to write", OutputError)
    if target.suffix.lower() not in WRITTEN:
        raise ParameterError(f"{str(path)!r} is not of a kind that Flou writes: .csv, .parquet, .arrow.")
    if not target.parent.is_dir():
        raise OutputError(f"The folder {str(target.parent)!r} does not exist; make it first.")
    return target


def require_writable(path: object, *, overwrite: bool = False) -> Path:
    """Refuse a target of unknown kind, or one that exists, before any work is done."""
    target = _require_suffix(path)
    require_new(target, overwrite=overwrite)
    return target
