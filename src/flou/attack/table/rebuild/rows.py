"""Rows over unknowns, as plain arrays: which unknowns each row adds up, and the log weight of each of its totals.

The bookkeeping that the reduction of a problem needs (see `reduce`): transposing, finding unknowns or rows that are
alike, merging rows that add up the same unknowns. Equal things are found by a hash and then compared in full, so that
nothing ever rests on a hash. Nothing here is random, nothing is lost, and nothing here protects anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flou.describe.table.cells import Floats, Ints
from flou.engine.randomness import keyed_hash


@dataclass(frozen=True, eq=False)
class Rows:
    """Row r adds up `members[starts[r]:starts[r + 1]]`; its totals from `low[r]` on have the log weights
    `weights[offsets[r]:offsets[r + 1]]`, minus infinity where a total cannot be; other totals cannot be either."""

    starts: Ints
    members: Ints
    low: Ints
    offsets: Ints
    weights: Floats

    @property
    def n(self) -> int:
        return len(self.low)

    @cached_property
    def high(self) -> Ints:
        """The last total of each row that has a weight."""
        return self.low + np.diff(self.offsets) - 1

    @cached_property
    def of_entry(self) -> Ints:
        """The row of each entry of `members`."""
        return np.repeat(np.arange(self.n), np.diff(self.starts))

    def line(self, row: int) -> Ints:
        """What one row adds up."""
        return self.members[self.starts[row] : self.starts[row + 1]]

    def weights_of(self, row: int) -> Floats:
        """The log weights of one row's totals, from its lowest on."""
        return self.weights[self.offsets[row] : self.offsets[row + 1]]

    def sums(self, values: Ints) -> Ints:
        """The total of each row."""
        sums = np.concatenate([[0], np.cumsum(values[self.members])])
        totals: Ints = sums[self.starts[1:]] - sums[self.starts[:-1]]
        return totals


def edges(lengths: Ints) -> Ints:
    """Where each of some consecutive stretches begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def spans(begins: Ints, lengths: Ints) -> Ints:
    """The places `begins[i]`, …, `begins[i] + lengths[i] - 1` of all i, one after the other."""
    ends = edges(lengths)
    return np.arange(ends[-1]) + np.repeat(begins - ends[:-1], lengths)


def transpose(starts: Ints, members: Ints, n: int) -> tuple[Ints, Ints]:
    """For each of n members the rows that hold it, ascending."""
    order = np.argsort(members, kind="stable")
    of_entry = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return edges(np.bincount(members, minlength=n)), of_entry[order]


def group_alike(starts: Ints, members: Ints) -> tuple[Ints, Ints]:
    """The group of each line, alike lines being in one, and the first line of each group; lines are sorted."""
    n, lengths = len(starts) - 1, np.diff(starts)
    if not n:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    hashes = keyed_hash(np.arange(int(members.max(initial=-1)) + 1), bytes(16))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(hashes[members], dtype=np.uint64)])
    _, first, group = np.unique(sums[starts[1:]] - sums[starts[:-1]], return_index=True, return_inverse=True)
    model = first[group]  # the line that each one should be like
    like = lengths == lengths[model]
    if like.all():
        same = members == members[spans(starts[model], lengths)]
        like = np.bincount(np.repeat(np.arange(n), lengths), weights=~same, minlength=n) == 0
    if not like.all():  # two lines share a hash by accident: then every line stands for itself
        return np.arange(n), np.arange(n)
    return group.astype(np.int64), first.astype(np.int64)


def merge_rows(rows: Rows) -> Rows:
    """One row for all that add up the same unknowns: weights of the same total are added."""
    group, first = group_alike(rows.starts, rows.members)
    if len(first) == rows.n:
        return rows
    n = len(first)
    low, high = np.full(n, np.iinfo(np.int64).min), np.full(n, np.iinfo(np.int64).max)
    np.maximum.at(low, group, rows.low)
    np.minimum.at(high, group, rows.high)
    widths = np.maximum(high - low + 1, 0)
    offsets = edges(widths)
    weights = np.zeros(offsets[-1])
    own, total = _totals(rows)
    inside = (total >= low[group[own]]) & (total <= high[group[own]])
    at = (offsets[:-1][group[own]] + total - low[group[own]])[inside]
    np.add.at(weights, at, rows.weights[inside])
    lengths = np.diff(rows.starts)[first]
    return Rows(edges(lengths), rows.members[spans(rows.starts[first], lengths)], low, offsets, weights)


def cut_rows(rows: Rows, low: Ints, high: Ints) -> Rows:
    """The same rows with weights for the totals from low to high alone."""
    low, high = np.maximum(low, rows.low), np.minimum(high, rows.high)
    widths = np.maximum(high - low + 1, 0)
    weights = rows.weights[spans(rows.offsets[:-1] + low - rows.low, widths)]
    return Rows(rows.starts, rows.members, low, edges(widths), weights)


def trim_rows(rows: Rows) -> Rows:
    """The same rows, from their first possible total to their last; no totals where none is possible."""
    own, total = _totals(rows)
    can = rows.weights > -np.inf
    low, high = np.full(rows.n, np.iinfo(np.int64).max // 4), np.full(rows.n, -1)
    np.minimum.at(low, own[can], total[can])
    np.maximum.at(high, own[can], total[can])
    return cut_rows(rows, np.minimum(low, rows.high + 1), high)


def choose_rows(rows: Rows, chosen: Ints) -> Rows:
    """Some of the rows, in the given order."""
    lengths, widths = np.diff(rows.starts)[chosen], np.diff(rows.offsets)[chosen]
    return Rows(
        edges(lengths),
        rows.members[spans(rows.starts[chosen], lengths)],
        rows.low[chosen],
        edges(widths),
        rows.weights[spans(rows.offsets[chosen], widths)],
    )


def _totals(rows: Rows) -> tuple[Ints, Ints]:
    """The row and the total of each weight."""
    widths = np.diff(rows.offsets)
    own = np.repeat(np.arange(rows.n), widths)
    return own, rows.low[own] + np.arange(len(own)) - rows.offsets[own]
