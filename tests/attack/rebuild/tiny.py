"""Tiny random problems and all of their solutions, by enumeration: what the kernels are checked against."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from census_problem import behind, lay_rows, publish

from flou.attack.table.rebuild.problem import Problem
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.describe.mechanism.transition_matrix import TransitionMatrix

#: More vectors than this are not enumerated: another problem is drawn.
_MOST = 60_000
MECHANISMS = {"none": None, "rounding": UnbiasedRounding(3), "cell_key": TransitionMatrix(D=2, V=1.0, js=1)}


def every_vector(problem: Problem, *, hard_only: bool) -> np.ndarray | None:
    """All vectors of counts within the rows' bounds, one a line; cells that no row bounds go up to 2."""
    used = problem.hard if hard_only else np.ones(problem.n_rows, dtype=np.bool_)
    most = np.full(problem.n_cells, 99)
    np.minimum.at(most, problem.members[used[problem.of_entry]], problem.high[problem.of_entry][used[problem.of_entry]])
    sizes = np.where(most == 99, 2, most) + 1
    if (sizes <= 0).any():
        return np.zeros((0, problem.n_cells), dtype=np.int64)
    if np.prod(sizes.astype(float)) > _MOST:
        return None
    return np.indices(sizes).reshape(problem.n_cells, -1).T


def solutions(problem: Problem) -> np.ndarray | None:
    """All solutions of the hard rows and pairs, found without anything but the definition of a row."""
    vectors = every_vector(problem, hard_only=True)
    if vectors is None:
        return None
    totals = np.zeros((len(vectors), problem.n_rows), dtype=np.int64)
    for row in range(problem.n_rows):
        totals[:, row] = vectors[:, problem.members[problem.starts[row] : problem.starts[row + 1]]].sum(axis=1)
    fits = np.ones(len(vectors), dtype=np.bool_)
    for row in np.flatnonzero(problem.hard):
        chances = problem.chances_of(row)
        allowed = problem.low[row] + np.flatnonzero(chances > -np.inf)
        fits &= np.isin(totals[:, row], allowed)
    for part, whole in problem.apart:
        fits &= totals[:, whole] >= totals[:, part] + 1
    return vectors[fits]


def tiny_problem(seed: int, wrong_often: float = 0.3) -> Problem:
    """The problem alone."""
    return tiny_case(seed, wrong_often)[0]


def tiny_case(seed: int, wrong_often: float = 0.3) -> tuple[Problem, np.ndarray, tuple[int, ...]]:
    """A few people in a few cells, some margins of them published; soft rows, holes, pairs, empty rows, contradictions."""
    rng = np.random.default_rng(seed)
    while True:
        sizes = [(2, 2), (2, 3), (2, 2, 2), (3, 3), (5,)][rng.integers(5)]
        codes = np.array(list(product(*[range(size) for size in sizes])))
        codes = codes[np.sort(rng.permutation(len(codes))[: rng.integers(max(2, len(codes) - 1), len(codes) + 1)])]
        truth = np.bincount(rng.integers(0, len(codes), rng.integers(0, 6)), minlength=len(codes))
        subsets = [s for k in range(len(sizes) + 1) for s in combinations(range(len(sizes)), k)]
        subsets = [subsets[i] for i in np.sort(rng.permutation(len(subsets))[: rng.integers(1, len(subsets) + 1)])]
        mechanism = list(MECHANISMS.values())[rng.integers(3)]
        wrong, softness = rng.random() < wrong_often, 0.3 * (rng.random() < 0.3)
        holes = rng.random() < 0.3
        members, supports, hard, apart = [], [], [], []
        for subset in subsets:
            for values in product(*[range(sizes[axis]) for axis in subset]):
                cells = np.flatnonzero((codes[:, list(subset)] == values).all(axis=1))
                true = int(truth[cells].sum()) + int(wrong and rng.random() < 0.15)
                members.append(cells)
                if mechanism is None:
                    supports.append((true, np.zeros(1)))
                else:
                    low, chances = behind(mechanism, publish(mechanism, true, rng))
                    hole = int(rng.integers(len(chances)))
                    if holes and low + hole != true:
                        chances[hole] = -np.inf
                    supports.append((low, chances))
                hard.append(bool(rng.random() >= softness))
        for part, whole in product(range(len(members)), repeat=2):
            if part != whole and np.isin(members[part], members[whole]).all() and rng.random() < 0.05:
                differ = truth[members[whole]].sum() > truth[members[part]].sum()
                if differ or rng.random() < 0.1:
                    apart.append((part, whole))
        problem = lay_rows(len(codes), members, supports, hard, apart)
        if every_vector(problem, hard_only=True) is not None and every_vector(problem, hard_only=False) is not None:
            return problem, codes, sizes
