"""The likeliest counts: against enumeration, and from nothing."""

from __future__ import annotations

import numpy as np
import pytest
from small_problems import all_counts, distinct_rows, problem_of, product_codes, publish, town
from tests.depth import at_depth

from flou.attack.table.rebuild.anneal import anneal_to_likeliest
from flou.attack.table.rebuild.ground import most_people
from flou.datasets import census
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.describe.mechanism.transition_matrix import TransitionMatrix
from flou.describe.mechanism.unchanged import Unchanged
from flou.engine.errors import Infeasible

MECHANISMS = [UnbiasedRounding(3), TransitionMatrix(D=2, V=2.0, js=1), Unchanged()]


@pytest.mark.parametrize("case", range(0, 12, at_depth(2, 1)))
def test_the_maximum_is_that_of_enumeration(case):
    rng = np.random.default_rng(case)
    codes = product_codes([(3, 2), (2, 2), (2, 2, 2)][case % 3])
    truth = rng.multinomial(5, rng.dirichlet(np.ones(len(codes))))
    rows = distinct_rows([[codes[:, 0], codes[:, 1]], [codes[:, -1]]])
    problem = publish(truth, rows, MECHANISMS[case // 4], rng)
    best = max(problem.log_likelihood(x) for x in all_counts(len(codes), min(most_people(problem), 8)))
    found = anneal_to_likeliest(problem, codes, seed=case, n_moves=60_000)
    assert found.log_likelihood == problem.log_likelihood(found.counts)
    assert found.log_likelihood >= best - 1e-9


@pytest.fixture(scope="module")
def towns():
    ground = town()
    problems, truths = [], []
    for i in range(3):
        truths.append(ground.counts(census(n=50, rng=i)))
        problem = publish(truths[-1], ground.rows, UnbiasedRounding(5), np.random.default_rng(1000 + i))
        problems.append(problem)
    return ground, problems, truths


def test_a_town_is_likelier_than_the_truth_and_never_far_from_a_long_search(towns):
    ground, problems, truths = towns
    for number, (problem, truth) in enumerate(zip(problems, truths, strict=True)):
        found = anneal_to_likeliest(problem, ground.codes, seed=number)
        longer = anneal_to_likeliest(problem, ground.codes, seed=100 + number, n_moves=5_000_000)
        assert found.log_likelihood > problem.log_likelihood(truth) + 10
        assert found.log_likelihood > longer.log_likelihood - 0.3


def test_raw_tables_are_solved_from_nothing(towns):
    ground, _, truths = towns
    for number, truth in enumerate(truths):
        problem = publish(truth, ground.rows, Unchanged(), np.random.default_rng(0))
        found = anneal_to_likeliest(problem, ground.codes, seed=number, n_moves=200_000)
        assert problem.allows(found.counts)
        assert (found.counts.sum(), found.log_likelihood) == (50, 0.0)


def test_a_possible_start_is_never_lost():
    codes = product_codes((2, 2))
    problem = problem_of(4, [np.arange(4)], [(2, 2, [0.0])])
    start = np.array([1, 0, 0, 1])
    assert (anneal_to_likeliest(problem, codes, start, seed=1, n_moves=1).counts == start).all()


def test_a_prior_moves_the_choice_among_equals():
    codes = product_codes((2, 2))
    problem = problem_of(4, [np.arange(4)], [(3, 3, [0.0])])
    found = anneal_to_likeliest(
        problem, codes, seed=1, prior=np.array([0.1, 0.1, 0.1, 0.7]), prior_weight=1.0, n_moves=20_000
    )
    assert (found.counts == [0, 0, 0, 3]).all()


def test_contradictions_raise():
    codes = product_codes((2, 2))
    torn = problem_of(4, [np.arange(4), np.arange(4)], [(3, 3, [0.0]), (5, 5, [0.0])])
    with pytest.raises(Infeasible, match="broken by"):
        anneal_to_likeliest(torn, codes, seed=1, n_moves=5_000)
