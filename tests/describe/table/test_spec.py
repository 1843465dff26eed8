"""What may be written for a table, and every message for what may not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe.schema import Schema
from flou.describe.table.spec import parse_dims

FRAME = pl.DataFrame(
    {
        "pid": [1, 2, 3, 4],
        "name": ["Ann", "Bob", "Cyd", "Dee"],
        "region": ["N", "N", "S", "S"],
        "department": ["11", "12", "21", "22"],
        "age": [3, 17, 24, 31],
        "sex": ["F", "M", "F", "M"],
        "income": [1.0, 2.0, 3.0, 4.0],
        "w": [1.0, 2.0, 1.0, 2.0],
        "firm": ["a", "a", "b", "b"],
    }
)
BANDS = flou.Hierarchy.bands(5, 10, names=["five", "decade"])
ROLES: dict[str, Any] = {
    "id": "pid", "identifiers": ["name"], "keys": ["region", "department", "age", "sex"], "hierarchies": {"age": BANDS},
}  # fmt: skip


@pytest.fixture
def people() -> flou.Microdata:
    return flou.Microdata(FRAME, **ROLES)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("sex", [[("sex", 0, "sex")]]),
        ("region>department", [[("region", 0, "region"), ("department", 0, "department")]]),
        (" region > department ", [[("region", 0, "region"), ("department", 0, "department")]]),
        ("age@2", [[("age", 2, "age@2")]]),
        ("age@decade", [[("age", 2, "age@decade")]]),
        ("age@0", [[("age", 0, "age")]]),
        ("age@2>age@1>age", [[("age", 2, "age@2"), ("age", 1, "age@1"), ("age", 0, "age")]]),
        ("age@*", [[("age", 2, "age@decade"), ("age", 1, "age@five"), ("age", 0, "age")]]),
        ("region|sex", [[("region", 0, "region")], [("sex", 0, "sex")]]),
        (
            "region>department|age@five",
            [[("region", 0, "region"), ("department", 0, "department")], [("age", 1, "age@five")]],
        ),
    ],
)
def test_a_dimension_is_read(text: str, levels: Any) -> None:
    (spec,) = parse_dims([text], FRAME.columns, Schema(keys=("age",), hierarchies={"age": BANDS}))
    assert [[(lv.column, lv.number, lv.shown) for lv in path] for path in spec.zonings] == levels
    assert parse_dims(text, FRAME.columns, Schema(keys=("age",), hierarchies={"age": BANDS})) == (spec,)


@pytest.mark.parametrize("name", ["a>b", "a|b", "a@1", "a@*", "@", ">"])
def test_a_column_with_a_sign_in_its_name_is_taken_by_its_name(name: str) -> None:
    table = flou.Microdata(pl.DataFrame({name: ["x", "y"], "a": [1, 2], "b": [1, 2]})).tabulate([name])
    assert table.columns == (name,)
    assert table.n_cells == 3


@pytest.mark.parametrize(
    ("dims", "words"),
    [
        (3, "dims takes a list of dimensions.*given 3"),
        (None, "dims takes a list"),
        ([1, "sex"], "dims takes a list"),
        ([], "dims is empty"),
        ("sexe", "names the column 'sexe', which the data do not have.*Did you mean 'sex'.*Columns: pid"),
        ("", "names the column '', which the data do not have"),
        ("region>", "names the column ''"),
        ("|sex", "names the column ''"),
        ("sex@1", "asks for a level of 'sex', which has no hierarchy.*Declare one: hierarchies="),
        ("sex@*", "which has no hierarchy"),
        ("agee@*", "names the column 'agee'"),
        ("age@9", "level = 9 is outside 0 to 3"),
        ("age@decad", "no level named 'decad'.*decade"),
        ("age@-1", "no level named '-1'"),
        ("sex>sex", "'sex>sex' has 'sex' twice"),
        ("age@*>age", "has 'age' twice"),
        ("age|age", "has 'age' twice"),
        (["sex", "sex"], "'sex' stands in two dimensions.*side by side"),
        (["age@1", "age"], "'age' stands in two dimensions"),
        (["sex", "region|sex"], "'sex' stands in two dimensions"),
        ("pid", "'pid' identifies people or units"),
        (["sex", "region|name"], "'name' identifies people or units"),
        ("age>age@1", "not nested|lies in several"),
        ("sex>region", "is not nested: region 'N' lies in several of sex: .*1 of 2|2 of 2"),
    ],
)
def test_dims_that_cannot_be_read(people: flou.Microdata, dims: Any, words: str) -> None:
    if dims == "age>age@1":  # each five years hold one person here, so fine and coarse are the same
        people = flou.Microdata(FRAME.with_columns(age=pl.Series([1, 2, 24, 31])), **ROLES)
    with pytest.raises(flou.FlouError, match=words):
        people.tabulate(dims)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"value": "incom"}, "value = 'incom' names no column.*Did you mean 'income'"),
        ({"value": 3}, "value = 3 names no column"),
        ({"value": "region"}, "value = 'region' should be a column of numbers"),
        ({"weight": "x"}, "weight = 'x' names no column"),
        ({"weight": "region"}, "weight = 'region' should be a column of numbers"),
        ({"holding": "x"}, "holding = 'x' names no column"),
        ({"holding": "firm", "weight": "w"}, "holding and weight together are not defined"),
        ({"largest": -1}, "largest = -1 must be a whole number from 0 to 100"),
        ({"largest": 101}, "largest = 101"),
        ({"largest": True}, "largest = True"),
        ({"largest": 2.0}, "largest = 2.0"),
        ({"cells": "some"}, 'cells = \'some\' must be "occupied" or "all"'),
        ({"total": ""}, "total = '' must be a text"),
        ({"total": 3}, "total = 3 must be a text"),
        ({"total": "F"}, "has a category 'F', the label of totals. Give totals another"),
        ({"margins": "sex"}, "margins = 'sex' must be true, false or a list of dimensions: 'sex'"),
        ({"margins": 1}, "margins = 1 must be"),
        ({"margins": None}, "margins = None must be"),
        ({"margins": ["region"]}, "margins names 'region', which is no dimension: 'sex'"),
    ],
)
def test_options_that_cannot_be(people: flou.Microdata, options: dict[str, Any], words: str) -> None:
    with pytest.raises(flou.FlouError, match=words):
        people.tabulate("sex", **options)


def test_an_unknown_option_is_refused(people: flou.Microdata) -> None:
    words = r"A table has no option 'margin'.*Did you mean 'margins'"
    with pytest.raises(flou.FlouError, match=words):
        flou.tabulate_many(people, [["sex"]], margin=False)
    with pytest.raises(flou.FlouError, match=words):
        people.tabulate("sex", margin=False)


@pytest.mark.parametrize("name", ["count", "value", "status", "cell_key", "holdings", "largest_1", "largest_12"])
def test_a_dimension_cannot_have_the_name_of_a_figure(name: str) -> None:
    frame = pl.DataFrame({name: ["a", "b"], "v": [1.0, 2.0]})
    with pytest.raises(flou.FlouError, match=f"A dimension cannot be called '{name}'"):
        flou.Microdata(frame).tabulate(name, value="v")
    with pytest.raises(flou.FlouError, match=f"A dimension cannot be called '{name}'"):
        flou.Table.from_frame(frame.with_columns(n=pl.lit(1)), name, count="n")


def test_two_dimensions_cannot_be_shown_under_one_name() -> None:
    frame = pl.DataFrame({"age": [1, 7, 12], "age@1": ["x", "y", "y"]})
    data = flou.Microdata(frame, keys=["age"], hierarchies={"age": flou.Hierarchy.bands(5, 10)})
    assert data.tabulate(["age@2>age", "age@1"]).columns == ("age@2", "age", "age@1")
    with pytest.raises(flou.FlouError, match="Two dimensions would be shown in a column 'age@1'"):
        data.tabulate(["age@*", "age@1"])


@pytest.mark.parametrize(
    "name", ["size", "key", "weight", "amount", "holder", "absolute", "cell", "possible", "value coarse", "place"]
)
@pytest.mark.parametrize(
    "options", [{"value": "v", "weight": "w"}, {"value": "v", "holding": "h"}, {"cells": "all"}], ids=str
)
def test_any_other_name_is_a_dimension(name: str, options: dict[str, Any]) -> None:
    frame = pl.DataFrame({"pid": [1, 2, 3], name: ["a", "b", "b"], "v": [1.0, 2.0, 3.0], "w": 1.0, "h": [1, 2, 2]})
    keyed = flou.record_keys(flou.Microdata(frame, id="pid"), secret=1)
    table = keyed.tabulate(name, **options)
    assert dict(zip(table.labels()[name], table.true_counts.tolist(), strict=True)) == {"Total": 3, "a": 1, "b": 2}
    assert table.shown_cells(reveal=True).height == 3


def test_a_margin_that_was_not_asked_for_is_not_zero() -> None:
    frame = pl.DataFrame({"region": ["N", "N", "S"], "department": ["11", "12", "21"], "district": ["x", "y", "y"]})
    table = flou.Microdata(frame).tabulate("region>department|district", margins=False)
    assert table.cell(district="y")["count"] == 2
    for labels in ({"region": "N"}, {}):
        with pytest.raises(flou.FlouError, match="made without this margin"):
            table.cell(**labels)


def test_cells_by_labels(people: flou.Microdata) -> None:
    table = people.tabulate(["region>department", "sex"], total="All")
    assert table.cell()["count"] == 4
    assert table.cell(department="11") == {
        "region": "N", "department": "11", "sex": "All", "count": 1, "status": "published",
    }  # fmt: skip
    assert table.cell(region="N", sex="M")["count"] == 1
    assert table.cell(department=11, sex="M") == {
        "region": "N", "department": "11", "sex": "M", "count": 0, "status": "zero",
    }  # fmt: skip
    with pytest.raises(flou.FlouError, match=r"no column 'sexe'.*Did you mean 'sex'"):
        table.cell(sexe="F")
    with pytest.raises(flou.FlouError, match="is no category"):
        table.cell(region="S", department="11")


def test_the_category_of_a_node() -> None:
    frame = pl.DataFrame({"region": ["N", "N", "S"], "department": ["11", "12", "21"], "district": ["x", "y", "y"]})
    (dim,) = flou.Microdata(frame).tabulate("region>department|district").dims
    names = ["Total", "N", "11", "12", "S", "21", "x", "y"]
    assert [dim.category(i) for i in range(dim.n_nodes)] == names
    above = {"N": "Total", "S": "Total", "11": "N", "12": "N", "21": "S", "x": "Total", "y": "Total"}
    for kept in ([1], [6, 7], [4], [2, 7], [5, 1]):
        pruned, nodes = dim.pruned(np.array(kept, dtype=np.int32))
        assert [pruned.category(i) for i in nodes] == [names[k] for k in kept]
        found = [pruned.category(i) for i in range(pruned.n_nodes)]
        assert set(found) == {"Total", *(names[k] for k in kept), *(above[names[k]] for k in kept)}
        assert [found[p] for p in pruned.parents[1:]] == [above[name] for name in found[1:]]
        assert pruned.parents[0] == -1
