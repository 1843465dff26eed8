"""The least and the largest total of some cells over every population that fits: what an intruder knows for certain.

For example how many people of one age there are at least and at most, whatever the true population is. Both ends are
optima of CP-SAT over the hard rows and pairs, in whole numbers. Where the work does not suffice the ends are the
solver's outer bounds, which hold for every population but may not be reached. An interval says what is certain; values
inside of it are not equally likely.
"""

from __future__ import annotations

import math

import numpy as np

from flou.attack.table.rebuild.counting_model import CountingModel
from flou.attack.table.rebuild.feasible import WORK, find_totals, no_population
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.reduce import Contradicted, Reduced, reduce_problem
from flou.describe.table.cells import Ints


def bound_total(problem: Problem, cells: Ints, *, seed: int = 0, work: float = WORK) -> tuple[int, int | None, bool]:
    """The least and the largest total of these cells, None where nothing bounds it, and whether both are reached."""
    try:
        reduced = reduce_problem(problem, hard_only=True)
    except Contradicted:
        raise no_population() from None
    chosen = np.bincount(reduced.of_cell[np.unique(cells)], minlength=reduced.n_classes)
    # cells of a class stand in for each other: a part of one may hold nobody, or everybody
    low, low_exact = _end(reduced, np.flatnonzero(chosen == reduced.sizes), -1, seed, work)
    some = np.flatnonzero(chosen > 0)
    if reduced.endless[some].any():
        return low, None, low_exact
    high, high_exact = _end(reduced, some, 1, seed, work)
    return low, high, low_exact and high_exact


def _end(reduced: Reduced, classes: Ints, direction: int, seed: int, work: float) -> tuple[int, bool]:
    """The largest total (direction 1) or the least (-1) of some classes, and whether it is reached for certain."""
    least, most = int(reduced.low[classes].sum()), int(reduced.high[classes].sum())
    if least == most:
        find_totals(reduced, seed=seed, work=work)  # nothing may be said of figures that contradict each other
        return least, True
    model = CountingModel(reduced)
    places = model.place[classes]
    settled = int(reduced.low[classes[places < 0]].sum())
    total = model.cp_model.LinearExpr.sum([model.counts[i] for i in places[places >= 0].tolist()])
    (model.model.maximize if direction > 0 else model.model.minimize)(total)
    answer = model.solve(seed=seed, work=work)
    if answer == "none":
        raise no_population()
    if answer == "unknown":  # the solver's bound may not have been set yet
        return (most if direction > 0 else least), False
    bound = model.answer.best_objective_bound
    outer = settled + (math.floor(bound + 1e-6) if direction > 0 else math.ceil(bound - 1e-6))
    outer = min(outer, most) if direction > 0 else max(outer, least)
    return outer, answer == "best"
