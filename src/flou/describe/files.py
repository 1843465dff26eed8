"""Reading and writing files: CSV, Parquet (file, folder, glob) and Arrow, on Polars or DuckDB.

Reading is lazy: rows stay in the file until something is counted. A file that does not fit its schema
is refused with the list of what is wrong. Writing puts on disk only what would be published, under a
temporary name that is renamed when all of it is there; nothing is overwritten silently.
"""

from __future__ import annotations

import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import polars as pl

from flou.describe.check import check_values
from flou.describe.csv import scan_csv
from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.engine import native
from flou.engine.errors import DataError, MissingExtraError, OutputError, ParameterError, did_you_mean
from flou.engine.native import first_line
from flou.engine.release import Release

Engine = Literal["polars", "duckdb"]
ENGINES = ("polars", "duckdb")
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
    encoding: str = "utf-8",
    **roles: Any,
) -> Microdata:
    """Read a file as microdata; rows stay in the file until needed (`.collect()` loads them).

    `source` is a CSV, Parquet or Arrow file, a folder of Parquet files or a pattern with `*`. `schema` is
    a `flou.Schema` or the path of a schema file; roles can also be given by name, as to `flou.Microdata`.
    """
    if engine not in ENGINES:
        raise ParameterError(f"engine = {engine!r} is not known.{did_you_mean(str(engine), ENGINES)}")
    described = schema if isinstance(schema, Schema) or schema is None else Schema.load(schema)
    if described is not None and roles:
        raise ParameterError("Give either schema= or roles by name, not both.")
    if described is None:
        described = Schema(**roles)
    kind, path = _locate(source)
    frame: object
    if kind == "csv":
        frame = scan_csv(
            path,
            delimiter=delimiter,
            encoding=encoding,
            types=described.types,
            undetermined=described.undetermined,
        )
    elif delimiter is not None:
        raise ParameterError(f"delimiter= is for CSV files; {path!r} is {kind}.")
    else:
        frame = _scan(path, kind)
    if engine == "duckdb":
        frame = _in_duckdb(frame, path, kind)
    data = Microdata(frame, described)
    if data.n_records == 0:
        raise DataError(f"{str(source)!r} has no records.")
    check_values(data.frame, described)
    return data


def _locate(source: str | PathLike[str]) -> tuple[str, str]:
    """The kind of a source and the path or pattern its reader takes."""
    text = os.fspath(source)
    if any(c in text for c in "*?["):
        folder = Path(text).parent if Path(text).parent != Path() else Path()
        if not list(folder.glob(Path(text).name)):
            raise DataError(f"No file matches {text!r}.")
        kind = _KINDS.get(Path(text).suffix.lower())
    else:
        path = Path(text)
        if not path.exists():
            near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            raise DataError(f"There is no file {text!r}.{did_you_mean(path.name, near) if near else ''}")
        if path.is_dir():
            if not list(path.glob("*.parquet")):
                raise DataError(f"The folder {text!r} holds no .parquet files.")
            return "parquet", str(path / "*.parquet")
        if path.stat().st_size == 0:
            raise DataError(f"The file {text!r} is empty.")
        kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{text!r} is not of a kind that Flou reads: {', '.join(_KINDS)}.")
    return kind, text


def _scan(path: str, kind: str) -> pl.LazyFrame:
    try:
        frame = pl.scan_parquet(path) if kind == "parquet" else pl.scan_ipc(path)
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(
            f"{path!r} cannot be read as {kind}: it is damaged, truncated or of another kind ({first_line(error)})."
        ) from None
    return frame


def _in_duckdb(frame: object, path: str, kind: str) -> object:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("duckdb", "duckdb") from None
    connection = duckdb.connect()
    if kind == "parquet":
        return connection.read_parquet(path)
    # CSV goes through our own reader, so that every engine sees the same types
    assert isinstance(frame, pl.LazyFrame)
    return connection.from_arrow(frame.collect().to_arrow())


def write(data: Microdata | Release, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
    """Write what would be published to a CSV, Parquet or Arrow file, by its ending.

    Identifiers, internal ids and household numbers are never written, and rows stand in an order given by
    their values.
    """
    target = Path(path)
    kind = _KINDS.get(target.suffix.lower())
    if kind is None:
        raise ParameterError(f"{str(path)!r} is not of a kind that Flou writes: .csv, .parquet, .arrow.")
    inner = data.data if isinstance(data, Release) else data
    if not isinstance(inner, Microdata):
        raise ParameterError(f"flou.write takes Microdata or a Release, not {type(data).__name__}.")
    if target.exists() and not overwrite:
        raise OutputError(f"{str(path)!r} exists and is not overwritten. Choose another name or pass overwrite=True.")
    rows = native.collect(inner.public().frame)
    write_frame(rows, target, kind)
    return target


def write_frame(rows: pl.DataFrame, target: Path, kind: str) -> None:
    """Write under a temporary name beside the target, then rename: a reader never sees half a file."""
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise OutputError(f"{str(target)!r} cannot be written ({error.strerror}).") from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if kind == "csv":
                rows.write_csv(file)
            elif kind == "parquet":
                rows.write_parquet(file, compression="zstd", statistics=False)
            else:
                rows.write_ipc(file, compression="zstd")
        temporary.chmod(0o644)
        temporary.replace(target)
    except (OSError, pl.exceptions.PolarsError) as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(
            f"{str(target)!r} could not be written: {first_line(error)}. Nothing was left behind."
        ) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
