"""Deviations of cells that nothing bounds: random vectors of the kernel of their equations.

Where figures may be negative, no bound limits how far a suppressed cell can lie from its true figure: either the
equations determine it, or it can take any value. Almost every vector of the kernel moves all cells that are not
determined, so one of them answers what thousands of linear programs would, whatever the sizes of the figures. Those
who know some cells need a vector that leaves these still: a combination of a few others.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.sparse.linalg import lsmr

from flou.describe.table.cells import Floats, Ints
from flou.risk.table.bounds.view import TOLERANCE

#: Smaller moves, beside the largest, may be what floats lose: they prove nothing.
_FLOOR = 1e-5
#: What one projection leaves of an equation the next takes away.
_PROJECTIONS = 2
#: Vectors that are kept, so that nearly all who know some cells find their combination among them.
_KEPT = 16
#: Vectors that are asked before somebody; one may by chance move a cell too little.
_DRAWS = 2


class FreeMoves:
    """Which cells can move without end while some stand still; each answer was checked on a vector that moves them."""

    def __init__(self, equations: csc_array) -> None:
        self._equations = equations
        self._n = equations.shape[1]

    def movable(self, still: Ints) -> NDArray[np.bool_]:
        """The cells that some deviation moves while those that are `still` stand still."""
        moved = np.zeros(self._n, dtype=np.bool_)
        for turn in range(_DRAWS):
            moved |= self._moved(self._combined(still, turn))
        return moved

    def _moved(self, moves: Floats) -> NDArray[np.bool_]:
        """The cells that a vector moves by more than floats lose; it can be scaled to any level that they need."""
        sizes = np.abs(moves)
        least = max(_FLOOR * sizes.max(initial=0.0), np.abs(self._equations @ moves).max(initial=0.0) / TOLERANCE)
        moved: NDArray[np.bool_] = sizes > least
        return moved

    def _combined(self, still: Ints, turn: int) -> Floats:
        """A vector of the kernel that leaves some cells still."""
        if len(still) + _DRAWS > _KEPT:
            others = np.setdiff1d(np.arange(self._n), still)
            moves = np.zeros(self._n)
            moves[others] = _in_kernel(self._equations[:, others], turn)
            return moves
        _, sizes, turned = np.linalg.svd(self._vectors[still])
        rank = int((sizes > _FLOOR * sizes.max(initial=0.0)).sum())
        left = turned[rank:]
        combined: Floats = self._vectors @ (left.T @ _scrambled(len(left), turn))
        combined[still] = 0.0  # up to what floats lose; the check of the equations follows
        return combined

    @cached_property
    def _vectors(self) -> Floats:
        """Vectors of the kernel, one a column."""
        return np.column_stack([_in_kernel(self._equations, turn) for turn in range(_KEPT)])


def _in_kernel(equations: csc_array, turn: int) -> Floats:
    """A random vector, less what the equations take away, its largest move being 1."""
    moves = _scrambled(equations.shape[1], turn)
    if equations.shape[0]:
        for _ in range(_PROJECTIONS):
            moves = moves - lsmr(equations, equations @ moves, atol=1e-15, btol=1e-15, maxiter=10_000)[0]
    largest = np.abs(moves).max(initial=0.0)
    return np.zeros_like(moves) if largest <= _FLOOR else moves / largest


def _scrambled(n: int, turn: int) -> Floats:
    """Numbers without order that are always the same: a pattern must not depend on anybody's randomness."""
    numbers = np.arange(1, n + 1, dtype=np.float64)
    return np.sin(numbers * numbers * (12.9898 + turn))
