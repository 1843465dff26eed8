"""Guesses by hand: ties, priors, tolerance, and what would be said without tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flou.attack.table.rebuild.best_guess import Guesses, guess_values


def guess(possible: list[int], gains: list[float], own: int, held: list[int], **more: Any) -> Guesses:
    allowed = np.array([possible], dtype=np.bool_)
    candidates = np.array([more.pop("candidates", [1] * len(possible))], dtype=np.bool_)
    near = more.pop("near", None)
    prior = more.pop("prior", "uniform")
    return guess_values(candidates, allowed, np.array([gains]), np.array([own]), np.array(held), near, prior)


def test_the_most_likely_value_is_guessed() -> None:
    found = guess([1, 1, 1], [0.0, 0.5, -1.0], own=1, held=[5, 1, 4])
    assert found.right.tolist() == [1.0]
    assert found.baseline.tolist() == [0.0]
    assert found.n_left.tolist() == [3]
    assert found.feasible == pytest.approx(1 / 3)


def test_ties_count_by_their_share() -> None:
    found = guess([1, 0, 1], [0.0, 9.0, 1e-12], own=0, held=[1, 1, 1])
    assert found.right.tolist() == [0.5]
    assert found.baseline.tolist() == [0.0], "the two others have one person each, and the own value none"


def test_the_others_weigh_and_the_person_itself_does_not() -> None:
    likely = [np.log(3), 0.0]
    assert guess([1, 1], likely, own=1, held=[1, 6], prior="uniform").right.tolist() == [0.0]
    assert guess([1, 1], likely, own=1, held=[1, 6], prior="others").right.tolist() == [1.0]
    assert guess([1, 1], likely, own=1, held=[1, 4], prior="others").right.tolist() == [0.0], "3.5 to 3 · 1.5"


def test_a_value_that_nobody_else_has_can_be_guessed() -> None:
    found = guess([0, 1], [0.0, 0.0], own=1, held=[9, 1], prior="others")
    assert found.right.tolist() == [1.0]
    assert found.n_left.tolist() == [1]


def test_rules_bind_the_guess_without_tables() -> None:
    found = guess([0, 1, 0], [0.0] * 3, own=1, held=[9, 1, 3], candidates=[0, 1, 0])
    assert found.baseline.tolist() == [1.0]
    assert found.n_candidates.tolist() == [1]


def test_a_tolerance_asks_for_the_value_that_most_lies_near() -> None:
    values = np.arange(5)
    near = np.abs(values[:, None] - values[None, :]) <= 1
    likely = np.log([0.3, 0.01, 0.2, 0.2, 0.29])
    found = guess([1] * 5, likely.tolist(), own=4, held=[1] * 5, near=near)
    assert found.right.tolist() == [0.0], "the most likely single value is 0"
    assert found.within.tolist() == [1.0], "most lies within one of 3"
    assert found.baseline_within.tolist() == [pytest.approx(0.0)], "2 has three others near it, 3 but two"


def test_very_unlikely_values_do_not_break_the_others() -> None:
    found = guess([1, 1], [-2e6, -2e6 - 800.0], own=0, held=[1, 99], prior="others")
    assert found.right.tolist() == [1.0]
