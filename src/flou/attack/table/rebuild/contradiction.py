"""Which published figures contradict each other: a smallest set of rows that no population fits.

Tables that were rounded by another rule than the one said, or typed wrong, leave no solution, and an office wants to
know where to look. A row that nothing fits, and a part that is larger than its whole, are seen at once. Otherwise
QuickXplain (Junker 2004) leaves out halves of the rows and asks anew whether a population fits, until every row that is
left is needed; several orders of the rows give several such sets, and the smallest is returned. That no row of it can
be spared is checked at the end; that no smaller set exists elsewhere is not. It says nothing about people.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flou.attack.table.rebuild.counting_model import CountingModel, draw_bits
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.reduce import Contradicted, reduce_problem
from flou.describe.table.cells import Ints
from flou.engine.errors import NotConvergedError

#: What one question may take, in the solver's own measure of work.
WORK = 5.0
#: Orders of the rows that are tried.
_ORDERS = 4


class Contradiction(NamedTuple):
    """Rows and pairs (lines of `apart`) that nothing fits together, and whether each is needed, proven."""

    rows: Ints
    pairs: Ints
    irreducible: bool


def is_feasible(problem: Problem, *, work: float = WORK) -> bool | None:
    """Whether anything satisfies the hard rows and pairs; None where the work did not suffice to tell."""
    try:
        reduced = reduce_problem(problem, hard_only=True)
    except Contradicted:
        return False
    if not len(reduced.unsettled):
        return True
    return {"found": True, "best": True, "none": False}.get(CountingModel(reduced).solve(seed=0, work=work))


def smallest_contradiction(
    problem: Problem, *, seed: int = 0, work: float = WORK, orders: int = _ORDERS
) -> Contradiction | None:
    """A small set of hard rows and pairs that nothing fits; None where some population fits them all."""
    question = _Question(problem, work)
    everything = np.arange(question.n)
    if not question.contradicts(everything):
        if question.undecided:
            raise NotConvergedError(
                f"Whether the published figures contradict each other was not decided within work = {work:g}. Give "
                "more work, or fewer tables at a time."
            )
        return None
    best = _seen_at_once(question)
    for number in range(0 if best is not None else orders):
        order = everything if number == 0 else np.argsort(draw_bits(seed, 100 + number, question.n), kind="stable")
        found = _explain(question, everything[:0], order, changed=False)
        if best is None or len(found) < len(best):
            best = found
        if len(best) <= 3:  # one or two rows would have been seen at once
            break
    assert best is not None
    return question.named(np.sort(best))


class _Question:
    """Whether some of the elements, hard rows and then pairs, contradict each other."""

    def __init__(self, problem: Problem, work: float) -> None:
        self.problem, self._work = problem, work
        self.rows = np.flatnonzero(problem.hard)
        self.n = len(self.rows) + len(problem.apart)
        #: Whether a question was left open.
        self.undecided = False

    def contradicts(self, elements: Ints) -> bool:
        """Whether nothing fits these elements, proven."""
        chosen = elements[elements < len(self.rows)]
        hard = np.zeros(self.problem.n_rows, dtype=np.bool_)
        hard[self.rows[chosen]] = True
        pairs = np.sort(elements[elements >= len(self.rows)] - len(self.rows))
        verdict = is_feasible(replace(self.problem, hard=hard, apart=self.problem.apart[pairs]), work=self._work)
        self.undecided |= verdict is None
        return verdict is False

    def named(self, elements: Ints) -> Contradiction:
        """The elements as rows and pairs, after a check that they contradict each other and that each is needed."""
        self.undecided = False
        assert self.contradicts(elements)
        needed = not any(self.contradicts(np.delete(elements, at)) for at in range(len(elements)))
        rows = self.rows[elements[elements < len(self.rows)]]
        return Contradiction(rows, elements[elements >= len(self.rows)] - len(self.rows), needed and not self.undecided)


def _seen_at_once(question: _Question) -> Ints | None:
    """One row that nothing fits, or a part whose least total is above the largest of its whole; None where neither."""
    problem, rows = question.problem, question.rows
    low, high = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    for at, row in enumerate(rows.tolist()):
        can = problem.low[row] + np.flatnonzero(problem.chances_of(row) > -np.inf)
        can = can[can >= 0] if problem.starts[row] < problem.starts[row + 1] else can[can == 0]
        if not len(can):
            return np.array([at])
        low[at], high[at] = can[0], can[-1]
    held = problem.incidence[rows]
    shared = (held @ held.T).tocoo()
    sizes = np.diff(problem.starts)[rows]
    part, whole = shared.coords
    wrong = np.flatnonzero((shared.data == sizes[part]) & (low[part] > high[whole]))
    return np.array([part[wrong[0]], whole[wrong[0]]], dtype=np.int64) if len(wrong) else None


def _explain(question: _Question, given: Ints, rest: Ints, *, changed: bool) -> Ints:
    """What is needed of the rest to contradict, together with what is given."""
    if changed and question.contradicts(given):
        return rest[:0]
    if len(rest) == 1:
        return rest
    first, second = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    of_second = _explain(question, np.concatenate([given, first]), second, changed=len(first) > 0)
    of_first = _explain(question, np.concatenate([given, of_second]), first, changed=len(of_second) > 0)
    return np.concatenate([of_first, of_second])
