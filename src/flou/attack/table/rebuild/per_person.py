"""One population that fits, with variables for each person: the encoding of the literature, kept as a cross-check.

Garfinkel, Abowd and Martindale (2019) and Abado and Stefan (2024) give each person one variable an attribute, and one
that says whether the person exists where the total is not published exactly. Every order of the people is a solution of
its own, so that it takes thousands of times as long as counts of cells do; people that exist come first here, which is
the one symmetry that is easy to break. It must reach the same verdict as `find_counts`. It protects nobody.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from flou.attack.table.rebuild.counting_model import load_cp_model
from flou.attack.table.rebuild.feasible import WORK, no_population
from flou.attack.table.rebuild.problem import Problem
from flou.describe.table.cells import Ints
from flou.engine.errors import NotConvergedError, ParameterError

#: Values of each attribute that a row counts; None where it counts all of them.
Sets = tuple[frozenset[int] | None, ...]


def find_people(
    problem: Problem, codes: Ints, sizes: tuple[int, ...], *, max_people: int, seed: int = 0, work: float = WORK
) -> Ints:
    """The attribute codes of people, one a line, that all hard rows and pairs allow; at most `max_people` of them.

    `codes` has the codes of each cell, `sizes` the number of values of each attribute; combinations that are no cell
    do not exist. Each row must count a product of values. Raises `Infeasible` where no such people exist.
    """
    cp_model = load_cp_model()
    used = sorted({*np.flatnonzero(problem.hard).tolist(), *problem.apart.ravel().tolist()})
    sets = {row: value_sets(problem, codes, sizes, row) for row in used}
    people = _People(cp_model, codes, sizes, max_people)
    model, sums = people.model, {}
    for row in used:
        members = problem.starts[row + 1] > problem.starts[row]
        sums[row] = cp_model.LinearExpr.sum(
            [people.counted(i, sets[row]) for i in range(max_people)] if members else []
        )
        if problem.hard[row]:
            can = problem.low[row] + np.flatnonzero(problem.chances_of(row) > -np.inf)
            can = can[(can >= 0) & (can <= (max_people if members else 0))]
            if not len(can):
                raise no_population()
            if members:
                model.add_linear_expression_in_domain(sums[row], cp_model.Domain.from_values(can.tolist()))
    for part, whole in problem.apart.tolist():
        model.add(sums[whole] - sums[part] >= 1)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = int(seed % (2**31 - 1))
    solver.parameters.max_deterministic_time = work
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        raise no_population()
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise NotConvergedError(
            f"No people that fit were found within work = {work:g}, nor a proof that there are none. Give more work, "
            "or use counts of cells, which take far less."
        )
    return people.found(solver)


def value_sets(problem: Problem, codes: Ints, sizes: tuple[int, ...], row: int) -> Sets:
    """The values of each attribute that a row counts; raises where its cells are no product of values."""
    members = problem.members[problem.starts[row] : problem.starts[row + 1]]
    inside = np.ones(len(codes), dtype=np.bool_)
    sets: list[frozenset[int] | None] = []
    for attribute, size in enumerate(sizes):
        values = np.unique(codes[members, attribute])
        inside &= np.isin(codes[:, attribute], values)
        sets.append(None if len(values) == size else frozenset(values.tolist()))
    if len(members) and inside.sum() != len(members):
        raise ParameterError(
            f"Row {row} counts {len(members)} cells that are no product of attribute values (their values make "
            f"{int(inside.sum())} cells). The encoding by person needs products; use counts of cells."
        )
    return tuple(sets)


class _People:
    """Variables of all people: one literal a value, at most one value an attribute, none for who does not exist."""

    def __init__(self, cp_model: Any, codes: Ints, sizes: tuple[int, ...], n: int) -> None:
        self.cp_model, self.model, self.sizes = cp_model, cp_model.CpModel(), sizes
        model = self.model
        self.exists = [model.new_bool_var("") for _ in range(n)]
        self.has = [[[model.new_bool_var("") for _ in range(size)] for size in sizes] for _ in range(n)]
        for i in range(n):
            for literals in self.has[i]:
                model.add(cp_model.LinearExpr.sum(literals) == self.exists[i])
            if i:
                model.add_implication(self.exists[i], self.exists[i - 1])
        cells = set(map(tuple, codes.tolist()))
        for missing in product(*[range(size) for size in sizes]):
            if missing not in cells:
                for i in range(n):
                    model.add_bool_or([self.has[i][a][v].negated() for a, v in enumerate(missing)])
        self._known: dict[tuple[int, Sets], Any] = {}

    def counted(self, i: int, sets: Sets) -> Any:
        """A literal that says whether a row with these value sets counts person i."""
        if (i, sets) not in self._known:
            self._known[i, sets] = self._made(i, sets)
        return self._known[i, sets]

    def _made(self, i: int, sets: Sets) -> Any:
        narrow = [a for a, values in enumerate(sets) if values is not None]
        if not narrow:
            return self.exists[i]
        literal = self.model.new_bool_var("")
        if len(narrow) == 1:
            values = sets[narrow[0]] or frozenset()
            self.model.add(self.cp_model.LinearExpr.sum([self.has[i][narrow[0]][v] for v in sorted(values)]) == literal)
            return literal
        parts = [self.counted(i, tuple(s if a == at else None for a, s in enumerate(sets))) for at in narrow]
        for part in parts:
            self.model.add_implication(literal, part)
        self.model.add_bool_or([literal, *[part.negated() for part in parts]])
        return literal

    def found(self, solver: Any) -> Ints:
        """The codes of those who exist."""
        lines = [
            [next(v for v, literal in enumerate(values) if solver.value(literal)) for values in self.has[i]]
            for i, there in enumerate(self.exists)
            if solver.value(there)
        ]
        return np.array(lines, dtype=np.int64).reshape(-1, len(self.sizes))
