"""The least and the largest figure that a single suppressed cell can have, by two programs; of all cells: `intervals`.

Of counts they are exact: a bound that a linear program reaches at fractions alone is asked for in whole numbers.
"""

from __future__ import annotations

import numpy as np

from flou.describe.table.cells import Floats, Ints
from flou.risk.table.bounds.programs import Program
from flou.risk.table.bounds.view import View, is_whole
from flou.risk.table.bounds.whole_extremes import best_whole


class Extremes:
    """Bounds of single cells among those that are suppressed."""

    def __init__(self, view: View, cells: Ints) -> None:
        self.view, self.cells = view, cells
        equations, _ = view.restricted(cells)
        still = np.zeros(equations.shape[0])
        # a bound of the programs' own, beyond anything that the table holds, keeps them from running away
        self._far = 1e3 * max(float(np.abs(view.figures).max(initial=0.0)), 1.0)
        self._low, self._high = np.maximum(-view.down[cells], -self._far), np.minimum(view.up[cells], self._far)
        self._equations = equations
        self._program = Program(equations, self._low, self._high, np.zeros(len(cells)), still, still)
        self.n_asked = 0

    def of(self, cell: int, still: Ints | None = None) -> tuple[float, float]:
        """The bounds of a cell while others stand still; infinite where nothing bounds it."""
        held = np.zeros(0, dtype=np.int64) if still is None else np.flatnonzero(np.isin(self.cells, still))
        self._bound(held, np.zeros(len(held)), np.zeros(len(held)))
        out = [self._extreme(cell, sign, held) for sign in (1.0, -1.0)]
        self._bound(held, self._low[held], self._high[held])
        return out[0], out[1]

    def _bound(self, places: Ints, low: Floats, high: Floats) -> None:
        if len(places):
            self._program.solver.changeColsBounds(len(places), places.astype(np.int32), low, high)

    def _extreme(self, cell: int, sign: float, held: Ints) -> float:
        self.n_asked += 1
        at = int(np.flatnonzero(self.cells == cell)[0])
        self._program.solver.changeColCost(at, sign)
        found = self._program.solve()
        self._program.solver.changeColCost(at, 0.0)
        assert found is not None  # standing still is always possible
        move = float(found[at])
        if abs(move) >= 0.5 * self._far:
            return -sign * np.inf
        bound = float(self.view.figures[cell]) + move
        if not self.view.whole:
            return bound
        if not is_whole(found):
            bound = float(self.view.figures[cell]) + self._whole(at, sign, held)
        return float(np.rint(bound))

    def _whole(self, at: int, sign: float, held: Ints) -> float:
        """The move of a cell that a whole table reaches."""
        self.n_asked += 1
        low, high, cost = self._low.copy(), self._high.copy(), np.zeros(len(self.cells))
        low[held] = high[held] = 0.0
        cost[at] = sign
        found = best_whole(self._equations, low, high, cost)
        assert found is not None  # standing still is always possible
        return float(found[at])
