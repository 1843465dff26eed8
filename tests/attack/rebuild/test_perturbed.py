"""Likely populations: each fits, more noise gives more of them, and together they find more than one alone."""

from __future__ import annotations

import numpy as np
import pytest
from census_problem import census_problem, lay_rows

from flou.attack.table.rebuild.likeliest import maximise_likelihood
from flou.attack.table.rebuild.perturbed import draw_likely
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.engine.errors import Infeasible, ParameterError


def test_draws_fit_and_repeat() -> None:
    problem, _, _ = census_problem(2, UnbiasedRounding(5))
    drawn = draw_likely(problem, n_draws=6, seed=3)
    assert 4 <= len(drawn) <= 6
    assert all(problem.allows(counts) for counts in drawn)
    assert len(np.unique(drawn, axis=0)) > 1
    np.testing.assert_array_equal(drawn, draw_likely(problem, n_draws=6, seed=3))
    assert (draw_likely(problem, n_draws=6, seed=4)[0] != drawn[0]).any()


def test_little_noise_gives_the_likeliest() -> None:
    problem, _, _ = census_problem(2, UnbiasedRounding(5))
    best = maximise_likelihood(problem, seed=1).log_likelihood
    weak = [problem.log_likelihood(counts) for counts in draw_likely(problem, n_draws=3, seed=1, strength=1e-6)]
    strong = [problem.log_likelihood(counts) for counts in draw_likely(problem, n_draws=3, seed=1, strength=1.0)]
    assert weak == pytest.approx([best] * len(weak), abs=1e-3)
    assert max(strong) < best - 1


def test_many_find_more_than_one() -> None:
    """Records that most draws have, as many as there are people, against those of single draws."""
    gains = []
    for seed in range(4):
        problem, truth, _ = census_problem(seed, UnbiasedRounding(5))
        drawn = draw_likely(problem, n_draws=15, seed=seed)
        shares = (drawn > 0).mean(axis=0)
        top = np.argsort(-shares, kind="stable")[:50]
        single = [truth[counts > 0].sum() for counts in drawn]
        gains.append(truth[top].sum() - np.mean(single))
    assert np.mean(gains) > 2


def test_settled_and_contradicting_problems() -> None:
    settled = lay_rows(3, [np.array([0, 1]), np.array([2])], [(2, np.zeros(1)), (1, np.zeros(1))])
    drawn = draw_likely(settled, n_draws=30, seed=1)
    assert {tuple(counts) for counts in drawn.tolist()} == {(2, 0, 1), (1, 1, 1), (0, 2, 1)}
    wrong = lay_rows(2, [np.array([0]), np.array([0, 1])], [(3, np.zeros(1)), (2, np.zeros(1))])
    with pytest.raises(Infeasible, match="chance"):
        draw_likely(wrong, n_draws=2, seed=1)
    with pytest.raises(ParameterError, match="n_draws = 0"):
        draw_likely(settled, n_draws=0, seed=1)
