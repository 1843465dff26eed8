"""Spreadsheets: which sheet, which names, which types, and what is refused."""

from __future__ import annotations

import datetime as dt
import gzip
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

from flou.describe.schema import ColumnType
from flou.describe.sources.excel_file import SUFFIXES, read_excel
from flou.engine.errors import DataError, MissingExtraError

DATA = Path(__file__).parent / "data"
Rows = Sequence[Sequence[Any]]


class Error(str):
    """A cell whose formula fails, such as #N/A."""


def _xlsx(folder: Path, sheets: Mapping[str, Rows] | Rows, *, left: int = 0, top: int = 0) -> Path:
    path = folder / "people.xlsx"
    with xlsxwriter.Workbook(path) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        hour = book.add_format({"num_format": "hh:mm:ss"})
        for name, rows in (sheets if isinstance(sheets, Mapping) else {"People": sheets}).items():
            sheet = book.add_worksheet(name)
            for r, row in enumerate(rows, start=top):
                for c, value in enumerate(row, start=left):
                    if isinstance(value, Error):
                        sheet.write_formula(r, c, "=NA()", None, str(value))
                    elif isinstance(value, dt.datetime):
                        sheet.write_datetime(r, c, value, moment)
                    elif isinstance(value, dt.date):
                        sheet.write_datetime(r, c, value, day)
                    elif isinstance(value, dt.time):
                        sheet.write_datetime(r, c, value, hour)
                    elif isinstance(value, str):
                        sheet.write_string(r, c, value)
                    elif value is not None:
                        sheet.write(r, c, value)
    return path


def _read(
    path: Path,
    sheet: str | None = None,
    types: Mapping[str, ColumnType] | None = None,
    undetermined: Mapping[str, Sequence[object]] | None = None,
) -> pl.DataFrame:
    return read_excel(path, sheet=sheet, types=types or {}, undetermined=undetermined or {})


def _column(folder: Path, values: Sequence[Any], **options: Any) -> pl.Series:
    """One column "x" beside one that is always filled."""
    rows = [["n", "x"], *([i, v] for i, v in enumerate(values))]
    return _read(_xlsx(folder, rows), **options)["x"]


# Types


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([31, 42, 57], pl.Int64()),
        ([31.0, -2.0], pl.Int64()),
        ([1.5, 2.0], pl.Float64()),
        ([1e300, 2.0], pl.Float64()),
        (["01", "2A"], pl.String()),
        (["01", "02"], pl.String()),
        (["1", "2"], pl.String()),
        ([True, False], pl.Boolean()),
        ([dt.date(2020, 2, 29), dt.date(1999, 12, 31)], pl.Date()),
        ([dt.datetime(2020, 2, 29, 13, 5, 7), dt.datetime(2020, 3, 1)], pl.Datetime("us")),
    ],
)
def test_a_column_has_the_type_of_its_cells(values: list[Any], dtype: pl.DataType, tmp_path: Path) -> None:
    found = _column(tmp_path, [*values, None])
    assert found.dtype == dtype
    assert found.to_list() == [*values, None]


def test_times_of_day_are_text(tmp_path: Path) -> None:
    assert _column(tmp_path, [dt.time(3, 4), dt.time(23, 59, 59)]).to_list() == ["03:04:00", "23:59:59"]


def test_an_empty_cell_is_null_and_so_is_a_blank_one(tmp_path: Path) -> None:
    assert _column(tmp_path, ["a", None, "", "  ", " b"]).to_list() == ["a", None, None, None, " b"]


def test_a_column_without_any_value_is_text(tmp_path: Path) -> None:
    found = _column(tmp_path, [None, None])
    assert (found.dtype, found.null_count()) == (pl.String, 2)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2, "x"], "2 numbers and 1 texts"),
        ([1, "02"], "1 numbers and 1 texts"),
        ([1, True], "1 true/false and 1 numbers"),
        ([dt.date(2020, 1, 1), "unknown"], "1 dates and 1 texts"),
        ([dt.date(2020, 1, 1), 1999], "1 dates and 1 numbers"),
    ],
)
def test_a_column_of_two_kinds_is_refused(values: list[Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"'x' mixes {words}.*text"):
        _column(tmp_path, values)


def test_a_mixture_late_in_a_long_column_is_found(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="mixes 3,000 numbers and 1 texts"):
        _column(tmp_path, [*range(3000), "x"])


def test_a_mixture_can_be_declared_text(tmp_path: Path) -> None:
    values = [1, 2.5, "02", True, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 12), None]
    found = _column(tmp_path, values, types={"x": "text"})
    assert found.to_list() == ["1", "2.5", "02", "true", "2020-01-01", "2020-01-01 12:00:00", None]


