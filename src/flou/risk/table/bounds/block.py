"""Exact bounds of the cells of one block: cells that equations link, and that none links with others.

Every table that a program ends with is one that agrees with what is published, so it tells of all cells of the block:
how far each of them was seen to go is kept. First a few programs move many cells at once; a cell that was seen where a
single equation already bounds it needs nothing more, and the others are asked one by one, each program going on from
where the last one ended. Whole figures are exact as well: a bound counts only once a whole table was seen to reach it,
and where a linear program ends at fractions a program in whole numbers decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from flou.describe.table.cells import Floats, Ints
from flou.risk.table.bounds.programs import Program
from flou.risk.table.bounds.propagate import tighten
from flou.risk.table.bounds.rays import find_rays
from flou.risk.table.bounds.view import TOLERANCE, is_whole
from flou.risk.table.bounds.whole_extremes import best_whole

#: What floats lose, beside the size of a figure.
_LOST = 1e-9
#: Programs of many cells go on while each of them settles this part of what is open.
_WORTH = 0.05
#: After so many questions what was found is put into the equations, which may settle other cells.
_EVERY = 40
_PRIMAL = 4


class Block:
    """Deviations of some cells from a table that agrees with what is published: columns of equations, with bounds."""

    def __init__(self, equations: csr_array, low: Floats, high: Floats, *, whole: bool) -> None:
        self._equations, self.whole = equations, whole
        self._low: Floats = np.ceil(low - _LOST) if whole else low
        self._high: Floats = np.floor(high + _LOST) if whole else high
        self._n = len(low)
        #: How far each cell was seen to go, and how far it can go at most as far as that is known.
        self.least, self.most = np.zeros(self._n), np.zeros(self._n)
        self._floor, self._ceiling = tighten(equations, self._low, self._high)
        falls, rises, self.n_programs = find_rays(equations, self._floor, self._ceiling)
        self.least[falls], self.most[rises] = -np.inf, np.inf
        still = np.zeros(equations.shape[0])
        self._program = Program(equations, self._low, self._high, np.zeros(self._n), still, still)
        self._program.solver.setOptionValue("simplex_strategy", _PRIMAL)
        self._cost = np.zeros(self._n)

    def search(self, targets: Ints) -> None:
        """Find the bounds of some of the cells."""
        self._spread(targets)
        n_asked = 0
        for at in targets.tolist():
            for sign in (1, -1):
                if self._open(np.array([at]), sign)[0]:
                    self._ask(at, sign)
                    n_asked += 1
                    if n_asked % _EVERY == 0:
                        self._conclude()

    def _open(self, cells: Ints, sign: int) -> NDArray[np.bool_]:
        """Whether the bound of each of the cells above or below is still to be found."""
        seen, most = (self.most, self._ceiling) if sign > 0 else (-self.least, -self._floor)
        seen, most = seen[cells], most[cells]
        # a cell that moves without end was seen to; one that is not known to stop anywhere is to be asked
        known = np.isfinite(most)
        found: NDArray[np.bool_] = np.isfinite(seen)
        found[known] &= seen[known] < most[known] - _LOST * np.maximum(np.abs(most[known]), 1.0)
        return found

    def _spread(self, targets: Ints) -> None:
        """Move many cells at once, as long as that settles enough of them."""
        turn = 0
        while len(targets) > 1:
            up, down = self._open(targets, 1), self._open(targets, -1)
            n_open = int(up.sum() + down.sum())
            if n_open < 4:
                return
            # a fixed scramble of the cell's number: directions should not follow the order of the table
            mixed = ((targets * 2654435761 + turn * 40503) >> 7) % 2 == turn % 2
            rising = up & (~down | mixed) if turn > 1 else up & (turn == 0)
            falling = down & (~up | ~mixed) if turn > 1 else down & (turn == 1)
            cost = np.zeros(self._n)
            cost[targets[rising]], cost[targets[falling]] = -1.0, 1.0
            self._solve(cost)
            left = int(self._open(targets, 1).sum() + self._open(targets, -1).sum())
            turn += 1
            if turn > 2 and n_open - left < _WORTH * n_open:
                return

    def _ask(self, at: int, sign: int) -> None:
        cost = np.zeros(self._n)
        cost[at] = -float(sign)
        found = sign * float(self._solve(cost)[at])
        if self.whole:
            found = float(np.floor(found + TOLERANCE))
            if self._seen(at, sign) < found:
                self.n_programs += 1
                best = best_whole(self._equations, self._low, self._high, cost)
                assert best is not None  # standing still is always possible
                self._credit(best)
            found = self._seen(at, sign)
        if sign > 0:
            self._ceiling[at] = self.most[at] = found
        else:
            self._floor[at] = self.least[at] = -found

    def _seen(self, at: int, sign: int) -> float:
        return float(self.most[at]) if sign > 0 else -float(self.least[at])

    def _solve(self, cost: Floats) -> Floats:
        self.n_programs += 1
        changed = np.flatnonzero(cost != self._cost)
        self._cost = cost
        self._program.solver.changeColsCost(len(changed), changed.astype(np.int32), cost[changed])
        found = self._program.solve()
        assert found is not None  # standing still is always possible
        moves: Floats = np.clip(found, self._low, self._high)
        self._credit(moves)
        return moves

    def _credit(self, moves: Floats) -> None:
        """Note how far each cell went, if it is a table that there can be."""
        if self.whole:
            if not is_whole(moves):
                return
            moves = np.rint(moves)
            if np.any(self._equations @ moves):
                return
        np.maximum(self.most, moves, out=self.most)
        np.minimum(self.least, moves, out=self.least)

    def _conclude(self) -> None:
        """Put the bounds that are known into the equations."""
        low, high = tighten(self._equations, self._floor, self._ceiling)
        # floats lose a little with every sum: a bound is never closer than what was seen
        self._floor, self._ceiling = np.minimum(low, self.least), np.maximum(high, self.most)
