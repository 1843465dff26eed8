"""The searches for a pattern, and which of them is taken.

    modular   what the primary cells do not protect among themselves gets the cheapest deviations (`patterns`), what
              became redundant is published again (`prune`), dear cells are exchanged for cheaper ones (`exchange`):
              few cells, for tables of up to some ten thousand; of small tables the best of some patterns
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
from flou.protect.table.suppression.exchange import exchange
from flou.protect.table.suppression.grow import Growth, grow
from flou.protect.table.suppression.prune import Proven, prune
from flou.risk.table.bounds.audit import Singletons, questions
from flou.risk.table.bounds.certify import certify
from flou.risk.table.bounds.needs import Needs, outsider
from flou.risk.table.bounds.sides import Side

Search = Literal["auto", "modular", "gauss"]
Mask = NDArray[np.bool_]

#: Up to so many cells the better pattern is worth its programs.
MODULAR_CELLS = 60_000
#: Exchanging dear cells for cheaper ones takes so many programs, times the cells of each.
_EXCHANGES = 50_000
#: A pattern that took no more programs than this is cheap: others are tried.
_CHEAP = 250


@dataclass(frozen=True)
class Style:
    """How a pattern is grown: what cells cost less that serve several equations, how much of the usual cost is added to
    each cell, and whether high levels come first."""

    discount: float
    usual: float
    highest_first: bool

    def priced(self, cost: Floats) -> Floats:
        """What cells cost."""
        return cost + self.usual * float(np.median(cost))


_STYLES = (Style(0.6, 0.0, True), Style(0.6, 0.0, False), Style(0.3, 1.0, True))


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
            self._grow(self._open_needs(self.hidden), _STYLES[0])
        else:
            self._try_styles()
        if not self.failed:
            self._guard_from_lone()
        self.protects[~self.hidden | self.task.primary] = -1

    def _try_styles(self) -> None:
        """The best of some patterns where they are cheap to find, else the first."""
        # what an earlier search found is taken up first, and pruned like the rest
        start, fixed = self.hidden, self.task.primary | self.task.unlisted
        needs = self._open_needs(fixed)
        best: tuple[float, Mask, Ints] | None = None
        for style in _STYLES:
            self.hidden, self.protects = start, np.full(len(start), -1, dtype=np.int64)
            before = self.n_programs
            proven = self._grow(needs, style)
            if self.failed:
                return
            self._prune(proven, fixed, style)
            self._exchange(proven, fixed, style)
            found = self._loss(fixed)
            if best is None or found < best[0]:
                best = (found, self.hidden, self.protects)
            if self.n_programs - before > _CHEAP:
                break
        assert best is not None
        _, self.hidden, self.protects = best

    def _loss(self, fixed: Mask) -> float:
        """How much is withheld beside the primary cells: both their number and their cost count."""
        more = self.hidden & ~fixed
        return float(more.sum()) * float(self.task.cost[more].sum())

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

    def _open_needs(self, fixed: Mask) -> list[Needs]:
        """What some cells do not protect among themselves, side by side."""
        out = []
        for side in self.task.sides:
            shown, n = certify(side.view, fixed, side.needs, outsider(len(fixed)), self.task.subtables)
            self.n_programs += n
            self.check_time()
            out.append(side.needs.take(~shown[:, 0]))
        return out

    def _grow(self, needs: Sequence[Needs], style: Style) -> list[Proven]:
        sides = self.task.sides
        fixed = self.task.primary | self.task.unlisted
        proven = [Proven(side.view, some, fixed) for side, some in zip(sides, needs, strict=True)]
        growth = self._growth(style)
        failed = grow(growth, proven, [s.sliding for s in sides], self._told, highest_first=style.highest_first)
        self.failed = [(f, int(proven[f].needs.cells[k]), 0) for f, k in failed]
        self._took(growth)
        return proven

    def _prune(self, proven: list[Proven], fixed: Mask, style: Style) -> None:
        cost = style.priced(self.task.cost)
        self.hidden, n = prune(proven, self.task.subtables, fixed, self.hidden, cost, self.check_time)
        self.n_programs += n

    def _exchange(self, proven: list[Proven], fixed: Mask, style: Style) -> None:
        growth = self._growth(style)
        more, subtables = np.flatnonzero(growth.hidden & ~fixed), self.task.subtables
        sizes = [len(subtables.cells(number)) for number in subtables.of_cell[more].tolist()]
        exchange(growth, proven, fixed, int(_EXCHANGES / np.mean(sizes)) if sizes else 0, self.check_time)
        self._took(growth)
        self._prune(proven, fixed, style)

    def _growth(self, style: Style) -> Growth:
        task = self.task
        views, cost = [side.view for side in task.sides], style.priced(task.cost)
        growth = Growth(views, task.subtables, self.hidden, task.free, cost, style.discount)
        # what is found so far is known when the search is stopped
        self.hidden = growth.hidden
        return growth

    def _took(self, growth: Growth) -> None:
        self.protects = np.where(growth.protects >= 0, growth.protects, self.protects)
        self.n_programs += growth.n_programs

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
            growth = self._growth(_STYLES[0])
            meets = Proven(side.view, needs, self.hidden)
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
            self._took(growth)
