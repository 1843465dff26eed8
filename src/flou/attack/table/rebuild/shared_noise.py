"""Figures whose noise the people in a cell share: one draw for all cells with the same people in them.

Under cell keys, and random rounding by keys, the same people are shown by the same figure wherever they stand (Fraser
and Wooton 2005): a woman of 23 who is the only married one of her age is one draw, though she makes three cells. Which
cells have the same people depends on the population, so that the chance of what is published is no product over cells:
each set of people counts once, and cells of the same people with different figures are impossible. Sets are told apart
by sums of random words of 64 bits. That the keys of a whole are the sum of those of its parts is left aside: figures of
different sets of people are taken to be independent, as they are pair by pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.table.cells import Floats, Ints
from flou.engine.randomness import keyed_hash


@dataclass(frozen=True, eq=False)
class SharedNoise:
    """Figures with noise by contributors; the log chances of their rows count each of them as if it were alone."""

    #: Of each such figure its row, ascending, and which of the distinct things shown it is.
    row: Ints
    shown: Ints
    #: Of each distinct thing shown the keys that it was made by, the least total that it allows, and the log of its
    #: chance by total: `log_chances[offsets[s] + t - low[s]]`, minus infinity where that cannot be.
    key: Ints
    low: Ints
    offsets: Ints
    log_chances: Floats

    def correction(self, totals: Ints, people: Ints) -> float:
        """What to add to the log chances of all rows, so that each set of people counts once.

        `people` are words that tell the sets of people in the rows apart. Minus infinity if the same people have
        different figures. All totals must be possible.
        """
        held = totals[self.row]
        some = held > 0  # nobody is always shown as nobody: that is no draw
        shown, word = self.shown[some], people[self.row[some]]
        logs = self.log_chances[self.offsets[shown] + held[some] - self.low[shown]]
        sets = np.stack([word, self.key[shown], shown], axis=1)
        _, first = np.unique(sets, axis=0, return_index=True)
        once = sets[first, :2]
        if len(np.unique(once, axis=0)) < len(once):
            return -np.inf
        return float(logs[first].sum() - logs.sum())


def words_of(n: int) -> Ints:
    """Random words, the same at every call, whose sums tell sets apart."""
    return keyed_hash(np.arange(n), bytes([3]) * 16).view(np.int64)


def find_keys(mechanisms: Sequence[Mechanism], table: Ints, shared: Ints, published: Iterable[Ints]) -> Ints:
    """The keys that each table was made by, numbered; -1 where noise does not belong to the people in a cell.

    Tables with the same mechanism have the same keys unless they show a cell differently, in any block.
    """
    alike = [mechanisms.index(m) if m.shared_by == "contributors" else -1 for m in mechanisms]
    keys = np.array(alike, dtype=np.int64)
    if len(set(alike) - {-1}) == sum(k >= 0 for k in alike):
        return keys
    for shown in published:
        seen = np.flatnonzero((keys[table] >= 0) & (shown >= 0))
        pairs = np.unique(np.stack([shared[seen], shown[seen], keys[table[seen]]], axis=1), axis=0)
        torn = np.unique(pairs[1:, 2][pairs[1:, 0] == pairs[:-1, 0]])
        own = np.isin(keys, torn)
        keys[own] = np.flatnonzero(own) + len(mechanisms)
    return keys


def share_noise(
    mechanisms: Sequence[Mechanism], keys: Ints, table: Ints, row: Ints, published: Ints
) -> SharedNoise | None:
    """The figures of a block with noise by contributors, of these tables and rows; None if there are none."""
    chosen = np.flatnonzero((keys[table] >= 0) & (published >= 0))
    if not len(chosen):
        return None
    of, first, place = np.unique(
        np.stack([keys[table[chosen]], published[chosen]], axis=1), axis=0, return_index=True, return_inverse=True
    )
    low, logs = [], []
    for (_, value), figure in zip(of.tolist(), chosen[first].tolist(), strict=True):
        mechanism = mechanisms[int(table[figure])]
        least, most = (int(edge[0]) for edge in mechanism.support(np.array([value])))
        totals = np.arange(least, most + 1)
        low.append(least)
        logs.append(mechanism.log_likelihood(np.full(len(totals), value), totals))
    # a row that two tables show alike is one figure
    pairs = np.unique(np.stack([row[chosen], place.reshape(-1)], axis=1), axis=0)
    return SharedNoise(
        row=pairs[:, 0].astype(np.int64),
        shown=pairs[:, 1].astype(np.int64),
        key=of[:, 0].astype(np.int64),
        low=np.array(low, dtype=np.int64),
        offsets=np.concatenate([[0], np.cumsum([len(held) for held in logs])]).astype(np.int64),
        log_chances=np.concatenate(logs),
    )
