"""Figures of sdcMicro 5.8.1 on a synthetic file of 2,000 records (and the same with 4% nulls in each key).

`sdcmicro_risks_2000.parquet` holds, record by record, its exact and approximate individual risk, household risk, SUDA2
(score, contributions, DIS at a sampling fraction of 0.1) and l-diversity on three and five keys; the file with nulls its
exact risks for alpha = 1 and 0 and SUDA2; `sdcmicro_masked_2000.parquet` the three amounts after five of its methods.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.risk.micro.interval import farthest

HERE = Path(__file__).parent
KEYS = ["sex", "region", "age", "marital", "occ"]
AMOUNTS = ["income", "wage", "expend"]
R = flou.risk


@cache
def rows(name: str = "sdcmicro_risks_2000") -> pl.DataFrame:
    return pl.read_parquet(HERE / f"{name}.parquet")


def people(keys: list[str] = KEYS, **roles: Any) -> flou.Microdata:
    return flou.Microdata(rows().select(*KEYS, *AMOUNTS, "weight", "hid", "sens"), keys=keys, **roles)


def test_individual_risk() -> None:
    found = R.IndividualRisk().measure(people(weight="weight"))
    assert np.abs(found.units - rows()["risk"].to_numpy()).max() < 1e-8


@pytest.mark.parametrize("missing", ["orthodox", "conservative"])
def test_individual_risk_with_nulls(missing: Any) -> None:
    golden = rows("sdcmicro_risks_2000_nulls")
    data = flou.Microdata(golden.select(*KEYS, "weight"), keys=KEYS, weight="weight")
    found = R.IndividualRisk(missing=missing).measure(data)
    assert np.abs(found.units - golden[f"risk_{missing}"].to_numpy()).max() < 1e-8


def test_household_risk() -> None:
    """sdcMicro multiplies its approximate risks (fk > 2); by its own rule ours are those of the exact ones."""
    golden = rows()
    one_of = (1 - (1 - pl.col("approx")).product()).over("hid")
    assert np.allclose(golden.select(one_of).to_series(), golden["household_risk"], atol=1e-8)
    exact = golden.select((1 - (1 - pl.col("risk")).product()).over("hid")).to_series().to_numpy()
    found = R.HouseholdRisk().measure(people(weight="weight", household="hid"))
    assert np.abs(found.units - exact).max() < 1e-8
    # which differs from sdcMicro's by as much as its approximation does
    assert np.abs(found.units - golden["household_risk"].to_numpy()).max() < 1e-3


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
def test_l_diversity(kind: Any) -> None:
    golden = rows()
    found = R.LDiversity(2, kind=kind, sensitive="sens").measure(people())
    assert np.abs(found.units - golden[f"{kind}5"].to_numpy()).max() < 1e-8
    for column in ("sens", "marital"):
        found = R.LDiversity(2, kind=kind, sensitive=column).measure(people(KEYS[:3]))
        assert np.abs(found.units - golden[f"{kind}3_{column}"].to_numpy()).max() < 1e-8


def test_suda() -> None:
    golden = rows()
    found = R.Suda(sampling_fraction=0.1).measure(people())
    assert found.units.tolist() == golden["score"].to_list()
    detail = golden.select(KEYS).join(found.by_key, on=KEYS, maintain_order="left")
    assert np.abs(detail["dis"].to_numpy() - golden["dis"].to_numpy()).max() < 1e-6
    for column in KEYS:
        ours, theirs = detail[f"contribution.{column}"].to_numpy(), golden[f"contribution_{column}"].to_numpy()
        assert np.abs(ours - theirs).max() < 1e-8


def test_suda_with_nulls() -> None:
    golden = rows("sdcmicro_risks_2000_nulls")
    found = R.Suda(sampling_fraction=0.1).measure(flou.Microdata(golden.select(KEYS), keys=KEYS))
    assert found.units.tolist() == golden["score"].to_list()
    detail = golden.select(KEYS).join(found.by_key, on=KEYS, maintain_order="left", nulls_equal=True)
    assert np.abs(detail["dis"].to_numpy() - golden["dis"].to_numpy()).max() < 1e-6


def test_poisson_model() -> None:
    """τ1 = 92.2 (6.0% of the 1,530 keys) and τ2 = 270.4 with main effects."""
    found = R.PoissonRisk().measure(people(weight="weight"))
    assert found.n_keys == 1530
    assert found.tau1 == pytest.approx(92.2, abs=0.05)
    assert found.tau2 == pytest.approx(270.4, abs=0.05)
    assert found.tau1 / found.n_keys == pytest.approx(0.060, abs=0.0005)


def test_sdcmicro_takes_the_sample_mean_for_the_population_mean() -> None:
    """Its 60.6% for the same model is what comes out when μ stands where λ = μ / π belongs."""
    from flou.risk.micro.log_linear import fit, parse

    table = np.zeros([rows()[c].n_unique() for c in KEYS])
    codes = [rows()[c].rank("dense").to_numpy() - 1 for c in KEYS]
    np.add.at(table, tuple(codes), 1)
    means = fit(table, parse("main", KEYS)).means
    pi = 2000 / rows()["weight"].sum()
    assert np.exp(-means[table == 1] * (1 - pi)).sum() / 1530 == pytest.approx(0.606, abs=0.005)


#: dRisk for k = 0.01, 0.05, 0.1 and risk1 of dRiskRMD (k = 0.01).
MASKED = {
    "ma_mdav": (0.021, 0.584, 0.8405, 0.0605),
    "ma_onedims": (0.9235, 0.9835, 0.993, 0.755),
    "noise_additive": (0.0, 0.0, 0.002, 0.002),
    "noise_correlated": (0.0, 0.003, 0.0085, 0.003),
    "rankSwap_R095": (0.001, 0.041, 0.327, 0.013),
}


def masked(name: str) -> pl.DataFrame:
    prefix = f"{name}."
    held = rows("sdcmicro_masked_2000")
    return held.select(pl.col(f"{prefix}{c}").alias(c) for c in AMOUNTS)


@pytest.mark.parametrize("name", list(MASKED))
def test_interval_risk(name: str) -> None:
    release, original = flou.Microdata(masked(name)), flou.Microdata(rows().select(AMOUNTS))
    for width, expected in zip((0.01, 0.05, 0.1), MASKED[name][:3], strict=True):
        found = R.IntervalRisk(width, sd="masked", pair="row").measure(release, against=original)
        assert found.value == pytest.approx(expected, abs=1e-9)


#: covMcd of the original amounts, each scaled to mean 0 and standard deviation 1.
_MCD = np.array(
    [
        [0.360169141714381, 0.376905391886502, 0.307814767043725],
        [0.376905391886502, 0.428982611166228, 0.323517554317478],
        [0.307814767043725, 0.323517554317478, 0.346977956054964],
    ]
)


@pytest.mark.parametrize("name", list(MASKED))
def test_robust_interval_risk(name: str) -> None:
    """dRiskRMD with its own covariance: 0.05 k times the distance from the mean, any column, each file on its scale."""
    x, xm = (f.to_numpy() for f in (rows().select(AMOUNTS), masked(name)))
    x, xm = ((v - v.mean(axis=0)) / v.std(axis=0, ddof=1) for v in (x, xm))
    distance = np.sqrt(np.einsum("ij,jk,ik->i", x, np.linalg.inv(_MCD), x))
    moved = np.abs(xm - x) / (0.01 * 0.05 * distance[:, None])
    assert (farthest(moved, "any") < 1).mean() == pytest.approx(MASKED[name][3], abs=1e-9)


def test_robust_covariance_has_the_shape_of_covmcd() -> None:
    """Up to scale: covMcd's last factor takes the share of records that were kept, here 73%, for that of normal data."""
    from flou.risk.micro.robust import minimum_covariance

    x = rows().select(AMOUNTS).to_numpy()
    _, cov = minimum_covariance((x - x.mean(axis=0)) / x.std(axis=0, ddof=1))
    ratio = cov / _MCD
    assert ratio.std() / ratio.mean() < 0.02
