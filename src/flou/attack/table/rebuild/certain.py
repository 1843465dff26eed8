"""Who is in every population that fits: the least count of each cell over all solutions, proven.

The paper of Abado and Stefan (2024) finds one population and cannot say which of its people are really there. Over a
pool of solutions each cell has a least count; a single question, whether some solution lowers any of them, either adds
a solution that lowers as many as it can or proves all of them at once. Only hard rows and pairs count. Where the work
does not suffice, cells are asked one by one and what is not proven is given as the bound that propagation proves: a
figure that is returned is never too large.
"""

from __future__ import annotations

import numpy as np

from flou.attack.table.rebuild.counting_model import CountingModel
from flou.attack.table.rebuild.feasible import WORK, find_totals, no_population
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.reduce import Contradicted, Reduced, reduce_problem
from flou.describe.table.cells import Ints
from flou.engine.errors import ParameterError

#: What one joint question may take of the work.
_SHARE = 0.5


def prove_minimum(
    problem: Problem, pool: Ints | None = None, *, seed: int = 0, work: float = WORK
) -> tuple[Ints, bool]:
    """The least count of each cell over all solutions, and whether that is exact; if not it is a lower bound.

    `pool` has one known solution a line; it saves work and changes no proven figure.
    """
    try:
        reduced = reduce_problem(problem, hard_only=True)
    except Contradicted:
        raise no_population() from None
    least = _least_of_pool(problem, reduced, pool)
    if least is None:
        least = find_totals(reduced, seed=seed, work=work)
    # cells of one class can stand in for each other, so that none of them is certain
    single = reduced.sizes == 1
    least = np.where(single, np.maximum(least, reduced.low), 0)
    proven = np.where(single, reduced.low, 0)
    left = work
    while left > 0 and (least > proven).any():
        below, used, ended = _lower(reduced, least, proven, seed, min(left, max(_SHARE * work, 1e-3)))
        left -= used
        if below is None and ended:
            proven = least
        elif below is None:
            break
        else:
            least = np.minimum(least, np.where(single, below, 0))
    for at in np.flatnonzero(least > proven).tolist():
        while left > 0 and least[at] > proven[at]:
            alone = proven.copy()
            alone[at] = least[at]
            below, used, ended = _lower(reduced, alone, proven, seed, min(left, max(0.05 * work, 1e-3)))
            left -= used
            if below is not None:
                least = np.minimum(least, np.where(single, below, 0))
            elif ended:
                proven[at] = least[at]
            else:
                break
    return _of_cells(reduced, proven), bool((least <= proven).all())


def _least_of_pool(problem: Problem, reduced: Reduced, pool: Ints | None) -> Ints | None:
    if pool is None or not len(pool):
        return None
    for line in range(len(pool)):
        if not problem.allows(pool[line]):
            raise ParameterError(
                f"pool: line {line} is no solution of this problem. Give counts that all hard rows and pairs allow."
            )
    totals = [np.bincount(reduced.of_cell, weights=counts, minlength=reduced.n_classes) for counts in pool]
    least: Ints = np.min(totals, axis=0).astype(np.int64)
    return least


def _lower(reduced: Reduced, least: Ints, proven: Ints, seed: int, work: float) -> tuple[Ints | None, float, bool]:
    """A solution in which some class is below its least so far, as many as it finds; the work; whether it ended."""
    model = CountingModel(reduced)
    asked = np.flatnonzero(least > proven)
    lowered = []
    for at in asked.tolist():
        count, below = model.counts[model.place[at]], model.model.new_bool_var("")
        model.model.add(count <= int(least[at]) - 1).only_enforce_if(below)
        lowered.append(below)
    model.model.add_bool_or(lowered)
    model.model.maximize(model.cp_model.LinearExpr.sum(lowered))
    # half of what could be lowered is enough for one round: the next one asks for the rest
    answer = model.solve(seed=seed, work=work, relative_gap_limit=0.5)
    used = float(model.answer.response_proto.deterministic_time)
    if answer in ("found", "best"):
        return model.totals(), used, True
    return None, used, answer == "none"


def _of_cells(reduced: Reduced, of_class: Ints) -> Ints:
    """The figure of each cell's class."""
    figures: Ints = of_class[reduced.of_cell]
    return figures