FITS: dict[str, tuple[ColumnType, list[Any], list[Any]]] = {
    "numbers as text": ("text", [1, 11], ["1", "11"]),
    "whole numbers as numbers": ("number", [1, 2], [1.0, 2.0]),
    "text as whole numbers": ("integer", ["1", "-20", 3], [1, -20, 3]),
    "text as numbers": ("number", ["1.5", 2, "3"], [1.5, 2.0, 3.0]),
    "text as dates": ("date", ["2020-02-29", dt.date(2020, 3, 1)], [dt.date(2020, 2, 29), dt.date(2020, 3, 1)]),
    "moments as dates": ("date", [dt.datetime(2020, 2, 29, 12)], [dt.datetime(2020, 2, 29, 12)]),
    "text as true/false": ("boolean", ["true", False], [True, False]),
}


@pytest.mark.parametrize("case", list(FITS))
def test_a_declared_type_is_respected(case: str, tmp_path: Path) -> None:
    declared, values, wanted = FITS[case]
    found = _column(tmp_path, [*values, None], types={"x": declared})
    assert found.to_list() == [*wanted, None]
    assert [type(v) for v in found.to_list()[:-1]] == [type(v) for v in wanted]


MISFITS: dict[str, tuple[ColumnType, list[Any], int]] = {
    "fractions": ("integer", [1, 2.5, 3.5], 2),
    "leading zeros": ("integer", ["01", "02", 3], 2),
    "words": ("number", [1, "x"], 1),
    "decimal commas": ("number", ["1,5"], 1),
    "true/false as numbers": ("integer", [True, 1], 1),
    "the 31st of February": ("date", ["2020-02-31"], 1),
    "numbers as dates": ("date", [2020, dt.date(2020, 1, 1)], 1),
    "numbers as true/false": ("boolean", [0, 1, True], 2),
    "too long a number": ("integer", [1e17], 1),
}


@pytest.mark.parametrize("case", list(MISFITS))
def test_cells_that_do_not_fit_a_declared_type_are_counted(case: str, tmp_path: Path) -> None:
    declared, values, n = MISFITS[case]
    with pytest.raises(DataError, match=rf"'x' should hold type {declared}, but {n} of its cells"):
        _column(tmp_path, values, types={"x": declared})


def test_undetermined_codes_do_not_decide_the_type(tmp_path: Path) -> None:
    values = [31, "?", 99, "refused", 42]
    found = _column(tmp_path, values, undetermined={"x": ["?", 99, "refused"]})
    assert (found.dtype, found.to_list()) == (pl.Int64, [31, None, None, None, 42])
    days = [dt.date(2020, 1, 1), dt.date(1900, 3, 1), "?"]
    assert _column(tmp_path, days, undetermined={"x": ["1900-03-01", "?"]}).to_list() == [days[0], None, None]


def test_codes_are_those_of_their_own_column(tmp_path: Path) -> None:
    assert _column(tmp_path, [9, 1], undetermined={"n": [9]}).to_list() == [9, 1]


# Errors


