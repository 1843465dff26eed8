"""What an intruder learns from a published table, by linear programs that owe nothing to the kernels.

Everything is rebuilt from the frame that is published: which cells are totals of which is read off the labels, and the
bounds of a suppressed cell are two programs of HiGHS by SciPy. What is sensitive, and how far its bounds must stay away,
is computed here from the records, cell by cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import linprog
from scipy.sparse import coo_array

TOTAL = "Total"
Labels = tuple[str, ...]


class Intruder:
    """Who sees the frame of a published table, and knows that figures are not below `least` where suppressed."""

    def __init__(self, frame: pl.DataFrame, dims: Sequence[Sequence[str]], figure: str, least: float) -> None:
        columns = [name for dim in dims for name in dim]
        self.figures: dict[Labels, float | None] = {
            tuple(map(str, row[:-1])): row[-1] for row in frame.select(*columns, figure).iter_rows()
        }
        self.unknown = [cell for cell, value in self.figures.items() if value is None]
        self._place = {cell: i for i, cell in enumerate(self.unknown)}
        self._least, self.n_programs = least, 0
        rows, sums = [], []
        for row, rest in self._equations(dims):
            if row:
                rows.append(row)
                sums.append(rest)
        lines = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        places = np.array([self._place[cell] for row in rows for cell in row], dtype=np.int64)
        signs = np.array([sign for row in rows for sign in row.values()], dtype=np.float64)
        self._matrix = coo_array((signs, (lines, places)), shape=(len(rows), len(self.unknown))).tocsr()
        self._sums = np.array(sums, dtype=np.float64)

    def _equations(self, dims: Sequence[Sequence[str]]) -> Iterator[tuple[dict[Labels, float], float]]:
        """Of every total: the suppressed cells with their signs, and what the published ones leave for them."""
        at = 0
        for dim in dims:
            last = at + len(dim)
            parts: dict[Labels, list[Labels]] = {}
            for cell in self.figures:
                own = cell[at:last]
                known = sum(label != TOTAL for label in own)
                if known:
                    above = (*own[: known - 1], *[TOTAL] * (len(dim) - known + 1))
                    parts.setdefault((*cell[:at], *above, *cell[last:]), []).append(cell)
            for total, below in parts.items():
                row: dict[Labels, float] = {}
                rest = 0.0
                for cell, sign in [(total, 1.0), *((cell, -1.0) for cell in below)]:
                    value = self.figures[cell]
                    if value is None:
                        row[cell] = sign
                    else:
                        rest -= sign * value
                yield row, rest
            at = last

    def bounds(self, cell: Labels, known: dict[Labels, float] | None = None) -> tuple[float, float]:
        """The lowest and the highest figure of a suppressed cell that fit all that is published and known."""
        known = known or {}
        limits = [(known[c], known[c]) if c in known else (self._least, None) for c in self.unknown]
        found = []
        for sign in (1.0, -1.0):
            aim = np.zeros(len(self.unknown))
            aim[self._place[cell]] = sign
            self.n_programs += 1
            done = linprog(aim, A_eq=self._matrix, b_eq=self._sums, bounds=limits, method="highs")
            # 3 is "unbounded"; everything else but 0 would be a fault of the table or of the program
            assert done.status in (0, 3), done.message
            found.append(sign * done.fun if done.status == 0 else -sign * np.inf)
        return found[0], found[1]


@dataclass(frozen=True)
class Cell:
    """A cell as the records make it: its amounts, largest first, and whose they are."""

    amounts: list[float]
    who: frozenset[int]


def cells_of(records: pl.DataFrame, dims: Sequence[Sequence[str]], amount: str) -> dict[Labels, Cell]:
    """Every cell that somebody is in, margins included."""
    amounts: dict[Labels, list[tuple[float, int]]] = {}
    columns = [name for dim in dims for name in dim]
    for who, row in enumerate(records.select(*columns, amount).iter_rows()):
        nodes, at = [], 0
        for dim in dims:
            own = tuple(map(str, row[at : at + len(dim)]))
            nodes.append([own[:depth] + (TOTAL,) * (len(dim) - depth) for depth in range(len(dim) + 1)])
            at += len(dim)
        for chosen in product(*nodes):
            amounts.setdefault(tuple(label for node in chosen for label in node), []).append((float(row[-1]), who))
    return {
        cell: Cell(sorted((a for a, _ in held), reverse=True), frozenset(who for _, who in held))
        for cell, held in amounts.items()
    }


def sums_needed(cell: Cell, p: float, n: int, margin: float) -> float | None:
    """How far the bounds of a sum must stay away from it by the p% rule and a threshold; None where it may be shown."""
    first, rest = cell.amounts[0], sum(cell.amounts[2:])
    level = p / 100 * first - rest
    few = len(cell.amounts) < n
    asked = max(level, margin / 100 * sum(cell.amounts) if few else 0.0)
    return asked if asked > 0 else None


def disclosed_sums(frame: pl.DataFrame, records: pl.DataFrame, dims: Any, amount: str, p: float, n: int) -> Any:
    """Of a table of sums that are not below 0: primary cells whose bounds are too close, cells and programs in all."""
    held = cells_of(records, dims, amount)
    intruder = Intruder(frame, dims, "value", 0.0)
    found, n_primary = [], 0
    for labels, cell in held.items():
        level = sums_needed(cell, p, n, 10.0)
        if level is None:
            continue
        n_primary += 1
        true = sum(cell.amounts)
        if intruder.figures[labels] is not None:
            found.append((labels, true, true))
            continue
        low, high = intruder.bounds(labels)
        slack = 1e-6 * max(1.0, true)
        if high < true + level - slack or low > max(true - level, 0.0) + slack:
            found.append((labels, low, high))
    return found, n_primary, intruder.n_programs


def disclosed_counts(frame: pl.DataFrame, records: pl.DataFrame, dims: Any, amount: str, n: int) -> Any:
    """Of a table of counts that shows its zeros: primary cells that cannot hold n, cells and programs in all."""
    held = cells_of(records, dims, amount)
    intruder = Intruder(frame, dims, "count", 1.0)
    found, n_primary = [], 0
    for labels, cell in held.items():
        if len(cell.amounts) >= n:
            continue
        n_primary += 1
        if intruder.figures[labels] is not None:
            found.append((labels, float(len(cell.amounts)), float(len(cell.amounts))))
            continue
        low, high = intruder.bounds(labels)
        if high < n - 1e-6 or high - low < 1 - 1e-6:
            found.append((labels, low, high))
    return found, n_primary, intruder.n_programs


def told_to_lone(frame: pl.DataFrame, records: pl.DataFrame, dims: Any, amount: str, p: float, n: int) -> Any:
    """Primary cells that somebody who is alone in suppressed cells, and knows them, computes exactly; and programs."""
    held = cells_of(records, dims, amount)
    intruder = Intruder(frame, dims, "value", 0.0)
    alone: dict[int, dict[Labels, float]] = {}
    for labels, cell in held.items():
        if len(cell.amounts) == 1 and intruder.figures[labels] is None:
            alone.setdefault(next(iter(cell.who)), {})[labels] = cell.amounts[0]
    found = []
    for who, known in alone.items():
        for labels, cell in held.items():
            if sums_needed(cell, p, n, 10.0) is None or labels in known or who in cell.who:
                continue
            low, high = intruder.bounds(labels, known)
            if high - low <= 1e-6 * max(1.0, sum(cell.amounts)):
                found.append((who, labels, low, high))
    return found, len(alone), intruder.n_programs
