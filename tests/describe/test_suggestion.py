"""Suggested hierarchies: what each kind of column gets, and that every level is made of the one below."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flou
from flou import Hierarchy
from flou.describe.hierarchy import ROOT


def people_of(values: Any, dtype: Any = None, **roles: Any) -> flou.Microdata:
    return flou.Microdata(pl.DataFrame({"x": pl.Series("x", values, dtype=dtype)}), **({"keys": ["x"]} | roles))


def path_of(hierarchy: Hierarchy, value: object) -> list[object]:
    return [hierarchy.generalise([value], n)[value] for n in range(1, hierarchy.height + 1)]


def sizes(hierarchy: Hierarchy, values: list[Any]) -> list[int]:
    """The number of groups of each level; each level is a function of the one below."""
    levels = [hierarchy.generalise(values, n) for n in range(hierarchy.height + 1)]
    for fine, coarse in pairwise(levels):
        parent: dict[object, object] = {}
        for value in values:
            assert parent.setdefault(fine[value], coarse[value]) == coarse[value]
    assert set(levels[-1].values()) == {ROOT}
    return [len(set(level.values())) for level in levels]


def test_ages() -> None:
    hierarchy = Hierarchy.suggest(people_of(range(17, 91)), "x")
    assert hierarchy == Hierarchy.bands(5, 10, 20)
    assert path_of(hierarchy, 63) == ["60-64", "60-69", "60-79", ROOT]


def test_a_few_large_incomes_do_not_widen_the_bands_of_all() -> None:
    incomes = [*range(8_000, 48_000, 50), 900_000, 2_400_000]
    hierarchy = Hierarchy.suggest(people_of(incomes), "x")
    assert hierarchy.band_levels[0] == 2_000
    assert 3 <= sizes(hierarchy, incomes)[-2] <= 6
    assert hierarchy.height <= 5


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([0.13, 0.2, 0.55, 0.9, 0.98], None, (0.05, 0.1, 0.2)),
        ([Decimal("0.13"), Decimal("0.55"), Decimal("0.98")], pl.Decimal(10, 2), (0.05, 0.1, 0.2)),
        ([0, 1, 2, 3, 4, 5], None, (2,)),
        ([-40, 0, 35], None, (5, 10, 20)),
        ([1e-12, 5e-12, 2e-11], None, (1e-12, 5e-12)),
        ([0, 1], None, ()),
        ([7.5, 7.5], None, ()),
    ],
)
def test_numbers(values: list[Any], dtype: Any, expected: tuple[float, ...]) -> None:
    hierarchy = Hierarchy.suggest(people_of(values, dtype), "x")
    assert hierarchy.band_levels == expected
    found = sizes(hierarchy, values)
    assert found == sorted(found, reverse=True)
    assert found[-2] > 1 or len(set(values)) == 1


def test_codes() -> None:
    communes = [f"{d:02}{c:03}" for d in (1, 2, 59, 62, 69) for c in range(1, 200, 3)] + ["2A004", "2B033"]
    hierarchy = Hierarchy.suggest(people_of(communes), "x")
    assert path_of(hierarchy, "2A004") == ["2A00*", "2A0**", "2A***", "2****", ROOT]
    nace = ["01.11", "01.12", "01.21", "10.11", "10.12", "47.11", "47.19"]
    assert path_of(Hierarchy.suggest(people_of(nace), "x"), "01.11") == ["01.1*", "01.**", ROOT]
    isco = [2111, 2112, 2142, 2211, 2320, 3111, 3112]
    assert Hierarchy.suggest(people_of(isco), "x").band_levels
    assert Hierarchy.suggest(people_of(isco), "x", method="prefix") == Hierarchy.prefix(3, 2, 1)


def test_long_codes_have_few_levels() -> None:
    codes = [f"{n * 7919 % 10**9:014}" for n in range(3000)]
    hierarchy = Hierarchy.suggest(people_of(codes), "x")
    assert hierarchy.prefix_lengths
    assert hierarchy.height <= 5


def test_words_of_one_length_are_no_codes() -> None:
    words = ["flu", "flu", "flu", "flv", "fit"] * 10
    hierarchy = Hierarchy.suggest(people_of(words), "x")
    assert not hierarchy.prefix_lengths
    assert Hierarchy.suggest(people_of(words), "x", method="prefix") == Hierarchy.prefix(2)


@pytest.mark.parametrize("as_text", [False, True])
def test_dates(as_text: bool) -> None:
    days: list[Any] = [dt.date(2015, 1, 1) + dt.timedelta(days=17 * n) for n in range(250)]
    values = [d.isoformat() for d in days] if as_text else days
    hierarchy = Hierarchy.suggest(people_of(values), "x")
    assert hierarchy.names == ("month", "quarter", "year", "decade")
    assert path_of(hierarchy, values[1]) == ["2015-01", "2015-Q1", "2015", "2010s", ROOT]


def test_periods_that_put_nothing_together_are_left_out() -> None:
    days = [dt.date(2024, 3, 5), dt.date(2024, 3, 6), dt.date(2024, 4, 1), dt.date(2023, 1, 1)]
    assert Hierarchy.suggest(people_of(days), "x").names == ("month", "year")
    times = [dt.datetime(2024, 3, 5, 8, 30), dt.datetime(2024, 3, 5, 9), dt.datetime(2024, 3, 6)]
    hierarchy = Hierarchy.suggest(people_of(times), "x")
    assert path_of(hierarchy, times[0]) == ["2024-03-05", ROOT]
    months = Hierarchy.suggest(people_of(["2024-03", "2024-04", "2024-05", "2023-01"]), "x")
    assert path_of(months, "2024-04") == ["2024-Q2", "2024", ROOT]


def test_rare_values_are_put_together() -> None:
    countries = ["France"] * 900 + ["Italy"] * 60 + ["Spain"] * 30 + ["Peru"] * 6 + ["Chad"] * 4
    hierarchy = Hierarchy.suggest(people_of(countries), "x")
    assert path_of(hierarchy, "Chad") == ["other", "other", "other", ROOT]
    assert path_of(hierarchy, "Spain") == ["Spain", "other", "other", ROOT]
    assert path_of(hierarchy, "Italy") == ["Italy", "Italy", "other", ROOT]
    few = Hierarchy.suggest(people_of(countries), "x", min_share=0.05)
    assert path_of(few, "Spain") == ["other", "other", ROOT]


@pytest.mark.parametrize("values", [["F", "M"], [True, False], [f"name {n}" for n in range(500)], ["a"]])
def test_only_the_root_where_nothing_is_rare_or_all_is(values: list[Any]) -> None:
    hierarchy = Hierarchy.suggest(people_of(values), "x")
    assert path_of(hierarchy, values[0]) == [ROOT]


def test_null_and_codes_that_are_not_applicable_are_no_values() -> None:
    people = people_of([17, 40, 90, None, 999], not_applicable={"x": [999]})
    assert Hierarchy.suggest(people, "x") == Hierarchy.bands(5, 10, 20)
    texts = people_of(["a"] * 98 + ["b", "c", None, "none"], not_applicable={"x": ["none"]})
    hierarchy = Hierarchy.suggest(texts, "x", min_share=0.02)
    assert [value for value, _ in hierarchy.table] == ["a", "b", "c"]
    texts.with_schema(texts.schema.with_changes(hierarchies={"x": hierarchy}))


def test_declared_modalities_that_nobody_has_are_covered() -> None:
    people = people_of(["a"] * 98 + ["b", "c"], modalities={"x": ["a", "b", "c", "d"]})
    assert path_of(Hierarchy.suggest(people, "x", min_share=0.02), "d") == ["other", ROOT]
    dates = people_of([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], modalities={"x": ["2024-01-01", "2024-01-02", "2025-01-01"]})  # fmt: skip
    assert path_of(Hierarchy.suggest(dates, "x"), "2025-01-01") == ["2025-01", ROOT]


_NUMBERS = st.one_of(
    st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=40),
    st.lists(st.integers(0, 120), min_size=1, max_size=40),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40),
    st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=40),
)
_DATES = st.one_of(
    st.lists(st.dates(), min_size=1, max_size=40),
    st.lists(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)), min_size=1, max_size=40),
    st.lists(st.dates().map(str), min_size=1, max_size=40),
)
_CODES = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.text("0123AB", min_size=n, max_size=n), min_size=1, max_size=40)
)
_TEXTS = st.lists(st.sampled_from(["a", "b", "c", "other", "*", "12", "x y", "é"]), min_size=1, max_size=60)


@given(st.one_of(_NUMBERS, _DATES, _CODES, _TEXTS))
def test_every_level_is_made_of_the_one_below(values: list[Any]) -> None:
    hierarchy = Hierarchy.suggest(people_of(values), "x")
    distinct = pl.Series(values).unique().to_list()
    found = sizes(hierarchy, distinct)
    assert found == sorted(found, reverse=True)
    assert hierarchy.height <= 6
    people_of(values, keys=["x"], hierarchies={"x": hierarchy})


_COLUMNS: dict[str, Callable[[], list[Any]]] = {
    "age": lambda: [17, 34, 34, 90, None],
    "price": lambda: [0.13, 0.5, 0.98],
    "amount": lambda: [Decimal("12.50"), Decimal("99.10"), Decimal("3.00")],
    "commune": lambda: ["59350", "59351", "62041", "2A004"],
    "day": lambda: [dt.date(2024, 3, 5), dt.date(2024, 3, 6), dt.date(2024, 4, 1)],
    "moment": lambda: [dt.datetime(2024, 3, 5, 8), dt.datetime(2024, 3, 5, 9), dt.datetime(2024, 4, 1)],
    "word": lambda: ["a"] * 200 + ["b;c", 'say "d"', "e, f, g, h"],
    "constant": lambda: [Decimal("1.10"), Decimal("1.10")],
}


@pytest.mark.parametrize("name", _COLUMNS)
def test_round_trips(name: str, tmp_path: Path) -> None:
    values = _COLUMNS[name]()
    hierarchy = Hierarchy.suggest(people_of(values), "x")
    schema = flou.Schema(keys=["x"], hierarchies={"x": hierarchy})
    schema.save(tmp_path / "schema.toml")
    assert flou.Schema.load(tmp_path / "schema.toml").hierarchies["x"] == hierarchy
    hierarchy.to_csv(tmp_path / "x.csv", values)
    back = Hierarchy.from_csv(tmp_path / "x.csv")
    assert back.height == hierarchy.height
    known = [v for v in values if v is not None]
    for level in range(1, hierarchy.height + 1):
        assert back.generalise(known, level) == hierarchy.generalise(known, level)


def test_a_file_to_edit_is_in_order(tmp_path: Path) -> None:
    path = tmp_path / "age.csv"
    Hierarchy.bands(5, 10).to_csv(path, [12, 3, None, 3, 110])
    assert path.read_text() == "3;0-4;0-9;*\n12;10-14;10-19;*\n110;110-114;110-119;*\n"
    with pytest.raises(flou.FlouError, match="exists and is not overwritten"):
        Hierarchy.bands(5).to_csv(path, [3])
    Hierarchy.bands(5).to_csv(path, [3], overwrite=True)
    assert path.read_text() == "3;0-4;*\n"
    Hierarchy.tree({"North": ["62", "59"], "South": ["13"]}).to_csv(tmp_path / "region.csv")
    assert (tmp_path / "region.csv").read_text() == "62;North;*\n59;North;*\n13;South;*\n"


@pytest.mark.parametrize("name", _COLUMNS)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_in_an_engine_get_the_same(name: str, engine: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": _COLUMNS[name]()})
    expected = Hierarchy.suggest(flou.Microdata(frame, keys=["x"]), "x")
    frame.write_parquet(tmp_path / "x.parquet")
    lazy: Any = frame.lazy() if engine == "polars" else duckdb.connect().read_parquet(str(tmp_path / "x.parquet"))
    assert Hierarchy.suggest(flou.Microdata(lazy, keys=["x"]), "x") == expected


_ROLES = {"identifiers": ["name"], "id": "number", "weight": "w", "household": "home", "keys": ["age", "sex"]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: Hierarchy.suggest(p, "agee"), "'agee', which the data do not have. Did you mean 'age'"),
        (lambda p: Hierarchy.suggest(p, "name"), "'name' is identifier: it is never published"),
        (lambda p: Hierarchy.suggest(p, "number"), "'number' is id"),
        (lambda p: Hierarchy.suggest(p, "home"), "'home' is household"),
        (lambda p: Hierarchy.suggest(p, "w"), "'w' is weight: its numbers are added up"),
        (lambda p: Hierarchy.suggest(p, "empty"), "'empty' has no value to group"),
        (lambda p: Hierarchy.suggest(p, "blank"), "'blank' holds '', which no group can hold"),
        (lambda p: Hierarchy.suggest(p, "far"), "'far' holds 'inf'"),
        (lambda p: Hierarchy.suggest(p, "sex", method="bands"), "groups numbers.*'F', 'M'.*What fits it: 'frequency'"),
        (lambda p: Hierarchy.suggest(p, "age", method="dates"), "groups dates.*'bands', 'prefix', 'frequency'"),
        (lambda p: Hierarchy.suggest(p, "sex", method="prefix"), "groups codes of one length"),
        (lambda p: Hierarchy.suggest(p, "age", method="band"), "'band' is not known. Did you mean 'bands'"),
        (lambda p: Hierarchy.suggest(p, "sex", min_share=2), "min_share = 2"),
        (lambda p: Hierarchy.suggest(p.to_frame(), "sex"), "takes the microdata and the name of a column"),
        (lambda p: Hierarchy.bands(5).to_csv("x.csv"), "needs to know which to write"),
        (lambda p: Hierarchy.bands(5).to_csv("x.csv", [None]), "no value to write"),
        (lambda p: Hierarchy.bands(5).to_csv("x.csv", ["a"]), "does not cover"),
        (lambda p: Hierarchy.tree({"A": ["x ", "y"]}).to_csv("x.csv"), "these do not fit: 'x '"),
        (lambda p: Hierarchy.tree({"A": ["x\ny"]}).to_csv("x.csv"), "line breaks"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(
    call: Callable[[flou.Microdata], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame(
        {
            "name": ["Ada", "Bea"], "number": [1, 2], "w": [1.5, 2.5], "home": [1, 1], "age": [34, 35], "sex": ["F", "M"],
            "empty": pl.Series([None, None], dtype=pl.String), "blank": ["", "a"], "far": [1.0, float("inf")],
        }
    )  # fmt: skip
    with pytest.raises(flou.FlouError, match=message):
        call(flou.Microdata(frame, **_ROLES))
    assert not list(tmp_path.iterdir())
