"""Loops that keep count of sets of people while a walk moves people: which rows have the same ones in them.

Each person has a random word, and each row holds the sum of the words of the people in it; a table of how many figures
have each sum (open addressing, with deletion by shifting back, Knuth 1998, section 6.4) says in a few looks whether a
set of people is shown by several rows, and whether by different figures. The surplus is what the log likelihood of the
figures is beyond a share of the log chances of single rows, which the walk looks at first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flou.attack.table.rebuild.ground import Int32s
from flou.attack.table.rebuild.shared_noise import SharedNoise, words_of
from flou.attack.table.rebuild.step_kernel import compiled
from flou.describe.table.cells import Floats, Ints

#: Entries of `People.levels`: the surplus, without a price of conflicts; and how many figures too many the same people
#: have.
SURPLUS, CONFLICTS = 0, 1

Words = NDArray[np.uint64]


class Sharing(NamedTuple):
    """Figures with noise by contributors, as arrays for compiled loops; `rows` has no columns if there are none."""

    #: The rows of each cell, as `Ground` has them, as far as they have such figures.
    rows: Int32s
    #: `shown[starts[r]:starts[r + 1]]` is what row r shows.
    starts: Ints
    shown: Ints
    #: One line a distinct thing shown: the least and the largest total that it allows, where its scores begin, its key.
    spans: Ints
    scores: Floats
    #: The share of the log chances of single rows that is counted elsewhere.
    tempered: float


class People(NamedTuple):
    """Sets of people: the word of each person, the sum and total of each row, the table of sums, levels."""

    words: Words
    sums: Words
    totals: Int32s
    slots: Words
    held: Int32s
    levels: Floats


def lay_sharing(noise: SharedNoise | None, rows: Int32s, n_rows: int, tempered: float) -> Sharing:
    """The figures with shared noise over all rows of a ground."""
    if noise is None:
        none = np.zeros(0, dtype=np.int64)
        return Sharing(rows[:, :0].copy(), none, none, none.reshape(0, 4), np.zeros(0), 0.0)
    with_figures = np.zeros(max(n_rows, int(rows.max(initial=0))) + 1, dtype=np.bool_)
    with_figures[noise.row] = True
    columns = with_figures[rows].any(axis=0)
    high = noise.low + np.diff(noise.offsets) - 1
    return Sharing(
        np.ascontiguousarray(rows[:, columns]),
        np.searchsorted(noise.row, np.arange(n_rows + 1)).astype(np.int64),
        noise.shown,
        np.ascontiguousarray(np.stack([noise.low, high, noise.offsets[:-1], noise.key], axis=1)),
        _without_holes(noise),
        tempered,
    )


def _without_holes(noise: SharedNoise) -> Floats:
    """Log chances that are finite: where a total is impossible, that of the nearest possible one below, or above."""
    scores = noise.log_chances.copy()
    for begin, end in zip(noise.offsets[:-1].tolist(), noise.offsets[1:].tolist(), strict=True):
        held = np.flatnonzero(scores[begin:end] > -np.inf)
        near = np.maximum(np.searchsorted(held, np.arange(end - begin), side="right") - 1, 0)
        scores[begin:end] = scores[begin:end][held[near]]
    return scores


def no_people(sharing: Sharing, n_rows: int, n_most: int) -> People:
    """Nobody anywhere; `gather` fills it."""
    size = 1 << max(4 * len(sharing.shown), 1).bit_length()
    n_rows = n_rows if sharing.rows.shape[1] else 0
    return People(
        words_of(n_most).view(np.uint64),
        np.zeros(n_rows, dtype=np.uint64),
        np.zeros(n_rows, dtype=np.int32),
        np.zeros(size, dtype=np.uint64),
        np.zeros(size, dtype=np.int32),
        np.zeros(2),
    )


@compiled
def mix(word, number):  # type: ignore[no-untyped-def]
    """A word for a sum of words and a number; never 0, which marks a slot without one."""
    z = word + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z if z != np.uint64(0) else np.uint64(1)


@compiled
def bump(slots, held, word, by):  # type: ignore[no-untyped-def]
    """Change how many have this word; returns how many have it then."""
    none, one, mask = np.uint64(0), np.uint64(1), np.uint64(len(slots) - 1)
    i = word & mask
    while slots[i] != none and slots[i] != word:
        i = (i + one) & mask
    if slots[i] == none:
        slots[i] = word
        held[i] = 0
    held[i] += by
    left = held[i]
    if left == 0:
        j = i
        while True:
            j = (j + one) & mask
            if slots[j] == none:
                break
            # whatever would be sought at this slot before its own moves up
            if ((j - slots[j]) & mask) >= ((j - i) & mask):
                slots[i] = slots[j]
                held[i] = held[j]
                i = j
        slots[i] = none
    return left


@compiled
def count_row(starts, shown, spans, scores, tempered, sums, totals, slots, held, levels, row, by):  # type: ignore[no-untyped-def]
    """Count the figures of a row (by = 1), or count them no longer (by = -1), with the people who are in it now."""
    total = totals[row]
    for at in range(starts[row], starts[row + 1]):
        s = shown[at]
        low, high = spans[s, 0], spans[s, 1]
        value = scores[spans[s, 2] + min(max(total, low), high) - low]
        counted = -tempered * value
        # Nobody is no set of people that has a draw. A total that is impossible has its own price: were its people in
        # conflict with others as well, a walk from nobody would never set out.
        if total == 0 or total < low or total > high:
            counted += value
        else:
            left = bump(slots, held, mix(sums[row], 2 * s), by)
            if left == (1 if by > 0 else 0):
                counted += value
                if bump(slots, held, mix(sums[row], 2 * spans[s, 3] + 1), by) > (1 if by > 0 else 0):
                    levels[CONFLICTS] += by
        levels[SURPLUS] += by * counted


@compiled
def follow(rows, starts, shown, spans, scores, tempered, sums, totals, slots, held, levels, word, old, new):  # type: ignore[no-untyped-def]
    """Let the sets of people follow somebody from cell `old` to cell `new`; -1 is outside of all cells."""
    n = len(totals)
    for by in (-1, 1):
        for k in range(rows.shape[1]):
            a = rows[old, k] if old >= 0 else np.int32(n)
            b = rows[new, k] if new >= 0 else np.int32(n)
            if a != b:
                if a < n:
                    count_row(starts, shown, spans, scores, tempered, sums, totals, slots, held, levels, a, by)
                    if by < 0:
                        totals[a] -= 1
                        sums[a] -= word
                if b < n:
                    count_row(starts, shown, spans, scores, tempered, sums, totals, slots, held, levels, b, by)
                    if by < 0:
                        totals[b] += 1
                        sums[b] += word


@compiled
def gather(sharing, cells, n, people):  # type: ignore[no-untyped-def]
    """Count all sets of people anew for the first n people of a list of their cells."""
    rows, starts, shown, spans, scores, tempered = sharing
    words, sums, totals, slots, held, levels = people
    sums[:] = 0
    totals[:] = 0
    slots[:] = 0
    levels[:] = 0
    if rows.shape[1] == 0:
        return
    for person in range(n):
        for k in range(rows.shape[1]):
            row = rows[cells[person], k]
            if row < len(totals):
                totals[row] += 1
                sums[row] += words[person]
    for row in range(len(totals)):
        count_row(starts, shown, spans, scores, tempered, sums, totals, slots, held, levels, row, 1)


@compiled
def surplus_of_moves(sharing, people, persons, old, new, surplus, conflicts):  # type: ignore[no-untyped-def]
    """What the surplus gains, and the conflicts that there are, when one person goes from a cell to another."""
    rows, starts, shown, spans, scores, tempered = sharing
    words, sums, totals, slots, held, levels = people
    before = levels[SURPLUS]
    for i in range(len(old)):
        if old[i] != new[i]:
            word = words[persons[i]]
            follow(
                rows, starts, shown, spans, scores, tempered, sums, totals, slots, held, levels, word, old[i], new[i]
            )
        surplus[i], conflicts[i] = levels[SURPLUS] - before, levels[CONFLICTS]
        if old[i] != new[i]:
            follow(
                rows, starts, shown, spans, scores, tempered, sums, totals, slots, held, levels, word, new[i], old[i]
            )
        levels[SURPLUS] = before
