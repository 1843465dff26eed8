"""Interval and outlier risk, and the robust covariance behind them, against plain numpy."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import flou
from flou.risk.micro.robust import minimum_covariance


def files(seed, nulls=0.0):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 40)), int(rng.integers(1, 4))
    x = rng.lognormal(3, 1, (n, p))
    y = x + rng.normal(0, 0.05, (n, p)) * x.std(axis=0)
    return x, y


def microdata(x, order=None):
    order = np.arange(len(x)) if order is None else order
    frame = pl.DataFrame({f"c{j}": x[order, j] for j in range(x.shape[1])}).with_columns(
        id=pl.Series(order), k=pl.lit(1)
    )
    return flou.Microdata(frame, keys=["k"], id="id")


@pytest.mark.parametrize("sd", ["original", "masked"])
@pytest.mark.parametrize("match", ["all", "any"])
def test_interval_risk(sd, match):
    """Every column, or any, within width standard deviations of the original; records are paired by their id."""
    for seed in range(40):
        x, y = files(seed)
        order = np.random.default_rng(seed).permutation(len(x))
        spread = (x if sd == "original" else y).std(axis=0, ddof=1)
        moved = np.abs(y - x) / (0.05 * spread)
        moved = moved.max(axis=1) if match == "all" else moved.min(axis=1)
        result = flou.risk.IntervalRisk(width=0.05, sd=sd, match=match).measure(
            microdata(y, order), against=microdata(x)
        )
        assert result.units.tolist() == pytest.approx(moved[order].tolist()), seed
        assert result.value == pytest.approx(np.mean(moved <= 1))


@pytest.mark.parametrize("tails", ["both", "upper", "lower"])
@pytest.mark.parametrize("quantile", [0.75, 0.95])
def test_outlier_risk(tails, quantile):
    """In how many columns a record lies beyond the quantiles."""
    for seed in range(40):
        x, _ = files(seed)
        far = np.zeros(len(x), int)
        for j in range(x.shape[1]):
            upper, lower = np.quantile(x[:, j], quantile), np.quantile(x[:, j], 1 - quantile)
            far += ((x[:, j] > upper) & (tails != "lower")) | ((x[:, j] < lower) & (tails != "upper"))
        result = flou.risk.OutlierRisk(quantile=quantile, tails=tails).measure(microdata(x))
        assert result.units.tolist() == far.tolist(), seed
        assert result.value == pytest.approx(np.mean(far > 0))


def half(n, p):
    return (n + p + 1) // 2


def test_robust_covariance_of_few_records_has_nearly_the_smallest_determinant(monkeypatch):
    """The half it settles on, against every half of so few records."""
    import flou.risk.micro.robust as robust

    logs = []
    concentrate = robust._concentrate

    def watched(*args):
        found = concentrate(*args)
        logs.append(found[0])
        return found

    monkeypatch.setattr(robust, "_concentrate", watched)
    exact = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(11, 2)) @ rng.normal(size=(2, 2))
        x[:3] += rng.normal(0, 20, (3, 2))
        logs.clear()
        minimum_covariance(x)
        middle = np.median(x, axis=0)
        z = (x - middle) / (1.482602218505602 * np.median(np.abs(x - middle), axis=0))
        best = min(
            np.linalg.slogdet(np.cov(z[list(some)], rowvar=False))[1]
            for some in itertools.combinations(range(11), half(11, 2))
        )
        assert min(logs) >= best - 1e-9
        assert min(logs) <= best + 1.5, seed
        exact += min(logs) <= best + 1e-9
    assert exact >= 15


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.4])
def test_robust_covariance_sees_through_contamination(share):
    """Normal data with a far cluster: centre and covariance of the clean part come back."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n, p = 1500, 3
        shape = rng.normal(size=(p, p)) + 2 * np.eye(p)
        true = shape @ shape.T
        x = rng.normal(size=(n, p)) @ shape.T + 5
        bad = int(share * n)
        x[:bad] = rng.normal(0, 0.5, (bad, p)) + 200
        centre, cov = minimum_covariance(x)
        relative = np.linalg.solve(np.linalg.cholesky(true), cov) @ np.linalg.inv(np.linalg.cholesky(true)).T
        assert np.abs(relative - np.eye(p)).max() < 0.25, (seed, relative)
        assert np.abs(np.linalg.solve(np.linalg.cholesky(true), centre - 5)).max() < 0.2


def test_robust_covariance_does_not_depend_on_order_nor_units():
    """The same for rows in another order; scales and shifts of columns carry through exactly, turns nearly."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(600, 3)) @ rng.normal(size=(3, 3))
        x[:60] += 30
        centre, cov = minimum_covariance(x)
        other = minimum_covariance(x[rng.permutation(len(x))])
        assert np.allclose(other[0], centre)
        assert np.allclose(other[1], cov)
        scale = np.array([1e-3, 1.0, 1e4])
        other = minimum_covariance(x * scale + 7)
        assert np.allclose(other[0], centre * scale + 7)
        assert np.allclose(other[1], cov * np.outer(scale, scale))
        turn = rng.normal(size=(3, 3)) + np.eye(3)
        other = minimum_covariance(x @ turn.T)
        want = turn @ cov @ turn.T
        assert np.abs(other[1] - want).max() < 0.1 * np.abs(want).max()
