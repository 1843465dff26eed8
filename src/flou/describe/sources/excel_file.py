"""Spreadsheets: .xlsx, .xlsm, .xlsb, .xls and .ods, one sheet with the names of the columns in its first row.

A cell is a number, a text, a date or true/false, whatever its column holds elsewhere; a file of records has
one kind a column. The reader tells no kind but converts on demand, so a sheet is read as text, as true/false,
as dates and as numbers: a number is what true/false accepts and is neither of its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from flou.describe.schema import ColumnType
from flou.describe.sources.excel_types import typed
from flou.engine import native
from flou.engine.errors import DataError, MissingExtraError, did_you_mean, listed
from flou.engine.native import first_line
from flou.engine.values import text_of

#: Endings of spreadsheets.
SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
#: What the reader calls an error → what the sheet shows.
_ERRORS = {
    "Div0": "#DIV/0!", "NA": "#N/A", "Name": "#NAME?", "Null": "#NULL!", "Num": "#NUM!", "Ref": "#REF!",
    "Value": "#VALUE!", "GettingData": "#GETTING_DATA",
}  # fmt: skip
#: Below this a number is no date: the reader breaks down over one as a date.
_NO_DATE = -1e9
#: OpenDocument writes errors as texts.
_ERROR = r"^(?:#(?:DIV/0!|N/A|NAME\?|NULL!|NUM!|REF!|VALUE!|GETTING_DATA)|Err:\d{3})$"
#: A cell by its canonical text, and its kind; null where it is empty.
_Cells = pl.DataFrame


def read_excel(
    path: Path,
    *,
    sheet: str | None,
    types: Mapping[str, ColumnType],
    undetermined: Mapping[str, Sequence[object]],
    keep_blanks: bool = False,
) -> pl.DataFrame:
    """Read the records of `sheet`, or of the only sheet that is not empty.

    A cell of blanks is empty, unless they are to be kept in columns of texts: there they may be a category.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(f"{str(path)!r} is not a spreadsheet that Flou reads: {', '.join(SUFFIXES)}.")
    workbook = _Workbook(path)
    name = workbook.choose(sheet)
    where = f"The sheet {name!r} of {str(path)!r}"
    header, columns = _table(workbook.cells(name, keep_blanks=keep_blanks), where)
    native.refuse_patterns(header)
    found = []
    for column, cells in zip(header, columns, strict=True):
        codes = [text_of(c) for c in undetermined.get(column, ())]
        known = cells.with_columns(pl.when(~pl.col("text").is_in(codes)).then(pl.all()))
        _refuse_errors(known, column, where)
        found.append(typed(known, column, types.get(column), where))
    return pl.DataFrame(found)


