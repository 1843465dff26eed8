"""Pruning a pattern: secondary cells that became redundant are published after all, dearest first.

Patterns grow need by need, and a later one often protects an earlier one by the way. A cell can go if every need whose
witness moves it has another witness without it; only these are asked again, among the cells that are suppressed. Where
an equation holds the cell and one sensitive cell and nothing else that is suppressed, nobody has to be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Floats, Ints
from flou.describe.table.subtables import Subtables
from flou.risk.table.bounds.among import Among
from flou.risk.table.bounds.needs import Needs
from flou.risk.table.bounds.view import TOLERANCE, View, Witness


class Proven:
    """The needs of one figure that were not met by the primary cells alone, with a witness each."""

    def __init__(self, view: View, needs: Needs, fixed: NDArray[np.bool_]) -> None:
        #: Cells that stay suppressed whatever uses them.
        self._fixed = fixed
        self.view, self.needs = view, needs
        self.witnesses: list[Witness | None] = [None] * needs.n
        self._users: dict[int, set[int]] = {}
        self._slots = np.full((2, view.n_cells), -1, dtype=np.int64)
        self._slots[(1 - needs.directions) // 2, needs.cells] = np.arange(needs.n)

    @property
    def is_met(self) -> NDArray[np.bool_]:
        """Which needs have a witness."""
        return np.array([w is not None for w in self.witnesses], dtype=np.bool_)

    def met_by(self, witness: Witness) -> list[tuple[int, Witness]]:
        """The needs that a witness meets, as it is or the other way round."""
        out = []
        for turned in (witness, witness.reversed()):
            if (
                turned is not witness
                and ((turned.moves < -self.view.down[turned.cells]) | (turned.moves > self.view.up[turned.cells])).any()
            ):
                continue
            for side, direction in enumerate((1, -1)):
                slots = self._slots[side, turned.cells]
                held = slots >= 0
                far = direction * turned.moves[held] >= self.needs.levels[slots[held]] * (1 - TOLERANCE)
                out += [(int(slot), turned) for slot in slots[held][far]]
        return out

    def give(self, number: int, witness: Witness) -> None:
        """A need's witness from now on."""
        old = self.witnesses[number]
        if old is not None:
            for cell in old.cells[~self._fixed[old.cells]].tolist():
                self._users[cell].discard(number)
        self.witnesses[number] = witness
        for cell in witness.cells[~self._fixed[witness.cells]].tolist():
            self._users.setdefault(cell, set()).add(number)

    def users(self, cell: int) -> list[int]:
        """The needs whose witness moves a cell that is not fixed, highest level first."""
        numbers = sorted(self._users.get(cell, ()))
        return sorted(numbers, key=lambda k: -self.needs.levels[k])


def prune(
    proven: Sequence[Proven],
    subtables: Subtables,
    primary: NDArray[np.bool_],
    hidden: NDArray[np.bool_],
    cost: Floats,
    check_time: Callable[[], None],
) -> tuple[NDArray[np.bool_], int]:
    """The pattern without secondary cells that can go, and how many programs that took; witnesses are replaced."""
    hidden = hidden.copy()
    kept = [Among(one.view, subtables, hidden, patient=False) for one in proven]
    secondary = np.flatnonzero(hidden & ~primary)
    matrix, columns = proven[0].view.matrix, proven[0].view.columns
    needed = np.zeros(len(hidden), dtype=np.bool_)
    for one in proven:
        needed[one.needs.cells] = True
    n_hidden = np.asarray(abs(matrix) @ hidden.astype(np.float64)).astype(np.int64)
    for cell in secondary[np.lexsort((secondary, -cost[secondary]))].tolist():
        check_time()
        place = np.array([cell])
        lines = columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]]
        users = [one.users(cell) for one in proven]
        if any(users) and _holds_alone(matrix, lines[n_hidden[lines] == 2], hidden, needed, cell):
            continue
        for among in kept:
            among.hold_still(place)
        replaced = [_replace(one, among, numbers) for one, among, numbers in zip(proven, kept, users, strict=True)]
        if all(found is not None for found in replaced):
            hidden[cell] = False
            n_hidden[lines] -= 1
            for one, found in zip(proven, replaced, strict=True):
                for number, witness in (found or {}).items():
                    one.give(number, witness)
        else:
            for among in kept:
                among.let_go(place)
    return hidden, sum(one.n_programs for one in kept)


def _holds_alone(matrix: object, lines: Ints, hidden: NDArray[np.bool_], needed: NDArray[np.bool_], cell: int) -> bool:
    """Whether in one of the equations the cell is all that keeps a sensitive one from being computed."""
    for line in lines.tolist():
        members = matrix.indices[matrix.indptr[line] : matrix.indptr[line + 1]]  # type: ignore[attr-defined]
        others = members[hidden[members] & (members != cell)]
        if needed[others].any():
            return True
    return False


def _replace(one: Proven, among: Among, numbers: list[int]) -> dict[int, Witness] | None:
    """Other witnesses for needs, without the cells that stand still; None where one of them has none."""
    found: dict[int, Witness] = {}
    open_needs = set(numbers)
    for number in numbers:
        if number not in open_needs:
            continue
        needs = one.needs
        old = one.witnesses[number]
        assert old is not None
        cell, direction = int(needs.cells[number]), int(needs.directions[number])
        witness = among.near(cell, direction, float(needs.levels[number]), old)
        if witness is None:
            return None
        for met, turned in one.met_by(witness):
            if met in open_needs:
                found[met] = turned
                open_needs.discard(met)
        found.setdefault(number, witness)
        open_needs.discard(number)
    return found
