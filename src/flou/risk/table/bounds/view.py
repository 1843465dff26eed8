"""What an intruder sees of one figure of a table: its equations, and between which bounds each cell lies beforehand.

A table that agrees with everything published is the true one plus a deviation: figures that are zero in published
cells, satisfy every equation and stay within the bounds. The true table itself is the deviation 0, so deviations can be
scaled down and mixed; one that moves a cell far enough is a witness that the cell is safe, and a proof that anybody
can check.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from flou.describe.table.cells import Floats, Ints

#: A witness may break an equation or a bound by this part of the level that it shows, for what floats lose.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class View:
    """One figure of a table as everybody may know it, with the true figures that only the office knows."""

    #: One line an equation; the product with the figures is zero.
    matrix: csr_array
    figures: Floats
    #: Between what each cell is known to lie, whatever is published of it.
    low: Floats
    high: Floats
    #: Whether figures are known to be whole numbers.
    whole: bool
    #: What all of these were multiplied by, so that levels are not lost in what solvers forgive.
    scale: float = 1.0

    @property
    def n_cells(self) -> int:
        return len(self.figures)

    def scaled(self, by: float) -> View:
        """The same figures in another unit."""
        return replace(self, figures=self.figures * by, low=self.low * by, high=self.high * by, scale=self.scale * by)

    @cached_property
    def columns(self) -> csc_array:
        """The equations by cell."""
        return csc_array(self.matrix)

    @cached_property
    def down(self) -> Floats:
        """How far each cell may lie below its true figure."""
        return np.maximum(self.figures - self.low, 0.0)

    @cached_property
    def up(self) -> Floats:
        """How far each cell may lie above its true figure."""
        return np.maximum(self.high - self.figures, 0.0)

    def restricted(self, cells: Ints) -> tuple[csr_array, Ints]:
        """The equations among some cells, all others standing still, and which these are: none is without a cell."""
        held = csr_array(self.columns[:, cells])
        lines = np.flatnonzero(np.diff(held.indptr) > 0)
        return held[lines], lines


@dataclass(frozen=True, eq=False)
class Witness:
    """A deviation: the cells that it moves and by how much."""

    cells: Ints
    moves: Floats

    def reversed(self) -> Witness:
        """The same the other way round."""
        return Witness(self.cells, -self.moves)

    def move_of(self, cell: int) -> float:
        """By how much it moves a cell; its cells are in order."""
        at = int(np.searchsorted(self.cells, cell))
        return float(self.moves[at]) if at < len(self.cells) and self.cells[at] == cell else 0.0

    def holds(self, view: View, level: float) -> bool:
        """Whether it is a deviation indeed, up to what floats lose beside a level."""
        slack = TOLERANCE * level
        within = (self.moves <= view.up[self.cells] + slack) & (self.moves >= -view.down[self.cells] - slack)
        if not within.all():
            return False
        left = view.columns[:, self.cells] @ self.moves
        return bool(np.abs(left).max(initial=0.0) <= slack)


def is_whole(moves: NDArray[Any]) -> bool:
    """Whether all of these are whole numbers, but for what floats lose."""
    return bool(np.abs(moves - np.rint(moves)).max(initial=0.0) <= TOLERANCE)


def whole_multiple(witness: Witness, view: View, most: int = 6) -> Witness | None:
    """The witness, or the first multiple of it, that moves cells by whole numbers and stays within the bounds."""
    for times in range(1, most + 1):
        moves = witness.moves * times
        if is_whole(moves):
            made = Witness(witness.cells, np.rint(moves))
            inside = (made.moves <= view.up[made.cells]) & (made.moves >= -view.down[made.cells])
            exact = not np.any(view.columns[:, made.cells] @ made.moves)
            return made if inside.all() and exact else None
    return None
