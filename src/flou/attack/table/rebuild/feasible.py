"""One population that fits everything published: the attack of Garfinkel, Abowd and Martindale (2019).

Any of the populations that the hard rows and the pairs allow; which one depends on the seed. A solver left to itself
ends at corners, the largest total more often than not, so the total of the widest row is drawn first and each count is
given a random hint. The draw is not uniform over all solutions, and a population that fits is no more likely than any
other that does: what it has in common with the true one is measured, never claimed.
"""

from __future__ import annotations

import numpy as np

from flou.attack.table.rebuild.counting_model import CountingModel, draw_bits, spread
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.reduce import Contradicted, Reduced, reduce_problem
from flou.describe.table.cells import Ints
from flou.engine.errors import Infeasible, NotConvergedError

#: The solver's own measure of work: about as many seconds.
WORK = 60.0
#: What a drawn total may take before the search goes on without it.
_FIRST_WORK = 0.05


def find_counts(problem: Problem, *, seed: int, work: float = WORK) -> Ints:
    """Counts that all hard rows and all pairs allow; raises `Infeasible` where there are none."""
    try:
        reduced = reduce_problem(problem, hard_only=True)
    except Contradicted:
        raise no_population() from None
    return spread(reduced, find_totals(reduced, seed=seed, work=work), seed)


def find_totals(reduced: Reduced, *, seed: int, work: float = WORK) -> Ints:
    """Totals of classes that fit, by the seed."""
    if not len(reduced.unsettled):
        return reduced.low.copy()
    model = CountingModel(reduced)
    low, high = reduced.low[model.classes], reduced.high[model.classes]
    hints = low + draw_bits(seed, 2, len(low)) % (high - low + 1)
    for count, hint in zip(model.counts, hints.tolist(), strict=True):
        model.model.add_hint(count, hint)
    drawn = model.model.new_bool_var("")
    model.model.clear_assumptions()
    _draw_total(model, drawn, seed)
    model.model.add_assumption(drawn)
    if model.solve(seed=seed, work=min(_FIRST_WORK, work), cp_model_presolve=False) in ("found", "best"):
        return model.totals()
    model.model.clear_assumptions()
    answer = model.solve(seed=seed, work=work)
    if answer == "none":
        raise no_population()
    if answer == "unknown":
        raise NotConvergedError(
            f"No population that fits was found within work = {work:g}, nor a proof that there is none: nothing is "
            "known. Give more work, or fewer tables at a time."
        )
    return model.totals()


def _draw_total(model: CountingModel, drawn: object, seed: int) -> None:
    """Where `drawn` holds, the row that counts most has a total that is drawn among those it allows."""
    rows = model.reduced.rows
    if not rows.n:
        return
    widest = int(np.argmax(np.diff(rows.starts)))
    can = rows.low[widest] + np.flatnonzero(rows.weights_of(widest) > -np.inf)
    total = int(can[draw_bits(seed, 3, 1)[0] % len(can)])
    line = [model.counts[i] for i in model.place[rows.line(widest)].tolist()]
    model.model.add(model.cp_model.LinearExpr.sum(line) == total).only_enforce_if(drawn)


def no_population() -> Infeasible:
    """The error for figures that contradict each other."""
    return Infeasible(
        "The published figures contradict each other: no population has them all.",
        best="no counts at all",
        next_step="Ask for the smallest contradiction to see which figures, and check their mechanisms and the rules.",
    )
