"""The audit of a table with suppressed cells: whether anybody can compute a sensitive cell exactly or too narrowly.

It asks the table as it would be published, not the search that made the pattern. Nearly all needs are shown to be met
by programs of many cells (`certify`); what is left is asked one by one, in whole numbers where figures are whole, and
what cannot be shown counts as disclosed. The intruder knows the equations, the rules and the thresholds, which cells
are suppressed and everything that is published; whoever is alone in a cell knows that one too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.cells import Ints
from flou.describe.table.equations import Equations
from flou.describe.table.subtables import Subtables
from flou.describe.table.suppression import Audit
from flou.describe.table.table import Table
from flou.risk.table.bounds.among import Among
from flou.risk.table.bounds.certify import certify
from flou.risk.table.bounds.extremes import Extremes
from flou.risk.table.bounds.lone import majorities
from flou.risk.table.bounds.needs import Needs, Onlookers, outsider
from flou.risk.table.bounds.sides import NEARLY, Side

#: How well a cell is protected from whoever is alone in another one: as from everybody, from being known exactly, not.
Singletons = Literal["levels", "exact", "off"]
#: The part of a level that stands for "not exactly".
_A_LITTLE = 0.01


@dataclass(frozen=True)
class Finding:
    """A need that is not met, by the number of the onlooker before whom it is not."""

    side: int
    cell: int
    direction: int
    level: float
    onlooker: int


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of one side, before whom, and which needs before which onlooker."""

    number: int
    side: Side
    onlookers: Onlookers
    asked: NDArray[np.bool_]


def questions(
    equations: Equations,
    sides: Sequence[Side],
    lone: Sequence[Ints],
    hidden: NDArray[np.bool_],
    singletons: Singletons,
) -> list[Question]:
    """What is asked of each side, and before whom."""
    n = len(hidden)
    # who is alone in cells that are published knows nothing more than everybody
    known = [] if singletons == "off" else [cells for cells in (c[hidden[c]] for c in lone) if len(cells)]
    onlookers, out = Onlookers(n, known), []
    for i, side in enumerate(sides):
        part = 1.0 if singletons == "levels" else _A_LITTLE
        out.append(Question(i, side, outsider(n), np.ones((side.needs.n, 1), dtype=np.bool_)))
        if not known:
            continue
        most = majorities(equations, side.view.figures, known) if side.figure == "value" else []
        own, others = np.zeros((n, onlookers.n), dtype=np.bool_), np.ones(n)
        for number, cell, rest in most:
            own[cell, number + 1] = True
            others[cell] = rest
        # where the others give nothing there is nothing of theirs to find
        nothing = others < NEARLY**2
        asked = ~own[side.needs.cells]
        asked[:, 0] = False
        out.append(Question(i, side.eased(np.full(n, part)), onlookers, asked))
        if most:
            apart = np.asarray(own[side.needs.cells].any(axis=1)) & ~nothing[side.needs.cells]
            eased = side.take(apart).eased(part * others)
            out.append(Question(i, eased, onlookers, own[eased.needs.cells]))
    return out


def open_needs(question: Question, hidden: NDArray[np.bool_], subtables: Subtables) -> tuple[NDArray[np.bool_], int]:
    """For each need and onlooker whether it is met, as far as it can be shown, and the number of programs."""
    side, onlookers = question.side, question.onlookers
    shown, n_programs = certify(side.view, hidden, side.needs, onlookers, subtables, question.asked)
    doubts = Among(side.view, subtables, hidden)
    extremes: Extremes | None = None
    for k, h in np.argwhere(~shown).tolist():
        if shown[k, h]:
            continue
        still = onlookers.known[h - 1] if h else np.zeros(0, dtype=np.int64)
        cell, level = int(side.needs.cells[k]), float(side.needs.levels[k])
        doubts.hold_still(still)
        found = doubts.within(cell, int(side.needs.directions[k]), level)
        found = found or doubts.anywhere(cell, int(side.needs.directions[k]), level)
        doubts.let_go(still)
        if found is not None:
            moved = np.zeros(side.view.n_cells, dtype=np.bool_)
            moved[found.cells] = True
            shown[k] |= onlookers.misled(moved)
        elif side.sliding and side.view.whole:
            doubts.hold_still(still)
            shown[k, h] = _is_as_wide(doubts, cell, round(level))
            doubts.let_go(still)
        elif side.sliding:
            extremes = extremes or Extremes(side.view, np.flatnonzero(hidden))
            low, high = extremes.of(cell, still)
            shown[k, h] = high - low >= level * (1 - 1e-6)
    return shown, n_programs + doubts.n_programs + (extremes.n_asked if extremes else 0)


