"""Opening a source: what kind it is, its rows as a scan, and what the file itself says about its columns.

Parquet, Arrow and CSV files are scanned where they are. What can be read only once, from front to back
(survey files, a database), is taken batch by batch into a spool, which is then scanned like Parquet.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from flou.describe.schema import Schema
from flou.describe.sources import database, excel_file, survey_file
from flou.describe.sources.csv_file import scan_csv
from flou.engine import native
from flou.engine.errors import DataError, MissingExtraError, ParameterError, did_you_mean, listed
from flou.engine.native import arrow, duckdb, first_line, spark
from flou.engine.native.source import Source
from flou.engine.output import checked_path
from flou.engine.spool import scan_spool, spooled_scan

#: Ending → kind of file.
KINDS = {
    ".csv": "csv", ".txt": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow",
    ".feather": "arrow", ".ipc": "arrow", **dict.fromkeys(survey_file.SUFFIXES, "survey"),
    **dict.fromkeys(excel_file.SUFFIXES, "excel"),
}  # fmt: skip
#: Endings of files that are read together when a folder holds them.
_PARTS = (".parquet", ".pq", ".csv", ".tsv", ".arrow", ".feather", ".ipc")
#: Kinds of source in words.
_NAMES = {
    "csv": "a CSV file", "parquet": "Parquet", "arrow": "an Arrow file", "survey": "a survey file",
    "excel": "an Excel file", "database": "a database",
}  # fmt: skip
#: Option of `read` → the one kind of source it is for.
_OPTIONS = {
    "delimiter": "csv",
    "encoding": "csv",
    "decimal": "csv",
    "formulas": "csv",
    "sheet": "excel",
    "table": "database",
}


@dataclass(frozen=True)
class Scan:
    """An opened source: its rows, its Parquet files if it has such, the files to watch, and its schema."""

    frame: pl.LazyFrame
    schema: Schema
    parquet: tuple[str, ...] = ()
    source: Source | None = None
    #: The order of categories that the files bring and a scan does not show.
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def in_engine(self, engine: str) -> tuple[object, Source | None]:
        """The rows as a frame of an engine, and the files that must not change while it is used."""
        if engine == "polars":
            return self.frame, self.source
        files, source = list(self.parquet), self.source
        if not files:
            # other kinds go through our own reader, so that every engine sees the same types
            with native.engine_errors():
                files, source = [str(spooled_scan(self.frame))], None
            if self.source is not None:
                self.source.require_unchanged()
        with native.engine_errors():
            if engine == "duckdb":
                return _in_duckdb(files), source
            return spark.scan_parquet(engine, files), source


def _in_duckdb(files: list[str]) -> object:
    try:
        return duckdb.scan_files(files)
    except ImportError:
        raise MissingExtraError("duckdb", "duckdb") from None


def open_source(source: object, schema: Schema, *, keep_blanks: bool = False, **options: Any) -> Scan:
    """Open a file, a folder, a pattern or a database table; `keep_blanks` is for spreadsheets."""
    if database.is_database(source):
        _check_options("database", str(source), options)
        if options["table"] is None:
            raise ParameterError('A database is read table by table: give table = "name" or "schema.name".')
        return _spooled(database.read_table(str(source), options["table"]), schema)
    kind, files = locate(source)
    _check_options(kind, str(source), options)
    watched = Source.of(files)
    if kind == "survey":
        folder, described = survey_file.read_survey(_only(files, "survey file"), schema)
        watched.require_unchanged()
        return _spooled(folder, described)
    if kind == "excel":
        rows = excel_file.read_excel(
            _only(files, "Excel file"),
            sheet=options["sheet"],
            types=schema.types,
            undetermined=schema.undetermined,
            keep_blanks=keep_blanks,
        )
        return Scan(rows.lazy(), schema)
    if kind == "csv":
        frame = scan_csv(
            files,
            delimiter=options["delimiter"],
            encoding="utf-8" if options["encoding"] is None else options["encoding"],
            decimal="." if options["decimal"] is None else options["decimal"],
            formulas="escaped" if options["formulas"] is None else options["formulas"],
            types=schema.types,
            undetermined=schema.undetermined,
            categories={*schema.keys, *schema.sensitive, *schema.modalities, *schema.hierarchies},
        )
        return Scan(frame, schema, source=watched)
    parquet = tuple(map(str, files)) if kind == "parquet" else ()
    return Scan(_scan(files, kind), schema, parquet, watched, arrow.file_orders(files, kind))


def _spooled(folder: Path, schema: Schema) -> Scan:
    return Scan(scan_spool(folder), schema, tuple(str(p) for p in sorted(folder.glob("*.parquet"))))


def _check_options(kind: str, source: str, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value is not None and kind != _OPTIONS[name]:
            shown = database.without_password(source) if kind == "database" else source
            raise ParameterError(f"{name} is for {_NAMES[_OPTIONS[name]]}; {shown!r} is {_NAMES[kind]}.")


def _only(files: list[Path], what: str) -> Path:
    if len(files) > 1:
        raise DataError(f"One {what} is read at a time; the pattern matches {len(files)}.")
    return files[0]


def locate(source: object) -> tuple[str, list[Path]]:
    """The kind of a source and its files; of a folder or a pattern those there are now."""
    path = checked_path(source, "A file to read", DataError)
    text = str(path) if str(source) else ""
    if text and path.is_dir():
        return _in_folder(path)
    pattern = not path.exists() and any(c in text for c in "*?[")
    files = sorted(map(Path, glob.glob(text, recursive=True))) if pattern else [path]
    if not files:
        raise DataError(f"No file matches {text!r}.")
    _refuse_partitions(files)
    if not pattern and not path.is_file():
        near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() and path.name else []
        raise DataError(f"There is no file {text!r}.{did_you_mean(path.name, near) if near else ''}")
    if not pattern and path.stat().st_size == 0:
        raise DataError(f"The file {text!r} is empty.")
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{text!r} is not of a kind that Flou reads: {', '.join(KINDS)}.")
    return kind, files


def _in_folder(folder: Path) -> tuple[str, list[Path]]:
    """The files of a folder, which must be of one kind; a file left out would be records left out."""
    try:
        named = [p for p in sorted(folder.rglob("*")) if p.suffix.lower() in _PARTS and p.is_file()]
    except OSError as error:
        raise DataError(f"The folder {str(folder)!r} cannot be read ({error.strerror}).") from None
    files = [p for p in named if not any(n[0] in "._" for n in p.relative_to(folder).parts)]
    deeper = [str(p.relative_to(folder)) for p in files if p.parent != folder]
    if deeper:
        raise DataError(
            f"The folder {str(folder)!r} has files in folders of its own: {listed(deeper[:3])}. "
            "Read them with a pattern, such as folder/**/*.parquet."
        )
    if not files:
        raise DataError(
            f"The folder {str(folder)!r} holds none of the files that are read together: {', '.join(_PARTS)}."
        )
    kinds = {KINDS[p.suffix.lower()]: p.name for p in files}
    if len(kinds) > 1:
        raise DataError(f"The folder {str(folder)!r} holds files of several kinds: {listed(kinds.values())}.")
    return next(iter(kinds)), files


def _refuse_partitions(files: list[Path]) -> None:
    """Folders named `year=2024` hold a column in their name, which would be lost."""
    named = {tuple(part for part in file.parts[:-1] if "=" in part) for file in files}
    if len(named) > 1:
        some = sorted(parts[-1] for parts in named if parts)[:3]
        raise DataError(
            f"The names of the folders hold a column ({listed(some)}), which Flou does not read: "
            "write the files with it among their columns, or read one folder."
        )


def _scan(files: list[Path], kind: str) -> pl.LazyFrame:
    """A scan of files that have the same columns of the same types: engines unite others each in its own way."""
    scan = pl.scan_parquet if kind == "parquet" else pl.scan_ipc
    first: dict[str, pl.DataType] = {}
    for file in files:
        try:
            found = scan(file, glob=False).collect_schema()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise DataError(
                f"{str(file)!r} cannot be read as {kind}: it is damaged, truncated or of another kind "
                f"({first_line(error)})."
            ) from None
        first = first or found
        if list(found.items()) != list(first.items()):
            raise DataError(_other_columns(file, found, files[0], first))
    return scan(files, glob=False)


def _other_columns(file: Path, found: dict[str, pl.DataType], other: Path, first: dict[str, pl.DataType]) -> str:
    told = [f"{n!r} is {found[n]}, {t} there" for n, t in first.items() if n in found and found[n] != t]
    told += [f"{n!r} is not there" for n in found if n not in first]
    told += [f"{n!r} is missing" for n in first if n not in found]
    what = "; ".join(told[:5]) or "they stand in another order"
    return f"{str(file)!r} has other columns than {str(other)!r}: {what}. Files that are read together have the same."
