"""The likeliest counts against all vectors of tiny problems, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from census_problem import census_problem, lay_rows
from tiny import every_vector, tiny_problem

from flou.attack.table.rebuild.envelopes import find_envelopes
from flou.attack.table.rebuild.likeliest import maximise_likelihood
from flou.attack.table.rebuild.reduce import Contradicted, reduce_problem
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.describe.mechanism.transition_matrix import TransitionMatrix
from flou.engine.errors import Infeasible

SEEDS = range(150)


def likelihoods(problem) -> np.ndarray:
    """The log-likelihood of every vector, by the definition."""
    vectors = every_vector(problem, hard_only=False)
    total = np.zeros(len(vectors))
    sums = []
    for row in range(problem.n_rows):
        sums.append(vectors[:, problem.members[problem.starts[row] : problem.starts[row + 1]]].sum(axis=1))
        chances = problem.chances_of(row)
        at = sums[-1] - problem.low[row]
        inside = (at >= 0) & (at < len(chances))
        total += np.where(inside, np.append(chances, -np.inf)[np.where(inside, at, len(chances))], -np.inf)
    for part, whole in problem.apart:
        total[sums[whole] <= sums[part]] = -np.inf
    return total


def bumpy(problem) -> bool:
    """Whether a row that is not concave is left by the reduction."""
    try:
        return not find_envelopes(reduce_problem(problem, hard_only=False).rows).concave.all()
    except Contradicted:
        return False


def test_the_tiny_problems_are_of_every_kind() -> None:
    problems = [tiny_problem(seed) for seed in SEEDS]
    best = [likelihoods(problem).max(initial=-np.inf) for problem in problems]
    assert sum(np.isneginf(best)) >= 10
    assert sum(np.isfinite(best)) >= 80
    assert sum(bumpy(problem) for problem in problems) >= 10


@pytest.mark.parametrize("seed", SEEDS)
def test_likeliest_against_enumeration(seed: int) -> None:
    problem = tiny_problem(seed)
    every = likelihoods(problem)
    best = every.max(initial=-np.inf)
    if best == -np.inf:
        with pytest.raises(Infeasible, match="chance"):
            maximise_likelihood(problem, seed=seed)
        return
    found = maximise_likelihood(problem, seed=seed)
    assert found.optimal
    assert found.log_likelihood == pytest.approx(best, abs=1e-9)
    assert found.bound >= best - 1e-9
    assert problem.log_likelihood(found.counts) == found.log_likelihood
    np.testing.assert_array_equal(found.counts, maximise_likelihood(problem, seed=seed).counts)
    worst = every_vector(problem, hard_only=False)[np.argmin(np.where(np.isfinite(every), every, np.inf))]
    assert maximise_likelihood(problem, seed=seed, start=worst).log_likelihood == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_little_work_claims_nothing(seed: int) -> None:
    """Bumpy rows with no branches: what is found is valid, and called optimal only where it is."""
    problem, truth, _ = census_problem(seed, TransitionMatrix(D=5, V=3, js=2), n=12)
    found = maximise_likelihood(problem, seed=seed, start=truth, branches=0)
    full = maximise_likelihood(problem, seed=seed)
    assert full.optimal
    assert problem.log_likelihood(truth) <= found.log_likelihood <= full.log_likelihood + 1e-7
    assert found.bound >= full.log_likelihood - 1e-7
    assert not found.optimal


@pytest.mark.parametrize("mechanism", [UnbiasedRounding(5), TransitionMatrix(D=5, V=3, js=2)], ids=str)
def test_a_census_of_fifty(mechanism) -> None:
    problem, truth, _ = census_problem(3, mechanism)
    found = maximise_likelihood(problem, seed=1)
    assert found.optimal
    assert found.log_likelihood > problem.log_likelihood(truth)
    assert problem.allows(found.counts)
    other = maximise_likelihood(problem, seed=2)
    assert other.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-7)
    assert (other.counts != found.counts).any()


def test_ties_are_broken_by_the_seed() -> None:
    """One person in one of three cells, told apart by rows that say nothing."""
    rows = [np.array([0, 1, 2]), np.array([0]), np.array([1]), np.array([2])]
    problem = lay_rows(3, rows, [(1, np.zeros(1))] + [(0, np.zeros(2))] * 3)
    found = {tuple(maximise_likelihood(problem, seed=seed).counts) for seed in range(20)}
    assert found == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
