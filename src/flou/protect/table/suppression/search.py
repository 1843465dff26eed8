"""The searches for a pattern, and which of them is taken.

    modular   what the primary cells do not protect among themselves gets the cheapest deviations (`patterns`), and what
              became redundant is published again (`prune`): few cells, for tables of up to some ten thousand
    gauss     elimination (Langsrud 2024), which sees exact disclosure alone and is fast at any size; where levels ask
              for more than it gives, deviations are added as above

Both end with whoever is alone in a cell: deviations that leave those cells still are added until nobody learns more
than allowed. Nothing is drawn and nothing depends on time, so that the same table gives the same pattern.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Floats, Ints
from flou.describe.table.equations import Equations
from flou.describe.table.subtables import Subtables
from flou.engine.progress import tell
from flou.protect.table.elimination import Unprotectable, eliminate
from flou.protect.table.suppression.grow import Growth, grow
from flou.protect.table.suppression.prune import Proven, prune
from flou.risk.table.bounds.audit import Singletons, questions
from flou.risk.table.bounds.certify import certify
from flou.risk.table.bounds.needs import outsider
from flou.risk.table.bounds.sides import Side

Search = Literal["auto", "modular", "gauss"]
Mask = NDArray[np.bool_]

#: Up to so many cells the better pattern is worth its programs.
MODULAR_CELLS = 60_000


class LimitReached(Exception):  # noqa: N818 - caught by the method, which says what was found
    """The search ran out of time."""


@dataclass(frozen=True, eq=False)
class Task:
    """A table whose sensitive cells are to be protected."""

    equations: Equations
    subtables: Subtables
    sides: Sequence[Side]
    #: The cells that each contributor is alone in.
    lone: Sequence[Ints]
    primary: Mask
    #: Cells that may be suppressed beside the primary ones; those seen to be empty.
    free: Mask
    empty: Mask
    #: Margins that the table does not list, which are withheld whatever is found.
    unlisted: Mask
    cost: Floats
    singletons: Singletons


class Pattern:
    """A pattern on its way, which outlives a search that is stopped."""

    def __init__(self, task: Task, start: Mask, seconds: float | None) -> None:
        self.task = task
        self.hidden = task.primary | start | task.unlisted
        self.protects = np.full(len(self.hidden), -1, dtype=np.int64)
        self.n_programs = 0
        #: Needs that nothing can meet: the side, the cell, and before whom.
        self.failed: list[tuple[int, int, int]] = []
        self._until = None if seconds is None else time.monotonic() + seconds

    def check_time(self) -> None:
        """Stop where the limit is reached."""
        if self._until is not None and time.monotonic() > self._until:
            raise LimitReached

    def search(self, how: Search) -> None:
        """Find the pattern."""
        if how == "gauss":
            self._eliminate()
            if self.failed:
                return
        # what an earlier search found is taken up first, and pruned like the rest; what elimination found stays
        fixed = self.hidden.copy() if how == "gauss" else self.task.primary | self.task.unlisted
        proven = self._grow(fixed)
        if not self.failed:
            if how == "modular":
                self.hidden, n = prune(proven, self.task.subtables, fixed, self.hidden, self.task.cost, self.check_time)
                self.n_programs += n
            self._guard_from_lone()
        self.protects[~self.hidden | self.task.primary] = -1

    def _eliminate(self) -> None:
        task = self.task
        cells = np.flatnonzero(task.free)
        # what is withheld already is wanted least
        wanted = cells[np.lexsort((cells, -task.cost[cells], self.hidden[cells]))]
        known = [] if task.singletons == "off" else task.lone
        shown = ~(task.free | task.primary)
        try:
            self.hidden |= eliminate(task.equations, task.primary, wanted, shown, zeros=task.empty, known=known)
        except Unprotectable as problem:
            self.failed = [(0, cell, 0) for cell in problem.cells.tolist()]

    def _grow(self, fixed: Mask) -> list[Proven]:
        task, proven = self.task, []
        for side in task.sides:
            shown, n = certify(side.view, fixed, side.needs, outsider(len(fixed)), task.subtables)
            self.n_programs += n
            self.check_time()
            proven.append(Proven(side.view, side.needs.take(~shown[:, 0])))
        growth = self._growth()
        failed = grow(growth, proven, [side.sliding for side in task.sides], self._told)
        self.failed = [(f, int(proven[f].needs.cells[k]), 0) for f, k in failed]
        self.protects = np.where(growth.protects >= 0, growth.protects, self.protects)
        self.n_programs += growth.n_programs
        return proven

    def _growth(self) -> Growth:
        task = self.task
        growth = Growth([s.view for s in task.sides], task.subtables, self.hidden, task.free, task.cost)
        # what is found so far is known when the search is stopped
        self.hidden = growth.hidden
        return growth

    def _told(self, done: int, total: int) -> None:
        self.check_time()
        tell("suppress", done, total)

    def _guard_from_lone(self) -> None:
        task = self.task
        for question in questions(task.equations, task.sides, task.lone, self.hidden, task.singletons):
            side, needs, onlookers = question.side, question.side.needs, question.onlookers
            if onlookers.n == 1:
                continue
            shown, n = certify(side.view, self.hidden, needs, onlookers, task.subtables, question.asked)
            self.n_programs += n
            self.check_time()
            growth = self._growth()
            meets = Proven(side.view, needs)
            pairs = np.argwhere(~shown)
            order = np.lexsort((pairs[:, 1], needs.cells[pairs[:, 0]], -needs.levels[pairs[:, 0]]))
            for done, (k, h) in enumerate(pairs[order].tolist()):
                if shown[k, h]:
                    continue
                self.check_time()
                tell("single contributors", done, len(pairs))
                still = onlookers.known[h - 1] if h else None
                cell, direction = int(needs.cells[k]), int(needs.directions[k])
                level = float(needs.levels[k])
                witness = growth.meet(question.number, cell, direction, level, still)
                if witness is None and side.sliding:
                    witness = growth.meet(question.number, cell, -direction, level, still)
                if witness is None:
                    self.failed.append((question.number, cell, -1 if still is None else int(still[0])))
                    continue
                moved = np.zeros(len(self.hidden), dtype=np.bool_)
                moved[witness.cells] = True
                misled = onlookers.misled(moved)
                shown[k] |= misled
                met = np.array([number for number, _ in meets.met_by(witness)], dtype=np.int64)
                shown[np.ix_(met, misled)] = True
            self.protects = np.where(growth.protects >= 0, growth.protects, self.protects)
            self.n_programs += growth.n_programs
