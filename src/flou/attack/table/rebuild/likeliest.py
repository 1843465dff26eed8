"""The likeliest population: counts that give everything published the largest chance, with a bound that proves it.

Maximum likelihood over all count vectors (Enderle, Giessing and Tent 2018 have the likelihood of single cells). Rows
are concave more often than not, and tables whose margins nest have linear programs that end at whole numbers: one
program then gives both the counts and, by its dual prices, the proof that none are likelier. Where it ends at
fractions, or rows are not concave, a mixed-integer program goes on from there within a limit of branches, not of time.
Many populations are equally likely: which of them is returned depends on the seed. The likeliest population is not the
true one; how much they share is measured, never claimed.

Where people share their noise, the likelihood is no sum over rows: what the programs find is a start, without a bound,
from which `anneal` goes on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flou.attack.table.rebuild.counting_model import draw_bits, spread
from flou.attack.table.rebuild.feasible import find_totals
from flou.attack.table.rebuild.likelihood_program import LikelihoodProgram
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.reduce import Contradicted, Reduced, reduce_problem
from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import Infeasible

#: Branches of the mixed-integer program at most.
BRANCHES = 2_000
#: Log-likelihoods that differ by less are equal.
TOLERANCE = 1e-7
#: How strongly the seed pulls at cells, from strong to weak, while choosing among equally likely counts.
_PULLS = (1e-3, 1e-5)


class Likeliest(NamedTuple):
    """Counts, their log-likelihood, whether none has a larger one, and what none exceeds."""

    counts: Ints
    log_likelihood: float
    optimal: bool
    bound: float


def maximise_likelihood(
    problem: Problem, *, start: Ints | None = None, seed: int = 0, branches: int = BRANCHES
) -> Likeliest:
    """The counts of the largest likelihood; `start` is returned where the search finds none that is likelier."""
    try:
        reduced = reduce_problem(problem, hard_only=False)
    except Contradicted:
        raise _no_chance() from None
    best = None if start is None else np.bincount(reduced.of_cell, weights=start, minlength=reduced.n_classes)
    totals, bound = _search(reduced, seed, branches, None if best is None else best.astype(np.int64))
    counts = spread(reduced, totals, seed)
    value = problem.log_likelihood(counts)
    if start is not None and problem.log_likelihood(start) > value + TOLERANCE:
        counts, value = start.copy(), problem.log_likelihood(start)
    if problem.shared is not None:  # the programs count rows one by one, which bounds nothing here
        return Likeliest(counts, value, False, np.inf)
    return Likeliest(counts, value, bound <= value + TOLERANCE, max(bound, value))


def _search(reduced: Reduced, seed: int, branches: int, start: Ints | None) -> tuple[Ints, float]:
    """Totals of classes of the largest likelihood found, and a bound of all."""
    if not len(reduced.unsettled):
        return reduced.low.copy(), reduced.constant
    program = LikelihoodProgram(reduced)
    found = program.solve_relaxed()
    if found is None:
        # what floats call impossible is asked in whole numbers, which ends in a proof or with counts
        try:
            return find_totals(reduced, seed=seed), np.inf
        except Infeasible:
            raise _no_chance() from None
    bound = program.dual_bound()
    tied = _tied(program, found, bound, seed)
    if tied is not None:
        return tied, bound
    return program.solve_whole(branches, seed, start, bound)


def _tied(program: LikelihoodProgram, found: Floats, bound: float, seed: int) -> Ints | None:
    """Whole totals that reach the bound, chosen by the seed among those that do; None where none was found."""
    whole = program.whole(found)
    best = whole if whole is not None and program.value(whole) >= bound - TOLERANCE else None
    pulls = draw_bits(seed, 4, program.n).astype(np.float64) / 2.0**62
    for strength in _PULLS:
        pulled = program.solve_relaxed(pulls * strength)
        whole = None if pulled is None else program.whole(pulled)
        if whole is not None and program.value(whole) >= bound - TOLERANCE:
            return whole
    return best


def _no_chance() -> Infeasible:
    return Infeasible(
        "No population gives all published figures a chance: they contradict each other.",
        best="a likelihood of 0",
        next_step="Ask for the smallest contradiction to see which figures, and check their mechanisms and the rules.",
    )
