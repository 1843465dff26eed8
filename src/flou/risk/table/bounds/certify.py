"""Proofs that suppressed cells are safe, many at once.

Every table that agrees with what is published is a witness for all cells that it moves far enough. So a linear program
moves as many cells as it can, some up and some down, each as far as it needs and no further; what it shows is crossed
off, and the next program goes on with the rest in other directions. A few dozen programs settle nearly everything; what
is left is asked cell by cell. To be a witness before somebody who knows some cells, a deviation must leave these still:
those who know cells near each other get different numbers, and for each digit of these half of them are held still.

What is returned as shown was checked on the witness itself, not taken from the solver's word.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, hstack

from flou.describe.table.cells import Floats, Ints
from flou.describe.table.subtables import Subtables
from flou.risk.table.bounds.components import label_parts
from flou.risk.table.bounds.free_moves import FreeMoves
from flou.risk.table.bounds.needs import Needs, Onlookers
from flou.risk.table.bounds.programs import Program
from flou.risk.table.bounds.view import TOLERANCE, View

Shown = NDArray[np.bool_]

#: Programs in the same setting go on while they are worth it; after so many that are not, they end.
_IDLE = 2
#: A program is worth it if it shows so much for each cell, single questions being cheaper else, or anything of what the
#: outsider may not know.
_WORTH = 0.05
#: What moving any cell costs, beside what is earned: moves that serve nothing are left out.
_LITTLE = 1e-4
#: Moves below this are none.
_DUST = 1e-9


def certify(
    view: View,
    hidden: Shown,
    needs: Needs,
    onlookers: Onlookers,
    subtables: Subtables,
    asked: Shown | None = None,
) -> tuple[Shown, int]:
    """For each need and onlooker whether it is shown to be met, and how many programs that took.

    What is not shown is not thereby disclosed: it must be asked by itself. What is not `asked` counts as shown.
    """
    shown = onlookers.own(needs)
    if asked is not None:
        shown |= ~asked
    numbers = _numbers(onlookers, subtables)
    n_programs = 0
    # moves of the finest cells alone leave sub-tables apart, so that hardly anybody is near enough to know one of them
    for cells in (np.flatnonzero(hidden & subtables.is_finest), np.flatnonzero(hidden)):
        left = np.flatnonzero(~shown.all(axis=1))
        left = left[np.isin(needs.cells[left], cells)]
        if len(left):
            certifier = Certifier(view, cells, needs.take(left), onlookers, numbers)
            certifier.shown |= shown[left]
            shown[left] |= certifier.run()
            n_programs += certifier.n_programs
    return shown, n_programs


def _numbers(onlookers: Onlookers, subtables: Subtables) -> Ints:
    """A number for each onlooker, from 1 on, other than those of others who know a cell of the same sub-table."""
    taken: dict[int, set[int]] = {}
    numbers = np.zeros(onlookers.n, dtype=np.int64)
    for h, cells in enumerate(onlookers.known, start=1):
        near = [taken.setdefault(place, set()) for place in subtables.of_cell[cells].tolist()]
        number = 1
        while any(number in used for used in near):
            number += 1
        for used in near:
            used.add(number)
        numbers[h] = number
    return numbers


class Certifier:
    """What was shown so far of the needs by deviations of some cells, before each onlooker."""

    def __init__(self, view: View, cells: Ints, needs: Needs, onlookers: Onlookers, numbers: Ints) -> None:
        self.view, self.needs, self.onlookers, self.cells = view, needs, onlookers, cells
        self._numbers = numbers
        self._place = np.full(view.n_cells, -1, dtype=np.int64)
        self._place[cells] = np.arange(len(cells))
        self._equations, _ = view.restricted(cells)
        self._columns = csc_array(self._equations)
        self._up, self._down = view.up[cells], view.down[cells]
        #: One line a need, one column an onlooker.
        self.shown = np.zeros((needs.n, onlookers.n), dtype=np.bool_)
        self.n_programs = 0

    @cached_property
    def _known(self) -> csr_array:
        """Which of the cells each onlooker knows."""
        return csr_array(self.onlookers.matrix[:, self.cells])

    def run(self) -> Shown:
        """Show what can be shown by programs of many cells."""
        self._move_freely()
        for held in self._settings():
            known = np.asarray(self._known[held].sum(axis=0)).ravel() > 0
            if not self._is_free.all():  # else what was not shown is not possible
                self._rounds(known, held)
        return self.shown

    @cached_property
    def _is_free(self) -> Shown:
        """Which cells nothing bounds, but for the equations."""
        return np.isinf(self._up) & np.isinf(self._down)

    def _move_freely(self) -> None:
        """Cross off what deviations of cells that nothing bounds show: these can be scaled to any level."""
        free = np.flatnonzero(self._is_free)
        if not len(free):
            return
        moves, place = FreeMoves(self._columns[:, free]), self._place[self.needs.cells]
        for h in np.flatnonzero(~self.shown.all(axis=0)).tolist():
            still = np.flatnonzero(self._known[[h]].toarray()[0, free])
            movable = np.zeros(len(self.cells), dtype=np.bool_)
            movable[free] = moves.movable(still)
            self.shown[:, h] |= movable[place]

    def _settings(self) -> Iterator[Shown]:
        """Who is held still: nobody, then halves of the onlookers by the digits of their numbers."""
        yield np.zeros(self.onlookers.n, dtype=np.bool_)
        digit = 1
        while digit <= self._numbers.max(initial=0):
            for side in (0, 1):
                yield ((self._numbers // digit) % 2 == side) & (self._numbers > 0)
            digit *= 2

    def _rounds(self, known: Shown, held: Shown) -> None:
        idle, turn, free = 0, 0, not held.any()
        targets = np.ones(self.onlookers.n, dtype=np.bool_) if free else held
        while True:
            open_needs = ~self.shown[:, targets].all(axis=1)
            if not free:
                # what the outsider can compute everybody can; a cell that is held still is for other settings
                open_needs &= self.shown[:, 0] & ~known[self._place[self.needs.cells]]
            chosen = self._directed(np.flatnonzero(open_needs), turn)
            if not len(chosen):
                return
            before, outside = int(self.shown.sum()), int(self.shown[:, 0].sum())
            self._spread(chosen, known)
            turn += 1
            gained = int(self.shown.sum()) - before
            worth = gained >= len(self.cells) * _WORTH or (free and int(self.shown[:, 0].sum()) > outside)
            idle = 0 if worth else idle + 1
            if idle >= (_IDLE if free and not self.shown[:, 0].all() else 1):
                return

    def _directed(self, needs: Ints, turn: int) -> Ints:
        """One need a cell; cells that need both directions take turns, neighbours in different ones."""
        if not len(needs):
            return needs
        cells = self.needs.cells[needs]
        first = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
        both = np.append(cells[1:] == cells[:-1], False)[first]
        # a fixed scramble of the cell's number: directions should not follow the order of the table
        mixed = (cells[first] * 2654435761 + turn // 2 * 40503) >> 7
        second = both & ((mixed + turn) % 2 == 1)
        chosen: Ints = needs[first + second]
        return chosen

    def _spread(self, chosen: Ints, known: Shown) -> None:
        """Move the chosen cells as far as they need, as many as possible, and cross off what that shows.

        A chosen cell earns 1 by moving as far as it needs and nothing by moving further, and pays for the other way.
        """
        self.n_programs += 1
        needs, n = self.needs.take(chosen), len(self.cells)
        place, upwards = self._place[needs.cells], needs.directions > 0
        up, down = np.where(known, 0.0, self._up), np.where(known, 0.0, self._down)
        first = np.minimum(needs.levels, np.where(upwards, up[place], down[place]))
        up[place[upwards]] -= first[upwards]
        down[place[~upwards]] -= first[~upwards]
        little = _LITTLE / float(np.median(needs.levels))
        cost_up, cost_down = np.full(n, little), np.full(n, little)
        cost_down[place[upwards]] += 1 / needs.levels[upwards]
        cost_up[place[~upwards]] += 1 / needs.levels[~upwards]
        matrix = hstack([self._columns, -self._columns, self._columns[:, place] * needs.directions], format="csc")
        still = np.zeros(matrix.shape[0])
        found = Program(
            matrix,
            np.zeros(matrix.shape[1]),
            np.concatenate([up, down, first]),
            np.concatenate([cost_up, cost_down, -1 / needs.levels]),
            still,
            still,
        ).solve()
        assert found is not None  # standing still is always possible
        moves = found[:n] - found[n : 2 * n]
        moves[place] += found[2 * n :] * needs.directions
        self.credit(moves)

    def credit(self, moves: Floats) -> None:
        """Cross off whatever a deviation shows, part by part and either way round."""
        moved = np.flatnonzero(np.abs(moves) > _DUST)
        if not len(moved):
            return
        equations = csr_array(self._equations[:, moved])
        n_parts, part = label_parts(equations)
        if self.view.whole:
            whole = np.rint(moves[moved])
            lost = np.abs(moves[moved] - whole) > TOLERANCE
            moves = np.zeros(len(moves))
            moves[moved] = whole
        else:
            lost = np.zeros(len(moved), dtype=np.bool_)
        part_of = np.full(len(self.cells), -1, dtype=np.int64)
        part_of[moved] = part
        of_need = part_of[self._place[self.needs.cells]]
        # by how much each part breaks an equation; a part with a fraction shows nothing of counts
        left = np.abs(equations @ moves[moved])
        line_part = part[equations.indices[equations.indptr[:-1][np.diff(equations.indptr) > 0]]]
        slack = np.zeros(n_parts)
        np.maximum.at(slack, line_part, left[np.diff(equations.indptr) > 0])
        np.maximum.at(slack, part, np.where(lost, np.inf, 0.0))
        near = csr_array(self._known[:, moved] @ csr_array((np.ones(len(moved)), (np.arange(len(moved)), part))))
        knows = near.toarray() > 0
        for signed in (moves, -moves):
            # broken bounds count like broken equations
            over = np.maximum(signed[moved] - self._up[moved], -signed[moved] - self._down[moved])
            worst = slack.copy()
            np.maximum.at(worst, part, over)
            far = signed[self._place[self.needs.cells]] * self.needs.directions >= self.needs.levels * (1 - TOLERANCE)
            done = np.flatnonzero(far & (of_need >= 0))
            done = done[worst[of_need[done]] <= TOLERANCE * self.needs.levels[done]]
            self.shown[done] |= ~knows[:, of_need[done]].T
