"""Growing a pattern: the cheapest deviation for each need that nothing protects yet, and what it moves is suppressed.

For one need the cheapest deviation is a linear program (Kelly, Golden and Assad 1992; Fischetti and Salazar 2000 build
the exact method on it): minimise the cost of what moves, where cells that are suppressed already cost next to nothing.
It is solved in the sub-table of the cell. The prices of its equations then tell whether a cell outside could make it
cheaper: none could where no price exceeds a cost, and the deviation is the cheapest of the whole table, proven; else
the sub-tables of such cells are taken in, in the end the whole table. All equations of the cells that move are in every
program, so that what protects a cell needs no protection elsewhere and there is nothing to go back to.
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
#: Programs of several sub-tables: of how many at most, and how many are kept.
_MOST_TOGETHER, _MOST_JOINED = 6, 24

#: The numbers of some sub-tables; none stand for the whole table.
Key = tuple[int, ...]


class Patterns:
    """Cheapest deviations of one figure, given what is suppressed so far."""

    def __init__(self, view: View, subtables: Subtables, free: NDArray[np.bool_], cost: Floats) -> None:
        #: Which cells may move at all: neither kept nor shown as zero.
        self._free = free
        self._view, self._subtables, self._all = view, subtables, np.arange(view.n_cells)
        self._cost = cost.copy()
        #: By the numbers of the sub-tables that they hold, the whole table by none; what changed since they were asked.
        self._programs: dict[Key, Deviations] = {}
        self._behind: dict[Key, list[Ints]] = {}
        self._n_forgotten = 0

    @property
    def n_programs(self) -> int:
        return self._n_forgotten + sum(program.n_asked for program in self._programs.values())

    def set_cost(self, cells: Ints, cost: Floats) -> None:
        """What cells cost from now on; each program is told when it is next asked."""
        self._cost[cells] = cost
        for waiting in self._behind.values():
            waiting.append(cells)

    def _program(self, key: Key) -> Deviations:
        if key not in self._programs:
            self._forget()
            inside = np.unique(np.concatenate([self._subtables.cells(number) for number in key])) if key else self._all
            cells = inside[self._free[inside]]
            self._programs[key] = Deviations(self._view, cells, self._cost[cells])
            self._behind[key] = []
        elif self._behind[key]:
            changed = np.unique(np.concatenate(self._behind[key]))
            self._programs[key].set_cost(changed, self._cost[changed])
            self._behind[key].clear()
        return self._programs[key]

    def _forget(self) -> None:
        """Programs of several sub-tables are many: the oldest give way."""
        joined = [key for key in self._programs if len(key) > 1]
        for key in joined[: max(0, len(joined) - _MOST_JOINED)]:
            self._n_forgotten += self._programs.pop(key).n_asked
            del self._behind[key]

    def cheapest(
        self, cell: int, direction: int, level: float, still: Ints | None = None, *, patient: bool = True
    ) -> Witness | None:
        """The cheapest deviation that moves a cell by a level while some others stand still; None where none is.

        Who is not patient goes without whole deviations that take a search of their own.
        """
        key: Key = (int(self._subtables.of_cell[cell]),)
        while True:
            if key and self._size(key) > _NEARLY_ALL * len(self._all):
                key = ()
            program = self._program(key)
            if still is not None:
                program.hold_still(still)
            program.patient = patient
            found = program.least(cell, direction, level)
            better = () if not key or found is None else self._better(program, still)
            if still is not None:
                program.let_go(still)
            if not key or (found is not None and not better):
                return found
            # a cell that could make it cheaper brings its own sub-table with it
            key = tuple(sorted({*key, *better})) if better and len(key) < _MOST_TOGETHER else ()

    def _size(self, key: Key) -> int:
        return sum(len(self._subtables.cells(number)) for number in key)

    def _better(self, program: Deviations, still: Ints | None) -> Key:
        """The sub-tables of the cells outside a program that could make its answer cheaper."""
        gain = np.abs(program.prices())
        open_cells = self._free & ~program.inside
        if still is not None:
            open_cells[still] = False
        cells = np.flatnonzero(open_cells & (gain > self._cost * (1 + 1e-9) + 1e-12))
        return tuple(np.unique(self._subtables.of_cell[cells]).tolist())
