"""Contradictions among published figures: what is returned has no solution, and each of its rows is needed."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from census_problem import census_problem, lay_rows
from tiny import solutions, tiny_problem

from flou.attack.table.rebuild.contradiction import is_feasible, smallest_contradiction
from flou.attack.table.rebuild.feasible import find_counts
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.engine.errors import NotConvergedError

SEEDS = range(80)


def alone(problem, rows, pairs):
    """The problem of some of its hard rows and pairs."""
    hard = np.zeros(problem.n_rows, dtype=np.bool_)
    hard[list(rows)] = True
    return replace(problem, hard=hard, apart=problem.apart[list(pairs)])


def has_some(problem) -> bool:
    """Whether some vector fits: one is found, and checked by the definition."""
    return problem.allows(find_counts(problem, seed=0))


def test_contradictions_against_enumeration() -> None:
    n_found, n_enumerated, n_smallest, n_with_pairs = 0, 0, 0, 0
    for seed in SEEDS:
        problem = tiny_problem(seed, wrong_often=1.0)
        found = smallest_contradiction(problem, seed=seed)
        assert (found is not None) == (len(solutions(problem)) == 0)
        assert is_feasible(problem) == (found is None)
        if found is None:
            continue
        n_found += 1
        n_with_pairs += len(found.pairs) > 0
        assert found.irreducible
        every = solutions(alone(problem, found.rows, found.pairs))
        n_enumerated += every is not None
        assert every is None or not len(every)
        for row in found.rows:
            assert has_some(alone(problem, set(found.rows.tolist()) - {row}, found.pairs))
        for pair in found.pairs:
            assert has_some(alone(problem, found.rows, set(found.pairs.tolist()) - {pair}))
        if n_found > 12:
            continue
        size = len(found.rows) + len(found.pairs)
        hard = np.flatnonzero(problem.hard).tolist()
        elements = [(row, None) for row in hard] + [(None, pair) for pair in range(len(problem.apart))]
        smaller = any(
            is_feasible(alone(problem, [r for r, _ in some if r is not None], [p for _, p in some if p is not None]))
            is False
            for some in (c for k in range(1, min(size, 3)) for c in combinations(elements, k))
        )
        n_smallest += not smaller
    assert n_found >= 20
    assert n_enumerated >= 0.8 * n_found
    assert n_with_pairs >= 1
    assert n_smallest >= 0.9 * 12


def test_one_wrong_figure_in_a_census() -> None:
    problem, _, _ = census_problem(5, UnbiasedRounding(5))
    assert smallest_contradiction(problem) is None
    row = int(np.flatnonzero((np.diff(problem.starts) > 20) & (problem.high < 10))[0])
    wrong = replace(problem, low=problem.low.copy(), high=problem.high.copy())
    wrong.low[row] += 60
    wrong.high[row] += 60
    found = smallest_contradiction(wrong)
    assert found is not None
    assert found.irreducible
    assert row in found.rows
    assert len(found.rows) <= 3


def test_parts_that_exceed_their_whole_together() -> None:
    """Three parts of 2 each in a whole of 5, beside rows that are at peace."""
    rows = [np.array([0]), np.array([1]), np.array([2]), np.array([0, 1, 2]), np.array([3]), np.array([2, 3])]
    totals = [2, 2, 2, 5, 1, 3]
    found = smallest_contradiction(lay_rows(4, rows, [(total, np.zeros(1)) for total in totals]))
    assert found is not None
    np.testing.assert_array_equal(found.rows, [0, 1, 2, 3])
    assert found.irreducible


def test_a_pair_that_cannot_differ() -> None:
    """A part of 2 and a whole of 2, whose totals are said to differ; the last row is at peace."""
    rows = [np.array([0]), np.array([0, 1]), np.array([1, 2])]
    problem = lay_rows(3, rows, [(2, np.zeros(1)), (2, np.zeros(1)), (0, np.zeros(3))], apart=[(0, 1)])
    found = smallest_contradiction(problem)
    assert found is not None
    np.testing.assert_array_equal(found.rows, [0, 1])
    np.testing.assert_array_equal(found.pairs, [0])
    assert found.irreducible


def test_no_claim_without_work() -> None:
    problem, _, _ = census_problem(5, UnbiasedRounding(5))
    with pytest.raises(NotConvergedError, match="not decided"):
        smallest_contradiction(problem, work=1e-7)
