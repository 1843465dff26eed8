"""Loops of the random walk over counts: steps of one or two people, accepted as Metropolis and Hastings do.

The walk holds a list of people, each in a cell. A vector of counts x has n!/(x_1! x_2! ...) such lists; when all of
them share its chance evenly, the multinomial prior n! prod pi_i^x_i / x_i! of the vector is prod pi of the people's
cells in a list: factorials vanish, and a step that is symmetric between people needs no correction. Rows that a step
leaves outside of what they allow cost `penalty` a unit, so that the walk gets from one possible vector to another
through impossible ones, which are never counted (Dobra 2003 has the swaps that connect tables of fixed margins).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from flou.attack.table.rebuild.ground import Ground, Int32s, Rules
from flou.describe.table.cells import Floats, Ints

#: Entries of `State.figures`: people, violation, states counted, snapshots held, people of the best list (or -1).
N, VIOLATION, CLOCK, HELD, BEST = 0, 1, 2, 3, 4
#: Entries of `State.levels`: the relaxed log likelihood, the log prior of the list, the best objective.
SCORE, PRIOR, BEST_OBJECTIVE = 0, 1, 2


class Relaxed(NamedTuple):
    """Rules with a finite price for what they rule out."""

    low: Ints
    high: Ints
    offsets: Ints
    scores: Floats
    violations: Int32s
    penalty: float


class Chances(NamedTuple):
    """The prior of cells and of the number of people, and which cells are proposed how often (alias method)."""

    log_prior: Floats
    log_total: Floats
    log_proposal: Floats
    alias_share: Floats
    alias: Int32s


class State(NamedTuple):
    """Where a walk is, and what it has counted."""

    people: Int32s
    counts: Int32s
    totals: Int32s
    #: What the score of each row gains by 1 person more, 1 less, 2 more, 2 less; 0 for the row of no rows at the end.
    gains: Floats
    figures: Ints
    levels: Floats
    random: NDArray[np.uint64]
    best: Int32s
    #: Sums over the states counted: of each cell's count, and of whether anybody is in it; and when it last changed.
    sums: Ints
    present: Ints
    last: Ints


class Pace(NamedTuple):
    """How to walk: cumulated shares of the kinds of step, temperatures, weight of the prior."""

    kinds: Floats
    hot: float
    cold: float
    prior_weight: float
    #: Whether the walk seeks the best list rather than a sample: then proposals need no correction.
    seeks: bool


# Leaves take arrays one by one: a tuple of arrays handed to a compiled function costs a count of references for each of
# them at every call, which was ten times the work of a step.
_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compiled
def draw_bits(random):  # type: ignore[no-untyped-def]
    """64 random bits (splitmix64, Steele, Lea and Flood 2014: a hash of a counter)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@_compiled
