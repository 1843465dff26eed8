"""Growing a pattern: the cheapest deviation for each need that nothing protects yet, and what it moves is suppressed.

For one need the cheapest deviation is a linear program (Kelly, Golden and Assad 1992; Fischetti and Salazar 2000 build
the exact method on it): minimise the cost of what moves, where cells that are suppressed already cost next to nothing.
It is solved in the sub-table of the cell. The prices of its equations then tell whether a cell outside could make it
cheaper: none could where no price exceeds a cost, and the deviation is the cheapest of the whole table, proven; else
the program of the whole table is asked. Margins are moved only through it, so that what protects a cell in its
sub-table needs no protection elsewhere and there is nothing to go back to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Floats, Ints
from flou.describe.table.subtables import Subtables
from flou.risk.table.bounds.programs import Deviations
from flou.risk.table.bounds.view import View, Witness

#: Sub-tables that hold so much of the table are not worth a program of their own.
_NEARLY_ALL = 0.5


class Patterns:
    """Cheapest deviations of one figure, given what is suppressed so far."""

    def __init__(self, view: View, subtables: Subtables, free: NDArray[np.bool_], cost: Floats) -> None:
        #: Which cells may move at all: neither kept nor shown as zero.
        self._free = free
        self._view, self._subtables = view, subtables
        self._cost = cost.copy()
        self._programs: dict[int | None, Deviations] = {}
        self._behind: dict[int | None, list[Ints]] = {}

    @property
    def n_programs(self) -> int:
        return sum(program.n_asked for program in self._programs.values())

    def set_cost(self, cells: Ints, cost: Floats) -> None:
        """What cells cost from now on; each program is told when it is next asked."""
        self._cost[cells] = cost
        for waiting in self._behind.values():
            waiting.append(cells)

    def _program(self, number: int | None) -> Deviations:
        if number not in self._programs:
            cells = np.flatnonzero(self._free)
            if number is not None:
                inside = self._subtables.cells(number)
                cells = inside[self._free[inside]]
            self._programs[number] = Deviations(self._view, cells, self._cost[cells])
            self._behind[number] = []
        elif self._behind[number]:
            changed = np.unique(np.concatenate(self._behind[number]))
            self._programs[number].set_cost(changed, self._cost[changed])
            self._behind[number].clear()
        return self._programs[number]

    def cheapest(self, cell: int, direction: int, level: float, still: Ints | None = None) -> Witness | None:
        """The cheapest deviation that moves a cell by a level while some others stand still; None where none is."""
        number: int | None = int(self._subtables.of_cell[cell])
        if len(self._subtables.cells(number)) > _NEARLY_ALL * self._free.sum():  # type: ignore[arg-type]
            number = None
        while True:
            program = self._program(number)
            if still is not None:
                program.hold_still(still)
            found = program.least(cell, direction, level)
            settled = number is None or (found is not None and self._is_cheapest(program, still))
            if still is not None:
                program.let_go(still)
            if settled:
                return found
            number = None

    def _is_cheapest(self, program: Deviations, still: Ints | None) -> bool:
        """Whether no cell outside the program could make its answer cheaper."""
        gain = np.abs(program.prices())
        open_cells = self._free & ~program.inside
        if still is not None:
            open_cells[still] = False
        return bool((gain[open_cells] <= self._cost[open_cells] * (1 + 1e-9) + 1e-12).all())
