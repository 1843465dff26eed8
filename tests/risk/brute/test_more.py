"""Further brute forces: rare records, prosecutors, nulls in sensitive and continuous columns, extreme rates."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.stats import chi2
from tests.risk.brute.test_individual import MODES, random_file, risks
from tests.risk.brute.test_suda import minimal_uniques, weight

import flou
from flou.risk.micro.robust import minimum_covariance


@pytest.mark.parametrize("mode", MODES)
def test_rare_records_and_prosecutors(mode):
    """f itself, record by record: its inverse is the prosecutor's chance, below k it is rare."""
    for seed in range(200, 260):
        frame, roles, rows, _, domain, rules, names = random_file(seed, weighted=False)
        expected = risks(rows, None, domain, rules, names, mode)
        if expected is None:
            continue
        f = [round(1 / r) for r in expected]
        data = flou.Microdata(frame, **roles)
        result = flou.risk.AttackerRisk(missing=mode, threshold=0.4).measure(data)
        assert result.units.tolist() == pytest.approx(expected)
        assert result.flagged.tolist() == [r > 0.4 for r in expected]
        assert result.highest == pytest.approx(max(expected))
        k = min(2, len(rows))
        assert flou.risk.GlobalRisk(k=k, missing=mode).measure(data).below_k == pytest.approx(
            np.mean([x < k for x in f])
        )


def test_rare_records_with_weights_are_counted_by_f():
    """below_k is about the sample's frequency, whatever completion has the largest risk."""
    for seed in range(60):
        frame, roles, rows, _, domain, rules, names = random_file(seed)
        for mode in ("pessimistic", "optimistic"):
            f = risks(rows, None, domain, rules, names, mode)
            if f is None or len(rows) < 2:
                continue
            result = flou.risk.GlobalRisk(k=2, missing=mode).measure(flou.Microdata(frame, **roles))
            assert result.below_k == pytest.approx(np.mean([round(1 / r) < 2 for r in f])), (seed, mode)


