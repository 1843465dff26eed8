"""Thresholds that a class meets exactly, in fractions: rounding must not decide."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import flou


def random_file(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 60))
    x = rng.integers(0, 3, size).tolist()
    s = rng.integers(0, rng.integers(2, 8), size).tolist()
    return x, s


def shares(values, domain):
    return [Fraction(sum(v == d for v in values), len(values)) for d in domain]


def farness(p, q, distance):
    if distance == "equal":
        return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    total, gap = Fraction(0), Fraction(0)
    for a, b in zip(p, q, strict=True):
        gap += a - b
        total += abs(gap)
    return total / max(len(p) - 1, 1)


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_a_class_exactly_t_away_is_close(distance):
    """Every distance that occurs is taken as t: classes at that distance are close, farther ones are not."""
    for seed in range(80):
        x, s = random_file(seed)
        domain = sorted(set(s))
        q = shares(s, domain)
        exact = {
            c: farness(shares([v for v, k in zip(s, x, strict=True) if k == c], domain), q, distance) for c in set(x)
        }
        data = flou.Microdata(pl.DataFrame({"x": x, "s": s}), keys=["x"], sensitive=["s"])
        for t in exact.values():
            result = flou.risk.TCloseness(t=float(t), distance=distance).measure(data)
            assert result.flagged.tolist() == [exact[c] > t for c in x], (seed, t)


def test_a_class_exactly_beta_is_alike():
    """Every gain that occurs is taken as beta."""
    for seed in range(80):
        x, s = random_file(seed)
        domain = sorted(set(s))
        q = shares(s, domain)
        exact = {}
        for c in set(x):
            p = shares([v for v, k in zip(s, x, strict=True) if k == c], domain)
            exact[c] = max((a - b) / b for a, b in zip(p, q, strict=True) if a)
        data = flou.Microdata(pl.DataFrame({"x": x, "s": s}), keys=["x"], sensitive=["s"])
        for beta in exact.values():
            if beta > 0:
                result = flou.risk.BetaLikeness(beta=float(beta), kind="basic").measure(data)
                assert result.flagged.tolist() == [exact[c] > beta for c in x], (seed, beta)


def test_recursive_c_met_exactly_is_not_enough():
    """r1 = c (r_l + ... + r_m) exactly, c a fraction: strictly less is asked."""
    for seed in range(80):
        x, s = random_file(seed)
        data = flou.Microdata(pl.DataFrame({"x": x, "s": s}), keys=["x"], sensitive=["s"])
        r = {
            c: sorted((sum(a == c and b == v for a, b in zip(x, s, strict=True)) for v in set(s)), reverse=True)
            for c in set(x)
        }
        r = {c: [n for n in some if n] for c, some in r.items()}
        for l in (2, 3):
            for some in r.values():
                if len(some) >= l:
                    c = Fraction(some[0], sum(some[l - 1 :]))
                    result = flou.risk.LDiversity(l=l, kind="recursive", c=float(c)).measure(data)
                    expected = [not r[k][0] < c * sum(r[k][l - 1 :]) for k in x]
                    assert result.flagged.tolist() == expected, (seed, c, l)


@pytest.mark.parametrize("threshold", [1 / 3, 1 / 7, 0.2, 0.1, 1 / 49])
def test_a_risk_of_exactly_the_threshold_is_not_above_it(threshold):
    """1 / f = threshold: not larger."""
    f = round(1 / threshold)
    frame = pl.DataFrame({"x": [0] * f + [1] * (f - 1), "w": [1.0] * (2 * f - 1)})
    for roles in ({}, {"weight": "w"}):
        data = flou.Microdata(frame, keys=["x"], **roles)
        for method in (flou.risk.IndividualRisk, flou.risk.AttackerRisk):
            assert method(threshold=threshold).measure(data).flagged.tolist() == [False] * f + [True] * (f - 1)
