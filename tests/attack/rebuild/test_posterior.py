"""Confidences are compared with enumeration, and with how often records of stated confidence are truly there."""

from __future__ import annotations

import numpy as np
import pytest
from small_problems import Geometric, distinct_rows, exact_posterior, problem_of, product_codes, publish

from flou.attack.table.rebuild.convergence import effective_size, split_rhat
from flou.attack.table.rebuild.ground import most_people
from flou.attack.table.rebuild.posterior import sample_posterior
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.describe.mechanism.transition_matrix import TransitionMatrix
from flou.describe.mechanism.unchanged import Unchanged
from flou.engine.errors import DataError, Infeasible, KeySpaceTooLargeError, ParameterError
from flou.engine.progress import listening

MECHANISMS = {
    "rounded": UnbiasedRounding(5),
    "keyed": TransitionMatrix(D=5, V=3.0, js=2),
    "geometric": Geometric(),
    "raw": Unchanged(),
}


def populations(how, n_populations, *, seed=0):
    """Populations from a known prior on 6 × 2 × 3 cells, two linked tables of each, published."""
    rng = np.random.default_rng(seed)
    codes = product_codes((6, 2, 3))
    tables = [[codes[:, 0], codes[:, 1]], [codes[:, 0] // 2, codes[:, 1], codes[:, 2]]]
    rows = distinct_rows(tables)
    for _ in range(n_populations):
        prior = rng.dirichlet(np.full(len(codes), 0.5))
        truth = rng.multinomial(rng.integers(30, 51), prior)
        yield codes, prior, truth, publish(truth, rows, MECHANISMS[how], rng)


@pytest.mark.deep("the posterior of 120 populations")
@pytest.mark.parametrize("how", sorted(MECHANISMS))
def test_confidences_are_true_as_often_as_they_say(how):
    bands = [(0.02, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 0.98)]
    surplus, variance, n_records = np.zeros(len(bands)), np.zeros(len(bands)), np.zeros(len(bands))
    for number, (codes, prior, truth, problem) in enumerate(populations(how, 30, seed=len(how))):
        found = sample_posterior(problem, codes, prior, seed=number, max_moves=1_600_000)
        assert (truth[found.presence == 1.0] > 0).all()
        drawn = np.stack([np.bincount(line[line >= 0], minlength=len(codes)) > 0 for line in found.samples])
        for b, (low, high) in enumerate(bands):
            band = (found.presence >= low) & (found.presence < high)
            surplus[b] += (truth[band] > 0).sum() - found.presence[band].sum()
            # The truth is one more draw from the posterior if that is right: the spread of draws is its spread.
            variance[b] += drawn[:, band].sum(axis=1).var()
            n_records[b] += band.sum()
    # 4.7 standard deviations, 20 bands in all: a false alarm in fewer than 1 in 10,000 such tests.
    tested = n_records >= 30
    assert tested.sum() >= 3
    assert (np.abs(surplus) < 4.7 * np.sqrt(variance))[tested].all(), (surplus, np.sqrt(variance), n_records)
    # The test sees confidences that are 0.25 too large in the middle.
    middle = slice(1, 4)
    assert 0.25 * n_records[middle].sum() > 4.7 * np.sqrt(variance[middle].sum())


@pytest.mark.parametrize("how", ["rounded", "keyed", "geometric"])
def test_exact_on_tiny_problems(how):
    rng = np.random.default_rng(11)
    codes = product_codes((3, 2))
    truth = np.array([2, 0, 1, 0, 1, 1])
    problem = publish(truth, distinct_rows([[*codes.T]]), MECHANISMS[how], rng)
    prior = rng.dirichlet(np.ones(6))
    n_most = min(most_people(problem), 8)
    mean, presence, of_total = exact_posterior(problem, prior, n_most)
    found = sample_posterior(
        problem, codes, prior, seed=1, log_total=np.zeros(n_most + 1), first_moves=800_000, max_moves=6_400_000
    )
    assert found.converged
    assert np.abs(found.presence - presence).max() < 0.01
    assert np.abs(found.expected - mean).max() < 0.02
    totals = np.bincount((found.samples >= 0).sum(axis=1), minlength=n_most + 1) / len(found.samples)
    assert np.abs(totals - of_total).sum() / 2 < 0.05
    cells, chances = found.likeliest_people()
    held = np.stack([np.bincount(line[line >= 0], minlength=6) for line in found.samples])
    of_copies = np.stack([(held >= j).mean(axis=0) for j in range(1, int(held.max()) + 1)])
    of_copies[0] = found.presence
    assert len(cells) == round(found.expected.sum())
    assert np.allclose(chances, np.sort(of_copies, axis=None)[::-1][: len(cells)])
    assert (np.diff(chances) <= 0).all()
    for cell, n in zip(*np.unique(cells, return_counts=True), strict=True):
        assert np.allclose(np.sort(chances[cells == cell])[::-1], of_copies[:n, cell])
    assert all(problem.log_likelihood(x) > -np.inf for x in found.solutions(10_000))
    assert len(np.unique(found.solutions(10_000), axis=0)) == len(found.solutions(10_000))


def test_raw_margins_give_every_solution():
    rng = np.random.default_rng(0)
    codes = product_codes((2, 2, 2))
    truth = np.array([1, 1, 0, 1, 1, 0, 1, 1])
    problem = publish(truth, distinct_rows([[codes[:, 0], codes[:, 1]], [codes[:, 1], codes[:, 2]]]), Unchanged(), rng)
    prior = np.full(8, 1 / 8)
    _, presence, _ = exact_posterior(problem, prior, 6)
    found = sample_posterior(problem, codes, prior, seed=4)
    assert found.converged
    assert np.abs(found.presence - presence).max() < 0.02
    assert (found.solutions(10_000) == truth).all(axis=1).any()
    assert len(found.solutions(10_000)) > 1


def test_walks_that_cannot_meet_are_not_called_converged():
    # Everybody is in cell 0 or everybody in cell 3, and between the two there are 40 impossible steps.
    codes = product_codes((2, 2))
    far = [0.0, *[-np.inf] * 39, 0.0]
    rows = [np.arange(4), np.array([0]), np.array([3]), np.array([1, 2])]
    problem = problem_of(4, rows, [(40, 40, [0.0]), (0, 40, far), (0, 40, far), (0, 0, [0.0])])
    found = sample_posterior(problem, codes, seed=2, max_moves=400_000, first_moves=20_000, n_chains=6)
    assert (found.presence[[0, 3]] > 0).all()  # some walks are here and some there
    assert not found.converged


def test_the_same_seed_gives_the_same_posterior_with_any_number_of_threads():
    codes, prior, _, problem = next(populations("rounded", 1))
    one, two, other = (
        sample_posterior(problem, codes, prior, seed=s, n_threads=t) for s, t in ((1, 1), (1, 3), (2, 1))
    )
    assert (one.presence == two.presence).all()
    assert (one.samples == two.samples).all()
    assert (one.presence != other.presence).any()


def test_likeliest_people_are_the_best_by_expected_hits():
    codes, prior, _, problem = next(populations("rounded", 1, seed=3))
    found = sample_posterior(problem, codes, prior, seed=1)
    chosen = np.bincount(found.likeliest_people()[0], minlength=len(codes))
    solutions = found.solutions(10_000)
    one_draw = solutions[0]
    expected_hits = np.minimum(solutions, chosen).sum(axis=1).mean() / chosen.sum()
    assert expected_hits > np.minimum(solutions, one_draw).sum(axis=1).mean() / one_draw.sum()


def test_progress_can_cancel():
    codes, prior, _, problem = next(populations("rounded", 1))

    def stop(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), listening(stop):
        sample_posterior(problem, codes, prior, seed=1)


def test_bad_input():
    codes, prior, _, problem = next(populations("rounded", 1))
    with pytest.raises(ParameterError, match="n_chains = 1"):
        sample_posterior(problem, codes, prior, seed=1, n_chains=1)
    with pytest.raises(DataError, match="codes has shape"):
        sample_posterior(problem, codes[:-1], prior, seed=1)
    with pytest.raises(DataError, match="same codes"):
        sample_posterior(problem, np.zeros_like(codes), prior, seed=1)
    with pytest.raises(DataError, match="go down to -1"):
        sample_posterior(problem, codes - 1, prior, seed=1)
    with pytest.raises(KeySpaceTooLargeError, match="combinations"):
        sample_posterior(problem, codes * 1_000, prior, seed=1)
    with pytest.raises(DataError, match="prior"):
        sample_posterior(problem, codes, prior[:-1], seed=1)
    pair = product_codes((2, 2))
    torn = problem_of(4, [np.arange(4), np.arange(4)], [(3, 3, [0.0]), (9, 9, [0.0])])
    with pytest.raises(Infeasible):
        sample_posterior(torn, pair, seed=1, first_moves=2_000, max_moves=10_000)
    with pytest.raises(Infeasible, match="no total at all"):
        sample_posterior(problem_of(4, [np.arange(4)], [(1, 2, [-np.inf, -np.inf])]), pair, seed=1)
    with pytest.raises(DataError, match="in no row"):
        sample_posterior(problem_of(4, [np.arange(3)], [(1, 2, [0.0, 0.0])]), pair, seed=1)


def test_agreement_of_draws():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(4, 1000))
    assert split_rhat(noise) < 1.01
    assert 3000 < effective_size(noise) <= 4000
    assert split_rhat(noise + np.arange(4)[:, None]) > 1.5
    assert split_rhat(np.repeat(np.arange(4.0)[:, None], 10, axis=1)) == np.inf
    assert split_rhat(np.full((4, 10), 341.2345678)) == 1.0
    assert effective_size(np.full((4, 11), 341.2345678)) == 40
    # An autoregression of 0.9: worth (1 - 0.9) / (1 + 0.9) of its length.
    slow = np.zeros((4, 20_000))
    for t in range(1, slow.shape[1]):
        slow[:, t] = 0.9 * slow[:, t - 1] + rng.normal(size=4)
    assert effective_size(slow) == pytest.approx(80_000 / 19, rel=0.15)
