"""The calibration kernels against general optimisers, proportional fitting written out, and linear programs one by one."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from tests.depth import examples

from flou.protect.micro.calibration import nearest
from flou.protect.micro.calibration.clash import find_clash
from flou.protect.micro.calibration.distance import Distance, Linear, Logit, Raking, distance_of
from flou.protect.micro.calibration.newton import solve_dual
from flou.protect.micro.calibration.patterns import Patterns, group_patterns

DISTANCES: list[Distance] = [Linear(), Raking(), Logit(0.3, 3.0)]
Case = tuple[np.ndarray[Any, Any], list[int], np.ndarray[Any, Any], np.ndarray[Any, Any]]


def random_case(seed: int, n: int = 12, numeric: int = 1) -> Case:
    """Codes of two margins in which each category occurs, numbers (some negative) and design weights."""
    rng = np.random.default_rng(seed)
    sizes = [2, 3]
    codes = np.stack([np.r_[np.arange(s), rng.integers(0, s, n - s)] for s in sizes], axis=1)
    return codes, sizes, np.round(rng.normal(3, 4, (n, numeric)), 1), rng.uniform(1, 5, n)


def design_of(case: Case) -> np.ndarray[Any, Any]:
    """The calibration variables of each record, written out."""
    codes, sizes, numbers, _ = case
    return np.concatenate([*(np.eye(s)[codes[:, j]] for j, s in enumerate(sizes)), numbers], axis=1)


def near_totals(case: Case, spread: float, seed: int) -> np.ndarray[Any, Any]:
    """Totals that weights within 1 ± spread of the design weights meet."""
    ratios = np.random.default_rng(seed).uniform(1 - spread, 1 + spread, len(case[3]))
    return np.asarray(design_of(case).T @ (case[3] * ratios))


def cost(distance: Distance, r: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """G of Deville and Särndal (1992), cases 1, 2 and 6."""
    if isinstance(distance, Linear):
        return (r - 1) ** 2 / 2
    if isinstance(distance, Raking):
        return r * np.log(r) - r + 1
    low, high = distance.low, distance.high
    a = (high - low) / ((1 - low) * (high - 1))
    return ((r - low) * np.log((r - low) / (1 - low)) + (high - r) * np.log((high - r) / (high - 1))) / a


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: type(d).__name__)
@pytest.mark.parametrize("seed", range(12))
def test_ratios_minimise_the_distance(distance: Distance, seed: int) -> None:
    case = random_case(seed)
    design, d = design_of(case), case[3]
    totals = near_totals(case, 0.4, seed + 100)
    solved = solve_dual(group_patterns(*case), totals, distance)
    ratios = solved.ratios[group_patterns(*case).place]
    assert solved.met
    independent = design[:, [0, 1, 2, 3, 5]]  # the last category of the second margin follows from the others
    equations = {"type": "eq", "fun": lambda r: independent.T @ (d * r) - totals[[0, 1, 2, 3, 5]]}
    edge = 1e-6
    low, high = max(distance.low, -50.0) + edge, min(distance.high, 50.0) - edge
    brute = minimize(
        lambda r: float(d @ cost(distance, r)),
        np.ones(len(d)),
        constraints=[equations],
        bounds=[(low, high)] * len(d),
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert brute.success
    assert np.allclose(ratios, brute.x, atol=2e-4)
    assert d @ cost(distance, ratios) <= brute.fun + 1e-7


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: type(d).__name__)
def test_f_is_the_inverse_of_the_derivative_of_the_distance(distance: Distance) -> None:
    r = np.linspace(max(distance.low, 0.0) + 0.05, min(distance.high, 4.0) - 0.05, 40)
    u = (cost(distance, r + 1e-6) - cost(distance, r - 1e-6)) / 2e-6
    assert np.allclose(distance.ratio(u), r, atol=1e-6)
    assert np.allclose(distance.slope(u), (distance.ratio(u + 1e-6) - distance.ratio(u - 1e-6)) / 2e-6, atol=1e-5)
    assert np.allclose(distance.ratio(u), (distance.integral(u + 1e-6) - distance.integral(u - 1e-6)) / 2e-6, atol=1e-5)
    assert distance.ratio(np.zeros(1))[0] == pytest.approx(1.0, abs=1e-15)
    assert distance.slope(np.zeros(1))[0] == pytest.approx(1.0, abs=1e-12)
    assert np.isfinite(Logit(0.3, 3.0).ratio(np.array([-1e6, 1e6]))).all()


def test_logit_is_the_published_formula() -> None:
    low, high, u = 0.4, 2.5, np.linspace(-3, 3, 13)
    e = np.exp((high - low) / ((1 - low) * (high - 1)) * u)
    assert np.allclose(
        distance_of("logit", (low, high)).ratio(u),
        (low * (high - 1) + high * (1 - low) * e) / (high - 1 + (1 - low) * e),
    )


@pytest.mark.parametrize("seed", range(10))
def test_raking_is_proportional_fitting(seed: int) -> None:
    case = random_case(seed, n=30, numeric=0)
    codes, sizes, _, d = case
    totals = near_totals(case, 0.6, seed)
    w, parts = d.copy(), [totals[:2], totals[2:]]
    for _ in range(3_000):
        for j, part in enumerate(parts):
            w = w * (part / np.bincount(codes[:, j], w, sizes[j]))[codes[:, j]]
    patterns = group_patterns(*case)
    assert np.allclose(d * solve_dual(patterns, totals, Raking()).ratios[patterns.place], w, rtol=1e-9)


@examples(150)
@given(st.integers(0, 10**6), st.integers(5, 60), st.integers(0, 2), st.sampled_from(DISTANCES))
def test_totals_are_met_within_the_bounds(seed: int, n: int, numeric: int, distance: Distance) -> None:
    case = random_case(seed, n, numeric)
    totals = near_totals(case, 0.5, seed)
    patterns = group_patterns(*case)
    solved = solve_dual(patterns, totals, distance)
    ratios = solved.ratios[patterns.place]
    found = design_of(case).T @ (case[3] * ratios)
    assert np.allclose(found, totals, rtol=1e-9, atol=1e-9 * np.abs(design_of(case)).sum())
    assert (ratios >= distance.low).all()
    assert (ratios <= distance.high).all()


@examples(60)
@given(st.integers(0, 10**6), st.sampled_from(DISTANCES))
def test_design_weights_stay_where_they_meet_the_totals(seed: int, distance: Distance) -> None:
    patterns = group_patterns(*random_case(seed, 20, 1))
    solved = solve_dual(patterns, patterns.design_totals, distance)
    assert (solved.ratios == 1.0).all()
    assert solved.n_iterations == 0


def test_patterns_are_the_distinct_records() -> None:
    case = random_case(3, 200, 1)
    patterns = group_patterns(*case)
    assert (patterns.matrix.toarray()[patterns.place] == design_of(case)).all()
    assert len(np.unique(patterns.matrix.toarray(), axis=0)) == len(patterns.mass)
    assert np.allclose(np.bincount(patterns.place, case[3]), patterns.mass)
    part = patterns.restricted([0, 3])
    assert (part.matrix.toarray()[part.place] == design_of(case)[:, [0, 3]]).all()
    assert len(part.mass) == len(np.unique(design_of(case)[:, [0, 3]], axis=0)) < len(patterns.mass)


# what clashes


def can_be_met(patterns: Patterns, totals: Any, rows: Any, low: float, high: float) -> bool:
    """One linear program without any of the library's devices."""
    rows = list(rows)
    left = patterns.matrix.toarray()[:, rows].T * patterns.mass
    bounds = (None if low == -math.inf else low, None if high == math.inf else high)
    return bool(linprog(np.zeros(left.shape[1]), A_eq=left, b_eq=np.asarray(totals)[rows], bounds=bounds).status == 0)


