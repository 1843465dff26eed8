"""Additive and multiplicative noise: its size, what it keeps on average, what it refuses, and its proof."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

import flou
from flou.engine.errors import GuaranteeBrokenError
from flou.protect.micro.least_change import least_changed, least_noise
from flou.protect.micro.noise_values import reflect
from flou.protect.micro.spread import correlations, deviations, root

P = flou.protect
SECRET = flou.Secret(bytes(range(32)))


def incomes(n: int = 20_000, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.normal(1000, 200, n)
    return pl.DataFrame(
        {
            "pid": rng.permutation(n),
            "a": a,
            "b": 2 * a + rng.normal(0, 300, n),
            "c": rng.normal(0, 50, n),
            "sex": rng.choice(["F", "M"], n),
            "children": rng.integers(0, 12, n),
        }
    )


def noise_of(method: Any, frame: pl.DataFrame, secret: Any = SECRET, **roles: Any) -> dict[str, np.ndarray[Any, Any]]:
    """What was added to each column, in the order of the file."""
    release = method.protect(flou.Microdata(frame, id="pid", **roles), secret=secret)
    after = release.data.to_frame(reveal=True)
    assert after["pid"].to_list() == frame["pid"].to_list()
    return {c: (after[c] - frame[c]).to_numpy() for c in method.columns}


def test_uncorrelated_noise_is_normal_and_of_the_size_asked_for() -> None:
    frame = incomes()
    noise = noise_of(P.AdditiveNoise(["a", "b"], share=0.25), frame)
    for column, drawn in noise.items():
        size = 0.5 * float(frame[column].std())  # type: ignore[arg-type]
        assert kstest(drawn / size, "norm").pvalue > 1e-4
    assert abs(np.corrcoef(noise["a"], noise["b"])[0, 1]) < 5 / np.sqrt(len(frame))


def test_correlated_noise_keeps_correlations_and_uncorrelated_attenuates_them() -> None:
    frame, share = incomes(), 0.5
    true = np.corrcoef([frame[c] for c in "abc"])

    def masked(kind: str) -> np.ndarray[Any, Any]:
        method = P.AdditiveNoise(["a", "b", "c"], share=share, kind=kind)
        out = method.protect(flou.Microdata(frame, id="pid"), secret=SECRET).data.to_frame(reveal=True)
        return np.corrcoef([out[c] for c in "abc"])

    error = 5 / np.sqrt(len(frame))
    assert np.abs(masked("correlated") - true).max() < error
    off = ~np.eye(3, dtype=bool)
    assert np.abs(masked("uncorrelated") - true / (1 + share))[off].max() < error
    assert abs(masked("uncorrelated")[0, 1] - true[0, 1]) > 0.1


def test_correlated_noise_keeps_sums() -> None:
    """Where columns add up, Σ is singular, and noise of that covariance adds up too."""
    frame = incomes().with_columns(total=pl.col("a") + pl.col("b"))
    method = P.AdditiveNoise(["a", "b", "total"], kind="correlated")
    out = method.protect(flou.Microdata(frame, id="pid"), secret=SECRET).data.to_frame(reveal=True)
    assert np.allclose(out["a"] + out["b"], out["total"], rtol=1e-4)
    assert (out["a"] != frame["a"]).all()


def test_each_stratum_has_its_own_size() -> None:
    frame = incomes().with_columns(pl.when(pl.col("sex") == "F").then(pl.col("a") * 10).otherwise("a").alias("a"))
    noise = noise_of(P.AdditiveNoise(["a", "c"], share=0.25, by="sex"), frame)
    for sex in ("F", "M"):
        some = (frame["sex"] == sex).to_numpy()
        size = 0.5 * float(frame.filter(pl.Series(some))["a"].std())  # type: ignore[arg-type]
        assert kstest(noise["a"][some] / size, "norm").pvalue > 1e-4
    both = P.AdditiveNoise(["a", "b"], share=0.25, by="sex", kind="correlated")
    drawn = noise_of(both, frame)
    for sex in ("F", "M"):
        some = (frame["sex"] == sex).to_numpy()
        true = np.corrcoef(frame["a"].to_numpy()[some], frame["b"].to_numpy()[some])[0, 1]
        assert abs(np.corrcoef(drawn["a"][some], drawn["b"][some])[0, 1] - true) < 0.05


def test_a_stratum_that_rounding_would_release_as_it_is_is_refused() -> None:
    """Whole numbers: noise on amounts of 0 and 1 is rounded away, whatever the amounts of the other stratum."""
    frame = incomes(400).with_columns(pay=pl.when(pl.col("sex") == "F").then("pid").otherwise(pl.col("pid") % 2))
    refused(P.AdditiveNoise("pay", by="sex"), frame, "rounding to multiples of 1 would undo")


def test_nulls_and_codes_stay_and_codes_are_not_counted() -> None:
    frame = incomes(500).with_columns(
        pl.when(pl.int_range(500) % 5 == 0).then(None).when(pl.int_range(500) % 5 == 1).then(99_999.0).otherwise("a").alias("a")
    )  # fmt: skip
    data = flou.Microdata(frame, id="pid", others=["a"], not_applicable={"a": [99_999]})
    out = P.AdditiveNoise("a", share=0.01).protect(data, secret=SECRET).data.to_frame(reveal=True)
    assert (out["a"].is_null() == frame["a"].is_null()).all()
    code = frame["a"] == 99_999
    assert (out["a"].filter(code) == 99_999).all()
    rest = frame["a"].is_not_null() & ~code
    assert np.abs((out["a"] - frame["a"]).filter(rest)).max() < 0.1 * 6 * 200  # not the spread of the codes


def test_whole_numbers_and_dates_keep_their_type() -> None:
    frame = incomes(2000).with_columns(
        born=pl.lit(dt.date(1980, 1, 1)) + pl.duration(days=pl.col("children") * 100 + pl.col("pid") % 100)
    )
    release = P.AdditiveNoise(["children", "born"], share=0.5).protect(flou.Microdata(frame, id="pid"), secret=SECRET)
    out = release.data.to_frame(reveal=True)
    assert out.schema == frame.schema
    assert (out["born"] != frame["born"]).mean() > 0.95
    assert any("became negative" in str(n) for n in release.steps[0].notes)
    assert any("rounded" in str(n) for n in release.steps[0].notes)


def test_a_value_never_becomes_a_code() -> None:
    frame = pl.DataFrame({"pid": range(3000), "x": [90 + i % 9 for i in range(2700)] + [99] * 300})
    data = flou.Microdata(frame, id="pid", others=["x"], not_applicable={"x": [99]})
    out = P.AdditiveNoise("x", share=4.0).protect(data, secret=SECRET).data.to_frame(reveal=True)
    assert (out["x"] == 99).sum() == 300
    assert ((out["x"] == 98) | (out["x"] == 100)).any()


def test_bounds_are_kept_by_reflection_and_the_mean_is_not_claimed() -> None:
    frame = incomes().with_columns(pl.col("c").abs())
    method = P.AdditiveNoise("c", at_least=0, at_most=500, share=1.0, unit=0.5)
    assert "expected mean" not in method.claims
    assert "expected mean" in P.AdditiveNoise("c").claims
    out = method.protect(flou.Microdata(frame, id="pid"), secret=SECRET).data.to_frame()["c"]
    assert out.min() >= 0  # type: ignore[operator]
    assert out.max() <= 500  # type: ignore[operator]
    assert (out % 0.5 == 0).all()
    assert (out == 0).mean() < 0.05, "no pile on the bound"
    assert out.mean() > frame["c"].mean()  # type: ignore[operator]


@given(
    st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=20),
    st.floats(-50, 50),
    st.floats(1, 100),
)
def test_reflection_stays_within_and_moves_no_further(values: list[float], low: float, width: float) -> None:
    """A value is folded between mirrors: it lands inside, and no further from an inner point than it was."""
    high, x = low + width, np.array(values)
    for bounds in ((low, None), (None, high), (low, high)):
        folded = reflect(x, *bounds)
        assert (folded >= (low if bounds[0] is not None else -np.inf) - 1e-7).all()
        assert (folded <= (high if bounds[1] is not None else np.inf) + 1e-7).all()
        middle = low + width / 2
        assert (np.abs(folded - middle) <= np.abs(x - middle) + 1e-7).all()
        inside = (x >= low) & (x <= high)
        assert np.allclose(folded[inside], x[inside])


def test_multiplicative_noise() -> None:
    frame = incomes().with_columns(pl.when(pl.col("pid") < 100).then(0.0).otherwise(pl.col("c") * 100).alias("c"))
    release = P.MultiplicativeNoise("c", share=0.3).protect(flou.Microdata(frame, id="pid"), secret=SECRET)
    out = release.data.to_frame(reveal=True)["c"].to_numpy()
    before = frame["c"].to_numpy()
    assert ((out == 0) == (before == 0)).all()
    assert (np.sign(out) == np.sign(before)).all()
    factors = out[before != 0] / before[before != 0]
    assert abs(factors.mean() - 1) < 5 * 0.3 / np.sqrt(len(factors))
    assert factors.std() == pytest.approx(0.3, rel=0.05)
    s = np.sqrt(np.log1p(0.3**2))
    assert kstest((np.log(factors) + s * s / 2) / s, "norm").pvalue > 1e-4
    assert any("100 values are zero" in str(n) for n in release.steps[0].notes)


def test_the_ratio_of_two_amounts_is_hidden_too() -> None:
    """Each amount has a factor of its own, so the variance of the ratio's logarithm is the sum of both."""
    frame = incomes(5000)
    release = P.MultiplicativeNoise(["a", "b"], share=0.1).protect(flou.Microdata(frame, id="pid"), secret=SECRET)
    out = release.data.to_frame(reveal=True)
    moved = np.log((out["a"] / out["b"]).to_numpy() / (frame["a"] / frame["b"]).to_numpy())
    assert moved.std() == pytest.approx(np.sqrt(2 * np.log1p(0.1**2)), rel=0.05)


