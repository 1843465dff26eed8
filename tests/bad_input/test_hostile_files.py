"""Files whose bytes are well-formed and whose content no engine foresees."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

import flou
from flou.engine.charts import Look
from flou.utility.micro.summary_chart import deviation_chart


@pytest.mark.parametrize("lazy", [True, False])
def test_durations_in_nanoseconds_are_counted_as_python_sees_them(lazy: bool) -> None:
    held = pl.DataFrame({"d": pl.Series([1_000, 1_001, 1_999, 2_000]).cast(pl.Duration("ns"))})
    people = flou.Microdata(held.lazy() if lazy else held, keys=["d"])
    assert people.key_table(("d",)).categories == ([dt.timedelta(microseconds=1), dt.timedelta(microseconds=2)],)


def test_times_in_nanoseconds_are_counted_as_python_sees_them() -> None:
    held = pl.Series([1_000, 1_001, 2_000]).cast(pl.Time)
    assert flou.Microdata(pl.DataFrame({"t": held}), keys=["t"]).describe().n_keys == 2


def test_a_duration_longer_than_python_knows_is_refused(tmp_path: Path) -> None:
    held = pl.Series([2**31 * 86_400_000], dtype=pl.Int64).cast(pl.Duration("ms"))
    pl.DataFrame({"d": held}).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(flou.FlouError, match="duration"):
        flou.read(tmp_path / "d.parquet", keys=["d"]).describe()


def _sheet(folder: Path, serial: float) -> Path:
    """A spreadsheet with one date, as the number of days that spreadsheets count."""
    with xlsxwriter.Workbook(folder / "p.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "since")
        sheet.write(1, 0, serial, book.add_format({"num_format": "yyyy-mm-dd"}))
    return folder / "p.xlsx"


def test_a_spreadsheet_that_its_library_panics_on_is_refused(tmp_path: Path) -> None:
    with pytest.raises(flou.FlouError, match="cannot be read as a spreadsheet"):
        flou.read(_sheet(tmp_path, -1e12))


@pytest.mark.parametrize("serial", [2_958_466, 1e7, -1e6])
def test_a_day_of_no_calendar_in_a_spreadsheet_is_refused(serial: float, tmp_path: Path) -> None:
    with pytest.raises(flou.FlouError):
        flou.read(_sheet(tmp_path, serial))


def test_a_day_before_the_first_of_spreadsheets_is_no_time_of_day(tmp_path: Path) -> None:
    assert flou.read(_sheet(tmp_path, -20_000)).collect().frame["since"].dt.year().to_list() == [1845]


@pytest.mark.parametrize("name", ["^a$", "*", "^.*$", "a\0b"])
def test_a_column_that_is_called_like_a_pattern_is_refused_in_a_file(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2], name: [dt.date(2020, 1, 1)] * 2})
    frame.write_csv(tmp_path / "p.csv")
    with xlsxwriter.Workbook(tmp_path / "p.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, frame.columns)
        sheet.write_row(1, 0, [1, 2])
    for file in ("p.csv", "p.xlsx"):
        with pytest.raises(flou.FlouError, match="pattern"):
            flou.read(tmp_path / file)


@pytest.mark.parametrize("name", ["^a$", "a\0b"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_such_a_column_is_refused_in_files_of_engines_too(name: str, ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2], name: [1, 2]})
    frame.write_parquet(tmp_path / "p.parquet") if ending == "parquet" else frame.write_ipc(tmp_path / "p.arrow")
    with pytest.raises(flou.FlouError, match="pattern"):
        flou.read(tmp_path / f"p.{ending}")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_columns_whose_names_differ_by_a_space_alone_are_refused(engine: str, tmp_path: Path) -> None:
    pl.DataFrame({"sex": ["F", "M"], "sex ": [1, 2]}).write_parquet(tmp_path / "p.parquet")
    with pytest.raises(flou.FlouError, match="of the same name"):
        flou.read(tmp_path / "p.parquet", engine=engine)


@pytest.mark.parametrize("name", [" sex", "sex "])
def test_duckdb_refuses_a_name_with_spaces_around_it_which_it_would_lose(name: str, tmp_path: Path) -> None:
    pl.DataFrame({name: ["F", "M", "F"], "age": [1, 2, 1]}).write_parquet(tmp_path / "p.parquet")
    assert flou.read(tmp_path / "p.parquet", keys=[name, "age"]).describe().n_keys == 2
    with pytest.raises(flou.FlouError, match="Rename"):
        flou.read(tmp_path / "p.parquet", engine="duckdb", keys=[name, "age"])


NO_PATHS = ("a\0b", "\ud800", "x" * 5_000)


@pytest.mark.parametrize("path", NO_PATHS, ids=["zero byte", "half a character", "too long"])
@pytest.mark.parametrize("option", ["--out", "--since", "--secret"])
def test_what_no_system_has_as_a_path_is_refused(
    path: str, option: str, job: Any, run: Callable[..., Any], tmp_path: Path
) -> None:
    ran = run("run", job.plan, *(() if option == "--out" else ("--out", job.out)), option, path)
    assert (ran.code, job.out.exists()) == (2, False)
    assert "is not a path that can be used" in ran.message


def test_a_plan_cannot_follow_a_release_without_a_path() -> None:
    with pytest.raises(flou.FlouError, match="not a path"):
        flou.Plan.from_toml('flou = 2\n[release]\nsince = "a\\u0000b"\n').former()


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "rglob", gone)
    with pytest.raises(flou.FlouError, match="cannot be read"):
        flou.read(tmp_path)


def test_a_summary_of_too_few_records_to_show_has_an_empty_chart() -> None:
    people = flou.Microdata(pl.DataFrame({"age": [31, 52], "sex": ["F", "M"]}), keys=["age", "sex"])
    assert deviation_chart(flou.utility.Summary(columns=["age"]).compare(people, people), Look(min_count=3))


def test_an_id_that_is_a_date_of_no_calendar_is_refused() -> None:
    days = pl.Series([2**31 - 1, 2**31 - 1], dtype=pl.Int32).cast(pl.Date)
    with pytest.raises(flou.FlouError, match="years 1 to 9999"):
        flou.Microdata(pl.DataFrame({"d": days}), id="d")


@pytest.mark.parametrize("fine", [5e-324, 1e-300])
def test_bands_too_narrow_to_count_are_refused(fine: float) -> None:
    with pytest.raises(flou.FlouError, match="bands"):
        flou.Hierarchy.bands(fine, 1e10)
