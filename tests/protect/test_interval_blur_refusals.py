"""What an interval blur must refuse, and which covariates it must not choose."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.errors import DataError, ParameterError
from flou.protect import IntervalBlur

APA = flou.datasets.apa(4_000)
ACTIVITIES = {"coherence", "orientation", "toileting", "dressing", "feeding", "elimination", "transfers",
              "indoor_moves"}  # fmt: skip


def _data(n: int = 400, **more: Any) -> flou.Microdata:
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    held = {"pid": np.arange(n), "amount": np.exp(5 + x + rng.normal(size=n)).round(2), "x": x,
            "g": rng.choice(["a", "b", "c"], n)}  # fmt: skip
    return flou.Microdata(pl.DataFrame(held | more), id="pid")


def _refused(blur: IntervalBlur, data: flou.Microdata, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        blur.protect(data, secret=1)


def test_negative_amounts_have_no_log() -> None:
    data = _data(amount=np.linspace(-5, 800, 400))
    _refused(IntervalBlur("amount", given=["x"]), data, DataError, r"3 values of 'amount' are negative.*identity")
    assert IntervalBlur("amount", given=["x"], scale="identity").protect(data, secret=1).guarantees


def test_zeros_are_not_kept_apart_among_negative_values() -> None:
    """Losses must not come out as gains."""
    amount = np.random.default_rng(2).normal(0, 300, 400).round()
    blur = IntervalBlur("amount", given=["x"], scale="identity")
    _refused(IntervalBlur("amount", given=["x"], scale="identity", zeros="keep"), _data(amount=amount), DataError,
             "negative")  # fmt: skip
    after = blur.protect(_data(amount=amount), secret=1).to_frame(reveal=True).sort("pid")["amount"].to_numpy()
    assert np.corrcoef(after, amount)[0, 1] > 0.95


def test_classes_must_have_somebody_and_cover_everybody() -> None:
    data = _data(amount=np.random.default_rng(3).uniform(100, 400, 400).round(2))
    _refused(
        IntervalBlur("amount", breaks=[0, 50, 200, 400]),
        data,
        DataError,
        r"Too few values lie in the class 0 to 50 .0.",
    )
    _refused(IntervalBlur("amount", breaks=[0, 200, 300]), data, DataError, "do not cover.*above.*open")
    _refused(IntervalBlur("amount", breaks=[150, 200, 400]), data, DataError, "do not cover.*below")


def test_a_given_class_has_min_records_or_is_refused() -> None:
    blur = IntervalBlur("amount", breaks=[0, 50, 400], given=["x"], min_records=12)
    rest = np.random.default_rng(3).uniform(100, 400, 400)
    few, enough = (np.where(np.arange(400) < n, np.arange(400) + 1.0, rest) for n in (11, 12))
    _refused(blur, _data(amount=few), DataError, r"class 0 to 50 \(11\): a class needs min_records = 12")
    assert blur.protect(_data(amount=enough), secret=1).guarantees


def test_a_class_that_shows_one_value_hides_nothing() -> None:
    """Ages in classes of one year would be the ages themselves, under the promise that they are not."""
    rng = np.random.default_rng(4)
    data = _data(amount=rng.integers(70, 80, 400))
    given: dict[str, Any] = {"given": ["x"], "scale": "identity"}
    _refused(IntervalBlur("amount", breaks=[70, 71, 75, 80], **given), data, ParameterError, "70 to 71.*widen")
    release = IntervalBlur("amount", classes=10, **given).protect(data, secret=1)
    edges = release.steps[0].edges[0]
    assert min(np.diff(edges)) >= 2 or edges[-1] - edges[-2] >= 1
    before = data.to_frame()["amount"].to_numpy()
    after = release.to_frame(reveal=True).sort("pid")["amount"].to_numpy()
    assert (before == after).mean() < 0.7
    _refused(IntervalBlur("amount", classes=10, unit=10.0, **given), data, DataError, "smaller unit")


def test_two_open_classes_do_not_tell_the_spread() -> None:
    _refused(IntervalBlur("amount", classes=2, given=["x"]), _data(), DataError, "three classes")


@pytest.mark.parametrize("numeric", [True, False])
def test_collinear_covariates_are_named(numeric: bool) -> None:
    data = _data()
    frame = data.to_frame()
    if numeric:
        frame = frame.with_columns((2 * pl.col("x") + 1).alias("y"))
        given, named = ["x", "g", "y"], ("x", "y")
    else:  # two levels of g in one
        frame = frame.with_columns(pl.col("g").replace({"b": "c"}).alias("h"))
        given, named = ["x", "g", "h"], ("g", "h")
    with pytest.raises(DataError, match="collinear") as caught:
        IntervalBlur("amount", given=given).protect(flou.Microdata(frame, id="pid"), secret=1)
    text = str(caught.value).split(" are collinear")[0]
    assert all(name in text for name in named)
    assert not any(name in text.split() for name in {"x", "g"} - set(named)), "the third one has no part in it"


def test_columns_that_cannot_be_blurred() -> None:
    dates = [dt.date(2000, 1, 1) + dt.timedelta(days=7 * i) for i in range(400)]
    _refused(IntervalBlur("amount", given=["x"]), _data(amount=dates), ParameterError, "dates.*identity")
    _refused(IntervalBlur("g", given=["x"]), _data(), DataError, "numbers or dates")
    _refused(IntervalBlur("amount", given=["x"], unit=0.5), _data(amount=np.arange(400)), ParameterError, "whole")
    _refused(IntervalBlur("amount", given=["x"], saturated=99.5), _data(amount=np.arange(400)), ParameterError,
             "whole")  # fmt: skip
    _refused(IntervalBlur("amount", given=["x"]), _data(amount=np.full(400, 7.0)), DataError, "fewer than two classes")
    _refused(
        IntervalBlur("amount", given=["x"]),
        _data(amount=pl.Series([None] * 400, dtype=pl.Float64)),
        DataError,
        "it has none",
    )
    _refused(IntervalBlur("amount", given=["x"]), _data(amount=np.zeros(400)), DataError, "no value to blur")
    _refused(IntervalBlur("amount", given=["x"]), _data(n=0), DataError, "none")
    _refused(IntervalBlur("amount", given=["w"]), _data(w=np.ones(400)), DataError, "'w' has one value alone")
    _refused(IntervalBlur("amount", given=["nobody"]), _data(), DataError, "Columns:")
    _refused(IntervalBlur("pid", given=["x"]), _data(), DataError, "never published")
    _refused(IntervalBlur("amount", given=["pid"]), _data(), DataError, "never published")


@pytest.mark.parametrize("column", ["apa_amount", "plan_amount", "hours"])
def test_the_dependency_group_and_its_activities_are_not_chosen_together(column: str) -> None:
    data = flou.Microdata(APA.to_frame().select("pid", "gir", "sex", *sorted(ACTIVITIES), column), id="pid")
    strict = IntervalBlur(column, max_collinearity=0.2, max_covariates=20).protect(data, secret=1)
    chosen = set(strict.steps[0].covariates)
    assert chosen
    assert chosen <= {"gir", "sex", *ACTIVITIES}
    assert not ("gir" in chosen and chosen & ACTIVITIES)
    loose = IntervalBlur(column, max_collinearity=1.0, max_covariates=20).protect(data, secret=1)
    assert "gir" in loose.steps[0].covariates
    assert set(loose.steps[0].covariates) & ACTIVITIES


def test_hidden_columns_and_weights_are_never_chosen() -> None:
    rng = np.random.default_rng(5)
    amount = rng.lognormal(5, 1, 500).round(2)
    frame = pl.DataFrame({"pid": amount.argsort().argsort(), "name": amount, "hid": np.round(amount, 1),
                          "w": 1 + amount, "x": np.log(amount) + rng.normal(size=500), "amount": amount})  # fmt: skip
    data = flou.Microdata(frame, id="pid", identifiers=["name"], household="hid", weight="w")
    assert IntervalBlur("amount", max_collinearity=1.0).protect(data, secret=1).steps[0].covariates == ("x",)


def test_candidates_that_are_missing_together_do_not_stop_the_choice() -> None:
    rng = np.random.default_rng(6)
    z, gone = rng.normal(size=800), rng.random(800) < 0.3
    a, b = (np.where(gone, np.nan, z + rng.normal(size=800)) for _ in range(2))
    c = np.where(gone, None, np.where(z > 0, "up", "down"))
    data = flou.Microdata(pl.DataFrame({"amount": np.exp(6 + z), "a": a, "b": b, "c": c.tolist()}))
    assert IntervalBlur("amount", max_collinearity=0.99).protect(data, secret=1).steps[0].n_covariates >= 1


def test_modelled_zeros_do_not_spoil_the_choice_of_covariates() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=600)
    amount = np.maximum(np.exp(5 + x + 0.3 * rng.normal(size=600)).round(2) - 40, 0)
    noise = {f"a{i}": rng.normal(size=600) for i in range(3)}
    data = flou.Microdata(pl.DataFrame({"amount": amount, **noise, "x": x}))
    assert IntervalBlur("amount", zeros="model").protect(data, secret=1).steps[0].covariates[0] == "x"


def test_not_applicable_codes_of_a_covariate_are_no_numbers() -> None:
    """An income of 999,999 that means "none" must not bend the regression."""
    rng = np.random.default_rng(8)
    x = rng.normal(10, 2, 1000).round(2)
    amount = np.exp(4 + 0.3 * x + 0.2 * rng.normal(size=1000)).round(2)
    coded = np.where(rng.random(1000) < 0.1, 999_999.0, x)
    frame = pl.DataFrame({"amount": amount, "x": coded})
    told = flou.Microdata(frame, others=["x"], not_applicable={"x": [999_999]})
    blur = IntervalBlur("amount", given=["x"], classes=5)
    taken_for_numbers = blur.protect(flou.Microdata(frame), secret=1).steps[0].sigma
    assert blur.protect(told, secret=1).steps[0].sigma < 0.7 * taken_for_numbers


def test_a_column_that_nothing_explains_is_blurred_all_the_same() -> None:
    amount = np.random.default_rng(9).lognormal(5, 1, 500).round(2)
    alone = IntervalBlur("amount").protect(flou.Microdata(pl.DataFrame({"amount": amount})), secret=1)
    assert alone.steps[0].n_covariates == 0
    constant = flou.Microdata(pl.DataFrame({"amount": amount, "c": ["x"] * 500}))
    assert IntervalBlur("amount").protect(constant, secret=1).steps[0].covariates == ()


def test_columns_that_are_no_covariates_are_passed_over() -> None:
    rng = np.random.default_rng(10)
    amount = rng.lognormal(5, 1, 500).round(2)
    close = np.log(amount) + rng.normal(size=500)
    held = {"amount": amount, "at": [dt.time(i % 24) for i in range(500)], "x": close,
            "took": [dt.timedelta(days=int(a)) for a in amount], "far": np.where(amount > 900, np.inf, close),
            "text": [f"text {i}" for i in range(500)]}  # fmt: skip
    assert IntervalBlur("amount").protect(flou.Microdata(pl.DataFrame(held)), secret=1).steps[0].covariates == ("x",)
