"""A reduced problem as a model of CP-SAT: one whole number a class of cells, one linear constraint a row.

Totals that a row cannot have are holes of its domain. The solver runs on one thread with a seed and a limit of work in
its own deterministic measure, not of time, so that it ends alike on every machine. Answers are totals of classes;
`spread` deals them out to cells. A solution that the solver gives is one of many and proves nothing about anybody.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from flou.attack.table.rebuild.reduce import Reduced
from flou.describe.table.cells import Ints
from flou.engine.errors import MissingExtraError
from flou.engine.randomness import keyed_hash

Answer = Literal["found", "best", "none", "unknown"]


def load_cp_model() -> Any:
    """CP-SAT's Python interface; an error that says how to install it where it is missing."""
    try:
        from ortools.sat.python import cp_model
    except ModuleNotFoundError as missing:
        raise MissingExtraError("ortools", "tables") from missing
    return cp_model


def draw_bits(seed: int, purpose: int, n: int) -> Ints:
    """n whole numbers from 0 to 2^62 - 1 that depend on the seed, the purpose and their place alone."""
    key = (seed % 2**64).to_bytes(8, "little") + purpose.to_bytes(8, "little")
    return (keyed_hash(np.arange(n), key) >> np.uint64(2)).astype(np.int64)


class CountingModel:
    """The totals of the unsettled classes, and what the rows say of them."""

    def __init__(self, reduced: Reduced) -> None:
        self.cp_model = load_cp_model()
        self.reduced = reduced
        self.model = self.cp_model.CpModel()
        self.classes = reduced.unsettled
        self.place = np.full(reduced.n_classes, -1, dtype=np.int64)
        self.place[self.classes] = np.arange(len(self.classes))
        bounds = zip(reduced.low[self.classes].tolist(), reduced.high[self.classes].tolist(), strict=True)
        self.counts = [self.model.new_int_var(low, high, "") for low, high in bounds]
        rows, held = reduced.rows, self.place[reduced.rows.members].tolist()
        for row in range(rows.n):
            line = [self.counts[i] for i in held[rows.starts[row] : rows.starts[row + 1]]]
            self.add_total(line, row)
        self.answer: Any = None

    def add_total(self, line: list[Any], row: int) -> None:
        """The total over some variables is one that the row allows."""
        rows = self.reduced.rows
        total = self.cp_model.LinearExpr.sum(line)
        can = rows.weights_of(row) > -np.inf
        low = int(rows.low[row])
        if can.all():
            self.model.add_linear_constraint(total, low, low + len(can) - 1)
        else:
            values = (low + np.flatnonzero(can)).tolist()
            self.model.add_linear_expression_in_domain(total, self.cp_model.Domain.from_values(values))

    def solve(self, *, seed: int, work: float, **parameters: Any) -> Answer:
        """Runs the solver; `work` is its deterministic time."""
        solver = self.cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = int(seed % (2**31 - 1))
        solver.parameters.max_deterministic_time = work
        for name, value in parameters.items():
            setattr(solver.parameters, name, value)
        status = solver.solve(self.model)
        self.answer = solver
        known: dict[Any, Answer] = {
            self.cp_model.OPTIMAL: "best",
            self.cp_model.FEASIBLE: "found",
            self.cp_model.INFEASIBLE: "none",
        }
        return known.get(status, "unknown")

    def totals(self) -> Ints:
        """The total of each class, settled ones included, in the last answer."""
        totals = self.reduced.low.copy()
        values = [self.answer.value(count) for count in self.counts]
        totals[self.classes] = np.array(values, dtype=np.int64)
        return totals


def spread(reduced: Reduced, totals: Ints, seed: int) -> Ints:
    """Counts of cells from totals of classes: each person of a class is in one of its cells, all alike, by the seed."""
    order = np.argsort(reduced.of_cell, kind="stable")
    begins = np.concatenate([[0], np.cumsum(reduced.sizes)])[:-1]
    of_person = np.repeat(np.arange(reduced.n_classes), totals)
    drawn = draw_bits(seed, 1, len(of_person)) % np.maximum(reduced.sizes[of_person], 1)
    return np.bincount(order[begins[of_person] + drawn], minlength=len(reduced.of_cell)).astype(np.int64)