@pytest.mark.parametrize("columns", [0, 10_000])
@pytest.mark.parametrize(("low", "high"), [(0.0, math.inf), (0.5, 2.0), (-math.inf, math.inf)])
@pytest.mark.parametrize("seed", range(15))
def test_clashes_are_irreducible(
    seed: int, low: float, high: float, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few patterns solved as they stand, and with columns generated."""
    monkeypatch.setattr(nearest, "_MAX_COLUMNS", columns)
    rng = np.random.default_rng(seed)
    case = random_case(seed, 25, 1)
    totals = near_totals(case, 0.3, seed)
    if seed % 3 == 0:
        totals[-1] *= 30
    else:
        totals[:2] = totals[:2].sum() * np.array([0.97, 0.03])
        totals[2:5] = totals[2:5].sum() * rng.dirichlet(np.ones(3)) * (1.1 if seed % 3 == 2 else 1.0)
    patterns = group_patterns(*case)
    everything = range(len(totals))
    clash = find_clash(patterns, totals, low, high)
    assert (clash is None or clash.needs_zero) == can_be_met(patterns, totals, everything, low, high)
    if clash is None or clash.needs_zero:
        return
    assert not can_be_met(patterns, totals, clash.rows, low, high)
    for left_out in clash.rows:
        assert can_be_met(patterns, totals, [j for j in clash.rows if j != left_out], low, high)
    # the totals that come nearest can be met
    shown = np.array(totals)
    shown[list(clash.rows)] = clash.nearest
    slack = 1e-5 if columns == 0 else 1e-7
    left = patterns.matrix.toarray()[:, list(clash.rows)].T * patterns.mass
    size = slack * patterns.sizes(totals)[list(clash.rows)]
    near = linprog(
        np.zeros(left.shape[1]),
        A_ub=np.concatenate([left, -left]),
        b_ub=np.concatenate([shown[list(clash.rows)] + size, size - shown[list(clash.rows)]]),
        bounds=(None if low == -math.inf else low, None if high == math.inf else high),
    )
    assert near.status == 0


def test_some_clashes_are_found() -> None:
    """The test above is not empty: nested margins that disagree, for each kind of bounds."""
    department = np.repeat(np.arange(4), 10)
    codes = np.stack([department, department // 2], axis=1)  # departments 0, 1 in region 0
    patterns = group_patterns(codes, [4, 2], np.empty((40, 0)), np.ones(40))
    totals = np.array([10.0, 10.0, 10.0, 10.0, 25.0, 15.0])
    for low, high in ((-math.inf, math.inf), (0.0, math.inf), (0.5, 2.0)):
        clash = find_clash(patterns, totals, low, high)
        assert clash is not None
        assert clash.rows in {(0, 1, 4), (2, 3, 5)}
        assert not solve_dual(patterns, totals, Linear()).met


def test_totals_that_leave_some_records_nothing_clash() -> None:
    """Both F and both M are needed where nobody else is, so that the fifth record has no weight left."""
    codes = np.array([[0, 0], [0, 0], [1, 1], [1, 1], [0, 1]])
    patterns = group_patterns(codes, [2, 2], np.empty((5, 0)), np.ones(5))
    totals = np.array([2.0, 2.0, 2.0, 2.0])
    clash = find_clash(patterns, totals, 0.0, math.inf)
    assert clash is not None
    assert clash.needs_zero
    assert set(clash.rows) in ({0, 2}, {1, 3})
    assert find_clash(patterns, totals, 0.0, 2.0) is None
    assert find_clash(patterns, np.array([3.0, 2.0, 2.0, 3.0]), 0.0, math.inf) is None


@pytest.mark.parametrize("rows", list(itertools.permutations(range(6)))[::119])
def test_nothing_depends_on_the_order_of_the_records(rows: tuple[int, ...]) -> None:
    case = random_case(1, 6, 1)
    order = list(rows)
    totals = near_totals(case, 0.2, 1)
    straight, other = group_patterns(*case), group_patterns(case[0][order], case[1], case[2][order], case[3][order])
    one = solve_dual(straight, totals, Raking()).ratios[straight.place]
    assert np.allclose(one[order], solve_dual(other, totals, Raking()).ratios[other.place], rtol=1e-12)