# the proof


@pytest.mark.parametrize("coarseness", [0.0, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("n", [1, 3, 10, 200, 5000])
def test_the_least_noise_is_below_what_noise_gives(n: int, coarseness: float) -> None:
    """Simulated: no sum of squares of a right release comes near the bound; a few per cent less is found out."""
    rng, runs = np.random.default_rng(7), 4_000_000 // n if n < 1000 else 500
    drawn = rng.normal(size=(min(runs, 20_000), n))
    if coarseness:
        drawn = np.rint(drawn / coarseness) * coarseness
    sums = (drawn**2).sum(axis=1)
    least = least_noise(n, coarseness)
    assert (sums >= least).all()
    if n == 5000:
        assert least > (0.8 if coarseness < 3 else 0.6) * sums.mean(), "half of the noise would be found missing"


def test_the_least_number_of_changes() -> None:
    rng = np.random.default_rng(8)
    chances, counts = np.array([0.1, 0.5, 0.9]), np.array([3000, 1000, 500])
    changed = sum(rng.binomial(n, p, 100_000) for p, n in zip(chances, counts, strict=True))
    least = least_changed(chances, counts)
    assert 0.8 * changed.mean() < least < changed.min()
    assert least_changed(np.array([1.0, 0.0]), np.array([500, 500])) == pytest.approx(500, rel=0.01)
    assert least_changed(np.array([0.3]), np.array([5])) == 0.0, "five records may all stay by chance"


def test_small_files_are_not_refused_by_chance() -> None:
    for seed in range(40):
        frame = incomes(4, seed)
        data = flou.Microdata(frame, id="pid")
        for method in (
            P.AdditiveNoise(["a", "children"], share=0.3),
            P.MultiplicativeNoise(["a", "b"], share=0.02, unit=1),
            P.AdditiveNoise("a", at_least=0, at_most=5000, share=0.5, unit=10),
        ):
            try:
                assert method.protect(data, secret=seed).guarantees
            except GuaranteeBrokenError:  # pragma: no cover
                raise
            except flou.FlouError as error:
                assert "undo" in str(error)  # a column that hardly varies


@pytest.mark.parametrize("secret", range(10))
def test_rounding_and_coding_after_noise_are_possible(secret: int) -> None:
    data = flou.Microdata(incomes(3000), id="pid", keys=["sex"])
    plan = flou.Plan(
        [
            P.AdditiveNoise("a"),
            P.MultiplicativeNoise("b", share=0.05),
            P.Round(["a", "b"], unit=10),
            P.TopCode("a", at=1300),
            P.DropRecords(flou.risk.KAnonymity(k=2)),
        ]
    )
    assert len(plan.protect(data, secret=secret).guarantees) == 6


def test_noise_after_rounding_breaks_the_promise_of_rounding() -> None:
    plan = flou.Plan([P.Round("a", unit=10), P.AdditiveNoise("a")])
    with pytest.raises(GuaranteeBrokenError, match="only multiples of 10"):
        plan.protect(flou.Microdata(incomes(100), id="pid"), secret=SECRET)


def test_a_later_step_that_undoes_noise_is_found() -> None:
    """A unit far larger than the noise brings back values that were multiples of it."""
    frame = pl.DataFrame({"pid": range(500), "x": [100.0 * (i % 7) for i in range(500)]})
    plan = flou.Plan([P.AdditiveNoise("x", share=0.0005), P.Round("x", unit=100)])
    with pytest.raises(GuaranteeBrokenError, match="carry noise"):
        plan.protect(flou.Microdata(frame, id="pid"), secret=SECRET)


def test_noise_without_an_id_does_not_depend_on_the_order_of_rows() -> None:
    frame = incomes(300).drop("pid")
    order = np.random.default_rng(0).permutation(300)
    method = P.AdditiveNoise(["a", "children"], share=0.5, by="sex")
    once = method.protect(flou.Microdata(frame), secret=SECRET).data.to_frame()
    again = method.protect(flou.Microdata(frame[order]), secret=SECRET).data.to_frame()
    assert once.equals(again)


# what is refused


def refused(method: Any, frame: pl.DataFrame, match: str, **roles: Any) -> None:
    with pytest.raises(flou.FlouError, match=match):
        method.protect(flou.Microdata(frame, id="pid", **roles), secret=SECRET)


def test_bad_input() -> None:
    frame = incomes(100)
    for kind in (P.AdditiveNoise, P.MultiplicativeNoise):
        refused(kind("sex"), frame, "numbers")
        refused(kind("x"), frame, "Columns: pid")
        refused(kind("pid"), frame, "never published")
        refused(kind("c"), frame.with_columns(pl.col("c").abs() + 1), "is the weight", weight="c")
        refused(kind("a"), frame.with_columns(a=pl.Series([float("inf")] + [1.0] * 99)), "infinite")
        refused(kind("a"), frame.with_columns(a=pl.lit(None, pl.Float64)), "no value at all")
        refused(kind("children", unit=0.5), frame, "whole")
    refused(P.AdditiveNoise("a"), frame.with_columns(a=pl.lit(3.5)), "does not vary")
    refused(P.AdditiveNoise("a", by="pid"), frame, "in 100 of 100 strata")
    refused(P.AdditiveNoise("a", by="a"), frame, "both columns and by")
    refused(P.AdditiveNoise("children", share=0.001), frame, "undo")
    refused(P.AdditiveNoise("a", at_least=1000), frame, "beyond the bounds")
    refused(
        P.AdditiveNoise("a", at_least=2e4, at_most=1.5e5, share=10.0), frame.with_columns(pl.col("a") * 90), "too near"
    )
    refused(P.AdditiveNoise(["a", "b"], kind="correlated", by="children"), frame.head(26), "too few|does not vary")
    refused(P.MultiplicativeNoise("a"), frame.with_columns(a=pl.lit(0.0)), "zero")
    refused(P.MultiplicativeNoise("born"), frame.with_columns(born=pl.lit(dt.date(2000, 1, 1))), "dates")
    with pytest.raises(flou.FlouError, match="no value at all"):
        P.AdditiveNoise("a").protect(flou.Microdata(frame.clear(), id="pid"), secret=SECRET)


def test_declared_values_go_and_bands_stay() -> None:
    frame = incomes(400).with_columns(age=pl.col("children") + 20).filter((pl.col("age") < 31) | (pl.col("sex") == "M"))
    data = flou.Microdata(
        frame,
        id="pid",
        keys=["age", "sex"],
        modalities={"age": list(range(20, 32)), "sex": ["F", "M"]},
        hierarchies={"age": flou.Hierarchy.bands(5, 10)},
        incoherent=[{"age": 31, "sex": "F"}],
    )
    release = P.AdditiveNoise("age", share=1.0).protect(data, secret=SECRET)
    assert "age" not in release.data.schema.modalities
    assert "age" in release.data.schema.hierarchies
    assert not release.data.schema.incoherent, "noise may give any combination"
    assert flou.risk.KAnonymity(k=2).measure(release).n_records == len(frame)


# what sizes are made of


def test_spread_by_stratum_against_numpy() -> None:
    rng = np.random.default_rng(2)
    x, y, strata = rng.normal(size=300), rng.normal(size=300), rng.integers(0, 4, 300)
    y += x
    known = rng.random(300) > 0.1
    found = deviations(np.where(known, x, np.nan), known, strata, 5)
    assert np.isnan(found[4])
    for h in range(4):
        assert found[h] == pytest.approx(x[known & (strata == h)].std(ddof=1), rel=1e-9)
    matrices, n = correlations([np.where(known, x, np.nan), y], strata, 4)
    for h in range(4):
        some = known & (strata == h)
        assert n[h] == some.sum()
        assert matrices[h] == pytest.approx(np.corrcoef(x[some], y[some]), rel=1e-8)


def test_root() -> None:
    rng = np.random.default_rng(3)
    for k, rank in ((2, 2), (4, 4), (5, 3), (3, 1)):
        half = rng.normal(size=(k, rank))
        matrix = half @ half.T
        low = root(matrix)
        assert np.allclose(low @ low.T, matrix, atol=1e-7)
        assert np.allclose(low, np.tril(low))
