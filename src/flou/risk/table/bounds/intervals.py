"""The least and the largest figure that each suppressed cell can have, exactly: what an intruder computes.

Hidden cells that share no equation, directly or through others, tell nothing of each other: each block of linked cells
is a problem of its own (Fischetti and Salazar 2001 call it the attacker problem). Blocks, and parts of large ones, are
worked on side by side in threads; how they are parted does not depend on how many there are, so neither does the
result. A bound of counts is one that a whole table reaches; a cell that nothing bounds has an infinite one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from flou.describe.table.cells import Floats, Ints
from flou.risk.table.bounds.block import Block
from flou.risk.table.bounds.components import label_parts
from flou.risk.table.bounds.view import View

#: Cells that are asked for in one go; large blocks are parted so.
_AT_ONCE = 400


@dataclass(frozen=True, eq=False)
class Intervals:
    """Between what each of some cells lies."""

    cells: Ints
    low: Floats
    high: Floats
    n_programs: int

    @property
    def width(self) -> Floats:
        return self.high - self.low


@dataclass(frozen=True, eq=False)
class _Task:
    """Some cells of a block, by their places in it."""

    members: Ints
    targets: Ints


def find_intervals(
    view: View,
    hidden: NDArray[np.bool_],
    *,
    cells: Ints | None = None,
    still: Ints | None = None,
    workers: int | None = None,
) -> Intervals:
    """The interval of each hidden cell, or of some, before an outsider or somebody who knows a few (`still`)."""
    wanted = np.flatnonzero(hidden) if cells is None else np.unique(cells)
    moving = hidden.copy()
    if still is not None:
        moving[still] = False
    low, high = view.figures[wanted].copy(), view.figures[wanted].copy()
    place = np.full(view.n_cells, -1, dtype=np.int64)
    place[wanted] = np.arange(len(wanted))
    free = np.flatnonzero(moving)
    equations, _ = view.restricted(free)
    tasks = _tasks(csr_array(equations), np.isin(free, wanted))
    columns = csc_array(equations)

    def search(task: _Task) -> tuple[Floats, Floats, int]:
        inside = csr_array(columns[:, task.members])
        inside = inside[np.diff(inside.indptr) > 0]
        members = free[task.members]
        down, up, scale = -view.down[members], view.up[members], 1.0
        if not view.whole:
            scale = _unit(view.figures[members])
        block = Block(inside, down / scale, up / scale, whole=view.whole)
        block.search(task.targets)
        return block.least[task.targets] * scale, block.most[task.targets] * scale, block.n_programs

    n_programs = 0
    for task, (least, most, n) in zip(tasks, _in_threads(search, tasks, workers), strict=True):
        target = free[task.members[task.targets]]
        at = place[target]
        low[at] = np.maximum(view.figures[target] + least, view.low[target])
        high[at] = np.minimum(view.figures[target] + most, view.high[target])
        n_programs += n
    return Intervals(wanted, low, high, n_programs)


def _tasks(equations: csr_array, asked: NDArray[np.bool_]) -> list[_Task]:
    """The blocks that hold a cell that is asked for, large ones in parts."""
    _, label = label_parts(equations)
    order = np.argsort(label, kind="stable")
    blocks: list[Ints] = np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(order) else []
    out = []
    for members in blocks:
        targets = np.flatnonzero(asked[members])
        out += [_Task(members, targets[i : i + _AT_ONCE]) for i in range(0, len(targets), _AT_ONCE)]
    return out


def _in_threads(search: object, tasks: Sequence[_Task], workers: int | None) -> list[tuple[Floats, Floats, int]]:
    """Work on all of them; the solver lets go of the interpreter while it works."""
    assert callable(search)
    n = min(len(tasks), workers or os.cpu_count() or 1)
    if n <= 1:
        return [search(task) for task in tasks]
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(search, tasks))


def _unit(figures: Floats) -> float:
    """A power of two of the size of a usual figure: dividing by it loses nothing, and suits what solvers tolerate."""
    sizes = np.abs(figures[figures != 0])
    return float(2.0 ** np.round(np.log2(np.median(sizes)))) if len(sizes) else 1.0
