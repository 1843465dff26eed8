"""Deviations in whole numbers, by CP-SAT, where a linear program finds none but fractional ones.

An intruder knows that counts are whole, so a fractional deviation proves nothing. Two dimensions never need this: there
the corners of the programs are whole. The search is exact and runs on one thread with a fixed seed and an amount of
work, not of time, so that it ends alike on every machine; where that does not suffice nothing is proven, and whoever
asked must take the cell for disclosed.
"""

from __future__ import annotations

import numpy as np

from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import MissingExtraError
from flou.risk.table.bounds.view import View, Witness

#: Cells move by so many times the level at most: enough in practice, and what is found within it is valid.
_REACH = 20
#: The solver's own measure of work.
_WORK = 5.0
#: Costs become whole numbers with so many steps.
_STEPS = 1_000_000


def whole_deviation(view: View, cells: Ints, cost: Floats, cell: int, direction: int, level: float) -> Witness | None:
    """The cheapest whole deviation of some cells that moves one of them by a level; None where none was found."""
    try:
        from ortools.sat.python import cp_model
    except ModuleNotFoundError as missing:
        raise MissingExtraError("ortools", "tables") from missing
    reach = int(_REACH * max(level, 1))
    model = cp_model.CpModel()
    low = np.maximum(-np.floor(view.down[cells]), -reach).astype(np.int64)
    high = np.minimum(np.floor(view.up[cells]), reach).astype(np.int64)
    at = int(np.flatnonzero(cells == cell)[0])
    need = int(np.ceil(level))
    if direction > 0:
        low[at] = need
    else:
        high[at] = -need
    if low[at] > high[at]:
        return None
    moves = [model.new_int_var(int(a), int(b), f"y{i}") for i, (a, b) in enumerate(zip(low, high, strict=True))]
    equations, _ = view.restricted(cells)
    for line in range(equations.shape[0]):
        held = slice(equations.indptr[line], equations.indptr[line + 1])
        terms = zip(equations.indices[held].tolist(), equations.data[held].tolist(), strict=True)
        model.add(sum(int(sign) * moves[i] for i, sign in terms) == 0)
    steps = np.rint(cost / max(float(cost.max(initial=0.0)), 1e-300) * _STEPS).astype(np.int64)
    sizes = []
    for i in np.flatnonzero(steps > 0).tolist():
        size = model.new_int_var(0, reach, f"s{i}")
        model.add_abs_equality(size, moves[i])
        sizes.append(int(steps[i]) * size)
    model.minimize(sum(sizes))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = _WORK
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    found = np.array([solver.value(move) for move in moves], dtype=np.float64)
    moved = np.flatnonzero(found)
    order = np.argsort(cells[moved], kind="stable")
    return Witness(cells[moved][order], found[moved][order])
