"""Growing a pattern from the sensitive cells until every need has a witness.

Needs are taken by their levels, and each gets the cheapest deviation given what is suppressed by then.
An equation that holds one suppressed cell alone must get a second one, whatever the deviation: cells that would serve
several such equations at once are offered at a discount, which saves cells that pruning could not find again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Floats, Ints
from flou.describe.table.subtables import Subtables
from flou.protect.table.suppression.patterns import Patterns
from flou.protect.table.suppression.prune import Proven
from flou.risk.table.bounds.view import View, Witness

Mask = NDArray[np.bool_]

#: What a cell costs that is suppressed already, as a part of the least cost: short ways are preferred.
_NEXT_TO_NOTHING = 1e-6


class Growth:
    """A pattern while it grows: what is suppressed, for the sake of which cell, and what cells cost."""

    def __init__(
        self, views: Sequence[View], subtables: Subtables, hidden: Mask, free: Mask, cost: Floats, discount: float
    ) -> None:
        self.hidden, self.cost, self._discount = hidden.copy(), cost, discount
        #: For each cell that was added the cell that it was added for.
        self.protects = np.full(len(hidden), -1, dtype=np.int64)
        self._view = views[0]
        self._cheap = _NEXT_TO_NOTHING * float(np.median(cost[free])) if free.any() else 1.0
        self._lonely = np.zeros(self._view.matrix.shape[0], dtype=np.bool_)
        self._n_equations = np.maximum(np.diff(self._view.columns.indptr), 1)
        start = np.where(hidden, self._cheap, cost)
        self.patterns = [Patterns(view, subtables, free | hidden, start) for view in views]

    @property
    def n_programs(self) -> int:
        return sum(one.n_programs for one in self.patterns)

    def watch(self, cells: Ints) -> None:
        """Discounts for cells that serve equations in which one of these is suppressed alone."""
        needed = np.zeros(len(self.hidden))
        needed[cells] = 1.0
        size = abs(self._view.matrix)
        self._lonely = (size @ self.hidden.astype(np.float64) == 1) & (size @ needed > 0)
        self._reprice(np.flatnonzero(~self.hidden))

    def _reprice(self, cells: Ints) -> None:
        lines = self._view.columns[:, cells]
        served = abs(lines).T @ self._lonely.astype(np.float64)
        price = self.cost[cells] * (1 - self._discount * served / self._n_equations[cells])
        for one in self.patterns:
            one.set_cost(cells, price)

    def meet(self, figure: int, cell: int, direction: int, level: float, still: Ints | None = None) -> Witness | None:
        """The cheapest witness of a need, whose cells are suppressed from now on; None where there is none."""
        witness = self.patterns[figure].cheapest(cell, direction, level, still)
        if witness is not None:
            self._add(witness.cells[~self.hidden[witness.cells]], cell)
        return witness

    def suppress(self, cells: Ints, cell: int) -> None:
        """Suppress cells for the sake of one."""
        self._add(cells[~self.hidden[cells]], cell)

    def publish(self, cell: int) -> None:
        """A cell is not needed any more."""
        self.hidden[cell] = False
        self.protects[cell] = -1
        for one in self.patterns:
            one.set_cost(np.array([cell]), self.cost[[cell]])

    def _add(self, cells: Ints, cell: int) -> None:
        if not len(cells):
            return
        self.hidden[cells] = True
        self.protects[cells] = cell
        for one in self.patterns:
            one.set_cost(cells, np.full(len(cells), self._cheap))
        served = _members(self._view.columns, cells)
        served = served[self._lonely[served]]
        if len(served):
            self._lonely[served] = False
            beside = _members(self._view.matrix, served)
            self._reprice(beside[~self.hidden[beside]])


def grow(
    growth: Growth,
    proven: Sequence[Proven],
    sliding: Sequence[bool],
    told: Callable[[int, int], None],
    *,
    highest_first: bool = True,
) -> list[tuple[int, int]]:
    """Meet every need that has no witness; what cannot be met is returned by figure and number of the need."""
    sign = -1 if highest_first else 1
    todo = [
        (sign * one.needs.levels[k], f, k) for f, one in enumerate(proven) for k in np.flatnonzero(~one.is_met).tolist()
    ]
    growth.watch(np.array([proven[f].needs.cells[k] for _, f, k in todo], dtype=np.int64))
    failed = []
    for done, (_, f, k) in enumerate(sorted(todo)):
        told(done, len(todo))
        one = proven[f]
        if one.witnesses[k] is not None:
            continue
        needs = one.needs
        cell, level = int(needs.cells[k]), float(needs.levels[k])
        found = growth.meet(f, cell, int(needs.directions[k]), level)
        if found is None and sliding[f]:
            # a width can lie below the true figure as well
            found = growth.meet(f, cell, -int(needs.directions[k]), level)
            if found is not None:
                one.give(k, found)
        if found is None:
            failed.append((f, k))
            continue
        for met, turned in one.met_by(found):
            if one.witnesses[met] is None:
                one.give(met, turned)
    return failed


def _members(matrix: object, lines: Ints) -> Ints:
    """The places that some lines (or columns) of a sparse matrix hold, each once."""
    indices, indptr = matrix.indices, matrix.indptr  # type: ignore[attr-defined]
    return np.unique(np.concatenate([indices[indptr[i] : indptr[i + 1]] for i in lines.tolist()]))
