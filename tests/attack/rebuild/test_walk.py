"""The walk is compared with the enumeration of every vector of counts."""

from __future__ import annotations

import numpy as np
import pytest
from small_problems import Geometric, distinct_rows, exact_posterior, problem_of, product_codes, publish

from flou.attack.table.rebuild.ground import most_people
from flou.attack.table.rebuild.walk import Walk, alias_of
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.describe.mechanism.transition_matrix import TransitionMatrix
from flou.describe.mechanism.unchanged import Unchanged

# With about a million correlated steps the averages of chains are within 0.01 in all but freak cases; each case below
# is one fixed seed, so that a pass is a pass for good.
_TOLERANCE = 0.015


def assert_exact(problem, codes, prior, *, n_most=None, seed=3, penalty=3.0, start=None):
    n_most = most_people(problem) if n_most is None else n_most
    mean, presence, of_total = exact_posterior(problem, prior, n_most)
    chain = Walk(problem, codes, seed=seed, prior=prior, log_total=np.zeros(n_most + 1), penalty=penalty, start=start)
    chain.run(50_000)
    chain.run(1_500_000, n_snapshots=20_000)
    found_mean, found_presence = chain.averages()
    assert np.abs(found_mean - mean).max() < 2 * _TOLERANCE
    assert np.abs(found_presence - presence).max() < _TOLERANCE
    totals = np.bincount((chain.snapshots >= 0).sum(axis=1), minlength=n_most + 1) / len(chain.snapshots)
    assert np.abs(totals - of_total).sum() / 2 < 0.03
    return chain


@pytest.mark.parametrize("case", range(4))
@pytest.mark.parametrize("how", ["rounded", "keyed", "geometric"])
def test_the_walk_has_the_posterior_that_enumeration_gives(case, how):
    rng = np.random.default_rng(100 * case + len(how))
    codes = product_codes([(3, 2), (2, 2), (2, 3), (2, 2, 2)][case])
    mechanism = {"rounded": UnbiasedRounding(3), "keyed": TransitionMatrix(D=2, V=2.0, js=1), "geometric": Geometric()}
    truth = rng.multinomial(4, rng.dirichlet(np.ones(len(codes))))
    problem = publish(truth, distinct_rows([[codes[:, 0], codes[:, -1]]]), mechanism[how], rng)
    assert_exact(problem, codes, rng.dirichlet(np.ones(len(codes))), n_most=min(most_people(problem), 7))


def test_raw_margins_with_many_solutions():
    rng = np.random.default_rng(5)
    codes = product_codes((2, 2, 2))
    truth = np.array([2, 0, 1, 1, 0, 1, 1, 0])
    problem = publish(truth, distinct_rows([[codes[:, 0], codes[:, 1]], [codes[:, 2]]]), Unchanged(), rng)
    chain = assert_exact(problem, codes, np.full(8, 1 / 8), start=truth)
    assert len({
        tuple(sorted(line)) for line in chain.snapshots.tolist()}) > 3  # fmt: skip


def test_rows_with_holes():
    codes = product_codes((2, 2))
    entries = [(0, 4, [0.0, -np.inf, -1.0, -np.inf, -0.3]), (0, 3, [-np.inf, 0.0, -np.inf, -0.5])]
    problem = problem_of(4, [np.arange(4), np.array([0, 2])], entries)
    assert_exact(problem, codes, np.array([0.4, 0.3, 0.2, 0.1]), penalty=1.0)


def test_rows_that_are_apart():
    codes = product_codes((2, 2))
    entries = [(0, 4, np.zeros(5)), (0, 3, np.log([0.4, 0.3, 0.2, 0.1]))]
    rows = [np.arange(4), np.array([0, 2])]
    free = problem_of(4, rows, entries)
    tied = problem_of(4, rows, entries, apart=[(1, 0)])
    prior = np.array([0.4, 0.1, 0.4, 0.1])
    chain = assert_exact(tied, codes, prior)
    # The pair matters here: without it, enumeration gives other chances than the walk has.
    assert np.abs(exact_posterior(free, prior, 4)[1] - chain.averages()[1]).max() > 0.1
    counts = [np.bincount(line[line >= 0], minlength=4) for line in chain.snapshots]
    assert all(tied.log_likelihood(x) > -np.inf for x in counts)


def test_the_same_seed_gives_the_same_walk():
    rng = np.random.default_rng(0)
    codes = product_codes((3, 3))
    problem = publish(rng.multinomial(9, np.full(9, 1 / 9)), distinct_rows([[*codes.T]]), UnbiasedRounding(5), rng)
    chains = [Walk(problem, codes, seed=s) for s in (7, 7, 8)]
    for chain in chains:
        chain.run(20_000)
    assert (chains[0].averages()[0] == chains[1].averages()[0]).all()
    assert (chains[0].averages()[0] != chains[2].averages()[0]).any()


def test_alias_tables_give_each_place_its_weight():
    weights = np.array([0.0, 3.0, 1.0, 0.5, 5.5])
    share, alias = alias_of(weights)
    drawn = share.copy()
    np.add.at(drawn, alias, 1 - share)
    assert np.allclose(drawn / 5, weights / 10)
