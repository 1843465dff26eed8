"""Likely populations, many of them: the likeliest one of a likelihood that is pulled at random, cell by cell.

Perturb-and-MAP (Papandreou and Yuille 2011): Gumbel noise is added to what a person in each cell is worth, and the
likeliest counts are found anew, so that counts nearly as likely turn up nearly as often. The share of draws in which a
cell has somebody ranks records far better than a single likeliest population does, whose ties are broken blindly. Each
draw fits everything published, but draws are neither independent of each other's corners nor distributed as the
posterior: shares are an order, not calibrated chances, and nothing is certain because all draws have it.
"""

from __future__ import annotations

import numpy as np

from flou.attack.table.rebuild.counting_model import draw_bits, spread
from flou.attack.table.rebuild.likeliest import maximise_likelihood
from flou.attack.table.rebuild.likelihood_program import LikelihoodProgram
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.reduce import Contradicted, reduce_problem
from flou.describe.table.cells import Ints
from flou.engine.errors import ParameterError

#: How much noise is added, in units of log-likelihood: what found most records in trials with rounded tables.
STRENGTH = 0.3


def draw_likely(problem: Problem, *, n_draws: int, seed: int, strength: float = STRENGTH) -> Ints:
    """Likely counts, one vector a line; fewer than asked for where some programs end at fractions, one at least."""
    if n_draws < 1:
        raise ParameterError(f"n_draws = {n_draws} must be 1 or more, such as 40.")
    try:
        reduced = reduce_problem(problem, hard_only=False)
    except Contradicted:
        reduced = None
    found = []
    if reduced is not None and len(reduced.unsettled):
        program = LikelihoodProgram(reduced)
        for draw in range(n_draws):
            uniform = (draw_bits(seed, 1_000 + draw, program.n) + 0.5) / 2.0**62
            noise = -np.log(-np.log(uniform)) - np.euler_gamma  # of mean 0, so that people are worth no more or less
            pulled = program.solve_relaxed(-strength * noise)
            totals = None if pulled is None else program.whole(pulled)
            if totals is not None and program.value(totals) > -np.inf:
                found.append(spread(reduced, totals, seed + draw))
    elif reduced is not None:
        found = [spread(reduced, reduced.low, seed + draw) for draw in range(n_draws)]
    if not found:  # nothing whole, or nothing at all: that one says which
        found = [maximise_likelihood(problem, seed=seed).counts]
    return np.array(found, dtype=np.int64)
