"""Secondary suppression by Gaussian elimination (Langsrud 2024): no hidden cell can be recomputed exactly.

Cells are published in turn, the most wanted first; one whose figure would let somebody compute a sensitive cell, alone
or from the one cell that he knows, stays hidden. What others can compute are sums of multiples of published figures,
so it is a matter of ranks, for tables of any shape and number of dimensions. Hidden cells are seen as a space: `a` of
them may change together as long as all equations of the table hold (`elimination_basis`), and each published cell
makes it smaller (`elimination_turns`). Ranks are found modulo a prime.

It keeps every figure that it publishes exactly. It does not protect against narrow bounds: a cell that lies between 99
and 101 is not recomputed exactly. That takes protection levels and linear programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from flou.describe.table.cells import Ints
from flou.describe.table.equations import Equations
from flou.engine.errors import Infeasible, listed

Flags = NDArray[np.bool_]


class Unprotectable(Infeasible):
    """Cells that can be recomputed whatever is suppressed, by their numbers."""

    def __init__(self, message: str, *, best: object, next_step: str, cells: Ints) -> None:
        super().__init__(message, best=best, next_step=next_step)
        self.cells = cells


def eliminate(
    equations: Equations,
    primary: Flags,
    candidates: Ints,
    published: Flags,
    *,
    zeros: Flags | None = None,
    known: Sequence[Ints] = (),
) -> Flags:
    """Which cells to suppress beside the primary ones so that none of these can be recomputed exactly.

    `candidates` are the cells that may be suppressed, the most wanted first; all others are published, the primary ones
    apart. `zeros` are cells that everybody sees to be empty, of figures that are never negative: their parts are empty
    too. Each of `known` lists the cells that one contributor is alone in, and knows therefore.
    """
    given = published.copy() if zeros is None else published | find_empty(equations, zeros)
    owner = number_owners(equations.n_cells, known)
    _refuse(primary & given, "are published, or empty in the sight of everybody")
    order = candidates[~(given | primary)[candidates]]
    fixed = np.flatnonzero(primary)
    hidden, told, rows = _search(equations, fixed, order, primary, owner)
    _refuse(told, "can be recomputed whatever else is suppressed")
    for cells, group in _told_to_groups(rows, primary, owner, known):
        # a contributor who knows several cells: as if they were published, more are hidden until it is enough
        watched = np.zeros_like(primary)
        watched[cells] = True
        left = hidden.copy()
        left[group] = False
        order = candidates[~(given | hidden)[candidates]]
        more, told, _ = _search(equations, np.flatnonzero(left), order, watched, np.full_like(owner, -1))
        _refuse(told, "can be recomputed by a contributor who is alone in other cells, whatever else is suppressed")
        hidden |= more
    return hidden & ~primary


def find_disclosed(
    equations: Equations, hidden: Flags, watched: Flags | None = None, *, known: Sequence[Ints] = ()
) -> Flags:
    """Which of the watched hidden cells (all of them by default) follow exactly from those that are not hidden.

    With `known`, also those that somebody can compute who knows the cells of one of these lists, less his own.
    """
    watched = hidden if watched is None else watched & hidden
    nobody = np.full(equations.n_cells, -1, dtype=np.int64)
    _, told, _ = _search(equations, np.flatnonzero(hidden), np.zeros(0, dtype=np.int64), watched, nobody)
    for group in known:
        left = hidden.copy()
        left[group] = False
        _, more, _ = _search(equations, np.flatnonzero(left), np.zeros(0, dtype=np.int64), watched & left, nobody)
        told |= more
    return told


def find_empty(equations: Equations, zeros: Flags) -> Flags:
    """The cells that are empty since they are part of an empty one, and those that were given."""
    empty = zeros.copy()
    total_of = np.repeat(equations.totals, np.diff(equations.starts))
    while True:
        more = equations.parts[empty[total_of] & ~empty[equations.parts]]
        if not len(more):
            return empty
        empty[more] = True


def number_owners(n_cells: int, known: Sequence[Ints]) -> Ints:
    """Who knows each cell, -1 for nobody; the first one where there are several."""
    owner = np.full(n_cells, -1, dtype=np.int64)
    for number in range(len(known) - 1, -1, -1):
        owner[known[number]] = number
    return owner


def _search(
    equations: Equations, fixed: Ints, candidates: Ints, watched: Flags, owner: Ints
) -> tuple[Flags, Flags, dict[int, dict[int, int]]]:
    """Hidden cells, watched cells for which nothing helps, and the rows of the watched and known cells."""
    from flou.protect.table.elimination_basis import find_circuits
    from flou.protect.table.elimination_field import PRIME
    from flou.protect.table.elimination_turns import take_turns

    cells = np.concatenate([fixed, candidates[::-1]])  # the least wanted first
    columns = equations.matrix.tocsc()[:, cells]
    signs = np.where(columns.data < 0, PRIME - 1, 1).astype(np.int64)
    sensitive, owns = watched[cells], owner[cells]
    weights = np.where(sensitive | (owns >= 0), _scramble(len(cells)), 0)
    starts, places, figures, n_reached, class_of = find_circuits(
        columns.indptr.astype(np.int64), columns.indices.astype(np.int64), signs, equations.n, sensitive, owns, weights
    )
    told = np.zeros_like(watched)
    told[cells] = sensitive & (class_of < 0)
    told |= _told_at_once(cells, sensitive, owns, class_of, equations.n_cells)
    hidden = np.zeros_like(watched)
    hidden[fixed] = True
    rows: dict[int, dict[int, int]] = {}
    if told.any() or n_reached == 0:
        return hidden, told, rows
    # places are circuits from here on: what was a column for each becomes a row for each cell
    n_circuits = len(starts) - 1
    reached = max(n_reached, len(fixed))
    by_cell = csr_array((figures, places, starts), shape=(n_circuits, reached)).tocsc()
    by_cell.sort_indices()
    stays, begins, lengths, where, what = take_turns(
        by_cell.indptr.astype(np.int64), by_cell.indices.astype(np.int64), by_cell.data, n_circuits, len(fixed),
        sensitive[:reached], owns[:reached], _scramble(n_circuits),
    )  # fmt: skip
    hidden[cells[:reached][stays]] = True
    for i in np.flatnonzero((lengths > 0) & (sensitive | (owns >= 0))[:reached]):
        span = slice(begins[i], begins[i] + lengths[i])
        rows[int(cells[i])] = dict(zip(where[span].tolist(), what[span].tolist(), strict=True))
    return hidden, told, rows


def _told_at_once(cells: Ints, sensitive: Flags, owns: Ints, class_of: Ints, n_cells: int) -> Flags:
    """Sensitive cells that change in proportion to one that somebody else knows, with everything hidden that may be."""
    told = np.zeros(n_cells, dtype=np.bool_)
    by_class = np.argsort(class_of, kind="stable")
    by_class = by_class[np.searchsorted(class_of[by_class], 0) :]
    if not len(by_class):
        return told
    first = np.flatnonzero(np.diff(class_of[by_class], prepend=-1))
    sizes = np.diff(first, append=len(by_class))
    least, most = (np.repeat(best.reduceat(owns[by_class], first), sizes) for best in (np.minimum, np.maximum))
    for i in by_class[sensitive[by_class] & (least < most)]:
        members = owns[class_of == class_of[i]]
        told[cells[i]] = bool(((members >= 0) & (members != owns[i])).any())
    return told


def _told_to_groups(
    rows: dict[int, dict[int, int]], primary: Flags, owner: Ints, known: Sequence[Ints]
) -> list[tuple[Ints, Ints]]:
    """For each contributor who knows several cells: the primary cells of others that he can compute from them."""
    from flou.protect.table.elimination_field import PRIME

    holders: dict[int, list[int]] = {}
    for cell, row in rows.items():
        if primary[cell]:
            for place in row:
                holders.setdefault(place, []).append(cell)
    found = []
    for number, group in enumerate(known):
        own = [int(cell) for cell in group if int(cell) in rows]
        if not own or (len(own) == 1 and owner[own[0]] == number):
            continue  # a single cell was looked at on the way, unless it counted as somebody else's
        pivots: dict[int, dict[int, int]] = {}
        for cell in own:
            _add_pivot(pivots, dict(rows[cell]), PRIME)
        near = sorted(
            {c for cell in own for place in rows[cell] for c in holders.get(place, ())} - set(map(int, group))
        )
        told = [cell for cell in near if not _reduced(pivots, dict(rows[cell]), PRIME)]
        if told:
            found.append((np.array(told), np.asarray(group)))
    return found


def _reduced(pivots: dict[int, dict[int, int]], row: dict[int, int], prime: int) -> dict[int, int]:
    """A row less what the pivot rows hold of it; each has 1 at its own place and nothing at those of earlier ones."""
    for place, pivot in pivots.items():
        amount = row.get(place, 0)
        if amount:
            for at, figure in pivot.items():
                left = (row.get(at, 0) - amount * figure) % prime
                if left:
                    row[at] = left
                else:
                    row.pop(at, None)
    return row


def _add_pivot(pivots: dict[int, dict[int, int]], row: dict[int, int], prime: int) -> None:
    row = _reduced(pivots, row, prime)
    if row:
        place = min(row)
        factor = pow(row[place], -1, prime)
        pivots[place] = {at: figure * factor % prime for at, figure in row.items()}


def _refuse(told: Flags, why: str) -> None:
    cells = np.flatnonzero(told)
    if len(cells):
        raise Unprotectable(
            f"{len(cells):,} sensitive cells {why}: cells {listed(cells.tolist())}.",
            best=f"{len(cells):,} cells that anybody can compute",
            next_step="Let more cells be suppressed: keep fewer ones, or do not show zeros around these.",
            cells=cells,
        )


def _scramble(n: int) -> Any:
    """Figures between 1 and the prime that have no pattern: SplitMix64 of 0, 1, 2, … (Steele, Lea & Flood 2014)."""
    from flou.protect.table.elimination_field import PRIME

    z = (np.arange(1, n + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) % np.uint64(PRIME - 1)).astype(np.int64) + 1
