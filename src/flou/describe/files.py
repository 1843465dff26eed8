"""Reading and writing files: CSV, Parquet (file, folder, glob) and Arrow, on Polars or DuckDB.

Reading is lazy: rows stay in the file until something is counted. A file that does not fit its schema
is refused with the list of what is wrong. Writing puts on disk only what would be published, under a
temporary name that is renamed when all of it is there; nothing is overwritten silently.
"""

from __future__ import annotations

import glob
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import polars as pl

from flou.describe.check import check_values
from flou.describe.csv_file import scan_csv
from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.engine import native
from flou.engine.errors import DataError, MissingExtraError, OutputError, ParameterError, SchemaError, did_you_mean
from flou.engine.native import ENGINES, first_line
from flou.engine.output import checked_path, require_new, written_whole
from flou.engine.release import Release

Engine = Literal["polars", "duckdb"]
_KINDS = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


def read(
    source: str | PathLike[str],
    *,
    schema: Schema | str | PathLike[str] | None = None,
    engine: Engine = "polars",
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    **roles: Any,
) -> Microdata:
    """Read a file as microdata; rows stay in the file until needed (`.collect()` loads them).

    `source` is a CSV, Parquet or Arrow file, a folder of Parquet files or a pattern with `*`. `schema` is
    a `flou.Schema` or the path of a schema file; roles can also be given by name, as to `flou.Microdata`.
    """
    if engine not in ENGINES:
        raise ParameterError(f"engine = {engine!r} is not known.{did_you_mean(str(engine), ENGINES)}")
    described = _schema(schema, roles)
    kind, path, pattern = _locate(source)
    frame: object
    if kind == "csv":
        frame = scan_csv(
            _files(path, pattern),
            delimiter=delimiter,
            encoding="utf-8" if encoding is None else encoding,
            decimal="." if decimal is None else decimal,
            types=described.types,
            undetermined=described.undetermined,
        )
    elif (delimiter, encoding, decimal) != (None, None, None):
        raise ParameterError(f"delimiter, encoding and decimal are for CSV files; {path!r} is {kind}.")
    else:
        frame = _scan(path, kind, pattern)
    if engine == "duckdb":
        frame = _in_duckdb(frame, path, kind, pattern)
    data = Microdata(frame, described)
    if data.n_records == 0:
        raise DataError(f"{str(source)!r} has no records.")
    check_values(data.frame, described)
    return data


def _schema(schema: object, roles: dict[str, Any]) -> Schema:
    if schema is None:
        return Schema(**roles)
    if roles:
        raise ParameterError("Give either schema= or roles by name, not both.")
    return schema if isinstance(schema, Schema) else Schema.load(checked_path(schema, "A schema file", SchemaError))


def _locate(source: object) -> tuple[str, str, bool]:
    """The kind of a source, its path or pattern, and whether it is a pattern."""
    path = checked_path(source, "A file to read", DataError)
    text = str(path) if str(source) else ""
    if text and path.is_dir():
        if not list(path.glob("*.parquet")):
            raise DataError(f"The folder {text!r} holds no .parquet files.")
        return "parquet", str(Path(glob.escape(text)) / "*.parquet"), True
    pattern = not path.exists() and any(c in text for c in "*?[")
    if pattern and not glob.glob(text):
        raise DataError(f"No file matches {text!r}.")
    if not pattern and not path.is_file():
        near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() and path.name else []
        raise DataError(f"There is no file {text!r}.{did_you_mean(path.name, near) if near else ''}")
    if not pattern and path.stat().st_size == 0:
        raise DataError(f"The file {text!r} is empty.")
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{text!r} is not of a kind that Flou reads: {', '.join(_KINDS)}.")
    return kind, text, pattern


def _files(path: str, pattern: bool) -> list[Path]:
    return [Path(p) for p in sorted(glob.glob(path))] if pattern else [Path(path)]


def _scan(path: str, kind: str, pattern: bool) -> pl.LazyFrame:
    try:
        frame = pl.scan_parquet(path, glob=pattern) if kind == "parquet" else pl.scan_ipc(path, glob=pattern)
        frame.collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise DataError(
            f"{path!r} cannot be read as {kind}: it is damaged, truncated or of another kind ({first_line(error)})."
        ) from None
    return frame


def _in_duckdb(frame: object, path: str, kind: str, pattern: bool) -> object:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("duckdb", "duckdb") from None
    connection = duckdb.connect()
    assert isinstance(frame, pl.LazyFrame)
    if kind == "parquet":
        with native.engine_errors():
            return connection.read_parquet(path if pattern else glob.escape(path))
    # other kinds go through our own reader, so that every engine sees the same types
    return connection.from_arrow(native.collect(nw.from_native(frame)).to_arrow())


def write(data: Microdata | Release, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
    """Write what would be published to a CSV, Parquet or Arrow file, by its ending.

    Identifiers, internal ids and household numbers are never written, and rows stand in an order given by
    their values.
    """
    target = require_writable(path, overwrite=overwrite)
    inner = data.data if isinstance(data, Release) else data
    if not isinstance(inner, Microdata):
        raise ParameterError(f"flou.write takes Microdata or a Release, not {type(data).__name__}.")
    # one chunk: the chunks of a scan depend on threads and would shape the file
    rows = native.collect(native.compact(inner.public().frame)).rechunk()
    kind = _KINDS[target.suffix.lower()]
    with written_whole(target, overwrite=overwrite) as file:
        if kind == "csv":
            rows.write_csv(file)
        elif kind == "parquet":
            rows.write_parquet(file, compression="zstd", statistics=False, row_group_size=1 << 18)
        else:
            rows.write_ipc(file, compression="zstd")
    return target


def require_writable(path: object, *, overwrite: bool = False) -> Path:
    """Refuse a target of unknown kind, or one that exists, before any work is done."""
    target = checked_path(path, "A file to write", OutputError)
    if target.suffix.lower() not in _KINDS:
        raise ParameterError(f"{str(path)!r} is not of a kind that Flou writes: .csv, .parquet, .arrow.")
    if not target.parent.is_dir():
        raise OutputError(f"The folder {str(target.parent)!r} does not exist; make it first.")
    require_new(target, overwrite=overwrite)
    return target