def _is_as_wide(doubts: Among, cell: int, width: int) -> bool:
    """Whether a whole figure can lie so far above and so far below its true one that both make the width."""
    for up in range(width):
        above = up == 0 or doubts.anywhere(cell, 1, up) is not None
        if not above:
            return False  # nor can it lie higher still
        if doubts.anywhere(cell, -1, width - up) is not None:
            return True
    return False


def audit(
    table: Table,
    equations: Equations,
    sides: Sequence[Side],
    lone: Sequence[Ints],
    hidden: NDArray[np.bool_],
    primary: NDArray[np.bool_],
    subtables: Subtables,
    singletons: Singletons,
) -> Audit:
    """What can be computed of the primary cells."""
    findings: list[Finding] = []
    n_programs, n_attackers, everybody = 0, 1, outsider(len(hidden))
    for question in questions(equations, sides, lone, hidden, singletons):
        side, needs, onlookers = question.side, question.side.needs, question.onlookers
        # a sensitive cell that is published is known to everybody
        bare = ~hidden[needs.cells]
        findings += [_finding(question.number, needs, k, 0) for k in np.flatnonzero(bare).tolist()]
        asked = Question(question.number, side.take(~bare), onlookers, question.asked[~bare])
        shown, n = open_needs(asked, hidden, subtables)
        n_programs += n
        if onlookers.n > n_attackers:
            n_attackers, everybody = onlookers.n, onlookers
        findings += [_finding(question.number, asked.side.needs, int(k), int(h)) for k, h in np.argwhere(~shown)]
    frame, exact, narrow = _described(table, sides, findings, hidden, everybody)
    return Audit(
        n_primary=int(primary.sum()),
        n_exact=exact,
        n_narrow=narrow,
        n_attackers=n_attackers,
        n_programs=n_programs,
        findings=frame,
    )


def _finding(side: int, needs: Needs, k: int, onlooker: int) -> Finding:
    return Finding(side, int(needs.cells[k]), int(needs.directions[k]), float(needs.levels[k]), onlooker)


_FINDINGS = {
    "cell": pl.Int64,
    "by": pl.String,
    "figure": pl.String,
    "kind": pl.String,
    "low": pl.Float64,
    "high": pl.Float64,
    "needed_low": pl.Float64,
    "needed_high": pl.Float64,
}


def _described(
    table: Table,
    sides: Sequence[Side],
    findings: Sequence[Finding],
    hidden: NDArray[np.bool_],
    onlookers: Onlookers,
) -> tuple[pl.DataFrame, int, int]:
    """One line a cell and intruder, with the bounds that the intruder gets; cells known exactly, and too narrowly."""
    names = table.labels()
    lines: dict[tuple[int, int, int], dict[str, object]] = {}
    extremes: dict[int, Extremes] = {}
    for found in findings:
        key = (found.cell, found.onlooker, found.side)
        side = sides[found.side]
        figure = float(side.view.figures[found.cell])
        if key not in lines:
            low = high = figure
            if hidden[found.cell]:
                if found.side not in extremes:
                    extremes[found.side] = Extremes(side.view, np.flatnonzero(hidden))
                still = onlookers.known[found.onlooker - 1] if found.onlooker else None
                low, high = extremes[found.side].of(found.cell, still)
            tiny = 0.5 if side.view.whole else NEARLY * max(abs(figure), 1e-300)
            unit = side.view.scale
            first = None if not found.onlooker else int(onlookers.known[found.onlooker - 1][0])
            lines[key] = {
                "cell": found.cell,
                "by": "an outsider" if first is None else f"who is alone in {' × '.join(map(str, names.row(first)))}",
                "figure": side.figure,
                "kind": "exact" if high - low <= tiny else "narrow",
                "low": low / unit,
                "high": high / unit,
                "needed_low": None,
                "needed_high": None,
            }
        needed = (figure + found.direction * found.level) / side.view.scale
        lines[key]["needed_high" if found.direction > 0 else "needed_low"] = needed
    frame = pl.DataFrame(list(lines.values()), schema=_FINDINGS)
    exact = set(frame.filter(pl.col("kind") == "exact")["cell"].to_list())
    return frame, len(exact), len(set(frame["cell"].to_list()) - exact)
