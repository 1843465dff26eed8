"""Population uniqueness: Zayatz from the hypergeometric law, Pitman by another optimiser."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logit
from scipy.stats import hypergeom

import flou


def restaurant(seed, n, theta, alpha):
    """Class sizes of n people seated by a Chinese restaurant process with two parameters."""
    rng = np.random.default_rng(seed)
    sizes: list[int] = []
    seats = []
    for i in range(n):
        if rng.random() < (theta + alpha * len(sizes)) / (theta + i):
            seats.append(len(sizes))
            sizes.append(1)
        else:
            weights = np.array(sizes) - alpha
            j = int(rng.choice(len(sizes), p=weights / weights.sum()))
            sizes[j] += 1
            seats.append(j)
    return seats


def zayatz(sizes, n, population):
    """u1 P / f, P the posterior chance that a sample unique is a population unique."""
    u = Counter(sizes)
    total = len(sizes)
    h = {j: float(hypergeom(population, j, n).pmf(1)) for j in u}
    chance = u[1] / total * h[1] / sum(u[j] / total * h[j] for j in u) if u[1] else 0.0
    return u[1] * chance / (n / population)


def log_likelihood(theta, alpha, sizes, n):
    """Ewens-Pitman's law of the partition."""
    u = len(sizes)
    value = np.log(theta + alpha * np.arange(1, u)).sum() - (gammaln(theta + n) - gammaln(theta + 1))
    return value + sum(gammaln(s - alpha) - gammaln(1 - alpha) for s in sizes)


def pitman(sizes, n, population):
    """Expected uniques of the population at the most likely theta > -alpha, 0 < alpha < 1."""
    best = None
    for theta in (0.5, 50.0, 500.0):
        for alpha in (0.1, 0.5, 0.9):
            found = minimize(
                lambda v: -log_likelihood(np.exp(v[0]) - expit(v[1]), expit(v[1]), sizes, n),
                [np.log(theta), logit(alpha)],
                method="Nelder-Mead",
                options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000},
            )
            best = found if best is None or found.fun < best.fun else best
    alpha = expit(best.x[1])
    theta = np.exp(best.x[0]) - alpha
    # Person N is alone when nobody sits at that table: exact, where N^alpha is its limit for large N.
    rest = gammaln(population - 1 + theta + alpha) - gammaln(population + theta)
    return population * np.exp(gammaln(theta + 1) - gammaln(theta + alpha) + rest)


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5, 1.0])
def test_zayatz(fraction):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 100))
        keys = rng.geometric(0.1, n).tolist()
        sizes = list(Counter(keys).values())
        data = flou.Microdata(pl.DataFrame({"k": keys}), keys=["k"])
        result = flou.risk.PopulationUniqueness(model="zayatz", sampling_fraction=fraction).measure(data)
        population = round(n / fraction)
        expected = zayatz(sizes, n, population)
        assert result.uniques == pytest.approx(expected, rel=1e-6), seed
        assert result.value == pytest.approx(expected / (n / fraction), rel=1e-6)
        alone = Counter(keys)
        assert [bool(u) for u in result.units] == [alone[k] == 1 and expected > 0 for k in keys]


@pytest.mark.parametrize(("theta", "alpha"), [(20.0, 0.3), (5.0, 0.6), (100.0, 0.5), (1.0, 0.8)])
def test_pitman(theta, alpha):
    for seed in range(2):
        n = 400
        seats = restaurant(seed, n, theta, alpha)
        sizes = list(Counter(seats).values())
        expected = pitman(sizes, n, n / 0.05)
        data = flou.Microdata(pl.DataFrame({"k": seats}), keys=["k"])
        result = flou.risk.PopulationUniqueness(model="pitman", sampling_fraction=0.05).measure(data)
        assert result.uniques == pytest.approx(expected, rel=1e-5), seed


def test_dankar_chooses_by_the_fraction():
    """Up to a tenth Pitman, beyond it the smaller of Zayatz and the shifted negative binomial."""
    seats = restaurant(1, 400, 20.0, 0.3)
    data = flou.Microdata(pl.DataFrame({"k": seats}), keys=["k"])

    def uniques(model, fraction):
        return flou.risk.PopulationUniqueness(model=model, sampling_fraction=fraction).measure(data).uniques

    assert uniques("dankar", 0.1) == uniques("pitman", 0.1)
    try:
        expected = min(uniques("zayatz", 0.3), uniques("snb", 0.3))
    except flou.FlouError:
        expected = uniques("zayatz", 0.3)
    assert uniques("dankar", 0.3) == expected
