"""Leaves of the walk's loops: random numbers, what a step gains, what follows from it, and where a step leads.

A row's score is the log chance of its total, with a price for totals that it rules out; each row holds what one or two
people more or less would gain, so that trying a step only looks these up, and only a step that is taken works them out
anew. Most steps are tried in vain. Randomness is a hash of a counter, so that a seed gives the same walk anywhere.
"""

from __future__ import annotations

import numpy as np

from flou.attack.table.rebuild.ground import Rules
from flou.engine.compiled import njit

# Leaves take arrays one by one: a tuple of arrays handed to a compiled function costs a count of references for each of
# them at every call, which was ten times the work of a step.
compiled = njit(cache=True, nogil=True, error_model="numpy")


@compiled
def draw_bits(random):  # type: ignore[no-untyped-def]
    """64 random bits (splitmix64, Steele, Lea and Flood 2014: a hash of a counter)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def draw_below(random, n):  # type: ignore[no-untyped-def]
    return np.int64(((draw_bits(random) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@compiled
def draw_share(random):  # type: ignore[no-untyped-def]
    return (np.float64(draw_bits(random) >> np.uint64(12)) + 0.5) * 2.0**-52


@compiled
def price(offsets, low, high, prices, penalty, row, total):  # type: ignore[no-untyped-def]
    """The entry of a row for a total; beyond its ends, `penalty` more a unit."""
    if total < low[row]:
        return prices[offsets[row]] + penalty * (low[row] - total)
    if total > high[row]:
        return prices[offsets[row + 1] - 1] + penalty * (total - high[row])
    return prices[offsets[row] + total - low[row]]


@compiled
def relax(rules: Rules, penalty: float, scores, violations):  # type: ignore[no-untyped-def]
    """Fill in a price where a row rules a total out; False if a row allows no total at all."""
    for row in range(len(rules.low)):
        first, end = rules.offsets[row], rules.offsets[row + 1]
        before = -1
        for at in range(first, end):
            if rules.log_chances[at] > -np.inf:
                before = at
            violations[at] = at - before if before >= 0 else 2**30
            scores[at] = rules.log_chances[before] if before >= 0 else 0.0
        if before < 0:
            return False
        after = -1
        for at in range(end - 1, first - 1, -1):
            if rules.log_chances[at] > -np.inf:
                after = at
            if after >= 0 and after - at < violations[at]:
                violations[at], scores[at] = after - at, rules.log_chances[after]
            scores[at] -= penalty * violations[at]
    return True


@compiled
def gain_of(rows, up, down, old, new):  # type: ignore[no-untyped-def]
    """What the score gains when somebody goes from cell `old` to cell `new`; -1 is outside of all cells."""
    gain = 0.0
    if old < 0:
        for k in range(rows.shape[1]):
            gain += up[rows[new, k]]
    elif new < 0:
        for k in range(rows.shape[1]):
            gain += down[rows[old, k]]
    else:
        for k in range(rows.shape[1]):
            a, b = rows[old, k], rows[new, k]
            if a != b:
                gain += down[a] + up[b]
    return gain


@compiled
def gain_of_two(rows, up, down, twice_up, twice_down, old, new, other_old, other_new):  # type: ignore[no-untyped-def]
    """What the score gains when two people go to other cells at once."""
    gain = 0.0
    for k in range(rows.shape[1]):
        a, b, c, d = rows[old, k], rows[new, k], rows[other_old, k], rows[other_new, k]
        if a == b:
            if c != d:
                gain += down[c] + up[d]
        elif c == d:
            gain += down[a] + up[b]
        elif a == d:
            if b != c:
                gain += up[b] + down[c]
        elif b == c:
            gain += down[a] + up[d]
        else:
            gain += down[a] + down[c] if a != c else twice_down[a]
            gain += up[b] + up[d] if b != d else twice_up[b]
    return gain


@compiled
def change(offsets, low, high, scores, violations, penalty, totals, gains, row, by):  # type: ignore[no-untyped-def]
    """Change the total of a row and what one or two people more or less would gain; returns the change in violation."""
    total = totals[row] + by
    worse = price(offsets, low, high, violations, 1, row, total)
    worse -= price(offsets, low, high, violations, 1, row, totals[row])
    totals[row] = total
    score = price(offsets, low, high, scores, -penalty, row, total)
    gains[0, row] = price(offsets, low, high, scores, -penalty, row, total + 1) - score
    gains[1, row] = price(offsets, low, high, scores, -penalty, row, total - 1) - score
    gains[2, row] = price(offsets, low, high, scores, -penalty, row, total + 2) - score
    gains[3, row] = price(offsets, low, high, scores, -penalty, row, total - 2) - score
    return worse


@compiled
def shift(rows, offsets, low, high, scores, violations, penalty, totals, gains, old, new):  # type: ignore[no-untyped-def]
    """Let the rows follow somebody from cell `old` to cell `new`; returns the change in violation."""
    worse = 0
    for k in range(rows.shape[1]):
        a = rows[old, k] if old >= 0 else np.int32(len(totals))
        b = rows[new, k] if new >= 0 else np.int32(len(totals))
        if a != b:
            if a < len(totals):
                worse += change(offsets, low, high, scores, violations, penalty, totals, gains, a, -1)
            if b < len(totals):
                worse += change(offsets, low, high, scores, violations, penalty, totals, gains, b, 1)
    return worse


@compiled
def count_in(counts, sums, present, last, clock, cell, by):  # type: ignore[no-untyped-def]
    """Change a cell's count, after its old one has been counted for the states that had it."""
    if cell < 0:
        return
    since = clock - last[cell]
    if counts[cell] > 0:
        sums[cell] += counts[cell] * since
        present[cell] += since
    last[cell] = clock
    counts[cell] += by


@compiled
def one_step_from(codes, sizes, strides, lookup, cell, random):  # type: ignore[no-untyped-def]
    """The cell with one attribute changed, any value being as likely; -1 if there is none."""
    attribute = draw_below(random, len(sizes))
    value = draw_below(random, sizes[attribute])
    at = (value - codes[cell, attribute]) * strides[attribute]
    for k in range(len(sizes)):
        at += strides[k] * codes[cell, k]
    return np.int64(lookup[at])


@compiled
def exchanged(codes, strides, lookup, cell, other, mask):  # type: ignore[no-untyped-def]
    """The cell of `cell` with the attributes in the mask as `other` has them; -1 if there is none."""
    at = np.int64(0)
    for k in range(len(strides)):
        at += strides[k] * (codes[other, k] if (mask >> k) & 1 else codes[cell, k])
    return np.int64(lookup[at])
