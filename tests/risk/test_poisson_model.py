"""The Poisson model on populations whose truth is known, the search for interactions, and fits that creep."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import flou
from flou.risk.micro import log_linear, newton
from flou.risk.micro.log_linear import fit, largest, parse
from flou.risk.micro.model_search import judge_fit

KEYS = ["a", "b", "c", "e"]


def drawn(
    seed: int, *, interaction: bool, n: int = 100_000, fraction: float = 0.03
) -> tuple[pl.DataFrame, float, float]:
    """A sample of a population with four keys, and the true τ1 and τ2."""
    rng = np.random.default_rng(seed)
    a = rng.choice(20, n, p=rng.dirichlet(np.ones(20)))
    shares = rng.dirichlet(np.ones(25), 20) if interaction else np.tile(rng.dirichlet(np.ones(25)), (20, 1))
    b = (shares.cumsum(axis=1)[a] > rng.random(n)[:, None]).argmax(axis=1)
    c = rng.choice(30, n, p=rng.dirichlet(np.full(30, 0.5)))
    population = pl.DataFrame({"a": a, "b": b, "c": c, "e": rng.integers(0, 4, n)})
    sample = population.filter(pl.Series(rng.random(n) < fraction))
    uniques = sample.group_by(KEYS).len("f").filter(pl.col("f") == 1)
    truth = uniques.join(population.group_by(KEYS).len("F"), on=KEYS)["F"]
    return sample, float((truth == 1).sum()), float((1 / truth).sum())


def risk(sample: pl.DataFrame, formula: str, fraction: float = 0.03) -> flou.engine.result.RiskResult:
    return flou.risk.PoissonRisk(formula, sampling_fraction=fraction).measure(flou.Microdata(sample, keys=KEYS))


@pytest.mark.parametrize("seed", range(4))
def test_the_right_model_finds_the_truth(seed: int) -> None:
    for interaction, formula in ((False, "main"), (True, "a * b + c + e")):
        sample, tau1, tau2 = drawn(seed, interaction=interaction)
        found = risk(sample, formula)
        assert found.tau1 == pytest.approx(tau1, rel=0.25)
        assert found.tau2 == pytest.approx(tau2, rel=0.15)
        assert abs(found.test2) < 3


@pytest.mark.parametrize("seed", [0, 1])
def test_too_simple_a_model_is_found_out_and_the_search_mends_it(seed: int) -> None:
    sample, _, tau2 = drawn(seed, interaction=True, n=200_000)
    simple, searched = risk(sample, "main"), risk(sample, "search")
    assert simple.test2 > 1.96
    assert "overstates" in str(simple.notes[0])
    assert abs(searched.test2) < 1.96
    assert "*" in searched.formula
    assert abs(searched.tau2 - tau2) < abs(simple.tau2 - tau2)


def test_tests_have_about_the_distribution_that_they_claim() -> None:
    """Under a true model with known means the statistics have mean 0 and variance 1."""
    rng = np.random.default_rng(7)
    means = rng.gamma(0.5, 1.0, (30, 40))
    found = [judge_fit(rng.poisson(means).astype(float), means, 0.1) for _ in range(400)]
    for statistic in (np.array([t.first for t in found]), np.array([t.second for t in found])):
        assert abs(statistic.mean()) < 4 / np.sqrt(400)
        assert 0.8 < statistic.std() < 1.25


def test_newtons_method_agrees_with_proportional_fitting() -> None:
    rng = np.random.default_rng(3)
    table = rng.poisson(2.0, (4, 5, 3)).astype(float)
    possible = rng.random(table.shape) < 0.8
    table[~possible] = 0
    terms = ((0, 1), (1, 2), (0, 2))
    fitted = fit(table, terms, possible)
    start = np.where(possible, 1.0, 0.0)
    start *= table.sum() / start.sum()
    means, far = newton.improve(table, start, terms, 1e-9)
    assert far < 1e-6
    assert np.allclose(means, fitted.means, atol=1e-5)


def test_a_fit_that_creeps_is_finished() -> None:
    """Two empty corners put the estimate of all two-way margins on the boundary, where fitting by margins creeps."""
    table = np.array([[[0, 3], [2, 3]], [[3, 2], [3, 0]]], dtype=float)
    fitted = fit(table, parse("two-way", ["x", "y", "z"]))
    for axis in range(3):
        assert np.allclose(fitted.means.sum(axis=axis), table.sum(axis=axis), atol=1e-4)
    assert fitted.n_cycles <= log_linear._PATIENCE


def test_a_million_cells_fit() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({c: rng.integers(0, 10, 50_000) for c in "abcdef"})
    people = flou.Microdata(frame, keys=list("abcdef"))
    found = flou.risk.PoissonRisk("two-way", sampling_fraction=0.1).measure(people)
    assert found.n_cells == 10**6
    assert found.degrees == 10**6 - (1 + 6 * 9 + 15 * 81)


def test_formulas() -> None:
    columns = ["sex", "age", "region"]
    assert parse("main", columns) == ((0,), (1,), (2,))
    assert parse("~ sex + age * region", columns) == ((0,), (1, 2))
    assert parse("sex:age + sex + age", columns) == ((0, 1),)
    assert largest([(0,), (0, 1), (1,)]) == ((0, 1),)
    assert parse("two-way", ["a"]) == ((0,),)