@pytest.mark.parametrize("seed", range(4))
def test_suda_on_many_keys(seed):
    """Nine keys, forty records, nulls, every max_size up to five."""
    rng = np.random.default_rng(seed)
    v, n = 9, 40
    rows = [tuple(None if rng.random() < 0.1 else int(x) for x in rng.integers(0, 3, v)) for _ in range(n)]
    names = [f"k{j}" for j in range(v)]
    data = flou.Microdata(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row"), keys=names)
    for largest in (2, 3, 5):
        found = minimal_uniques(rows, largest)
        result = flou.risk.Suda(max_size=largest, sampling_fraction=0.05).measure(data)
        assert result.units.tolist() == [sum(weight(len(s), v, largest) for s in some) for some in found]
        assert result.figures["smallest_size"] == min((len(s) for some in found for s in some), default=None)


@pytest.mark.parametrize("f", [1, 2, 10, 300])
@pytest.mark.parametrize("pi", [1e-6, 0.01, 0.5, 0.999999, 1.0])
def test_poisson_risk_of_one_key(f, pi):
    """A saturated model: lambda = f / pi for every cell, from tiny samples to censuses."""
    rows = [0] * f + [1]
    data = flou.Microdata(pl.DataFrame({"a": rows}), keys=["a"])
    rate = f / pi * (1 - pi)
    # t^(f-1) exp(-rate (1 - t)), with 1 - t = s / (f + rate)
    scale = f + rate
    expected = quad(
        lambda s: np.exp((f - 1) * np.log1p(-s / scale) - rate * s / scale) / scale, 0, min(scale, 60), epsrel=1e-11
    )[0]
    result = flou.risk.PoissonRisk(sampling_fraction=pi).measure(data)
    assert result.units[0] == pytest.approx(expected, rel=1e-6)


def test_nulls_are_a_sensitive_value_for_closeness_and_likeness():
    """Equal distance, delta and beta: undetermined is one more value."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 3, 25).tolist()
        s = [None if rng.random() < 0.2 else str(v) for v in rng.choice(list("pqr"), 25)]
        data = flou.Microdata(pl.DataFrame({"x": x, "s": s}), keys=["x"], sensitive=["s"])
        whole = Counter(s)
        far, ratio, gain = {}, {}, {}
        for c in set(x):
            own = Counter(v for v, k in zip(s, x, strict=True) if k == c)
            p = {v: own[v] / own.total() for v in whole}
            q = {v: whole[v] / 25 for v in whole}
            far[c] = sum(abs(p[v] - q[v]) for v in whole) / 2
            ratio[c] = max(abs(np.log2(p[v] / q[v])) for v in own)
            gain[c] = max((p[v] - q[v]) / q[v] for v in own)
        assert flou.risk.TCloseness(t=0.2).measure(data).units.tolist() == pytest.approx([far[c] for c in x])
        assert flou.risk.DisclosureDelta(delta=1).measure(data).units.tolist() == pytest.approx([ratio[c] for c in x])
        assert flou.risk.BetaLikeness(beta=1).measure(data).units.tolist() == pytest.approx([gain[c] for c in x])


def continuous(seed, nulls=0.2):
    rng = np.random.default_rng(seed)
    x = rng.lognormal(2, 1, (30, 3))
    y = x + rng.normal(0, 0.1, x.shape) * x.std(axis=0)
    for a in (x, y):
        a[rng.random(a.shape) < nulls] = np.nan
    return x, y


def microdata(x):
    frame = pl.DataFrame({f"c{j}": x[:, j] for j in range(x.shape[1])}).fill_nan(None)
    return flou.Microdata(frame.with_columns(id=pl.int_range(pl.len()), k=pl.lit(1)), keys=["k"], id="id")


@pytest.mark.parametrize("match", ["all", "any"])
@pytest.mark.parametrize("sd", ["original", "masked"])
def test_interval_risk_with_nulls(match, sd):
    """What is undetermined in either file decides nothing; a record without anything to compare is far."""
    for seed in range(30):
        x, y = continuous(seed)
        spread = np.nanstd(x if sd == "original" else y, axis=0, ddof=1)
        moved = np.abs(x - y) / spread / 0.1
        expected = [
            np.inf if np.isnan(row).all() else (np.nanmax(row) if match == "all" else np.nanmin(row)) for row in moved
        ]
        result = flou.risk.IntervalRisk(width=0.1, match=match, sd=sd).measure(microdata(y), against=microdata(x))
        assert result.units.tolist() == pytest.approx(expected), seed


@pytest.mark.parametrize("tails", ["both", "upper", "lower"])
def test_outlier_risk_with_nulls(tails):
    """Quantiles of the known values; a null stands out nowhere."""
    for seed in range(30):
        x, _ = continuous(seed)
        high, low = np.nanquantile(x, 0.9, axis=0), np.nanquantile(x, 0.1, axis=0)
        far = ((x > high) & (tails != "lower")) | ((x < low) & (tails != "upper"))
        result = flou.risk.OutlierRisk(quantile=0.9, tails=tails).measure(microdata(x))
        assert result.units.tolist() == far.sum(axis=1).tolist(), seed


def test_robust_outlier_risk():
    """Mahalanobis distances by the robust covariance, flagged beyond the quantile of chi square."""
    for seed in range(10):
        x, _ = continuous(seed, nulls=0)
        centre, cov = minimum_covariance(x)
        square = np.array([(row - centre) @ np.linalg.inv(cov) @ (row - centre) for row in x])
        result = flou.risk.OutlierRisk(robust=True, quantile=0.95).measure(microdata(x))
        assert result.units.tolist() == pytest.approx(np.sqrt(square).tolist(), rel=1e-6)
        assert result.flagged.tolist() == (square > chi2.ppf(0.95, 3)).tolist()


def test_robust_interval_risk():
    """The interval of a record is as many times wider as its robust distance."""
    for seed in range(10):
        x, y = continuous(seed, nulls=0)
        spread = x.std(axis=0, ddof=1)
        centre, cov = minimum_covariance(x / spread)
        away = x / spread - centre
        distance = np.sqrt(np.einsum("ij,jk,ik->i", away, np.linalg.inv(cov), away))
        expected = (np.abs(x - y) / spread / 0.05 / distance[:, None]).max(axis=1)
        result = flou.risk.IntervalRisk(width=0.05, robust=True).measure(microdata(y), against=microdata(x))
        assert result.units.tolist() == pytest.approx(expected.tolist(), rel=1e-6)
