"""Which suppressed cells nothing bounds: those that some direction moves on and on.

A direction keeps every equation and moves no cell against a bound that it has, however far one goes. Where a cell can
rise or fall without end, no table is the last one, so this is asked before bounds are searched for. Tables without
negative figures whose totals are published have no such cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from flou.describe.table.cells import Floats
from flou.risk.table.bounds.programs import Program

#: A direction has 1 as its largest move; one that moves a cell by less than this does not move it.
_MOVED = 1e-6


def find_rays(equations: csr_array, low: Floats, high: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_], int]:
    """Which columns fall and which rise without end, and how many programs that took."""
    falls, rises = np.isneginf(low), np.isposinf(high)
    open_down, open_up = falls.copy(), rises.copy()
    seen_down, seen_up = np.zeros_like(falls), np.zeros_like(rises)
    if not (falls | rises).any():
        return seen_down, seen_up, 0
    n, still = len(low), np.zeros(equations.shape[0])
    program = Program(equations, -falls.astype(np.float64), rises.astype(np.float64), np.zeros(n), still, still)
    n_programs = 0

    def ask(cost: Floats) -> None:
        nonlocal n_programs
        n_programs += 1
        program.solver.changeColsCost(n, np.arange(n, dtype=np.int32), cost)
        found = program.solve()
        assert found is not None  # standing still is always possible
        seen_up[found > _MOVED] = True
        seen_down[found < -_MOVED] = True

    ask(-open_up.astype(np.float64))
    if open_down.any():
        ask(open_down.astype(np.float64))
    for opened, seen, sign in ((open_up, seen_up, -1.0), (open_down, seen_down, 1.0)):
        for at in np.flatnonzero(opened).tolist():
            if not seen[at]:
                cost = np.zeros(n)
                cost[at] = sign
                ask(cost)
    return seen_down, seen_up, n_programs
