"""What is left of a problem once the easy conclusions are drawn: fewer unknowns, fewer rows, closer bounds.

Three steps that keep every solution: cells that no row tells apart become one unknown, a class; rows over the same
classes become one; each row bounds each of its classes by what the others leave, again and again (Davis 1987), until
nothing changes. Published counts that are exact collapse to almost nothing, as a 0 settles all of its cells. A pair of
rows that differ for certain is one more row over the cells of the difference, with a total of 1 at least. Conclusions
about all solutions may use hard rows alone; the likeliest solution uses all of them. Nothing is random here, and
nothing protects anybody: it is the work of an intruder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flou.attack.table.rebuild.problem import Bools, Problem
from flou.attack.table.rebuild.rows import (
    Rows,
    choose_rows,
    cut_rows,
    edges,
    group_alike,
    merge_rows,
    spans,
    transpose,
    trim_rows,
)
from flou.describe.table.cells import Ints
from flou.engine.errors import ParameterError

#: Rounds of propagation at most: each of them is valid, further ones would only be closer.
_ROUNDS = 200


class Contradicted(Exception):  # noqa: N818 - an answer, not a fault
    """Propagation alone shows that nothing satisfies all rows."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """Classes of cells with bounds, and the rows that still tell something of those that are not settled."""

    #: The class of each cell, and how many cells each class has.
    of_cell: Ints
    sizes: Ints
    low: Ints
    high: Ints
    #: Classes that nothing bounds from above: `high` suffices to satisfy every row there.
    endless: Bools
    #: Rows over the classes that are not settled; totals are without the settled ones.
    rows: Rows
    #: The log weight of the rows that are settled.
    constant: float

    @property
    def n_classes(self) -> int:
        return len(self.low)

    @property
    def unsettled(self) -> Ints:
        """The classes whose totals are not known yet."""
        return np.flatnonzero(self.low < self.high)


def reduce_problem(problem: Problem, *, hard_only: bool) -> Reduced:
    """The same problem in fewer unknowns; raises `Contradicted` where propagation finds that it has no solution."""
    used = np.flatnonzero(problem.hard) if hard_only else np.arange(problem.n_rows)
    lengths = np.diff(problem.starts)[used]
    apart = _differences(problem)
    starts = edges(np.concatenate([lengths, [len(cells) for cells in apart]]))
    members = np.concatenate([problem.members[spans(problem.starts[used], lengths)], *apart]).astype(np.int64)
    of_cell, first = group_alike(*transpose(starts, members, problem.n_cells))
    starts, members = _in_classes(starts, members, of_cell, first)
    high, endless = _ceilings(problem, used, starts, members, of_cell, len(first))
    rows = _weighted(problem, used, starts, members, high, hard_only)
    rows = trim_rows(merge_rows(rows))
    low, high, rows = _propagate(rows, np.zeros(len(first), dtype=np.int64), high)
    sizes = np.bincount(of_cell, minlength=len(first))
    rows, constant = _drop_settled(rows, low, high, hard_only)
    return Reduced(of_cell, sizes, low, high, endless, rows, constant)


def _differences(problem: Problem) -> list[Ints]:
    """For each pair the cells of the whole that are not of the part."""
    found = []
    for part, whole in problem.apart.tolist():
        inside = problem.members[problem.starts[part] : problem.starts[part + 1]]
        outside = problem.members[problem.starts[whole] : problem.starts[whole + 1]]
        if not np.isin(inside, outside).all():
            raise ParameterError(
                f"apart: row {part} is said to be a part of row {whole}, but counts cells that the other does not. "
                "Give pairs of a part and a whole."
            )
        found.append(np.setdiff1d(outside, inside))
    return found


def _in_classes(starts: Ints, members: Ints, of_cell: Ints, first: Ints) -> tuple[Ints, Ints]:
    """Rows over cells as rows over classes: all cells of a class are in the same rows, so its first one tells."""
    stays = first[of_cell[members]] == members
    kept = np.concatenate([[0], np.cumsum(stays)])
    starts, members = kept[starts], of_cell[members[stays]]
    own = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return starts.astype(np.int64), members[np.lexsort((members, own))]


def _ceilings(problem: Problem, used: Ints, starts: Ints, members: Ints, of_cell: Ints, n: int) -> tuple[Ints, Bools]:
    """What each class is at most, and whether that is a choice: nothing bounds it, and more would do no harm."""
    far = np.iinfo(np.int64).max
    high = np.full(n, far)
    figures = slice(0, starts[len(used)])
    own = np.repeat(np.arange(len(used)), np.diff(starts[: len(used) + 1]))
    np.minimum.at(high, members[figures], problem.high[used][own])
    endless = high == far
    # a difference of 1 is all that a pair can ask for; soft rows say what is plausible
    chosen = np.zeros(n, dtype=np.int64)
    np.maximum.at(chosen, of_cell, np.maximum(problem.most, 0))
    chosen[members[starts[len(used)] :]] = np.maximum(chosen[members[starts[len(used)] :]], 1)
    high[endless] = chosen[endless]
    return high, endless


def _weighted(problem: Problem, used: Ints, starts: Ints, members: Ints, high: Ints, hard_only: bool) -> Rows:
    """The rows with the log weights of their totals; each pair as a difference with a total of 1 at least."""
    widths = np.diff(problem.offsets)[used]
    weights = problem.log_chances[spans(problem.offsets[used], widths)]
    if hard_only:
        weights = np.where(weights > -np.inf, 0.0, -np.inf)
    n_pairs = len(problem.apart)
    sums = np.concatenate([[0], np.cumsum(np.maximum(high, 0)[members])])
    most = (sums[starts[1:]] - sums[starts[:-1]])[len(used) :]
    # where the whole is bounded, so is the difference
    known = np.isin(problem.apart[:, 1], used)
    most[known] = np.minimum(most[known], problem.high[problem.apart[known, 1]])
    most = np.maximum(most, 0)
    low = np.concatenate([problem.low[used], np.ones(n_pairs, dtype=np.int64)])
    offsets = edges(np.concatenate([widths, most]))
    return Rows(starts, members, low, offsets, np.concatenate([weights, np.zeros(int(most.sum()))]))


def _propagate(rows: Rows, low: Ints, high: Ints) -> tuple[Ints, Ints, Rows]:
    """Bounds of classes by what each row leaves, and the totals that rows can have by these, until nothing changes."""
    for _ in range(_ROUNDS):
        least, most = rows.sums(low), rows.sums(high)
        if (low > high).any() or (rows.high < rows.low).any():
            raise Contradicted
        if (least > rows.low).any() or (most < rows.high).any():
            rows = trim_rows(cut_rows(rows, least, most))
            if (rows.high < rows.low).any():
                raise Contradicted
        new_low, new_high = low.copy(), high.copy()
        own, members = rows.of_entry, rows.members
        np.maximum.at(new_low, members, rows.low[own] - (most[own] - high[members]))
        np.minimum.at(new_high, members, rows.high[own] - (least[own] - low[members]))
        if (new_low == low).all() and (new_high == high).all():
            break
        low, high = new_low, new_high
    if (low > high).any():
        raise Contradicted
    return low, high, rows


def _drop_settled(rows: Rows, low: Ints, high: Ints, hard_only: bool) -> tuple[Rows, float]:
    """The rows over classes that are not settled, merged again; those that tell nothing more are dropped."""
    settled = low == high
    taken = rows.sums(np.where(settled, low, 0))
    stays = ~settled[rows.members]
    kept = np.concatenate([[0], np.cumsum(stays)])
    rest = Rows(kept[rows.starts].astype(np.int64), rows.members[stays], rows.low - taken, rows.offsets, rows.weights)
    empty = np.diff(rest.starts) == 0
    constant = 0.0
    if empty.any():
        if (rest.low[empty] > 0).any() or (rest.high[empty] < 0).any():
            raise Contradicted
        constant = float(rest.weights[(rest.offsets[:-1] - rest.low)[empty]].sum())
        if constant == -np.inf:
            raise Contradicted
    rest = merge_rows(choose_rows(rest, np.flatnonzero(~empty)))
    least, most = rest.sums(low), rest.sums(high)
    rest = trim_rows(cut_rows(rest, least, most))
    if (rest.high < rest.low).any():
        raise Contradicted
    if hard_only:
        full = (rest.low == least) & (rest.high == most)
        holes = np.bincount(
            np.repeat(np.arange(rest.n), np.diff(rest.offsets)), weights=rest.weights == -np.inf, minlength=rest.n
        )
        rest = choose_rows(rest, np.flatnonzero(~full | (holes > 0)))
    return rest, constant
