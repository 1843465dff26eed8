"""The ground that a random walk over counts stands on: who is in which row, and the way from attributes to a cell.

A walk changes one or two people at a time, so it needs the rows of each cell rather than the cells of each row, and a
step that changes one attribute needs the cell of the changed codes at once: a packed table of all combinations, -1
where there is none (a structural zero). Pairs of rows that differ for certain become rows of their own here: the
cells of the whole that are not in the part hold 1 person at least. None of it depends on the published figures, so
that thousands of areas with the same tables share one ground.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.rows import spans
from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import DataError, KeySpaceTooLargeError

Int32s = NDArray[np.int32]
#: The largest packed table of attribute combinations, about a quarter of a gigabyte.
_MOST_COMBINATIONS = 60_000_000


class Ground(NamedTuple):
    """What areas with the same tables share, as arrays for compiled loops."""

    #: The rows of each cell, one column a family of rows without a cell in common (the groups of one margin, say); the
    #: number of rows where the cell is in none of the family. Two cells share a row if it stands in the same column.
    rows: Int32s
    #: One line a cell, one column an attribute.
    codes: Int32s
    #: How many values each attribute has, and its stride in `lookup`.
    sizes: Ints
    strides: Ints
    #: The cell of each combination of codes; -1 where there is none.
    lookup: Int32s


class Rules(NamedTuple):
    """What one area's figures allow and how likely they make each total, as in `Problem`."""

    low: Ints
    high: Ints
    offsets: Ints
    log_chances: Floats


def lay_ground(problem: Problem, codes: Ints) -> Ground:
    """The ground of a problem whose cells have these attribute codes (one line a cell, codes from 0)."""
    codes = np.ascontiguousarray(codes, dtype=np.int64)
    if codes.ndim != 2 or len(codes) != problem.n_cells or codes.shape[1] == 0:
        raise DataError(
            f"codes has shape {codes.shape}; one line for each of the {problem.n_cells} cells and one column an "
            "attribute is needed."
        )
    if codes.size and codes.min() < 0:
        raise DataError(f"codes go down to {codes.min()}; number the values of each attribute from 0 on.")
    sizes = codes.max(axis=0, initial=-1) + 1
    n_combinations = int(np.prod(sizes.astype(object)))
    if n_combinations > _MOST_COMBINATIONS:
        raise KeySpaceTooLargeError(
            f"The attributes have {n_combinations:,} combinations; a walk holds up to {_MOST_COMBINATIONS:,}. "
            "Reconstruct by blocks, or leave an attribute out."
        )
    strides = np.concatenate([np.cumprod(sizes[:0:-1])[::-1], [1]]).astype(np.int64)
    packed = codes @ strides
    lookup = np.full(n_combinations, -1, dtype=np.int32)
    lookup[packed] = np.arange(problem.n_cells)
    if (lookup[packed] != np.arange(problem.n_cells)).any():
        raise DataError("codes: two cells have the same codes; give each combination of attributes one cell.")
    rows = in_families(problem.n_cells, _cells_of_rows(problem))
    return Ground(rows, codes.astype(np.int32), sizes.astype(np.int64), strides, lookup)


def rules_of(problem: Problem, n_most: int, tempered: float = 1.0) -> Rules:
    """The allowed totals and chances of each row, pairs that are apart among them; `n_most` people at the most.

    Of the log chances of figures that share their noise the rows have the share `tempered`.
    """
    n_apart = len(problem.apart)
    more = problem.offsets[-1] + n_most * np.arange(1, n_apart + 1)
    return Rules(
        np.concatenate([problem.low, np.ones(n_apart, dtype=np.int64)]),
        np.concatenate([problem.high, np.full(n_apart, n_most, dtype=np.int64)]),
        np.concatenate([problem.offsets, more]).astype(np.int64),
        np.concatenate([_tempered(problem, tempered), np.zeros(n_apart * n_most)]),
    )


def _tempered(problem: Problem, tempered: float) -> Floats:
    """The log chances of rows with a share of those of figures that share their noise."""
    noise, chances = problem.shared, problem.log_chances
    if noise is None or tempered == 1.0:
        return chances
    chances = chances.copy()
    widths = np.diff(problem.offsets)[noise.row]
    at = spans(problem.offsets[noise.row], widths)
    here = np.repeat(noise.offsets[noise.shown] + problem.low[noise.row] - noise.low[noise.shown], widths)
    within = np.arange(len(at)) - np.repeat(np.cumsum(widths) - widths, widths)
    possible = chances[at] > -np.inf  # then every figure of the row has a chance
    np.subtract.at(chances, at[possible], (1.0 - tempered) * noise.log_chances[(here + within)[possible]])
    return chances


def most_people(problem: Problem) -> int:
    """An upper bound of the number of people: that of a row of everybody, or of rows that cover all cells together."""
    lengths = np.diff(problem.starts)
    whole = lengths == problem.n_cells
    if whole.any():
        return max(int(problem.high[whole].min()), 1)
    if (problem.most < 0).any():
        raise DataError(
            f"{int((problem.most < 0).sum())} cells are in no row: nothing bounds how many people there are. Publish a "
            "total, or leave these cells out."
        )
    # Rows by what they allow for each cell: a cover, not always the smallest, is a bound all the same.
    free, bound = problem.most > 0, 0
    for row in np.argsort(problem.high / np.maximum(lengths, 1), kind="stable").tolist():
        cells = problem.members[problem.starts[row] : problem.starts[row + 1]]
        if free[cells].any():
            free[cells] = False
            bound += int(problem.high[row])
    return max(bound, 1)


def _cells_of_rows(problem: Problem) -> list[Ints]:
    """The cells of each row, those of pairs that are apart after all others."""
    cells = np.split(problem.members, problem.starts[1:-1])[: problem.n_rows]
    for part, whole in problem.apart.tolist():
        if not np.isin(cells[part], cells[whole]).all():
            raise DataError(f"apart: row {part} is no part of row {whole}; some of its cells are not in the whole.")
        cells.append(np.setdiff1d(cells[whole], cells[part]))
    return cells


def in_families(n_cells: int, cells: list[Ints]) -> Int32s:
    """Each row goes to the first family that has none of its cells yet."""
    none = len(cells)
    families: list[Int32s] = []
    for row, members in enumerate(cells):
        for family in families:
            if (family[members] == none).all():
                family[members] = row
                break
        else:
            families.append(np.full(n_cells, none, dtype=np.int32))
            families[-1][members] = row
    return np.ascontiguousarray(np.stack(families, axis=1) if families else np.empty((n_cells, 0), dtype=np.int32))
