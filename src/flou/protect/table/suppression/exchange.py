"""Exchanging dear cells of a pattern for cheaper ones.

A cell that was suppressed for one need may be dearer than what its needs would cost by other ways, now that the rest of
the pattern is there. Dearest first, a cell is published for a trial: where new witnesses for its needs add cells that
cost less than it does, they take its place. The number of programs is limited, not the time, so that it ends alike
everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flou.protect.table.suppression.grow import Growth
from flou.protect.table.suppression.prune import Proven
from flou.risk.table.bounds.view import Witness


def exchange(
    growth: Growth, proven: Sequence[Proven], fixed: NDArray[np.bool_], most: int, check_time: Callable[[], None]
) -> None:
    """Replace secondary cells by cheaper ones; the pattern of `growth` and the witnesses are changed."""
    cells = np.flatnonzero(growth.hidden & ~fixed)
    for cell in cells[np.lexsort((cells, -growth.cost[cells]))].tolist():
        check_time()
        if growth.n_programs >= most:
            return
        found = _without(growth, proven, cell)
        if found is None:
            continue
        growth.publish(cell)
        for one, witnesses in zip(proven, found, strict=True):
            for number, witness in witnesses.items():
                growth.suppress(witness.cells, int(one.needs.cells[number]))
                one.give(number, witness)


def _without(growth: Growth, proven: Sequence[Proven], cell: int) -> list[dict[int, Witness]] | None:
    """Witnesses that leave a cell still for all needs that used it; None where they cost as much as it does."""
    still, added, spent = np.array([cell]), set[int](), 0.0
    found: list[dict[int, Witness]] = []
    for f, one in enumerate(proven):
        numbers, mine = one.users(cell), dict[int, Witness]()
        for number in numbers:
            if number in mine:
                continue
            needs = one.needs
            cell_of, direction = int(needs.cells[number]), int(needs.directions[number])
            level = float(needs.levels[number])
            witness = growth.patterns[f].cheapest(cell_of, direction, level, still, patient=False)
            if witness is None:
                return None
            new = {c for c in witness.cells[~growth.hidden[witness.cells]].tolist() if c not in added}
            spent += float(growth.cost[sorted(new)].sum())
            if spent >= growth.cost[cell]:
                return None
            added |= new
            mine[number] = witness
            for met, turned in one.met_by(witness):
                if met in numbers and met not in mine:
                    mine[met] = turned
        found.append(mine)
    return found