def draw_below(random, n):  # type: ignore[no-untyped-def]
    return np.int64(((draw_bits(random) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@_compiled
def draw_share(random):  # type: ignore[no-untyped-def]
    return (np.float64(draw_bits(random) >> np.uint64(12)) + 0.5) * 2.0**-52


@_compiled
def price(offsets, low, high, prices, penalty, row, total):  # type: ignore[no-untyped-def]
    """The entry of a row for a total; beyond its ends, `penalty` more a unit."""
    if total < low[row]:
        return prices[offsets[row]] + penalty * (low[row] - total)
    if total > high[row]:
        return prices[offsets[row + 1] - 1] + penalty * (total - high[row])
    return prices[offsets[row] + total - low[row]]


@_compiled
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


@_compiled
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


@_compiled
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


@_compiled
def change(offsets, low, high, scores, violations, penalty, totals, gains, row, by):  # type: ignore[no-untyped-def]
    """Change the total of a row and what it gains by one or two people more or less; returns the change in violation."""
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


@_compiled
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


@_compiled
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


@_compiled
def recount(ground, rules, chances, state):  # type: ignore[no-untyped-def]
    """Counts, totals, violation and levels of the list from scratch, so that no rounding error builds up."""
    state.counts[:] = 0
    state.totals[:] = 0
    prior = chances.log_total[state.figures[N]]
    for person in range(state.figures[N]):
        cell = state.people[person]
        prior += chances.log_prior[cell]
        state.counts[cell] += 1
        for k in range(ground.rows.shape[1]):
            if ground.rows[cell, k] < len(state.totals):
                state.totals[ground.rows[cell, k]] += 1
    score, violation = 0.0, 0
    low, high, offsets, scores, violations, penalty = rules
    for row in range(len(state.totals)):
        total = state.totals[row]
        violation += price(offsets, low, high, violations, 1, row, total)
        score += price(offsets, low, high, scores, -penalty, row, total)
        change(offsets, low, high, scores, violations, penalty, state.totals, state.gains, row, 0)
    state.levels[SCORE], state.levels[PRIOR] = score, prior
    state.figures[VIOLATION] = violation


@_compiled
def one_step_from(codes, sizes, strides, lookup, cell, random):  # type: ignore[no-untyped-def]
    """The cell with one attribute changed, any value being as likely; -1 if there is none."""
    attribute = draw_below(random, len(sizes))
    value = draw_below(random, sizes[attribute])
    at = (value - codes[cell, attribute]) * strides[attribute]
    for k in range(len(sizes)):
        at += strides[k] * codes[cell, k]
    return np.int64(lookup[at])


@_compiled
def exchanged(codes, strides, lookup, cell, other, mask):  # type: ignore[no-untyped-def]
    """The cell of `cell` with the attributes in the mask as `other` has them; -1 if there is none."""
    at = np.int64(0)
    for k in range(len(strides)):
        at += strides[k] * (codes[other, k] if (mask >> k) & 1 else codes[cell, k])
    return np.int64(lookup[at])


@_compiled
def walk(ground, rules, chances, pace, state, n_moves, thin, snapshots, heights):  # type: ignore[no-untyped-def]
    """Walk on by `n_moves` steps; every `thin`-th possible list is kept in `snapshots`, its level in `heights`.

    A walk that seeks cools from `hot` to `cold`, both factors on the log likelihood, and keeps the best possible list.
    """
    rows, codes, sizes, strides, lookup = ground
    low, high, offsets, scores, violations, penalty = rules
    log_prior, log_total, log_proposal, alias_share, alias = chances
    people, counts, totals, gains, figures, levels, random, best, sums, present, last = state
    up, down, twice_up, twice_down = gains[0], gains[1], gains[2], gains[3]
    n, violation, clock, held = figures[N], figures[VIOLATION], figures[CLOCK], figures[HELD]
    score, prior = levels[SCORE], levels[PRIOR]
    n_masks = (1 << len(sizes)) - 2
    kinds, factor, weight = pace.kinds, pace.hot, pace.prior_weight
    cooling = (pace.cold / pace.hot) ** (64.0 / max(n_moves, 1))
    since = 0
    for move in range(n_moves):
        if pace.seeks and move & 63 == 0:
            factor *= cooling
            weight = pace.prior_weight * factor
        share = draw_share(random)
        kind = 0
        while share >= kinds[kind]:
            kind += 1
        # What is tried: somebody goes from `old` to `new`, and somebody else from `other_old` to `other_new`.
        possible, first, second, correction, d_prior = True, np.int64(-1), np.int64(-1), 0.0, 0.0
        old, new, other_old, other_new = np.int64(-1), np.int64(-1), np.int64(-1), np.int64(-1)
        if kind == 2 and draw_bits(random) >> np.uint64(63):
            possible = n < len(people)
        elif kind < 3:
            possible = n > 0
            if possible:
                first = draw_below(random, n)
                old = np.int64(people[first])
        else:
            possible = n > 1 and (kind == 4 or n_masks > 0)
            if possible:
                first, second = draw_below(random, n), draw_below(random, n - 1)
                second += second >= first
                old, other_old = np.int64(people[first]), np.int64(people[second])
        if possible:
            if kind == 0:
                new = one_step_from(codes, sizes, strides, lookup, old, random)
                possible = new >= 0
            elif kind == 1 or (kind == 2 and first < 0):
                new = draw_below(random, len(alias))
                if draw_share(random) >= alias_share[new]:
                    new = np.int64(alias[new])
                correction = -log_proposal[new] + (log_proposal[old] if old >= 0 else 0.0)
            elif kind == 2:
                correction = log_proposal[old]
            elif kind == 3:
                mask = 1 + draw_below(random, n_masks)
                new = exchanged(codes, strides, lookup, old, other_old, mask)
                other_new = exchanged(codes, strides, lookup, other_old, old, mask)
                possible = new >= 0 and other_new >= 0
            else:
                new = one_step_from(codes, sizes, strides, lookup, old, random)
                other_new = one_step_from(codes, sizes, strides, lookup, other_old, random)
                possible = new >= 0 and other_new >= 0
        if possible and old != new and (second < 0 or (other_old != other_new and old != other_new)):
            if kind == 2:
                d_prior = log_total[n + (1 if old < 0 else -1)] - log_total[n]
            if new >= 0:
                d_prior += log_prior[new]
            if old >= 0:
                d_prior -= log_prior[old]
            if second < 0:
                gain = gain_of(rows, up, down, old, new)
            else:
                d_prior += log_prior[other_new] - log_prior[other_old]
                gain = gain_of_two(rows, up, down, twice_up, twice_down, old, new, other_old, other_new)
            log_ratio = gain * factor + weight * d_prior + (0.0 if pace.seeks else correction)
            if d_prior > -np.inf and (
                log_ratio >= 0 or (log_ratio > -40.0 and np.log(draw_share(random)) < log_ratio)
            ):
                score += gain
                prior += d_prior
                violation += shift(rows, offsets, low, high, scores, violations, penalty, totals, gains, old, new)
                count_in(counts, sums, present, last, clock, old, -1)
                count_in(counts, sums, present, last, clock, new, 1)
                if old < 0:
                    people[n] = new
                    n += 1
                elif new < 0:
                    n -= 1
                    people[first] = people[n]
                else:
                    people[first] = new
                if second >= 0:
                    violation += shift(
                        rows, offsets, low, high, scores, violations, penalty, totals, gains, other_old, other_new
                    )
                    count_in(counts, sums, present, last, clock, other_old, -1)
                    count_in(counts, sums, present, last, clock, other_new, 1)
                    people[second] = other_new
                if pace.seeks and violation == 0 and score + pace.prior_weight * prior > levels[BEST_OBJECTIVE] + 1e-9:
                    levels[BEST_OBJECTIVE] = score + pace.prior_weight * prior
                    figures[BEST] = n
                    best[:n] = people[:n]
        if violation == 0:
            # Possible states in the order of their visits are a chain of their own, with the right chances.
            clock += 1
            since += 1
            if since == thin and held < len(snapshots):
                snapshots[held, :n] = people[:n]
                snapshots[held, n:] = -1
                heights[held] = score + prior
                held += 1
                since = 0
    figures[N], figures[VIOLATION], figures[CLOCK], figures[HELD] = n, violation, clock, held
    levels[SCORE], levels[PRIOR] = score, prior
