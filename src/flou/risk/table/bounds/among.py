"""Witnesses among the suppressed cells of a table, need by need: in the cell's sub-table first, then in all of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Ints
from flou.describe.table.subtables import Subtables
from flou.risk.table.bounds.programs import Deviations
from flou.risk.table.bounds.view import View, Witness

#: Programs of so many suppressed cells are not asked again and again.
_LARGE = 3_000


class Among:
    """Programs among the cells that are suppressed; some of these may be held still."""

    def __init__(self, view: View, subtables: Subtables, hidden: NDArray[np.bool_], *, patient: bool = True) -> None:
        self._patient = patient
        self._view, self._subtables, self._hidden = view, subtables, hidden.copy()
        self._gone = np.zeros(len(hidden), dtype=np.bool_)
        self._programs: dict[int | None, Deviations] = {}
        self._n_other = 0

    @property
    def n_programs(self) -> int:
        """How many questions were asked."""
        return self._n_other + sum(program.n_asked for program in self._programs.values())

    def hold_still(self, cells: Ints) -> None:
        """These cells count as published until they are let go."""
        self._gone[cells] = True
        for program in self._programs.values():
            program.hold_still(cells)

    def let_go(self, cells: Ints) -> None:
        """These cells may move again."""
        self._gone[cells] = False
        for program in self._programs.values():
            program.let_go(cells)

    def within(self, cell: int, direction: int, level: float) -> Witness | None:
        """A witness in the sub-table of the cell."""
        return self._program(int(self._subtables.of_cell[cell])).least(cell, direction, level)

    def anywhere(self, cell: int, direction: int, level: float) -> Witness | None:
        """A witness if there is any."""
        return self._program(None).least(cell, direction, level)

    def near(self, cell: int, direction: int, level: float, old: Witness) -> Witness | None:
        """A witness in the sub-tables that an older one went through; not everywhere, where that is a large program."""
        inside = self._subtables.around(old.cells)
        if len(inside) > len(self._hidden) // 2:
            ask = self.anywhere if self._hidden.sum() <= _LARGE else self.within
            return ask(cell, direction, level)
        number = int(self._subtables.of_cell[cell])
        if len(inside) == len(self._subtables.cells(number)):
            return self.within(cell, direction, level)
        self._n_other += 1
        return self._made(inside).least(cell, direction, level)

    def _program(self, number: int | None) -> Deviations:
        if number not in self._programs:
            inside = np.arange(len(self._hidden)) if number is None else self._subtables.cells(number)
            self._programs[number] = self._made(inside)
        return self._programs[number]

    def _made(self, inside: Ints) -> Deviations:
        cells = inside[self._hidden[inside]]
        program = Deviations(self._view, cells, np.ones(len(cells)), patient=self._patient)
        program.hold_still(np.flatnonzero(self._gone))
        return program
