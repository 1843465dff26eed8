"""Numbers, dates, names and files larger than anything that works with them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import flou
from flou.engine import native

HUGE = 10**5_000
ENGINES = ("polars", "duckdb")
PARAMETERS: dict[str, Callable[[Any], object]] = {
    "a number": lambda v: flou.risk.KAnonymity(k=v),
    "a list": lambda v: flou.risk.KAnonymity(k=3, by=[v]),
    "a value of a mapping": lambda v: flou.protect.Recode("age", mapping={"a": v}),
    "a key of a mapping": lambda v: flou.protect.Recode("age", mapping={v: "a"}),
    "a probability": lambda v: flou.protect.Pram("age", matrix={"a": {"a": v}}),
}


@pytest.mark.parametrize("value", [HUGE, -HUGE, 2**63, -(2**63) - 1], ids=["huge", "-huge", "2**63", "-2**63-1"])
@pytest.mark.parametrize("case", list(PARAMETERS))
def test_a_parameter_beyond_64_bits_is_refused(case: str, value: int) -> None:
    with pytest.raises(flou.FlouError, match="64 bits"):
        PARAMETERS[case](value)


def test_a_parameter_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(flou.FlouError, match="deep"):
        flou.risk.KAnonymity(k=3, by=endless)


@pytest.mark.parametrize("value", [[], [[]], [()], [None], [1, 2]], ids=repr)
@pytest.mark.parametrize("name", ["columns", "by"])
def test_a_list_with_nothing_in_it_is_named(name: str, value: object) -> None:
    if name == "by" and value == []:
        return
    with pytest.raises(flou.FlouError, match=name):
        flou.protect.Microaggregation(**{"columns": ["a"], name: value})


@pytest.mark.parametrize("n", [10**30, 2**63, HUGE], ids=["10**30", "2**63", "huge"])
@pytest.mark.parametrize("name", ["apa", "survey", "census", "business"])
def test_a_data_set_of_more_records_than_people_is_refused(name: str, n: int) -> None:
    with pytest.raises(flou.FlouError, match=r"n.* must be a whole number of records"):
        getattr(flou.datasets, name)(n)


@pytest.mark.parametrize("size", ["1" + "0" * 30, "9" * 5_000], ids=["10**30", "huge"])
def test_a_plan_cannot_ask_for_such_a_data_set(size: str, job: Any, refused: Callable[..., str]) -> None:
    job.edit("plan.toml", 'source = "people.csv"', f'source = "dataset:apa({size})"')
    assert "records" in refused("run", job.plan, "--out", job.out)


DAYS = (-(2**31), -719_163, 2_932_897, 2**31 - 1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("day", DAYS)
def test_a_date_of_no_calendar_is_refused_when_it_is_read(day: int, engine: str, tmp_path: Path) -> None:
    pl.DataFrame({"d": pl.Series([0, day], dtype=pl.Int32).cast(pl.Date)}).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(flou.FlouError, match="'d' has 1 dates outside the years 1 to 9999"):
        flou.read(tmp_path / "d.parquet", engine=engine)


@pytest.mark.parametrize("moment", [-(2**63), 2**63 - 1])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_a_moment_of_no_calendar_is_refused(moment: int, zone: str | None) -> None:
    held = pl.Series("d", [0, moment]).cast(pl.Datetime("us", zone))
    with pytest.raises(flou.FlouError):
        flou.Microdata(pl.DataFrame({"d": held}))


def test_the_first_and_the_last_day_are_dates_like_others() -> None:
    frame = pl.DataFrame({"d": [dt.date.min, dt.date.max, None], "t": [dt.datetime.min, dt.datetime.max, None]})
    assert flou.Microdata(frame, keys=["d"]).describe().n_records == 3


def test_a_year_of_zero_in_a_csv_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("d\n0000-01-01\n2000-01-01\n", encoding="utf-8")
    with pytest.raises(flou.FlouError, match="years 1 to 9999"):
        flou.read(tmp_path / "d.csv", keys=["d"])


@pytest.mark.parametrize("n", [native.MOST_COLUMNS + 1, 100_000])
def test_a_csv_file_of_more_columns_than_engines_plan_for_is_refused(n: int, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(",".join(f"c{i}" for i in range(n)) + "\n" + "1," * (n - 1) + "1\n")
    with pytest.raises(flou.FlouError, match=f"{n:,} columns"):
        flou.read(tmp_path / "wide.csv")


def test_a_frame_of_more_columns_is_refused_too() -> None:
    with pytest.raises(flou.FlouError, match="columns"):
        flou.Microdata(pl.DataFrame({f"c{i}": [1] for i in range(native.MOST_COLUMNS + 1)}))


@pytest.mark.parametrize("n", [251, 256, 5_000])
def test_an_output_whose_name_is_too_long_is_refused(n: int, job: Any, refused: Callable[..., str]) -> None:
    assert "name too long" in refused("run", job.plan, "--out", job.out.with_name("a" * n)).lower()


def test_a_report_whose_name_is_too_long_is_refused(job: Any, refused: Callable[..., str]) -> None:
    assert "name too long" in refused("report", job.plan, "--out", job.out.with_name("a" * 256)).lower()


BEYOND = {
    "all at the end": [2**63 - 1] * 8,
    "some at the end": [2**63 - 1, 2**63 - 2] * 4,
    "beside the end": [2**63 - 300] * 8,
}


@pytest.mark.parametrize("case", list(BEYOND))
@pytest.mark.parametrize("show", ["mean", "median", "mode"])
def test_an_average_that_64_bits_do_not_hold_is_refused(case: str, show: Any) -> None:
    people = flou.Microdata(pl.DataFrame({"v": BEYOND[case], "k": ["a"] * 8}), keys=["k"], sensitive=["v"])
    with pytest.raises(flou.FlouError, match="more digits than are computed with"):
        flou.protect.Microaggregation(["v"], group_size=3, show=show).protect(people, secret=1)


def test_an_average_that_64_bits_hold_is_shown() -> None:
    people = flou.Microdata(pl.DataFrame({"v": [2**62] * 8, "k": ["a"] * 8}), keys=["k"], sensitive=["v"])
    release = flou.protect.Microaggregation(["v"], group_size=3).protect(people, secret=1)
    assert release.data.frame["v"].to_list() == [2**62] * 8


def test_a_date_is_not_perturbed_out_of_the_calendar() -> None:
    frame = pl.DataFrame({"d": [dt.date.max, dt.date.min] * 20, "k": ["a"] * 40})
    people = flou.Microdata(frame, keys=["k"], sensitive=["d"])
    with pytest.raises(flou.FlouError, match="years 1 to 9999"):
        flou.protect.AdditiveNoise(["d"], share=1.0).protect(people, secret=1)
