"""Feasible counts, certain counts and bounds of totals against all solutions of tiny problems, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from census_problem import census_problem, lay_rows
from tiny import solutions, tiny_problem

from flou.attack.table.rebuild.certain import prove_minimum
from flou.attack.table.rebuild.extremes import bound_total
from flou.attack.table.rebuild.feasible import find_counts
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.describe.mechanism.transition_matrix import TransitionMatrix
from flou.engine.errors import Infeasible, NotConvergedError, ParameterError

SEEDS = range(120)


def bounded(problem) -> np.ndarray:
    """Which cells a hard row counts."""
    cells = np.zeros(problem.n_cells, dtype=np.bool_)
    cells[problem.members[problem.hard[problem.of_entry]]] = True
    return cells


def test_the_tiny_problems_are_of_every_kind() -> None:
    problems = [tiny_problem(seed) for seed in SEEDS]
    fits = [len(solutions(p)) for p in problems]
    assert sum(n == 0 for n in fits) >= 10
    assert sum(n > 1 for n in fits) >= 50
    assert sum(len(p.apart) > 0 for p in problems) >= 20
    assert sum(not p.hard.all() for p in problems) >= 15
    assert sum((np.diff(p.starts) == 0).any() for p in problems) >= 5
    assert sum(np.isneginf(p.log_chances).any() for p in problems) >= 5
    assert sum(not bounded(p).all() for p in problems) >= 5
    certain = [solutions(p).min(axis=0).any() for p in problems if len(solutions(p)) > 1]
    assert 10 <= sum(certain) < len(certain)


@pytest.mark.parametrize("seed", SEEDS)
def test_hard_rows_against_enumeration(seed: int) -> None:
    problem = tiny_problem(seed)
    every = solutions(problem)
    some = np.flatnonzero(np.random.default_rng(seed).random(problem.n_cells) < 0.5)
    if not len(every):
        for ask in (
            lambda: find_counts(problem, seed=seed),
            lambda: prove_minimum(problem),
            lambda: bound_total(problem, some),
        ):
            with pytest.raises(Infeasible, match="contradict"):
                ask()
        return
    found = find_counts(problem, seed=seed)
    assert problem.allows(found)
    np.testing.assert_array_equal(found, find_counts(problem, seed=seed))
    for pool in (None, every[:3]):
        least, proven = prove_minimum(problem, pool, seed=seed)
        assert proven
        np.testing.assert_array_equal(least, every.min(axis=0))
    low, high, exact = bound_total(problem, some)
    assert exact
    assert low == every[:, some].sum(axis=1).min()
    assert high == (every[:, some].sum(axis=1).max() if bounded(problem)[some].all() else None)


@pytest.mark.parametrize("mechanism", [None, UnbiasedRounding(5), TransitionMatrix(D=5, V=3, js=2)], ids=str)
def test_a_census_of_fifty(mechanism) -> None:
    problem, truth, _ = census_problem(3, mechanism)
    found = [find_counts(problem, seed=seed) for seed in range(3)]
    assert all(problem.allows(counts) for counts in found)
    assert (found[0] != found[1]).any()
    assert mechanism is None or len({counts.sum() for counts in found}) > 1
    least, proven = prove_minimum(problem, np.array(found))
    assert proven
    assert (least <= truth).all()
    assert (least <= np.min(found, axis=0)).all()
    low, high, exact = bound_total(problem, np.arange(100))
    assert exact
    assert low <= truth[:100].sum() <= high
    if mechanism is None:
        assert 10 < least.sum() < 50  # some of the people are certain, and not all of them


def test_what_little_work_leaves_is_still_true() -> None:
    problem, truth, _ = census_problem(3, UnbiasedRounding(5))
    start = find_counts(problem, seed=1)
    least, proven = prove_minimum(problem, start[None], work=1e-6)
    assert not proven
    assert (least <= truth).all()
    low, high, exact = bound_total(problem, np.arange(100, 300), work=1e-6)
    assert not exact
    assert low <= truth[100:300].sum() <= high
    with pytest.raises(NotConvergedError, match="work"):
        find_counts(problem, seed=1, work=1e-6)


def test_cells_that_nothing_tells_apart() -> None:
    """Cells 0 and 1 are in the same row: neither is certain, together they are."""
    problem = lay_rows(3, [np.array([0, 1]), np.array([2])], [(4, np.zeros(1)), (2, np.zeros(1))])
    least, proven = prove_minimum(problem)
    assert proven
    np.testing.assert_array_equal(least, [0, 0, 2])
    assert bound_total(problem, np.array([0, 1])) == (4, 4, True)
    assert bound_total(problem, np.array([0])) == (0, 4, True)
    assert {tuple(find_counts(problem, seed=s)[:2]) for s in range(40)} > {(1, 3), (2, 2), (3, 1)}


def test_wrong_input_is_refused() -> None:
    problem = lay_rows(2, [np.array([0]), np.array([1])], [(1, np.zeros(2)), (0, np.zeros(2))], apart=[(0, 1)])
    with pytest.raises(ParameterError, match="part of row 1"):
        find_counts(problem, seed=0)
    problem = lay_rows(2, [np.array([0, 1])], [(1, np.zeros(2))])
    with pytest.raises(ParameterError, match="line 1 is no solution"):
        prove_minimum(problem, np.array([[1, 0], [2, 1]]))
