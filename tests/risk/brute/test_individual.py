"""Individual, household and global risk against a brute force that lists every completion of every record."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad
from tests.depth import at_depth

import flou

MODES = ("category", "orthodox", "optimistic", "pessimistic", "conservative")


@cache
def franconi(f: int, total: float) -> float:
    """E[1/F | f] for F negative binomial: the Benedetti-Franconi risk, by its integral rather than its series."""
    p = f / total
    if p >= 1:
        return 1 / f
    # The integral of u^(f-1) / (1 + b u) over (0, 1), b = (1 - p) / p, with u = exp(-s / f): smooth for every p.
    b = (total - f) / f
    near = f * np.log1p(b)

    def slope(s):
        return np.exp(-s) / (1 + b * np.exp(-s / f)) / f

    parts = [quad(slope, *ends, epsabs=0, epsrel=1e-12, limit=500)[0] for ends in ((0, 1), (1, 40), (40, 40 + near))]
    return sum(parts)


def fits(key, complete):
    return all(a is None or a == b for a, b in zip(key, complete, strict=True))


def agree(one, other):
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def risks(rows, weights, domain, rules, names, mode):
    """The risk of each record; None if one has no completion."""
    weights = [1.0] * len(rows) if weights is None else weights
    weighted = weights is not None

    def risk(peers):
        f, total = len(peers), sum(weights[j] for j in peers)
        return franconi(f, round(total, 9)) if weighted else 1 / f

    n = range(len(rows))
    found = []
    for key in rows:
        if mode == "category":
            found.append(risk([j for j in n if rows[j] == key]))
        elif mode == "orthodox":
            found.append(risk([j for j in n if agree(rows[j], key)]))
        elif mode == "conservative":
            found.append(risk([j for j in n if rows[j] == key or (None not in rows[j] and agree(rows[j], key))]))
        else:
            some = [
                risk([j for j in n if fits(rows[j], complete)])
                for complete in itertools.product(
                    *([v] if v is not None else d for v, d in zip(key, domain, strict=True))
                )
                if not any(all(complete[names.index(c)] == v for c, v in rule.items()) for rule in rules)
            ]
            if not some:
                return None
            found.append(min(some) if mode == "optimistic" else max(some))
    return found


def random_file(seed, *, nulls=0.25, weighted=True, declared=True, rules=True):
    rng = np.random.default_rng(seed)
    names = list("abcd")[: rng.integers(1, 5)]
    size = int(rng.integers(1, 14))
    domain = [list(range(rng.integers(1, 4))) for _ in names]
    rows = [tuple(None if rng.random() < nulls else int(rng.integers(len(d))) for d in domain) for _ in range(size)]
    modalities = {}
    for j, name in enumerate(names):
        seen = sorted({row[j] for row in rows} - {None})
        if (declared and rng.random() < 0.6) or not seen:
            domain[j] = [*domain[j], *range(90, 90 + rng.integers(0, 3))]
            modalities[name] = domain[j]
        else:
            domain[j] = seen
    broken = []
    if rules and len(names) > 1:
        for _ in range(rng.integers(0, 7)):
            width = int(rng.integers(2, min(3, len(names)) + 1))
            some = sorted(rng.choice(len(names), width, replace=False).tolist())
            rule = {names[j]: int(rng.choice(domain[j])) for j in some}
            if not any(all(row[names.index(c)] == v for c, v in rule.items()) for row in rows):
                broken.append(rule)
    weights = None
    if weighted:
        high = rng.choice([1.0, 1.5, 20.0, 5000.0])
        weights = np.round(rng.uniform(1, high, size), 3).tolist()
    frame = pl.DataFrame(
        {name: pl.Series([row[j] for row in rows], dtype=pl.Int64) for j, name in enumerate(names)}
        | ({"w": weights} if weighted else {})
        | {"h": rng.integers(-3, 4, size)}
    )
    roles = {"keys": names, "modalities": modalities, "incoherent": broken, "household": "h"}
    if weighted:
        roles["weight"] = "w"
    return frame, roles, rows, weights, domain, broken, names


@pytest.mark.parametrize("searched", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weighted", [True, False])
def test_individual_and_global_risk(mode, weighted, searched, monkeypatch):
    """Every sense of a missing value, with weights and without; with the key space held and searched."""
    if searched:
        monkeypatch.setattr("flou.describe.keyspace.MAX_CELLS", 0)
    refused = 0
    for seed in range(at_depth(20, 60)):
        frame, roles, rows, weights, domain, rules, names = random_file(seed, weighted=weighted)
        expected = risks(rows, weights, domain, rules, names, mode)
        data = flou.Microdata(frame, **roles)
        if expected is None:
            refused += 1
            with pytest.raises(flou.FlouError):
                flou.risk.IndividualRisk(missing=mode).measure(data)
            continue
        result = flou.risk.IndividualRisk(missing=mode, threshold=0.3).measure(data)
        assert result.units.tolist() == pytest.approx(expected, rel=1e-8), seed
        assert result.highest == pytest.approx(max(expected))
        assert result.mean == pytest.approx(np.mean(expected))
        safe = [abs(r - 0.3) > 1e-9 for r in expected]
        if all(safe):
            assert result.value == pytest.approx(np.mean(np.array(expected) > 0.3))
            assert result.flagged.tolist() == [r > 0.3 for r in expected]
        for line in result.by_key.iter_rows(named=True):
            where = [i for i, row in enumerate(rows) if row == tuple(line[c] for c in names)]
            assert line["records"] == len(where)
            assert line["risk"] == pytest.approx(expected[where[0]])
        whole = flou.risk.GlobalRisk(k=1, missing=mode).measure(data)
        assert whole.expected == pytest.approx(sum(expected))
        assert whole.value == pytest.approx(np.mean(expected))
        homes = frame["h"].to_list()
        house = flou.risk.HouseholdRisk(missing=mode).measure(data)
        by_home = {h: 1 - np.prod([1 - r for r, g in zip(expected, homes, strict=True) if g == h]) for h in set(homes)}
        assert house.units.tolist() == pytest.approx([by_home[h] for h in homes])
        assert house.expected == pytest.approx(sum(by_home.values()))
        assert house.highest == pytest.approx(max(by_home.values()))
        assert house.by_key.height == len(by_home)
    assert refused < 40


@pytest.mark.parametrize("f", [1, 2, 3, 4, 7, 30, 1000])
@pytest.mark.parametrize("mean", [1, 1 + 1e-9, 1.0001, 1.5, 3, 100, 1e5])
def test_the_formula_over_the_range(f, mean):
    """One key, f records of equal weight: the closed forms must not cancel near p = 1 nor for tiny p."""
    data = flou.Microdata(pl.DataFrame({"a": [1] * f, "w": [float(mean)] * f}), keys=["a"], weight="w")
    assert flou.risk.IndividualRisk().measure(data).units[0] == pytest.approx(franconi(f, f * float(mean)), rel=1e-8)


@pytest.mark.parametrize(
    "ids",
    [
        ["x", "x", "y", "", "é", "é"],
        [-1, -1, -2, 0, 7, 7],
        [-(2**63), -(2**63), 2**63 - 1, 0, 10**15, 10**15],
        [1.5, 1.5, 2.5, 3.0, -1.0, -1.0],
        [True, True, False, False, True, True],
    ],
)
def test_household_ids_of_any_kind(ids):
    """The id says who lives together, nothing else; a household with a risk of 1 is at exactly 1."""
    frame = pl.DataFrame({"a": [1, 1, 1, 2, 3, 3], "h": ids})
    result = flou.risk.HouseholdRisk().measure(flou.Microdata(frame, keys=["a"], household="h"))
    own = [1 / 3, 1 / 3, 1 / 3, 1.0, 0.5, 0.5]
    expected = [1 - np.prod([1 - r for r, g in zip(own, ids, strict=True) if g == h]) for h in ids]
    assert result.units.tolist() == pytest.approx(expected)
    assert result.highest == 1.0
    assert result.units[3] == 1.0


def test_tiny_risks_of_a_large_household_add_up():
    """1 - prod(1 - r) of ten risks of 1e-9 is 1e-8, to the unit that logarithms are added up in."""
    frame = pl.DataFrame({"a": [1] * 10, "w": [1e8] * 10, "h": [1] * 10})
    result = flou.risk.HouseholdRisk().measure(flou.Microdata(frame, keys=["a"], household="h", weight="w"))
    r = flou.risk.IndividualRisk().measure(flou.Microdata(frame, keys=["a"], household="h", weight="w")).units[0]
    assert result.highest == pytest.approx(-np.expm1(10 * np.log1p(-r)), abs=1e-11)


def test_strata_do_not_count_unless_asked():
    """Declared strata are of the survey: they change no risk (keys do)."""
    frame = pl.DataFrame({"a": [1, 1, 1, 2], "s": ["u", "u", "v", "v"], "h": [1, 1, 2, 2]})
    plain = flou.Microdata(frame, keys=["a"], household="h")
    declared = flou.Microdata(frame, keys=["a"], household="h", strata=["s"])
    for method in (flou.risk.IndividualRisk, flou.risk.HouseholdRisk, flou.risk.GlobalRisk):
        assert method().measure(plain).units.tolist() == method().measure(declared).units.tolist()
