"""Tables in files: CSV, Parquet, Arrow and Excel; of a set a file each, or one workbook with a sheet each.

Only what would be published is written. An existing file is not overwritten unless asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from flou.describe.formulas import GUESSED, escape_formulas
from flou.describe.schema import Schema
from flou.describe.sink import WRITTEN, write_file
from flou.describe.sources.scan import open_source
from flou.describe.table.flags import Flags, flagged_cells
from flou.describe.table.from_frame import table_from_frame
from flou.describe.table.spec import parse_dims
from flou.engine import native
from flou.engine.errors import MissingExtraError, OutputError, ParameterError, listed
from flou.engine.output import (
    PRIVATE,
    PUBLIC,
    Formulas,
    checked_path,
    folder_mode,
    require_formulas,
    require_new,
    written_whole,
)

if TYPE_CHECKING:
    from flou.describe.table.table import Table
    from flou.describe.table.table_set import TableSet

_EXCEL = ".xlsx"


def read_table(
    path: str | PathLike[str],
    dims: Sequence[str] | str,
    *,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    formulas: Formulas | None = None,
    **more: Any,
) -> Table:
    """A table from a file that lists its cells; `more` is as for `Table.from_frame`."""
    options = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "formulas": formulas}
    scan = open_source(path, Schema(), keep_blanks=True, sheet=sheet, table=None, **options)
    frame, _ = scan.in_engine("polars")
    rows = native.collect(native.enter(frame).frame)
    shown = {column for spec in parse_dims(dims, rows.columns, Schema()) for column in spec.columns}
    # a text file and a spreadsheet have nothing for a category that is the empty text
    return table_from_frame(
        rows.with_columns(pl.col(c).fill_null("") for c in shown if rows[c].dtype == pl.String), dims, **more
    )


def write_table(
    table: Table,
    path: str | PathLike[str],
    *,
    overwrite: bool = False,
    unprotected: bool = False,
    flags: Flags = "status",
    formulas: Formulas = "escaped",
) -> None:
    """Write what would be published of one table."""
    require_formulas(formulas)
    _require_protected([table], unprotected=unprotected)
    shown = flagged_cells(table, flags)
    target = require_table_file(path, overwrite=overwrite)
    suffix = target.suffix.lower()
    if formulas == "escaped" and WRITTEN.get(suffix) in GUESSED:
        shown = escape_formulas(shown, {} if table.schema is None else table.schema.declared_modalities)
    with written_whole(target, overwrite=overwrite, mode=_mode([table])) as file:
        if suffix == _EXCEL:
            _write_workbook({table.name or "table": shown}, file)
        else:
            write_file(iter([shown]), shown.schema, file, WRITTEN[suffix])


def require_table_file(path: str | PathLike[str], *, overwrite: bool = False) -> Path:
    """Refuse a target that a table cannot be written to, before any work is done."""
    target = checked_path(path, "A file to write", OutputError)
    if target.suffix.lower() not in (*WRITTEN, _EXCEL):
        raise ParameterError(f"{str(path)!r} cannot be a table's file: .csv, .parquet, .arrow or .xlsx can.")
    _require_folder(target)
    require_new(target, overwrite=overwrite)
    return target


def write_tables(
    tables: TableSet,
    target: str | PathLike[str],
    *,
    kind: str = "csv",
    overwrite: bool = False,
    unprotected: bool = False,
    flags: Flags = "status",
    formulas: Formulas = "escaped",
) -> None:
    """Write a set: into one workbook where the target ends in .xlsx, else into a folder, a file each."""
    _require_protected(tables.tables, unprotected=unprotected)
    path = checked_path(target, "A folder to write to", OutputError)
    shown = {table.name: flagged_cells(table, flags) for table in tables}
    if path.suffix.lower() == _EXCEL:
        _require_folder(path)
        with written_whole(path, overwrite=overwrite, mode=_mode(tables.tables)) as file:
            _write_workbook(shown, file)
        return
    suffix = f".{str(kind).lstrip('.')}"
    if suffix not in (*WRITTEN, _EXCEL):
        raise ParameterError(f"kind = {kind!r} is not one that a table is written to: csv, parquet, arrow, xlsx.")
    files = {table.name: path / f"{file_name(table.name)}{suffix}" for table in tables}
    if len(set(files.values())) < len(files):
        raise OutputError("Two tables of the set would be written to one file: give them names that differ in letters.")
    path.mkdir(mode=folder_mode(_mode(tables.tables)), parents=True, exist_ok=True)
    for file_path in files.values():
        require_new(file_path, overwrite=overwrite)
    for table in tables:
        write_table(
            table, files[table.name], overwrite=overwrite, unprotected=unprotected, flags=flags, formulas=formulas
        )


def _mode(tables: Sequence[Table]) -> int:
    """True counts are for the owner alone."""
    return PRIVATE if any(t.published is None for t in tables) else PUBLIC


def _require_protected(tables: Sequence[Table], *, unprotected: bool) -> None:
    """True counts do not leave by a slip: files go further than screens."""
    bare = [t.name or "the table" for t in tables if t.published is None]
    if bare and not unprotected:
        raise OutputError(
            f"Nothing protects {listed(bare)}: the file would hold true counts. Protect it first, such as by "
            "flou.protect.CellKey, or write it for the office alone with unprotected=True."
        )


def file_name(name: str) -> str:
    """The name of a table as that of a file: letters, digits, `-` and `_`."""
    return re.sub(r"[^\w-]+", "_", name).strip("_") or "table"


def _require_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise OutputError(f"The folder {str(path.parent)!r} does not exist; make it first.")


def _write_workbook(sheets: dict[str, pl.DataFrame], file: Any) -> None:
    try:
        import xlsxwriter  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("xlsxwriter", "files") from None
    from io import BytesIO

    named = {sheet_name(name): frame for name, frame in sheets.items()}
    if len({name.casefold() for name in named}) < len(sheets):
        raise OutputError(
            "Two tables of the set would have one sheet: a sheet has the first 31 letters of the table's name, capital "
            "or not. Give them names that differ there."
        )

    class AllDigits(float):
        """A number as Excel's file holds it: with all its digits, where xlsxwriter writes sixteen."""

        def __format__(self, spec: str) -> str:
            return repr(float(self))

    class Sheet(xlsxwriter.worksheet.Worksheet):  # type: ignore[misc]
        def _xml_number_element(self, number: float, attributes: Any = ()) -> None:
            super()._xml_number_element(AllDigits(number) if isinstance(number, float) else number, attributes)

    held = BytesIO()
    # a category such as "=A1" or "-3" is a text: Excel must not reckon with it
    as_given = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(held, {"in_memory": True, **as_given}) as book:
        book.worksheet_class = Sheet
        from datetime import datetime

        # the date of making would differ from one writing to the next
        book.set_properties({"created": datetime(2000, 1, 1)})
        for name, frame in named.items():
            frame.write_excel(book, worksheet=name, autofit=True)
    file.write(held.getvalue())


def sheet_name(name: str) -> str:
    """The name of a table as that of a sheet: Excel takes 31 letters, not all signs, and keeps one name to itself."""
    held = re.sub(r"[\[\]:*?/\\]", " ", name)[:31].strip("' ") or "table"
    return f"{held}_" if held.casefold() == "history" else held
