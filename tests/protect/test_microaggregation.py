"""Microaggregation of a file: strata, nulls, codes, what groups show, what the schema says then, and refusals."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.protect.micro.microaggregation.centre import mean_of_groups, median_of_groups, mode_of_groups

Micro = flou.protect.Microaggregation


def file(frame: dict[str, Any], **roles: Any) -> flou.Microdata:
    n = len(next(iter(frame.values())))
    return flou.Microdata(pl.DataFrame({"id": range(n), **frame}), id="id", **roles)


def shown(release: flou.Release) -> pl.DataFrame:
    return release.data.to_frame(reveal=True).sort("id")


@examples(60)
@given(st.integers(0, 10_000), st.integers(2, 4), st.sampled_from(["mdav", "univariate"]))
def test_groups_keep_size_strata_and_totals(seed: int, size: int, partition: Any) -> None:
    """By hand: every combination in a stratum has its records, and means of a stratum stay."""
    rng = np.random.default_rng(seed)
    n = 80
    x = [None if rng.random() < 0.2 else float(v) for v in rng.normal(size=n).round(2)]
    frame = {"x": x, "y": rng.exponential(size=n), "s": rng.choice(["a", "b"], n)}
    data = file(frame)
    try:
        release = Micro(["x", "y"], group_size=size, by="s", partition=partition).protect(data, secret=1)
    except flou.Infeasible:
        few = pl.DataFrame(frame).group_by("s", pl.col("x").is_null()).len()["len"].min()
        assert partition == "mdav"
        assert few < size  # type: ignore[operator]
        return
    out = shown(release)
    for columns in (["x", "y"],) if partition == "mdav" else (["x"], ["y"]):
        counted = out.filter(pl.any_horizontal(pl.col(columns).is_not_null())).group_by("s", *columns).len()
        assert counted["len"].min() >= size  # type: ignore[operator]
    assert out["x"].is_null().to_list() == [v is None for v in x]
    before, after = (f.group_by("s").agg(pl.col("x", "y").mean()).sort("s") for f in (data.to_frame(), out))
    for column in ("x", "y"):
        assert after[column].to_list() == pytest.approx(before[column].to_list(), abs=1e-12)


@examples(100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=25))
def test_centres_are_those_of_each_group(rows: list[tuple[int, int]]) -> None:
    groups, values = np.array([g for g, _ in rows]), np.array([v / 10 for _, v in rows])
    means, medians = mean_of_groups(groups, values), median_of_groups(groups, values)
    modes = mode_of_groups(groups, values, -values)
    for i, g in enumerate(groups):
        held = values[groups == g]
        assert means[i] == pytest.approx(held.mean())
        assert held.min() <= means[i] <= held.max()
        assert medians[i] == pytest.approx(np.median(held))
        counts = {v: int((held == v).sum()) for v in held}
        assert modes[i] == max(v for v in counts if counts[v] == max(counts.values())), "the least reluctance: largest"


def test_whole_numbers_and_dates_stay_whole() -> None:
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 3), dt.date(2021, 1, 5), dt.date(2021, 1, 9)]
    release = Micro(["n", "day"], group_size=2).protect(file({"n": [1, 2, 10, 15], "day": days}), secret=1)
    out = shown(release)
    assert out["n"].to_list() == [2, 2, 12, 12]  # 1.5 and 12.5, rounded to even
    assert out["day"].to_list() == [dt.date(2020, 1, 2)] * 2 + [dt.date(2021, 1, 7)] * 2
    assert out.schema["n"] == pl.Int64


def test_equal_values_stay_as_they_are() -> None:
    """A mean of equal values is that value, to the last digit."""
    release = Micro("x").protect(file({"x": [0.1] * 3 + [0.7] * 3}), secret=1)
    assert shown(release)["x"].to_list() == [0.1] * 3 + [0.7] * 3
    assert release.steps[0].changes[0].n_changed == 0
    assert release.steps[0].variance_lost == 0


def test_categories_show_the_mode() -> None:
    """Alike in the number, the odd category goes with its neighbours; a tie goes to the category with more records."""
    data = file({"c": ["a", "b", "b", "c", "c", "a"], "x": [0.0, 0.1, 0.2, 9.0, 9.1, 9.2], "w": [True] * 5 + [None]})
    out = shown(Micro(["c", "x"], show="median").protect(data, secret=1))
    assert out["c"].to_list() == ["b"] * 3 + ["c"] * 3
    assert out["x"].to_list() == [0.1] * 3 + [9.1] * 3
    tie = file({"c": ["b", "a", "a"], "x": [0.0, 0.0, 0.0]})
    assert shown(Micro("c", group_size=2).protect(tie, secret=1))["c"].to_list() == ["a"] * 3


def test_renamed_categories_form_the_same_groups() -> None:
    rng = np.random.default_rng(3)
    c = rng.choice(["a", "b", "c", "d"], 60)
    names = {"a": "z", "b": "é", "c": "0", "d": "m"}
    x = rng.normal(size=60)
    method = Micro(["c", "x"])
    once = shown(method.protect(file({"c": c, "x": x}), secret=1))
    other = shown(method.protect(file({"c": [names[v] for v in c], "x": x}), secret=1))
    assert once["x"].to_list() == other["x"].to_list()
    assert [names[v] for v in once["c"]] == other["c"].to_list()


def test_codes_and_nulls_stay_and_are_grouped_apart() -> None:
    frame = {"x": [1.0, 2, 3, 999, 999, None, None, None], "y": [1.0, 2, 3, 4, 6, 1, 2, 3]}
    data = file(frame, others=["x"], not_applicable={"x": [999]})
    out = shown(Micro(["x", "y"], group_size=2).protect(data, secret=1))
    assert out["x"].to_list() == [2, 2, 2, 999, 999, None, None, None]
    assert out["y"].to_list() == [2, 2, 2, 5, 5, 2, 2, 2]
    with pytest.raises(flou.Infeasible, match=r"2 records stand in 1 of 3 strata.*groups of 2.*by="):
        Micro(["x", "y"], group_size=3).protect(data, secret=1)
    # a record that shows nothing needs no company
    alone = file({"x": [1.0, 2, None]})
    assert shown(Micro("x", group_size=2).protect(alone, secret=1))["x"].to_list() == [1.5, 1.5, None]


def test_a_mean_that_is_a_code_is_refused() -> None:
    data = file({"x": [998, 1000, 999, 999]}, others=["x"], not_applicable={"x": [999]})
    with pytest.raises(flou.FlouError, match="would show 999, which means not applicable"):
        Micro("x", group_size=2).protect(data, secret=1)


def test_the_schema_speaks_of_the_new_values() -> None:
    frame = {"age": [20, 22, 31, 37, 90, 98], "sex": ["F", "M", "F", "F", "M", "F"]}
    data = file(
        frame,
        keys=["age", "sex"],
        modalities={"age": [20, 22, 31, 37, 90, 98], "sex": ["F", "M"]},
        hierarchies={"age": flou.Hierarchy.bands(10)},
        incoherent=[{"age": 20, "sex": "M"}],
        value_labels={"age": {"90": "ninety"}},
    )
    release = Micro("age", group_size=2).protect(data, secret=1)
    schema = release.data.schema
    assert schema.modalities == {"age": (21, 34, 94), "sex": ("F", "M")}
    assert set(schema.hierarchies) == {"age"}
    assert schema.incoherent == ()
    assert schema.value_labels == {}
    flou.Microdata(release.data.to_frame(), schema.without(["id"]))  # and the file fits it
    # a table that does not know 21 says nothing about it any more
    table = flou.Hierarchy(table=tuple((str(v), ("old" if v > 40 else "young",)) for v in frame["age"]))
    gone = Micro("age", group_size=2).protect(data.with_schema(data.schema.with_changes(hierarchies={"age": table})))
    assert gone.data.schema.hierarchies == {}
    kept = Micro(["age", "sex"], group_size=2, show="mode").protect(data, secret=1).data.schema
    assert kept.modalities == data.schema.modalities
    assert set(kept.hierarchies) == {"age"}


def test_a_later_step_that_breaks_the_promise_is_found() -> None:
    """Dropping one of a group leaves two."""
    data = file({"x": [1.0, 2, 3, 7, 8, 9], "k": ["a", "b", "b", "b", "b", "b"]}, keys=["k"])
    drop = flou.protect.DropRecords(flou.risk.KAnonymity(k=2))
    with pytest.raises(flou.FlouError, match=r"undoes what step 1 \(microaggregation\) guarantees.* 2 violations"):
        flou.Plan([Micro("x"), drop]).protect(data, secret=1)
    assert flou.Plan([drop, Micro("x")]).protect(data, secret=1).data.n_records == 5


def test_a_later_null_that_leaves_a_rare_combination_is_found() -> None:
    """Nulls in x hide who has z = "b", and two records alone show y = 1 without an x."""
    data = file({"x": [1.0] * 4 + [9.0] * 4, "y": [1.0] * 8, "z": ["a", "a", "a", "b"] * 2}, keys=["x", "z"])
    nulls = flou.protect.LocalSuppression(k=2, importance={"z": 9})
    with pytest.raises(flou.FlouError, match=r"undoes what step 1 \(microaggregation\) guarantees.* 2 violations"):
        flou.Plan([Micro(["x", "y"]), nulls]).protect(data, secret=1)


def test_exchanges_lower_the_loss() -> None:
    rng = np.random.default_rng(0)
    data = file({"x": rng.normal(size=900), "y": rng.normal(size=900)})
    plain = Micro(["x", "y"], improve="none").protect(data, secret=1).steps[0]
    better = Micro(["x", "y"]).protect(data, secret=1).steps[0]
    assert better.n_groups == plain.n_groups == 300
    assert 0 < better.variance_lost < 0.97 * plain.variance_lost
    alone = Micro(["x", "y"], partition="univariate").protect(data, secret=1).steps[0]
    assert alone.variance_lost < 0.1 * better.variance_lost


@pytest.mark.parametrize(
    ("method", "match"),
    [
        (Micro("c", partition="univariate"), "categories, which have no order"),
        (Micro("id"), "never published"),
        (Micro("when"), "takes numbers, dates, texts and true/false"),
        (Micro("x"), "infinite or too large"),
        (Micro("nope"), "which the data do not have"),
        (Micro("c", by="x", group_size=3), "strata with fewer"),
    ],
)
def test_refusals(method: Any, match: str) -> None:
    frame = {"c": list("aabb"), "x": [1.0, 2.0, 3.0, float("inf")], "when": [dt.datetime(2020, 1, 1, 5)] * 4}
    with pytest.raises(flou.FlouError, match=match):
        method.protect(file(frame), secret=1)
