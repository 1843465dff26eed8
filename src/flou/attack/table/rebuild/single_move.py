"""One person moved from a cell to another: which moves the published figures allow, and how likely each makes them.

Whoever knows every record but one value of one person knows all counts but for that person's cell (Abado and Stefan
2024, section 4.4). Each candidate value gives complete counts, which differ from the true ones in the rows of the cell
that is left and of the cell that is joined, and in no other: so a candidate costs a few look-ups, not a sum over all
figures. Hard rows and pairs of rows that differ for certain rule candidates out; the chances of all rows weigh the
others. Soft rows weigh as well and rule nothing out, so that no candidate is called impossible by unbounded noise.

Where people share their noise, a candidate is weighed by the sets of people that it makes, each of which counts once;
candidates that show the same people by different figures are ruled out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from flou.attack.table.rebuild.ground import in_families
from flou.attack.table.rebuild.problem import Bools, Problem
from flou.attack.table.rebuild.universe import Universe
from flou.describe.table.cells import Floats, Ints

if TYPE_CHECKING:
    from flou.attack.table.rebuild.shared_noise_kernel import People, Sharing

#: The log chance of a total that a soft row holds too unlikely to tell how unlikely: below any that it does tell.
_UNLIKELY = -1e6
#: Entries that are worked on at once: cells that are joined times their rows, and people times rows.
_MOST_AT_ONCE = 4_000_000


def find_targets(universe: Universe, origins: Ints, attribute: int) -> Ints:
    """The cells that differ from each origin in one attribute alone, by its value; -1 where nobody can be."""
    sizes = universe.sizes
    stride = int(np.prod(sizes[attribute + 1 :], dtype=np.int64))
    packed = np.ravel_multi_index(tuple(universe.codes[origins].T), sizes)
    first = packed - universe.codes[origins, attribute] * stride
    targets: Ints = universe.cell_at[first[:, None] + np.arange(sizes[attribute])[None, :] * stride]
    return targets


@dataclass(frozen=True, eq=False)
class Moves:
    """What moving one of the people in `counts`, which the problem must allow, does to what is published."""

    problem: Problem
    counts: Ints

    @cached_property
    def totals(self) -> Ints:
        return self.problem.totals(self.counts)

    @cached_property
    def _guards(self) -> sparse.csr_array:
        """What lies in a whole and not in its part, where one person makes the difference: somebody must stay there."""
        apart, totals = self.problem.apart, self.totals
        alone = apart[totals[apart[:, 1]] - totals[apart[:, 0]] == 1]
        incidence = self.problem.incidence
        between = sparse.csr_array(incidence[alone[:, 1]] - incidence[alone[:, 0]])
        between.eliminate_zeros()
        return between

    @cached_property
    def _rows_of_cells(self) -> tuple[Ints, Ints]:
        """The rows of each cell, guards behind the others."""
        guards = self._guards
        if guards.shape[0] == 0:
            return self.problem.by_cell
        by_cell = sparse.vstack([self.problem.incidence, guards], format="csc")
        return by_cell.indptr.astype(np.int64), by_cell.indices.astype(np.int64)

    @cached_property
    def _effects(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Of one person less and of one more in each row: the gain in log chance, and 1 where that cannot be."""
        n = self._guards.shape[0]
        log, _ = self._chances(self.totals)
        less, less_not = self._chances(self.totals - 1)
        more, more_not = self._chances(self.totals + 1)
        none, all_ = np.zeros(n), np.ones(n)
        return (
            np.concatenate([less - log, none]),
            np.concatenate([less_not, all_]),
            np.concatenate([more - log, none]),
            np.concatenate([more_not, none]),
        )

    def _chances(self, totals: Ints) -> tuple[Floats, Floats]:
        """The log chance of each row at a total, finite throughout, and 1 where the total is impossible."""
        p = self.problem
        inside = (totals >= p.low) & (totals <= p.high)
        held = p.log_chances[p.offsets[:-1] + np.where(inside, totals - p.low, 0)]
        some = inside & (held > -np.inf)
        log = np.where(some, held, np.where(p.hard, 0.0, _UNLIKELY))
        return log, (~some & p.hard).astype(np.float64)

    def score(self, origins: Ints, targets: Ints) -> tuple[Bools, Floats]:
        """Whether one person can as well be in each target (one line an origin), and the gain in log likelihood.

        The gain is that over the true counts; it means nothing where the move is impossible or the target is -1.
        """
        starts, _ = self._rows_of_cells
        n_rows = len(self._effects[0])
        width = targets.shape[1] * max(1, int(np.diff(starts).max(initial=1)))
        step = max(1, _MOST_AT_ONCE // max(width, n_rows, 1))
        parts = [self._score(origins[i : i + step], targets[i : i + step]) for i in range(0, len(origins), step)]
        if not parts:
            return np.zeros(targets.shape, dtype=np.bool_), np.zeros(targets.shape)
        possible, gains = np.concatenate([p for p, _ in parts]), np.concatenate([g for _, g in parts])
        if self.problem.shared is not None:
            surplus, torn = self._by_sets(origins, targets, possible)
            gains, possible = gains + surplus, possible & ~torn
        return possible, gains

    @cached_property
    def _sets(self) -> tuple[Sharing, People, Ints]:
        """Figures that people share, the sets of people in the rows, and the cell of each person."""
        from flou.attack.table.rebuild.shared_noise_kernel import gather, lay_sharing, no_people

        p, cells = self.problem, np.repeat(np.arange(self.problem.n_cells), self.counts)
        rows = in_families(p.n_cells, np.split(p.members, p.starts[1:-1])[: p.n_rows])
        sharing = lay_sharing(p.shared, rows, p.n_rows, 1.0)
        sets = no_people(sharing, p.n_rows, len(cells))
        gather(sharing, cells, len(cells), sets)
        return sharing, sets, cells

    def _by_sets(self, origins: Ints, targets: Ints, possible: Bools) -> tuple[Floats, Bools]:
        """What moves gain beyond their rows, as sets of people count once; and which show a set by two figures."""
        from flou.attack.table.rebuild.shared_noise_kernel import CONFLICTS, surplus_of_moves

        sharing, sets, cells = self._sets
        who, value = np.nonzero(possible)
        old, new = origins[who], targets[who, value]
        surplus, conflicts = np.empty(len(who)), np.empty(len(who))
        before = sets.levels[CONFLICTS]
        surplus_of_moves(sharing, sets, np.searchsorted(cells, old), old, new, surplus, conflicts)
        gains, torn = np.zeros(targets.shape), np.zeros(targets.shape, dtype=np.bool_)
        gains[who, value], torn[who, value] = surplus, conflicts > before
        return gains, torn

    def _score(self, origins: Ints, targets: Ints) -> tuple[Bools, Floats]:
        less, less_not, more, more_not = self._effects
        n, n_rows = len(origins), len(less)
        entry, row = self._expand(origins)
        left = np.zeros(n * n_rows, dtype=np.bool_)
        left[entry * n_rows + row] = True
        gain_left = np.bincount(entry, less[row], n)
        barred_left = np.bincount(entry, less_not[row], n)
        who, value = np.nonzero(targets >= 0)
        entry, row = self._expand(targets[who, value])
        stays = left[who[entry] * n_rows + row]
        # a row of both cells keeps its total: what leaving it did is taken back
        gain = gain_left[who] + np.bincount(entry, np.where(stays, -less[row], more[row]), len(who))
        barred = barred_left[who] + np.bincount(entry, np.where(stays, -less_not[row], more_not[row]), len(who))
        possible, gains = np.zeros(targets.shape, dtype=np.bool_), np.zeros(targets.shape)
        possible[who, value] = barred < 0.5
        gains[who, value] = gain
        return possible, gains

    def _expand(self, cells: Ints) -> tuple[Ints, Ints]:
        """The rows of some cells: the place of the cell among them, and the row."""
        starts, rows = self._rows_of_cells
        sizes = starts[cells + 1] - starts[cells]
        entry = np.repeat(np.arange(len(cells)), sizes)
        within = np.arange(len(entry)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return entry, rows[starts[cells][entry] + within]