@pytest.mark.parametrize("shown", ["#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!"])
def test_a_failed_formula_is_refused_never_null(shown: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'x' holds errors of formulas in 2 cells") as caught:
        _column(tmp_path, [1, Error(shown), 3, Error(shown)])
    assert shown in str(caught.value)


def test_a_failed_formula_at_the_end_is_no_empty_row(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="errors of formulas"):
        _read(_xlsx(tmp_path, [["x"], [1], [Error("#N/A")]]))


def test_errors_are_refused_in_columns_of_any_declared_type(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="errors of formulas"):
        _column(tmp_path, ["a", Error("#N/A")], types={"x": "text"})


def test_an_error_can_be_declared_undetermined(tmp_path: Path) -> None:
    found = _column(tmp_path, [1, Error("#N/A")], undetermined={"x": ["#N/A"]})
    assert found.to_list() == [1, None]


# The table


def test_the_table_begins_where_the_sheet_does(tmp_path: Path) -> None:
    found = _read(_xlsx(tmp_path, [["age", "sex"], [31, "F"]], left=2, top=3))
    assert found.to_dicts() == [{"age": 31, "sex": "F"}]


def test_empty_rows_and_columns_at_the_end_are_dropped(tmp_path: Path) -> None:
    rows = [["age", "sex", " "], [31, "F", ""], [32, None, None], ["", " ", " "], [" ", None, None]]
    assert _read(_xlsx(tmp_path, rows)).to_dicts() == [{"age": 31, "sex": "F"}, {"age": 32, "sex": None}]


def test_an_empty_row_among_the_records_is_refused(tmp_path: Path) -> None:
    """It would be a person of whom nothing is known."""
    with pytest.raises(DataError, match="1 empty rows"):
        _read(_xlsx(tmp_path, [["age", "sex"], [31, "F"], [], [32, "M"]]))
    assert _read(_xlsx(tmp_path, [["age"], [31], [None], [32]]))["age"].to_list() == [31, None, 32]


def test_a_number_can_be_a_name(tmp_path: Path) -> None:
    assert _read(_xlsx(tmp_path, [["id", 2020], [1, 2]])).columns == ["id", "2020"]


TABLES: dict[str, tuple[Rows, str]] = {
    "no name in the middle": ([["a", None, "c"], [1, 2, 3]], "no name, counted from the left: 2"),
    "a blank name": ([["a", "  "], [1, 2]], "no name, counted from the left: 2"),
    "a title above": ([["Survey 2020"], ["age", "sex"], [31, "F"]], "no name"),
    "an error as a name": ([["a", Error("#REF!")], [1, 2]], "no name"),
    "doubled names": ([["a", "b", "a"], [1, 2, 3]], "same name: 'a'"),
    "doubled names with a blank": ([["a", "a "], [1, 2]], "same name: 'a'"),
    "names alone": ([["a", "b"]], "no records"),
    "names above blanks": ([["a", "b"], [" ", ""]], "no records"),
    "nothing": ([], "empty"),
    "blanks": ([[" "], [""]], "empty"),
}


@pytest.mark.parametrize("case", list(TABLES))
def test_a_wrong_table_is_refused(case: str, tmp_path: Path) -> None:
    rows, words = TABLES[case]
    with pytest.raises(DataError) as caught:
        _read(_xlsx(tmp_path, rows))
    assert words in str(caught.value)


# Sheets


def test_the_only_sheet_with_content_is_read(tmp_path: Path) -> None:
    path = _xlsx(tmp_path, {"Sheet1": [], "People": [["age"], [31]], "Sheet3": [["  "]]})
    assert _read(path)["age"].to_list() == [31]


def test_several_sheets_must_be_chosen_from(tmp_path: Path) -> None:
    path = _xlsx(tmp_path, {"People": [["age"], [31]], "Codes": [["code"], ["01"]], "Empty": []})
    with pytest.raises(DataError, match="'People', 'Codes'") as caught:
        _read(path)
    assert "Empty" not in str(caught.value)
    assert _read(path, sheet="Codes")["code"].to_list() == ["01"]


def test_a_sheet_with_an_error_alone_has_content(tmp_path: Path) -> None:
    path = _xlsx(tmp_path, {"People": [["age"], [31]], "Other": [[Error("#N/A")]]})
    with pytest.raises(DataError, match="several sheets"):
        _read(path)


def test_an_unknown_sheet_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Did you mean 'People'"):
        _read(_xlsx(tmp_path, {"People": [["age"], [31]], "Codes": []}), sheet="Peopel")


def test_an_empty_sheet_is_refused(tmp_path: Path) -> None:
    path = _xlsx(tmp_path, {"People": [["age"], [31]], "Empty": []})
    with pytest.raises(DataError, match=r"'Empty'.*empty"):
        _read(path, sheet="Empty")
    with pytest.raises(DataError, match="none of its sheets"):
        _read(_xlsx(tmp_path, {"A": [], "B": []}))


# Files


def test_excel_97(tmp_path: Path) -> None:
    path = tmp_path / "people.xls"
    path.write_bytes(gzip.decompress((DATA / "people.xls.gz").read_bytes()))
    found = _read(path)
    dtypes = {"age": pl.Int64, "code": pl.String, "day": pl.Date, "member": pl.Boolean, "income": pl.Float64}
    assert found.schema == dtypes
    assert found.row(1) == (42, "2A", dt.date(1999, 12, 31), False, None)


def _ods(folder: Path, *rows: str) -> Path:
    """An OpenDocument sheet; each row is given by its cells."""
    names = {"office": "office", "table": "table", "text": "text"}
    spaces = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{v}:1.0"' for n, v in names.items())
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces}><office:body><office:spreadsheet>'
        f'<table:table table:name="People">{table}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    path = folder / "people.ods"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", '<?xml version="1.0"?><manifest/>')
    return path


