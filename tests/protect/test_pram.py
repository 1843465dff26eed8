"""PRAM: matrices, draws, what an analyst corrects, and what is refused."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flou
from flou.engine.errors import DataError, GuaranteeBrokenError
from flou.protect.micro.transition import Transitions, invariant_matrix

P = flou.protect
SECRET = flou.Secret(bytes(range(32)))
MATRIX = {"a": {"a": 0.7, "b": 0.2, "c": 0.1}, "b": {"b": 1.0}, "c": {"a": 0.5, "c": 0.5}}


def file(n: int = 30_000, seed: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": rng.permutation(n),
            "x": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            "code": rng.choice([1, 2, 7], n),
            "flag": rng.random(n) < 0.3,
            "sex": rng.choice(["F", "M"], n),
        }
    )


def drawn(method: Any, frame: pl.DataFrame, secret: Any = SECRET, **roles: Any) -> pl.DataFrame:
    out: pl.DataFrame = (
        method.protect(flou.Microdata(frame, id="pid", **roles), secret=secret).data.to_frame(reveal=True)
    )  # fmt: skip
    return out


@given(
    st.lists(st.integers(1, 10_000), min_size=2, max_size=12),
    st.floats(0.5, 0.999),
)
def test_invariant_matrices_keep_the_frequencies(counts: list[int], stay: float) -> None:
    t = np.array(counts) / sum(counts)
    matrix = invariant_matrix(np.array(counts), stay)
    assert (matrix >= 0).all()
    assert np.allclose(matrix.sum(axis=1), 1, atol=1e-12)
    assert np.allclose(t @ matrix, t, atol=1e-12)
    assert (np.diag(matrix) < 1).all(), "every value may change"
    assert 1 - t @ np.diag(matrix) > 0.5 * (1 - stay) * (1 - (t**2).sum())


def test_invariant_matrix_by_hand() -> None:
    """Two values, half each: going there and back with the chance 0.8 stays with 0.8² + 0.2²."""
    assert np.allclose(invariant_matrix(np.array([5, 5]), 0.8), [[0.68, 0.32], [0.32, 0.68]])


def test_the_base_of_an_invariant_matrix_draws_by_frequency() -> None:
    """Of a, b, c with 1/2, 1/4, 1/4: whoever leaves b goes to a twice as often as to c. The way back is by Bayes."""
    base = np.array([[1 / 2, 1 / 4, 1 / 4], [1 / 3, 1 / 2, 1 / 6], [1 / 3, 1 / 6, 1 / 2]])
    back = np.array([[3 / 5, 1 / 5, 1 / 5], [3 / 7, 3 / 7, 1 / 7], [3 / 7, 1 / 7, 3 / 7]])
    assert np.allclose(invariant_matrix(np.array([20, 10, 10]), 0.5), base @ back)


@pytest.mark.parametrize("n", [19_999, 40_000])
def test_values_change_as_often_as_the_matrix_says(n: int) -> None:
    frame = file(n)
    after = drawn(P.Pram("x", matrix=MATRIX), frame)["x"]
    for old, row in MATRIX.items():
        some = frame["x"] == old
        total = int(some.sum())
        for new in "abc":
            p = row.get(new, 0.0)
            found = int((after.filter(some) == new).sum())
            assert abs(found - p * total) <= 5 * np.sqrt(total * p * (1 - p)) + 1e-9, (old, new)


def test_few_and_many_records_draw_alike() -> None:
    rng = np.random.default_rng(0)
    transitions = Transitions.of(
        [
            (np.array([0, 1, 2]), np.array([0.25, 0.0, 0.75])),
            (np.array([1]), np.array([1.0])),
            (np.array([2, 0]), np.array([0.1, 0.9])),
        ]
    )
    codes = rng.integers(-1, 3, 25_000)
    u = rng.random(25_000)
    many = transitions.draw(codes, codes, u)
    few = np.concatenate([transitions.draw(c, c, v) for c, v in zip(np.split(codes, 2), np.split(u, 2), strict=True)])
    assert np.array_equal(many, few)
    by_hand = {0: lambda v: 2 if v >= 0.25 else 0, 1: lambda v: 1, 2: lambda v: 0 if v >= 0.1 else 2, -1: lambda v: -1}
    assert many.tolist() == [by_hand[c](v) for c, v in zip(codes.tolist(), u.tolist(), strict=True)]


def test_an_analyst_corrects_with_the_matrix() -> None:
    """t̂ = t* P⁻¹ (Kooiman et al. 1997): on average over secrets the true counts."""
    frame = file(3000)
    matrix = {"a": {"a": 0.7, "b": 0.2, "c": 0.1}, "b": {"a": 0.1, "b": 0.9}, "c": {"a": 0.3, "c": 0.7}}
    p = np.array([[matrix[i].get(j, 0.0) for j in "abc"] for i in "abc"])
    true = np.array([(frame["x"] == v).sum() for v in "abc"])
    found, naive = [], []
    for seed in range(60):
        after = drawn(P.Pram("x", matrix=matrix), frame, secret=seed)["x"]
        seen = np.array([(after == v).sum() for v in "abc"])
        naive.append(seen)
        found.append(seen @ np.linalg.inv(p))
    error = np.std(found, axis=0, ddof=1) / np.sqrt(60)
    assert (np.abs(np.mean(found, axis=0) - true) < 5 * error).all()
    assert (np.abs(np.mean(naive, axis=0) - true) > 5 * error).any(), "without correction it would be biased"


def test_invariant_within_strata() -> None:
    """Each stratum keeps its own frequencies on average, and values that it does not have do not come in."""
    frame = file(4000).with_columns(pl.when(pl.col("sex") == "F").then(pl.lit("a")).otherwise("x").alias("x"))
    frame = frame.with_columns(pl.when(pl.col("pid") % 3 == 0).then(pl.lit("z")).otherwise("x").alias("x"))
    sums: dict[tuple[str, str], list[int]] = {}
    for seed in range(40):
        after = drawn(P.Pram("x", stay=0.7, by="sex"), frame, secret=seed)
        for sex in "FM":
            for value in "abcz":
                n = after.filter(pl.col("sex") == sex, pl.col("x") == value).height
                sums.setdefault((sex, value), []).append(n)
    assert max(sums["F", "b"]) == max(sums["F", "c"]) == 0
    for (sex, value), found in sums.items():
        true = frame.filter(pl.col("sex") == sex, pl.col("x") == value).height
        assert abs(np.mean(found) - true) <= 5 * np.std(found, ddof=1) / np.sqrt(40) + 1e-9


def test_figures_and_matrix_are_shown() -> None:
    frame = file(2000)
    step = P.Pram("x", by="sex").protect(flou.Microdata(frame, id="pid"), secret=SECRET).steps[0]
    assert step.matrix.columns == ["sex", "x", "becomes", "chance"]
    assert step.matrix.group_by("sex", "x").agg(pl.col("chance").sum())["chance"].to_numpy() == pytest.approx(
        np.ones(6)
    )
    t = frame.group_by("sex", "x").len()
    moved = step.matrix.filter(pl.col("x") != pl.col("becomes")).join(t, on=["sex", "x"])
    expected = (moved["chance"] * moved["len"]).sum() / 2000
    assert step.expected_share_changed == pytest.approx(expected)
    assert abs(step.share_changed - expected) < 5 * np.sqrt(expected * (1 - expected) / 2000)
    assert step.changes[0].n_changed == round(step.share_changed * 2000)


def test_types_nulls_and_codes() -> None:
    frame = file(3000).with_columns(
        pl.when(pl.col("pid") % 10 == 0)
        .then(None)
        .when(pl.col("pid") % 10 == 1)
        .then(99)
        .otherwise("code")
        .alias("code")
    )
    out = drawn(P.Pram("code", stay=0.5), frame, others=["code"], not_applicable={"code": [99]})
    assert out.schema == frame.schema
    assert (out["code"].is_null() == frame["code"].is_null()).all()
    assert ((out["code"] == 99) == (frame["code"] == 99)).all()
    assert (out["code"] != frame["code"]).sum() > 500
    flags = drawn(P.Pram("flag", matrix={True: {False: 1}, False: {True: 1}}), frame)
    assert (flags["flag"] != frame["flag"]).all()
    assert flags.schema["flag"] == pl.Boolean
    numbers = drawn(P.Pram("code", matrix={1: {2: 1}, 2: {1: 1}, 7: {7: 1}, 99: {7: 1}}), frame)
    assert (numbers["code"] == 7).sum() == ((frame["code"] == 7) | (frame["code"] == 99)).sum()


def test_declared_values_stay_valid() -> None:
    frame = file(200)
    roles = {"keys": ["x", "sex"], "modalities": {"x": ["a", "b", "c", "d"]}, "incoherent": [{"x": "d", "sex": "M"}]}
    data = flou.Microdata(frame, id="pid", **roles)
    release = P.Pram("x", matrix={"a": {"d": 0.5, "a": 0.5}, "b": {"b": 1}, "c": {"c": 1}}).protect(data, secret=SECRET)
    assert "d" in release.data.to_frame()["x"].to_list()
    assert release.data.schema.modalities["x"] == ("a", "b", "c", "d")
    assert not release.data.schema.incoherent
    assert flou.risk.KAnonymity(k=2).measure(release).n_records == 200
    kept = P.Pram("x", by="sex").protect(data, secret=SECRET).data.schema
    assert kept.incoherent, "within strata no combination is drawn that the file does not have"


def test_the_proof_finds_a_file_that_was_not_drawn_again() -> None:
    frame = file(400)
    data = flou.Microdata(frame, id="pid")
    release = P.Pram("x").protect(data, secret=SECRET)
    check = release.guarantees[0].guarantee
    assert check.violations(data) == 1
    assert check.violations(release.data) == 0
    half = release.data.to_frame(reveal=True)
    half = half.with_columns(pl.when(pl.col("pid") < 350).then(frame["x"]).otherwise("x").alias("x"))
    assert check.violations(flou.Microdata(half, id="pid")) == 1, "most of it undone"
    assert check.violations(flou.Microdata(half.drop("x"), id="pid")) == 0
    drawn = 0
    for seed in range(30):
        # of eight records sometimes none is drawn anew, which is refused; where one is, there is no false alarm
        with contextlib.suppress(DataError):
            drawn += bool(P.Pram("x").protect(flou.Microdata(file(8, seed=11), id="pid"), secret=seed).guarantees)
    assert drawn > 15
    with pytest.raises(DataError, match="as it was: nothing is protected"):
        P.Pram("x", stay=0.9999999).protect(data, secret=SECRET)


def test_steps_after_pram() -> None:
    data = flou.Microdata(file(2000), id="pid", keys=["x", "sex"])
    plan = flou.Plan([P.Pram("x"), P.LocalSuppression(k=3), P.Recode("x", mapping={"a": "A", "b": "B", "c": "B"})])
    assert plan.protect(data, secret=SECRET).guarantees
    with pytest.raises(flou.FlouError, match="second noise"):
        flou.Plan([P.Pram("x"), P.Pram("x", stay=0.9)]).protect(data, secret=SECRET)


def test_a_later_step_that_undoes_it_is_found() -> None:
    frame = pl.DataFrame({"pid": range(500), "x": ["a"] * 250 + ["b"] * 250})
    swap = {"a": {"b": 1.0}, "b": {"a": 1.0}}
    with pytest.raises(GuaranteeBrokenError, match="drawn again"):
        flou.Plan([P.Pram("x", matrix=swap), P.Recode("x", mapping={"a": "b", "b": "a"})]).protect(
            flou.Microdata(frame, id="pid"), secret=SECRET
        )


def test_nulls_of_a_later_step_do_not_pass_for_draws() -> None:
    """Two exchanges undo each other; suppression then nulls x in 40 records and leaves ten true values."""
    z = [0] * 5 + [1 + i // 2 for i in range(20)]
    frame = pl.DataFrame({"pid": range(50), "x": ["a"] * 25 + ["b"] * 25, "z": z * 2})
    swap = P.Pram("x", matrix={"a": {"b": 1.0}, "b": {"a": 1.0}})
    nulls = P.LocalSuppression(k=3, importance={"z": 9}, search="quick")
    with pytest.raises(GuaranteeBrokenError, match="drawn again"):
        flou.Plan([swap, P.Recode("x", mapping={"a": "b", "b": "a"}), nulls]).protect(
            flou.Microdata(frame, id="pid", keys=["x", "z"]), secret=SECRET
        )


@pytest.mark.parametrize(
    ("matrix", "match"),
    [
        ({"a": {"a": 0.5, "b": 0.4}, "b": {"b": 1}}, r"row 'a' add up to 0\.9"),
        ({"a": {"a": 1.2, "b": -0.2}}, "must not be negative"),
        ({"a": {"a": float("nan")}}, "nan"),
        ({"a": "b"}, "matrix should say"),
        ({"a": {"a": 1}, "b": {"b": 1}}, "leaves every value"),
        ({1: {1: 0.5, 2: 0.5}, "1": {2: 1.0}}, "twice"),
    ],
)
def test_bad_matrices(matrix: Any, match: str) -> None:
    with pytest.raises(flou.FlouError, match=match):
        P.Pram("x", matrix=matrix)


def test_bad_input() -> None:
    frame = file(100)

    def refused(method: Any, match: str, held: pl.DataFrame = frame, **roles: Any) -> None:
        with pytest.raises(flou.FlouError, match=match):
            method.protect(flou.Microdata(held, id="pid", **roles), secret=SECRET)

    refused(P.Pram("y"), "Columns: pid")
    refused(P.Pram("pid"), "never published")
    refused(P.Pram("code"), "is the weight", weight="code")
    refused(P.Pram("x", by="x"), "both columns and by")
    refused(P.Pram("x", matrix={"a": {"b": 1}, "b": {"b": 1}}), "no row for 1 values of 'x': 'c'")
    refused(P.Pram("x", matrix={"a": {"q": 1}, "b": {"b": 1}, "c": {"c": 1}}), "gives 'q', which no record")
    refused(P.Pram("code", matrix={1: {"q": 1}, 2: {2: 1}, 7: {7: 1}, "q": {1: 1}}), "cannot stand in")
    refused(P.Pram("x"), "only one value", frame.with_columns(x=pl.lit("a")))
    refused(P.Pram("x", by="pid"), "in 100 of 100 strata")
    refused(P.Pram("x"), "no value at all", frame.with_columns(x=pl.lit(None, pl.String)))
    refused(P.Pram("y"), "not made", pl.DataFrame({"pid": range(2001), "y": range(2001)}))
