"""Linear programs about deviations, by HiGHS: one model stays in memory and is asked again and again.

Each cell has two columns, one up and one down, so that a cost falls on what moves whichever way it does. Costs are not
negative, so that standing still is dual feasible: every question is answered by a few steps of the dual simplex from
there. The solver runs on one thread and starts each question anew, so that answers do not depend on earlier ones.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, hstack

from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import MissingExtraError, NotConvergedError
from flou.risk.table.bounds.view import View, Witness, whole_multiple
from flou.risk.table.bounds.whole_numbers import whole_deviation

#: Moves below this part of what is asked for are the solver's dust.
_DUST = 1e-7


@cache
def _highs() -> Any:
    try:
        import highspy
    except ModuleNotFoundError as missing:
        raise MissingExtraError("highspy", "tables") from missing
    return highspy


class Program:
    """A linear program that is solved by HiGHS: minimise the cost within bounds of rows and columns."""

    def __init__(self, matrix: Any, low: Floats, high: Floats, cost: Floats, row_low: Floats, row_high: Floats) -> None:
        highspy = _highs()
        held = csc_array(matrix)
        held.sort_indices()
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = held.shape
        model.col_cost_, model.col_lower_, model.col_upper_ = cost, low, high
        model.row_lower_, model.row_upper_ = row_low, row_high
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = held.indptr, held.indices, held.data
        self.solver = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off"), ("solver", "simplex")):
            self.solver.setOptionValue(option, value)
        self.solver.passModel(model)
        self._statuses = highspy.HighsModelStatus
        #: Without columns the solver says only that there is nothing to solve.
        self._is_met_by_nothing = bool((row_low <= 0).all() and (row_high >= 0).all())

    def solve(self) -> NDArray[np.float64] | None:
        """The best columns; None where nothing satisfies the constraints."""
        if not self.solver.getNumCol():
            return np.zeros(0) if self._is_met_by_nothing else None
        self.solver.run()
        status = self.solver.getModelStatus()
        if status not in (self._statuses.kOptimal, self._statuses.kInfeasible):
            # figures of very different sizes: once more, with all that the solver has
            self.solver.setOptionValue("presolve", "on")
            self.solver.clearSolver()
            self.solver.run()
            self.solver.setOptionValue("presolve", "off")
            status = self.solver.getModelStatus()
        if status == self._statuses.kOptimal:
            return np.array(self.solver.getSolution().col_value)
        if status in (self._statuses.kInfeasible, self._statuses.kUnboundedOrInfeasible):
            return None
        raise NotConvergedError(
            f"The solver ended a linear program of {self.solver.getNumCol():,} columns with {status.name!r}: nothing "
            "is proven, so nothing is released. Try another search, or report the table's shape."
        )


class Deviations:
    """The deviations among some cells, of which those that cost least are asked for."""

    def __init__(self, view: View, cells: Ints, cost: Floats, *, patient: bool = True) -> None:
        #: Whether whole deviations are searched for where programs find fractions alone.
        self.patient = patient
        self.view, self.cells, self._cost = view, cells, cost.copy()
        self._still = np.zeros(len(cells), dtype=np.bool_)
        self._n = len(cells)
        self._place = np.full(view.n_cells, -1, dtype=np.int64)
        self._place[cells] = np.arange(self._n)
        equations, self._lines = view.restricted(cells)
        still = np.zeros(equations.shape[0])
        self._up, self._down = view.up[cells], view.down[cells]
        highs = np.concatenate([self._up, self._down])
        both = hstack([equations, -equations], format="csc")
        self._program = Program(both, np.zeros(2 * self._n), highs, np.concatenate([cost, cost]), still, still)
        self._solver = self._program.solver
        self.n_asked = 0

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which cells of the table may move."""
        return self._place >= 0

    def prices(self) -> Floats:
        """What moving each cell of the table up by one would save, by the prices of the last question's equations."""
        duals = np.array(self._solver.getSolution().row_dual)
        prices: Floats = self.view.matrix[self._lines].T @ duals
        return prices

    def set_cost(self, cells: Ints, cost: Floats) -> None:
        """What moving some of the cells costs from now on."""
        place = self._place[cells]
        known = place >= 0
        where = np.concatenate([place[known], place[known] + self._n]).astype(np.int32)
        self._cost[place[known]] = cost[known]
        if len(where):
            self._solver.changeColsCost(len(where), where, np.concatenate([cost[known], cost[known]]))

    def hold_still(self, cells: Ints) -> None:
        """These cells do not move until they are let go."""
        self._bound(cells, free=False)

    def let_go(self, cells: Ints) -> None:
        """These cells may move again."""
        self._bound(cells, free=True)

    def _bound(self, cells: Ints, *, free: bool) -> None:
        place = self._place[cells]
        place = place[place >= 0]
        if len(place):
            where = np.concatenate([place, place + self._n]).astype(np.int32)
            most = np.concatenate([self._up[place], self._down[place]]) if free else np.zeros(len(where))
            self._still[place] = not free
            self._solver.changeColsBounds(len(where), where, np.zeros(len(where)), most)

    def least(self, cell: int, direction: int, level: float) -> Witness | None:
        """The cheapest deviation that moves a cell by a level, up or down; None where there is none.

        A cell that is held still is let go by the question. Of whole figures it is nearly the cheapest: fractions prove
        nothing of counts. They come of cells that can take a part of the level alone, so it is asked without these.
        """
        room = (self._up if direction > 0 else self._down)[self._place[cell]]
        found = self._solved(cell, direction, level) if level <= room else None
        if found is None or not self.view.whole:
            return found if found is not None and found.holds(self.view, level) else None
        whole = whole_multiple(found, self.view) or self._in_steps(cell, direction, level, 1)
        whole = whole or (self._in_steps(cell, direction, level, round(level)) if level > 1 else None)
        if whole is not None or not self.patient:
            return whole
        return whole_deviation(self.view, self.cells[~self._still], self._cost[~self._still], cell, direction, level)

    def _in_steps(self, cell: int, direction: int, level: float, steps: int) -> Witness | None:
        """A whole deviation in equal steps, each by cells that can take all of it."""
        moves, each = np.zeros(self.view.n_cells), round(level) / steps
        for _ in range(steps):
            up, down = self._up - moves[self.cells], self._down + moves[self.cells]
            self._set_bounds(np.where(up >= each, up, 0.0), np.where(down >= each, down, 0.0))
            found = self._solved(cell, direction, each)
            step = None if found is None else whole_multiple(found, self.view, most=1)
            if step is None:
                break
            moves[step.cells] += step.moves
        self._set_bounds(self._up, self._down)
        if step is None:
            return None
        moved = np.flatnonzero(moves)
        return Witness(moved, moves[moved])

    def _set_bounds(self, up: Floats, down: Floats) -> None:
        where = np.arange(2 * self._n, dtype=np.int32)
        most = np.concatenate([np.where(self._still, 0.0, up), np.where(self._still, 0.0, down)])
        self._solver.changeColsBounds(len(where), where, np.zeros(len(where)), most)

    def _price(self, level: float) -> None:
        """A cell costs the same whether it takes a part of the level or all of it: the part alone is dearer."""
        taken = [np.minimum(room, level) for room in (self._up, self._down)]
        # room that is smaller than the solver's dust is priced as dust: costs stay finite
        priced = [self._cost * level / np.maximum(part, _DUST * level) for part in taken]
        each = [np.where(part > 0, price, self._cost) for part, price in zip(taken, priced, strict=True)]
        where = np.arange(2 * self._n, dtype=np.int32)
        self._solver.changeColsCost(len(where), where, np.concatenate(each))

    def _solved(self, cell: int, direction: int, level: float) -> Witness | None:
        self.n_asked += 1
        n, at = self._n, int(self._place[cell])
        moving, other = (at, at + n) if direction > 0 else (at + n, at)
        self._solver.changeColBounds(moving, level, level)
        self._solver.changeColBounds(other, 0.0, 0.0)
        if not self.view.whole:
            self._price(level)
        self._solver.clearSolver()
        found = self._program.solve()
        self._bound(np.array([cell]), free=True)
        if found is None:
            return None
        moves = found[:n] - found[n:]
        moved = np.flatnonzero(np.abs(moves) > _DUST * level)
        order = np.argsort(self.cells[moved], kind="stable")
        return Witness(self.cells[moved][order], moves[moved][order])