def _cell(kind: str, shown: str, **value: str) -> str:
    held = " ".join(f'office:{n.replace("_", "-")}="{v}"' for n, v in value.items())
    return f'<table:table-cell office:value-type="{kind}" {held}><text:p>{shown}</text:p></table:table-cell>'


def test_open_document(tmp_path: Path) -> None:
    header = "".join(_cell("string", n) for n in ("age", "code", "day", "moment", "member", "hour"))
    row = (
        _cell("float", "31", value="31") + _cell("string", "01") + _cell("date", "29/02/20", date_value="2020-02-29")
        + _cell("date", "29/02/20", date_value="2020-02-29T13:05:07") + _cell("boolean", "TRUE", boolean_value="true")
        + _cell("time", "03:04", time_value="PT03H04M05S")
    )  # fmt: skip
    found = _read(_ods(tmp_path, header, row))
    wanted = (31, "01", dt.date(2020, 2, 29), dt.datetime(2020, 2, 29, 13, 5, 7), True, "03:04:05")
    assert found.row(0) == wanted
    assert found.schema["age"] == pl.Int64


def test_an_error_of_open_document_is_refused(tmp_path: Path) -> None:
    rows = [_cell("string", "x"), _cell("string", "#N/A"), _cell("string", "Err:502")]
    with pytest.raises(DataError, match="'x' holds errors of formulas in 2 cells"):
        _read(_ods(tmp_path, *rows))


def test_a_workbook_with_macros_is_read_like_any_other(tmp_path: Path) -> None:
    path = _xlsx(tmp_path, [["age"], [31]])
    assert _read(path.rename(tmp_path / "people.xlsm"))["age"].to_list() == [31]
    path = _xlsx(tmp_path, [["age"], [31]])
    assert _read(path.rename(tmp_path / "PEOPLE.XLSX"))["age"].to_list() == [31]


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda b: b[: len(b) // 2],
    "without its last byte": lambda b: b[:-1],
    "four bytes": lambda b: b[:4],
    "text": lambda b: b"age,sex\n31,F\n",
    "zeros": lambda b: bytes(1000),
    "nothing": lambda b: b"",
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("case", list(DAMAGED))
def test_a_damaged_file_is_refused(case: str, suffix: str, tmp_path: Path) -> None:
    content = _xlsx(tmp_path, [["age"], [31]]).read_bytes()
    path = tmp_path / f"damaged{suffix}"
    path.write_bytes(DAMAGED[case](content))
    with pytest.raises(DataError, match=r"damaged\..*cannot be read as a spreadsheet"):
        _read(path)


def test_a_file_that_is_not_there_or_no_spreadsheet(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        _read(tmp_path / "none.xlsx")
    with pytest.raises(DataError, match=r"\.xlsx, \.xlsm"):
        _read(tmp_path / "people.numbers")


@pytest.mark.parametrize("package", ["fastexcel", "pyarrow"])
def test_without_the_packages_the_error_says_what_to_install(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _xlsx(tmp_path, [["age"], [31]])
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*flou\[files\]"):
        _read(path)
