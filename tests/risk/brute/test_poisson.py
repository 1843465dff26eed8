"""The Poisson log-linear risk against a generalised linear model fitted by hand, with a column a dummy."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad

import flou

#: Formula → the margins that it fits, as sets of columns.
FORMULAS = {
    "main": ["a", "b", "c"],
    "a + b + c": ["a", "b", "c"],
    "a + b*c": ["a", "bc"],
    "a*b + b*c": ["ab", "bc"],
    "two-way": ["ab", "ac", "bc"],
    "a*b*c": ["abc"],
    "a": ["a"],
}


def glm(cells, counts, margins):
    """Fitted means of a Poisson GLM by iteratively reweighted least squares, with ridge steps near zero."""
    columns = [np.ones(len(cells))]
    for margin in margins:
        where = ["abc".index(c) for c in margin]
        keys = [tuple(cell[j] for j in where) for cell in cells]
        columns += [np.array([k == key for k in keys], float) for key in sorted(set(keys))]
    x = np.array(columns).T
    mu = counts + 0.5
    for _ in range(400):
        z = np.log(mu) + (counts - mu) / mu
        root = np.sqrt(mu)
        beta = np.linalg.lstsq(x * root[:, None], z * root, rcond=1e-13)[0]
        new = np.exp(np.clip(x @ beta, -60, 60))
        if np.max(np.abs(new - mu)) < 1e-12:
            break
        mu = np.maximum(new, 1e-30)
    return mu


def expected_inverse(f, lam, pi):
    return quad(lambda t: t ** (f - 1) * np.exp(-lam * (1 - pi) * (1 - t)), 0, 1, epsrel=1e-11)[0]


def random_file(seed, rules):
    rng = np.random.default_rng(seed)
    domain = [range(2), range(3), range(2)]
    # One record a cell: no margin is empty, so that every model has an interior optimum.
    cells = list(itertools.product(*domain))
    banned = [{"a": 1, "b": 2}, {"b": 0, "c": 1}] if rules else []
    if rules:
        cells = [c for c in cells if not (c[0] == 1 and c[1] == 2) and not (c[1] == 0 and c[2] == 1)]
    counts = rng.poisson(rng.uniform(0.3, 4, len(cells)))
    for axis, d in enumerate(domain):
        for v in d:
            if not any(n for n, c in zip(counts, cells, strict=True) if c[axis] == v):
                counts[next(i for i, c in enumerate(cells) if c[axis] == v)] += 1
    rows = [c for c, n in zip(cells, counts, strict=True) for _ in range(n)]
    rng.shuffle(rows)
    return cells, counts.astype(float), [tuple(int(v) for v in r) for r in rows], banned


@pytest.mark.parametrize("rules", [False, True])
@pytest.mark.parametrize("formula", FORMULAS)
def test_poisson_risk(formula, rules):
    """tau1, tau2 and E[1/F | f], structural zeros left out of the fit."""
    refused = 0
    for seed in range(25):
        cells, counts, rows, banned = random_file(seed, rules)
        margins = FORMULAS[formula]
        # A margin with nobody is a fit on the boundary: known in the limit, zero there.
        frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
        data = flou.Microdata(frame, keys=["a", "b", "c"], incoherent=banned)
        pi = (0.05, 0.3, 0.9)[seed % 3]
        mu = glm(cells, counts, margins)
        try:
            result = flou.risk.PoissonRisk(formula=formula, sampling_fraction=pi).measure(data)
        except flou.FlouError as error:
            # An estimate on the boundary, where proportional fitting is slow: refused rather than half right.
            assert "did not converge" in str(error)
            refused += 1
            continue
        lam = dict(zip(cells, mu / pi, strict=True))
        count = dict(zip(cells, counts, strict=True))
        uniques = [c for c in cells if count[c] == 1]
        tau1 = sum(np.exp(-lam[c] * (1 - pi)) for c in uniques)
        tau2 = sum(expected_inverse(1, lam[c], pi) for c in uniques)
        assert result.tau1 == pytest.approx(tau1, rel=1e-5, abs=1e-8), seed
        assert result.tau2 == pytest.approx(tau2, rel=1e-5, abs=1e-8), seed
        assert result.value == pytest.approx(tau2 / len(rows), rel=1e-5)
        assert result.units.tolist() == pytest.approx([expected_inverse(count[r], lam[r], pi) for r in rows], rel=1e-5)
    assert refused <= (8 if formula == "two-way" else 0)


def test_the_fraction_comes_from_the_weights():
    """n over the sum of the weights."""
    _, _, rows, _ = random_file(3, False)
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row").with_columns(w=pl.lit(2.5))
    weighted = flou.Microdata(frame, keys=["a", "b", "c"], weight="w")
    plain = flou.Microdata(frame, keys=["a", "b", "c"])
    one = flou.risk.PoissonRisk().measure(weighted)
    other = flou.risk.PoissonRisk(sampling_fraction=0.4).measure(plain)
    assert one.tau2 == pytest.approx(other.tau2)


def test_an_exhaustive_file():
    """With nothing left out every unique is a population unique, and 1/F is 1/f."""
    _, _, rows, _ = random_file(4, False)
    data = flou.Microdata(pl.DataFrame(rows, schema=["a", "b", "c"], orient="row"), keys=["a", "b", "c"])
    result = flou.risk.PoissonRisk().measure(data)
    assert result.units.tolist() == pytest.approx([1 / rows.count(r) for r in rows])
    assert result.tau1 == pytest.approx(sum(rows.count(r) == 1 for r in rows))
