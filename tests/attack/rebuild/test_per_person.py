"""The encoding by person reaches the verdict of the encoding by counts."""

from __future__ import annotations

import numpy as np
import pytest
from census_problem import lay_rows
from tiny import solutions, tiny_case

from flou.attack.table.rebuild.per_person import find_people
from flou.engine.errors import Infeasible, NotConvergedError, ParameterError

SEEDS = range(60)


def test_the_same_verdict_as_enumeration() -> None:
    verdicts = []
    for seed in SEEDS:
        problem, codes, sizes = tiny_case(seed)
        every = solutions(problem)
        most = int(np.random.default_rng(seed).integers(2, 8))
        fits = bool((every.sum(axis=1) <= most).any()) if len(every) else False
        verdicts.append(fits)
        if not fits:
            with pytest.raises(Infeasible, match="contradict"):
                find_people(problem, codes, sizes, max_people=most)
            continue
        people = find_people(problem, codes, sizes, max_people=most, seed=seed)
        assert len(people) <= most
        counts = (codes[:, None, :] == people[None, :, :]).all(axis=2).sum(axis=1)
        assert counts.sum() == len(people)  # nobody is where no cell is
        assert problem.allows(counts)
    assert 10 <= sum(verdicts) <= len(verdicts) - 5


def test_rows_that_are_no_product_are_refused() -> None:
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    problem = lay_rows(4, [np.array([0, 3])], [(1, np.zeros(1))])
    with pytest.raises(ParameterError, match="Row 0 counts 2 cells"):
        find_people(problem, codes, (2, 2), max_people=2)
    # without the other two cells it is one
    problem = lay_rows(2, [np.array([0, 1])], [(1, np.zeros(1))])
    assert len(find_people(problem, codes[[0, 3]], (2, 2), max_people=2)) == 1


def test_no_claim_without_work() -> None:
    codes = np.array([[a, b] for a in range(6) for b in range(6)])
    lines = [np.flatnonzero(codes[:, axis] == value) for axis in range(2) for value in range(6)]
    problem = lay_rows(36, lines, [(3, np.zeros(4))] * 12)
    with pytest.raises(NotConvergedError, match="work"):
        find_people(problem, codes, (6, 6), max_people=30, work=1e-7)
