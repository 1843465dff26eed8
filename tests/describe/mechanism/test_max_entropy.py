"""Rows of largest entropy: figures of ptable, another solver, the conditions of optimality, degenerate cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from tests.depth import examples

from flou.describe.mechanism.max_entropy import smallest_variance, solve_rows
from flou.engine.errors import Infeasible

Floats = NDArray[np.float64]

#: Rows of the R package ptable 1.0.0 (variance as upper bound): D, V, js, count, its targets, their chances.
PTABLE: list[tuple[int, float, int, int, list[int], list[float]]] = [
    (5, 2.5, 0, 1, [0, 1, 2, 3, 4, 5, 6],
     [0.388937826843173, 0.388937826843174, 0.122093479490103, 0.0563941418771497, 0.0260480686228723,
      0.0120314238874859, 0.005557232436042]),
    (5, 2.5, 0, 2, [0, 1, 2, 3, 4, 5, 6, 7],
     [0.198979204913592, 0.22834747591759, 0.228347475917589, 0.167997489100304, 0.101793303542585,
      0.0493849536452585, 0.019183556191885, 0.00596654077119698]),
    (5, 5, 2, 2, [0, 3, 4, 5, 6, 7],
     [0.517101751668463, 0.195436980875246, 0.128974829698889, 0.0813168406141414, 0.0489816444948287,
      0.0281879526484327]),
    (5, 5, 2, 6, [3, 4, 5, 6, 7, 8, 9, 10, 11],
     [0.152281563918607, 0.15468126951374, 0.15468126951374, 0.154681269513739, 0.124613327082565, 0.0996084222472559,
      0.074272583409831, 0.0516608955121437, 0.033519399288379]),
    (10, 5, 2, 3, [0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
     [0.287901146568238, 0.287901146568281, 0.187419932730542, 0.118356734986699, 0.0655735199430498,
      0.0318729546611086, 0.013591716834343, 0.00508500031195217, 0.00166894139541978, 0.000480581055292943,
      0.000121415177254561, 2.690976781896e-05]),
    (10, 10, 4, 3, [0, 5, 6, 7, 8, 9, 10, 11, 12, 13],
     [0.505102324993385, 0.218831316465277, 0.135286524760853, 0.0753354328952366, 0.0377871136048994,
      0.0170721347489632, 0.00694754909764886, 0.0025466842460223, 0.00084084986104519, 0.000250069326669057]),
]  # fmt: skip


def entropy(chances: Floats) -> float:
    positive = chances[chances > 0]
    return float(-(positive * np.log(positive)).sum())


def moments(chances: Floats) -> tuple[Floats, Floats]:
    z = np.arange(chances.shape[1]) - chances.shape[1] // 2
    return chances @ z, chances @ z**2


@pytest.mark.parametrize(("D", "V", "js", "count", "targets", "theirs"), PTABLE)
def test_rows_of_ptable(D: int, V: float, js: int, count: int, targets: list[int], theirs: list[float]) -> None:
    ours = solve_rows(D, V, js)[count]
    there = np.zeros(2 * D + 1)
    there[np.array(targets) - count + D] = theirs
    assert ours == pytest.approx(there, abs=1e-7)
    assert ((ours > 0) == (there > 0)).all()
    # theirs can have more entropy only by what it exceeds V, by a few parts in 10^12
    excess = max(0.0, float(moments(there[None])[1][0]) - V)
    assert entropy(ours) >= entropy(there) - excess - 1e-14


@st.composite
def parameters(draw: st.DrawFn, largest: int) -> tuple[int, float, int]:
    D = draw(st.integers(1, largest))
    js = draw(st.integers(0, D - 1))
    least = smallest_variance(js)
    above = draw(st.one_of(st.just(0.0), st.floats(0.02, 40), st.integers(1, 12).map(float)))
    return D, max(least + above, 0.02), js


@examples(30)
@given(parameters(4))
def test_another_solver_finds_the_same(drawn: tuple[int, float, int]) -> None:
    """Sequential quadratic programming on the program as it is written, without its dual."""
    D, V, js = drawn
    chances = solve_rows(D, V, js)
    for i in range(1, len(chances)):
        z = np.array([v for v in range(-D, D + 1) if i + v >= 0 and not 1 <= i + v <= js])
        ours = chances[i, z + D]
        if i * (js + 1 - i) + 0.02 > V and i <= js:
            continue  # two targets hold nearly all, which the other solver does not resolve
        left = np.flatnonzero(z <= 0) if 0 in z else np.array([0])
        rising = np.eye(len(z))[left[1:]] - np.eye(len(z))[left[:-1]]
        found = minimize(
            lambda p: float((p * np.log(np.maximum(p, 1e-300))).sum()),
            np.full(len(z), 1 / len(z)),
            jac=lambda p: np.log(np.maximum(p, 1e-300)) + 1,
            method="SLSQP",
            bounds=[(1e-12, 1)] * len(z),
            constraints=[
                {"type": "eq", "fun": lambda p, z=z: np.array([p.sum() - 1, p @ z])},
                {"type": "ineq", "fun": lambda p, z=z, r=rising: np.r_[V - p @ z**2, r @ p]},
            ],
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert entropy(ours) == pytest.approx(-found.fun, abs=2e-7)
        assert ours == pytest.approx(found.x, abs=1e-3)


@examples(150)
@given(parameters(25))
@example((25, 30.0, 4))
@example((50, 100.0, 10))
@example((1, 0.25, 0))
def test_rows_are_feasible_and_optimal(drawn: tuple[int, float, int]) -> None:
    """The conditions of Karush, Kuhn and Tucker, which are sufficient for a concave program."""
    D, V, js = drawn
    chances = solve_rows(D, V, js)
    assert chances.shape == (D + 1 if js == 0 else js + D + 2, 2 * D + 1)
    assert (chances >= 0).all()
    assert chances.sum(axis=1) == pytest.approx(np.ones(len(chances)), abs=1e-13)
    bias, spread = moments(chances)
    assert np.abs(bias).max() < 1e-12 * D
    assert spread.max() <= V * (1 + 1e-12)
    for i in range(1, len(chances)):
        check_optimal(i, chances[i], V, js)


def check_optimal(i: int, row: Floats, V: float, js: int) -> None:
    D = len(row) // 2
    z = np.flatnonzero(row > 1e-250) - D
    p = row[z + D]
    assert not any(1 <= i + v <= js for v in z)
    binding = p @ z**2 > V * (1 - 1e-12)
    if not binding:  # every target that is allowed is used
        assert len(z) == sum(i + v >= 0 and not 1 <= i + v <= js for v in range(-D, D + 1))
    end = int(np.flatnonzero(z == 0)[0]) if i > js else -1
    start = end
    while end >= 0 and start > 0 and p[start - 1] >= p[end] * (1 - 1e-13):
        start -= 1
    block = np.arange(start, end + 1) if end >= 0 else np.array([], dtype=int)
    # log p = c + a z + b z² outside the block, and on the mean of the block
    features = np.c_[np.ones(len(z)), z, z**2 if binding else np.zeros(len(z))].astype(float)
    lines = np.delete(features, block, axis=0)
    logs = np.delete(np.log(p), block)
    if len(block):
        lines, logs = np.r_[lines, [features[block].mean(axis=0)]], np.r_[logs, np.log(p[end])]
    scale = np.maximum(np.abs(lines).max(axis=0), 1)
    solved, _, rank, _ = np.linalg.lstsq(lines / scale, logs, rcond=1e-12)
    assert lines / scale @ solved == pytest.approx(logs, abs=1e-6, rel=1e-8)
    if rank < (3 if binding else 2):
        return  # the multipliers are not unique
    assert solved[2] <= 1e-6
    if end >= 0:
        assert (np.diff(p[: end + 1]) >= -1e-15).all()
        pull = np.cumsum((features / scale @ solved - np.log(p))[block])  # the multipliers of p_j <= p_(j+1)
        assert pull[:-1].min(initial=0) >= -1e-6
        assert pull[-1] == pytest.approx(0, abs=1e-6)


def test_two_targets_are_exact_where_the_variance_forces_them() -> None:
    chances = solve_rows(10, 6, 4)
    assert chances[2, [8, 13]].tolist() == [0.6, 0.4]
    assert chances[3, [7, 12]].tolist() == [0.4, 0.6]
    assert np.count_nonzero(chances[2]) == np.count_nonzero(chances[3]) == 2
    assert np.count_nonzero(chances[1]) > 2


@pytest.mark.parametrize("slack", [1e-12, 1e-9, 1e-6, 1e-3])
def test_a_variance_barely_above_the_smallest(slack: float) -> None:
    chances = solve_rows(8, 6 + slack, 4)
    bias, spread = moments(chances)
    assert np.abs(bias).max() < 1e-13
    assert spread[2] == pytest.approx(6 + slack, rel=1e-12)
    assert chances[2, 6] == pytest.approx(0.6, abs=slack)


def test_large_counts_are_symmetric_and_uniform_when_the_variance_does_not_bind() -> None:
    """Jamme 2025, section 3.1: V = 10 is the uniform distribution of D = 5."""
    assert solve_rows(5, 10, 0)[-1] == pytest.approx(np.full(11, 1 / 11), abs=1e-15)
    assert solve_rows(50, 1e12, 0)[-1] == pytest.approx(np.full(101, 1 / 101), abs=1e-15)
    for D, V, js in ((10, 5, 2), (50, 0.01, 0), (50, 700, 48)):
        large = solve_rows(D, V, js)[-1]
        assert (large == large[::-1]).all()


def test_small_variances() -> None:
    assert solve_rows(1, 0.01, 0)[1] == pytest.approx([0.005, 0.99, 0.005], abs=1e-15)
    assert solve_rows(50, 1e-6, 0)[50][49:52] == pytest.approx([5e-7, 1 - 1e-6, 5e-7], rel=1e-11)


@pytest.mark.parametrize(("js", "least"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 6), (9, 25)])
def test_smallest_variance(js: int, least: int) -> None:
    assert smallest_variance(js) == max((i * (js + 1 - i) for i in range(1, js + 1)), default=0) == least
    if js:
        solve_rows(js + 1, float(least), js)
        with pytest.raises(Infeasible, match=f"the smallest feasible V is {least}") as raised:
            solve_rows(js + 1, least - 1e-9, js)
        assert raised.value.best == f"V = {least}"
