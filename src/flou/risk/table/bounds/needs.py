"""What must be shown to be possible: that a cell lies so far above or below its true figure, whoever looks.

A need is a cell, a direction and a level. Whoever looks is an outsider, who knows the published cells, or somebody who
is alone in some of the suppressed ones and knows these as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from flou.describe.table.cells import Floats, Ints


@dataclass(frozen=True, eq=False)
class Needs:
    """One line a need."""

    cells: Ints
    #: 1 for upwards, -1 for downwards.
    directions: Ints
    levels: Floats

    @property
    def n(self) -> int:
        return len(self.cells)

    def take(self, chosen: NDArray[np.bool_] | Ints) -> Needs:
        """Some of the needs."""
        return Needs(self.cells[chosen], self.directions[chosen], self.levels[chosen])

    @classmethod
    def of_levels(cls, upper: Floats, lower: Floats) -> Needs:
        """The needs of cells whose levels are not zero, cell by cell, upwards first."""
        ups, downs = np.flatnonzero(upper > 0), np.flatnonzero(lower > 0)
        cells = np.concatenate([ups, downs])
        directions = np.concatenate([np.ones(len(ups), dtype=np.int64), -np.ones(len(downs), dtype=np.int64)])
        levels = np.concatenate([upper[ups], lower[downs]])
        order = np.lexsort((-directions, cells))
        return cls(cells[order], directions[order], levels[order])


@dataclass(frozen=True, eq=False)
class Onlookers:
    """Who looks at the table: the outsider first, then everybody who is alone in some cells."""

    n_cells: int
    #: The cells that each of them knows, beyond those published.
    known: Sequence[Ints]

    @property
    def n(self) -> int:
        return 1 + len(self.known)

    @cached_property
    def matrix(self) -> csr_array:
        """One line an onlooker, one column a cell: 1 where the cell is known; the first line is the outsider's."""
        rows = np.repeat(np.arange(1, self.n), [len(k) for k in self.known])
        cells = np.concatenate([*self.known, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        return csr_array((np.ones(len(cells)), (rows, cells)), shape=(self.n, self.n_cells))

    def misled(self, moved: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """To whom a deviation is possible: those who know none of the cells that it moves."""
        return np.asarray(self.matrix @ moved.astype(np.float64) == 0)

    def own(self, needs: Needs) -> NDArray[np.bool_]:
        """For each need and onlooker whether the cell is the onlooker's own."""
        return np.asarray(self.matrix[:, needs.cells].toarray().T > 0)


def outsider(n_cells: int) -> Onlookers:
    """Nobody but the outsider."""
    return Onlookers(n_cells, ())