class _Workbook:
    """An open spreadsheet."""

    def __init__(self, path: Path) -> None:
        try:
            import fastexcel
        except ImportError:
            raise MissingExtraError("fastexcel", "files") from None
        try:
            import pyarrow  # noqa: F401 - the reader tells errors from empty cells through it alone
        except ImportError:
            raise MissingExtraError("pyarrow", "files") from None
        self._path, self._failure = path, fastexcel.FastExcelError
        with self._readable():
            self._reader: Any = fastexcel.read_excel(str(path.absolute()))

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Whatever the library makes of a bad file becomes a DataError."""
        try:
            yield
        except (self._failure, OSError, ValueError, pl.exceptions.PolarsError) as error:
            raise self._refusal(error) from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of the library's own, and no Exception
                raise
            raise self._refusal(error) from None

    def _refusal(self, error: BaseException) -> DataError:
        return DataError(
            f"{str(self._path)!r} cannot be read as a spreadsheet: it is damaged, truncated, protected by a password "
            f"or of another kind ({first_line(error)})."
        )

    def choose(self, sheet: str | None) -> str:
        """The sheet to read."""
        names: list[str] = self._reader.sheet_names
        if sheet is not None:
            if sheet not in names:
                raise DataError(f"{str(self._path)!r} has no sheet {sheet!r}.{did_you_mean(sheet, names)}")
            return sheet
        filled = [n for n in names if self._is_filled(n)] if len(names) > 1 else names
        if len(filled) > 1:
            raise DataError(f"{str(self._path)!r} has several sheets: {listed(filled)}. Name the one to read: sheet=.")
        if not filled:
            raise DataError(f"{str(self._path)!r} is empty: none of its sheets holds anything.")
        return filled[0]

    def _is_filled(self, name: str) -> bool:
        texts, wrong = self._texts(name)
        return bool(wrong) or not all(texts.select(_is_blank(pl.col(c)).all()).item() for c in texts.columns)

    def cells(self, name: str, *, keep_blanks: bool) -> list[_Cells]:
        """Each column of a sheet, the row of names included, as canonical texts and their kinds."""
        texts, wrong = self._texts(name)
        truths, numbers = (self._view(name, kind) for kind in ("boolean", "float"))
        no_dates = [i for i in range(texts.width) if bool((numbers[:, i] < _NO_DATE).any())]
        dates = self._view(name, "date", but=no_dates)
        times = self._view(name, "duration", but=no_dates) if any("Duration" in w[2] for w in wrong) else None
        columns = []
        for place in range(texts.width):
            held = pl.DataFrame({"text": texts[:, place], "truth": truths[:, place], "date": dates[:, place]})
            held = held.with_columns(numbers[:, place].alias("number"))
            errors = [(row, kind) for row, column, kind in wrong if column == place]
            held = held.with_columns(_with_errors(held["text"], errors))
            spans = times[:, place] if times is not None else pl.Series([None] * held.height, dtype=pl.Duration)
            found = _kinds(held.with_columns(spans.alias("span")))
            # below the name a column of another kind has no texts
            keep = keep_blanks and set(found["kind"][1:].drop_nulls()) <= {"text"}
            columns.append(found if keep else found.with_columns(pl.when(~_is_blank(pl.col("text"))).then(pl.all())))
        return columns

    def _view(self, name: str, dtype: str, but: Sequence[int] = ()) -> pl.DataFrame:
        """The cells as one type, null where they are of none; `but` names columns in which no cell is of it."""
        width = self._texts(name)[0].width if but else 0
        wanted: Any = {i: "string" if i in but else dtype for i in range(width)} if but else dtype
        with self._readable():
            found = pl.DataFrame(self._reader.load_sheet(name, header_row=None, dtypes=wanted))
        nothing = {"date": pl.Date, "duration": pl.Duration}
        return found.with_columns(pl.lit(None, nothing[dtype]).alias(found.columns[i]) for i in but)

    def _texts(self, name: str) -> tuple[pl.DataFrame, list[tuple[int, int, str]]]:
        """All cells as text, and those that have none: errors and times, as row, column and what they are."""
        with self._readable():
            batch, failed = self._reader.load_sheet(name, header_row=None, dtypes="string").to_arrow_with_errors()
        wrong = [(*e.offset_position, e.detail) for e in (failed.errors if failed is not None else ())]
        texts = pl.DataFrame(batch)
        return texts.with_columns(pl.when(pl.all() != "").then(pl.all())), wrong


def _with_errors(texts: pl.Series, errors: Iterable[tuple[int, str]]) -> pl.Series:
    """The errors of a column as the sheet shows them."""
    shown = {row: _ERRORS.get(found[1], "#VALUE!") for row, d in errors if (found := re.search(r"Error\((\w+)", d))}
    return texts.scatter(list(shown), list(shown.values())) if shown else texts


def _kinds(held: pl.DataFrame) -> _Cells:
    text, span = pl.col("text"), pl.col("span")
    is_truth = pl.col("truth").is_not_null() & text.is_in(["true", "false"])
    is_number = pl.col("truth").is_not_null() & ~is_truth
    is_moment = pl.col("date").is_not_null() & pl.col("truth").is_null()
    # a time of day is kept as a moment on the day before the first
    is_time = is_moment & pl.col("date").is_between(pl.date(1899, 12, 30), pl.date(1899, 12, 31))
    moment = text.str.replace("T", " ", literal=True).str.replace(r" 00:00:00(\.0+)?$", "")
    seconds = span.dt.total_seconds()
    clock = pl.format("{}:{}:{}", *(_two(p) for p in (seconds // 3_600, seconds // 60 % 60, seconds % 60)))
    only_span = text.is_null() & span.is_not_null()
    kind = pl.when(only_span | is_time).then(pl.lit("time")).when(is_moment).then(pl.lit("date"))
    kind = kind.when(is_truth).then(pl.lit("boolean")).when(is_number).then(pl.lit("number"))
    # as a text a number has lost its last digits
    text = (
        pl.when(is_number & text.str.contains(".", literal=True)).then(pl.col("number").cast(pl.String)).otherwise(text)
    )
    shown = pl.when(only_span).then(clock).when(is_time).then(text.str.slice(11, 8)).when(is_moment).then(moment)
    return held.select(text=shown.otherwise(text), kind=kind.when(text.is_not_null()).then(pl.lit("text")))


def _is_blank(text: pl.Expr) -> pl.Expr:
    return (text.str.strip_chars() == "").fill_null(value=True)


def _two(number: pl.Expr) -> pl.Expr:
    return number.cast(pl.String).str.zfill(2)


def _table(columns: list[_Cells], where: str) -> tuple[list[str], list[_Cells]]:
    """The names of the columns and the cells below, without empty rows and columns at the end."""
    while columns and columns[-1].select(_is_blank(pl.col("text")).all()).item():
        columns.pop()
    if not columns:
        raise DataError(f"{where} is empty.")
    empty = pl.DataFrame([c["text"].alias(str(i)) for i, c in enumerate(columns)]).select(
        pl.all_horizontal(_is_blank(pl.all())).alias("empty")
    )["empty"]
    height = int(empty.not_().arg_true()[-1]) + 1
    names = [c["text"][0] for c in columns]
    _check_names(names, where)
    if height == 1:
        raise DataError(f"{where} has no records: there is nothing below its first row.")
    if empty[1:height].any() and len(columns) > 1:
        raise DataError(f"{where} has {int(empty[1:height].sum()):,} empty rows among its records. Delete them.")
    return names, [c.slice(1, height - 1) for c in columns]


def _check_names(names: Sequence[Any], where: str) -> None:
    unnamed = [i for i, n in enumerate(names, start=1) if n is None or not n.strip() or re.match(_ERROR, n)]
    if unnamed:
        raise DataError(
            f"{where} must name its columns in its first row; these have no name, counted from the left: "
            f"{listed(unnamed)}."
        )
    stripped = [n.strip() for n in names]
    doubled = sorted({n for n in stripped if stripped.count(n) > 1})
    if doubled:
        raise DataError(f"{where} has columns of the same name: {listed(doubled)}. Rename one of each.")


def _refuse_errors(cells: _Cells, column: str, where: str) -> None:
    wrong = cells.filter((pl.col("kind") == "text") & pl.col("text").str.contains(_ERROR))["text"]
    if wrong.len():
        raise DataError(
            f"{where}: the column {column!r} holds errors of formulas in {wrong.len():,} cells: "
            f"{listed(sorted(wrong.unique()))}. Mend them, or declare them as undetermined."
        )
