"""The likeliest counts by simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983): a walk that cools down.

The walk begins from the given counts, or from nobody at all, with rules that can be broken at a price, and ends where
what is published is likeliest. It proves nothing: the maximum is nearly always found on areas of some hundred people,
never certified, and a failure to find possible counts is no proof that there are none. Nor is the likeliest vector the
best guess of single records: `Posterior.likeliest_people` finds more of them. Everything follows from the seed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from flou.attack.table.rebuild.ground import Ground, lay_ground, most_people
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.walk import Walk, mix_seed
from flou.attack.table.rebuild.walk_kernel import BEST, BEST_OBJECTIVE, PRIOR, SCORE, VIOLATION, N, Pace, walk
from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import Infeasible

#: Steps of one attribute, anywhere, coming or leaving, exchanges, two at once: what finds the maximum soonest.
_KINDS = (0.4, 0.2, 0.1, 0.2, 0.1)
#: Factors on the log likelihood at the beginning and at the end.
_HOT, _COLD = 2.0, 100.0
#: What a unit outside of the allowed totals costs, in log likelihood.
_PENALTY = 3.0


class Likeliest(NamedTuple):
    """Counts, one a cell, and the log of the chance of everything published if they are the true ones."""

    counts: Ints
    log_likelihood: float


def anneal_to_likeliest(
    problem: Problem,
    codes: Ints,
    start: Ints | None = None,
    *,
    seed: int,
    n_moves: int = 1_000_000,
    n_tries: int = 4,
    prior: Floats | None = None,
    prior_weight: float = 0.0,
    ground: Ground | None = None,
) -> Likeliest:
    """Counts with the largest likelihood, or likelihood times prior to the power `prior_weight` person by person.

    When a try ends without possible counts, the next one takes twice as many steps and makes what is impossible twice
    as dear, `n_tries` in all.
    """
    least = -1
    # The prior of the number of people is flat; a list of n people stands for up to n! orders of them.
    log_total = gammaln(np.arange(most_people(problem) + 1) + 1.0) if prior_weight else None
    ground = lay_ground(problem, codes) if ground is None else ground
    for attempt in range(n_tries):
        chain = Walk(
            problem, codes, seed=mix_seed(seed, attempt), prior=prior if prior_weight else None, log_total=log_total,
            start=start, ground=ground, penalty=_PENALTY * 2.0**attempt,
        )  # fmt: skip
        counts = seek(chain, n_moves << attempt, prior_weight=prior_weight)
        if counts is not None:
            return Likeliest(counts, problem.log_likelihood(counts))
        least = int(chain.state.figures[VIOLATION])
    raise Infeasible(
        "No counts were found that all published figures allow.",
        best=f"figures broken by {least} in all",
        next_step="Give a possible start, or more moves; or the figures contradict each other: ask for contradictions.",
    )


def seek(
    chain: Walk, n_moves: int, *, prior_weight: float = 0.0, hot: float = _HOT, cold: float = _COLD
) -> Ints | None:
    """Cool a chain down; the best possible counts that it came by, or None."""
    pace = Pace(np.cumsum(_KINDS) / sum(_KINDS) + np.array([0, 0, 0, 0, 1.0]), hot, cold, prior_weight, True)
    state = chain.state
    state.figures[BEST], state.levels[BEST_OBJECTIVE] = -1, -np.inf
    if chain.is_possible:
        state.figures[BEST], state.best[:] = state.figures[N], state.people
        state.levels[BEST_OBJECTIVE] = state.levels[SCORE] + prior_weight * state.levels[PRIOR]
    walk(
        chain.ground, chain.relaxed, chain.chances, chain.sharing, pace, state, chain.sets, n_moves, n_moves + 1,
        chain.snapshots[:0], chain.heights[:0],
    )  # fmt: skip
    n = int(state.figures[BEST])
    if n < 0:
        return None
    return np.bincount(state.best[:n], minlength=len(state.counts)).astype(np.int64)
