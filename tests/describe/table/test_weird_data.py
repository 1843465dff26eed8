"""Nulls, odd types and odd texts in the dimensions of a table."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou


def counted(frame: pl.DataFrame, dims: Any = "a", **roles: Any) -> dict[Any, int]:
    table = flou.Microdata(frame, **roles).tabulate(dims)
    rows = table.labels().rows()
    return dict(zip((r[0] if len(r) == 1 else r for r in rows), table.true_counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([True, False, True], {"Total": 3, "false": 1, "true": 2}),
        ([dt.date(2020, 2, 29), dt.date(1999, 1, 1)] * 2, {"Total": 4, "1999-01-01": 2, "2020-02-29": 2}),
        ([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 12)], {"Total": 2, "2020-01-01": 1, "2020-01-01T12:00:00": 1}),
        ([0.1, 0.5, -0.0, 0.0, 1e20], {"Total": 5, "0": 2, "0.1": 1, "0.5": 1, "100000000000000000000": 1}),
        ([Decimal("1.50"), Decimal("2.00"), Decimal("1.50")], {"Total": 3, "1.5": 2, "2": 1}),
        (["", " ", "é", "e\u0301", "日本", "👩‍👩‍👧", "a\nb", 'q"q', "a;b", "a,b"], None),
        (["null", "None", "nan", "NaN", "true", "0", "00"], None),
        (["x"], {"Total": 1, "x": 1}),
        (["x"] * 50, {"Total": 50, "x": 50}),
        ([2**62, -(2**62), 0], {"Total": 3, str(-(2**62)): 1, "0": 1, str(2**62): 1}),
        ([10, 9, 100], {"Total": 3, "9": 1, "10": 1, "100": 1}),  # in the order of numbers
    ],
    ids=lambda v: str(v)[:40],
)  # fmt: skip
def test_values_of_any_kind_are_categories(values: list[Any], labels: dict[str, int] | None) -> None:
    found = counted(pl.DataFrame({"a": values}))
    expected = labels or {"Total": len(values), **dict.fromkeys(sorted(values), 1)}
    assert found == expected
    assert list(found) == list(expected)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "xlsx"])
def test_odd_texts_survive_a_file(ending: str, tmp_path: Any) -> None:
    texts = ["é", "e\u0301", "日本", "👩‍👩‍👧", 'q"q', "a;b", "a,b", "null", "None", "NaN", "00", "true", "'x"]
    table = flou.Microdata(pl.DataFrame({"a": texts})).tabulate("a")
    table.write(tmp_path / f"t.{ending}", unprotected=True)
    back = flou.Table.read(tmp_path / f"t.{ending}", "a")
    assert back.to_frame().sort("a").rows() == table.to_frame().sort("a").rows()


def test_categoricals_are_texts() -> None:
    frame = pl.DataFrame({"a": pl.Series(["y", "x", "y"], dtype=pl.Categorical)})
    assert counted(frame) == {"Total": 3, "x": 1, "y": 2}
    assert counted(pl.DataFrame({"a": pl.Series(["y", "x"], dtype=pl.Enum(["y", "x", "z"]))})) == {
        "Total": 2,
        "x": 1,
        "y": 1,
    }


def test_null_needs_a_meaning() -> None:
    for frame in (
        pl.DataFrame({"a": ["x", None]}),
        pl.DataFrame({"a": [1.5, float("nan")]}),
        pl.DataFrame({"a": pl.Series([None, None], dtype=pl.String)}),
        pl.DataFrame({"a": [None, None]}),
    ):
        with pytest.raises(flou.FlouError, match=r"'a' is null in some records.*undetermined=\{'a': \[\"\?\"\]\}"):
            flou.Microdata(frame).tabulate("a")


def test_null_is_the_category_that_the_schema_names() -> None:
    frame = pl.DataFrame({"a": ["x", None, "?", "unknown", "x"]})
    assert counted(frame, undetermined={"a": ["?", "unknown"]}) == {"Total": 5, "x": 2, "?": 3}
    numbers = pl.DataFrame({"a": [1, None, -9, 7]})
    assert counted(numbers, undetermined={"a": [-9]}) == {"Total": 4, "1": 1, "7": 1, "-9": 2}
    assert counted(pl.DataFrame({"a": [None, None]}), undetermined={"a": ["?"]}) == {"Total": 2, "?": 2}


def test_codes_outside_of_the_hierarchy_are_one_category_each() -> None:
    roles: dict[str, Any] = {
        "keys": ["a"], "hierarchies": {"a": flou.Hierarchy.bands(10)}, "undetermined": {"a": [-1]},
        "not_applicable": {"a": [99]},
    }  # fmt: skip
    found = counted(pl.DataFrame({"a": [3, 14, None, -1, 99]}), "a@1>a", **roles)
    assert found == {
        ("Total", "Total"): 5, ("0-9", "Total"): 1, ("0-9", "3"): 1, ("10-19", "Total"): 1, ("10-19", "14"): 1,
        ("99", "Total"): 1, ("-1", "Total"): 2,
    }  # fmt: skip


def test_null_in_all_cells_and_rules() -> None:
    data = flou.Microdata(
        pl.DataFrame({"a": ["x", None], "b": ["p", "q"]}), keys=["a", "b"], undetermined={"a": ["?"]},
        modalities={"a": ["x", "y"], "b": ["p", "q"]}, incoherent=[{"a": "y", "b": "p"}],
    )  # fmt: skip
    table = data.tabulate(["a", "b"], cells="all")
    status = {(r["a"], r["b"]): (r["count"], r["status"]) for r in table.to_frame().rows(named=True)}
    assert status[("?", "p")] == (0, "zero")
    assert status[("?", "q")] == (1, "published")
    assert status[("y", "p")] == (0, "structural")
    assert status[("y", "Total")] == (0, "zero")
    assert len(status) == 4 * 3


def test_a_category_called_like_the_total() -> None:
    frame = pl.DataFrame({"a": ["Total", "x"]})
    with pytest.raises(flou.FlouError, match="has a category 'Total', the label of totals"):
        flou.Microdata(frame).tabulate("a")
    table = flou.Microdata(frame).tabulate("a", total="All")
    assert dict(zip(table.labels()["a"], table.true_counts.tolist(), strict=True)) == {"All": 2, "Total": 1, "x": 1}
    # also where the schema alone has it
    declared = flou.Microdata(pl.DataFrame({"a": ["x"]}), keys=["a"], modalities={"a": ["x", "Total"]})
    assert declared.tabulate("a").n_cells == 2
    with pytest.raises(flou.FlouError, match="the label of totals"):
        declared.tabulate("a", cells="all")


@pytest.mark.parametrize("value", ["count", "value", "status", "size", "key"])
def test_an_amount_may_have_any_name(value: str) -> None:
    frame = pl.DataFrame({"a": ["x", "y", "y"], value: [1.5, 2.0, 4.0]})
    table = flou.Microdata(frame).tabulate("a", value=value)
    assert table.true_values.tolist() == [7.5, 1.5, 6.0]
    assert table.to_frame().columns == ["a", "count", "value", "status"]
    weighted = flou.Microdata(frame).tabulate("a", weight=value)
    assert weighted.published_counts.tolist() == [7.5, 1.5, 6.0]


def test_a_column_may_be_dimension_and_amount_at_once() -> None:
    table = flou.Microdata(pl.DataFrame({"a": [1, 2, 2]})).tabulate("a", value="a")
    assert table.true_values.tolist() == [5.0, 1.0, 4.0]
    held = flou.Microdata(pl.DataFrame({"a": [1, 2, 2], "v": [1.0, 2.0, 3.0]})).tabulate("a", value="v", holding="a")
    assert held.cells.holdings is not None
    assert held.cells.holdings.tolist() == [2, 1, 1]


def test_too_many_categories_are_refused() -> None:
    n = 70_000
    frame = pl.DataFrame({c: np.arange(n) for c in "abcd"})
    with pytest.raises(flou.FlouError, match="cannot be numbered in 62 bits"):
        flou.Microdata(frame).tabulate(list("abcd"), margins=False)
    with pytest.raises(flou.FlouError, match=r'cells = "all" would lay out'):
        flou.Microdata(frame).tabulate(list("ab"), cells="all")


def test_the_frame_is_left_as_it_was() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "v": [1.0, 2.0]})
    before = frame.clone()
    table = flou.Microdata(frame).tabulate("a", value="v")
    table.to_frame()[0, "count"] = 99
    assert table.true_counts[0] == 2
    assert frame.equals(before)
