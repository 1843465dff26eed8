"""What is published, as constraints on how many people are in each cell of the attribute product.

The unknown is a vector of counts, one a cell of the product of all attributes (no order of people, so none of the
symmetry that one variable a person has, as in Garfinkel, Abowd and Martindale 2019). Each published figure is a row: it
speaks of the total over some cells, allows some totals and makes each of them more or less likely (Abado and Stefan
2024 have the intervals alone). A row is hard where its mechanism cannot have moved the figure further; figures with
unbounded noise rule nothing out, and no proof may rest on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flou.attack.table.rebuild.shared_noise import SharedNoise, words_of
from flou.describe.table.cells import Floats, Ints

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows over cells: `members[starts[r]:starts[r + 1]]` are the cells of row r, ascending."""

    n_cells: int
    starts: Ints
    members: Ints
    #: The least and the largest true total that each row allows.
    low: Ints
    high: Ints
    #: `log_chances[offsets[r] + t - low[r]]` is the log of the chance of what is published in row r if its true total
    #: is t; minus infinity where that cannot be. Constant where nothing is known of the chances.
    offsets: Ints
    log_chances: Floats
    #: Whether a total outside of low to high, or of chance 0, is impossible; elsewhere it is merely unlikely.
    hard: Bools
    #: Pairs of rows, a part and a whole, whose totals differ for certain: that of the whole is larger by 1 at least.
    apart: Ints
    #: The figures whose noise the people in a cell share, of which each set of people counts once; None if there are
    #: none. `log_chances` has each of them as if it were alone.
    shared: SharedNoise | None = None

    @property
    def n_rows(self) -> int:
        return len(self.low)

    @cached_property
    def of_entry(self) -> Ints:
        """The row of each entry of `members`."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.starts))

    @cached_property
    def by_cell(self) -> tuple[Ints, Ints]:
        """The rows of each cell, as `starts` and `members` have the cells of each row."""
        order = np.argsort(self.members, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.members, minlength=self.n_cells))])
        return starts.astype(np.int64), self.of_entry[order].astype(np.int64)

    @cached_property
    def most(self) -> Ints:
        """The largest count that each cell can have by any single row; -1 for a cell of no row."""
        most = np.full(self.n_cells, np.iinfo(np.int64).max)
        np.minimum.at(most, self.members, self.high[self.of_entry])
        return np.where(most == np.iinfo(np.int64).max, -1, most)

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """One line a row, one column a cell, 1 where the row counts the cell."""
        ones = np.ones(len(self.members), dtype=np.int64)
        return sparse.csr_array((ones, self.members, self.starts), shape=(self.n_rows, self.n_cells))

    def totals(self, counts: Ints) -> Ints:
        """The total of each row."""
        totals: Ints = self.incidence @ counts
        return totals

    def log_likelihood(self, counts: Ints) -> float:
        """The log of the chance of everything published, if these are the true counts; minus infinity if none.

        Rows of the same people count once where these share their noise, and cannot show different figures.
        """
        totals = self.totals(counts)
        if ((totals < self.low) | (totals > self.high)).any() or not self._are_apart(totals):
            return -np.inf
        alone = float(self.log_chances[self.offsets[:-1] + totals - self.low].sum())
        if self.shared is None or alone == -np.inf:
            return alone
        return alone + self.shared.correction(totals, self.totals(np.where(counts > 0, self._words, 0)))

    @cached_property
    def _words(self) -> Ints:
        return words_of(self.n_cells)

    def allows(self, counts: Ints) -> bool:
        """Whether these can be the true counts: no hard row and no pair rules them out."""
        totals, hard = self.totals(counts), self.hard
        inside = (totals >= self.low) & (totals <= self.high)
        if not inside[hard].all() or not self._are_apart(totals):
            return False
        # soft rows may have totals that they have no chance for
        return bool((self.log_chances[(self.offsets[:-1] + totals - self.low)[hard]] > -np.inf).all())

    def _are_apart(self, totals: Ints) -> bool:
        return bool((totals[self.apart[:, 1]] > totals[self.apart[:, 0]]).all())

    def chances_of(self, row: int) -> Floats:
        """The log chances of the totals low to high of one row."""
        return self.log_chances[self.offsets[row] : self.offsets[row + 1]]
