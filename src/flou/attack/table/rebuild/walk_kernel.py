"""Loops of the random walk over counts: steps of one or two people, accepted as Metropolis and Hastings do.

The walk holds a list of people, each in a cell. A vector of counts x has n!/(x_1! x_2! ...) such lists; when all of
them share its chance evenly, the multinomial prior n! prod pi_i^x_i / x_i! of the vector is prod pi of the people's
cells in a list: factorials vanish, and a step that is symmetric between people needs no correction. Rows that a step
leaves outside of what they allow cost `penalty` a unit, so that the walk gets from one possible vector to another
through impossible ones, which are never counted (Dobra 2003 has the swaps that connect tables of fixed margins).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
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


@njit(cache=True, nogil=True)
def draw_bits(random):  # type: ignore[no-untyped-def]
    """64 random bits (splitmix64, Steele, Lea and Flood 2014: a hash of a counter)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def draw_below(random, n):  # type: ignore[no-untyped-def]
    return np.int64(((draw_bits(random) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def draw_share(random):  # type: ignore[no-untyped-def]
    return (np.float64(draw_bits(random) >> np.uint64(12)) + 0.5) * 2.0**-52


@njit(cache=True, nogil=True)
def draw_cell(chances, random):  # type: ignore[no-untyped-def]
    place = draw_below(random, len(chances.alias))
    return place if draw_share(random) < chances.alias_share[place] else np.int64(chances.alias[place])


@njit(cache=True, nogil=True)
def score_at(rules, row, total):  # type: ignore[no-untyped-def]
    low, high = rules.low[row], rules.high[row]
    if total < low:
        return rules.scores[rules.offsets[row]] - rules.penalty * (low - total)
    if total > high:
        return rules.scores[rules.offsets[row + 1] - 1] - rules.penalty * (total - high)
    return rules.scores[rules.offsets[row] + total - low]


@njit(cache=True, nogil=True)
def violation_at(rules, row, total):  # type: ignore[no-untyped-def]
    low, high = rules.low[row], rules.high[row]
    if total < low:
        return np.int64(rules.violations[rules.offsets[row]]) + low - total
    if total > high:
        return np.int64(rules.violations[rules.offsets[row + 1] - 1]) + total - high
    return np.int64(rules.violations[rules.offsets[row] + total - low])


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def gain_of(ground, rules, totals, old, new):  # type: ignore[no-untyped-def]
    """What the score gains when somebody goes from cell `old` to cell `new`; -1 is outside of all cells."""
    starts, rows = ground.starts, ground.rows
    a, a_end = (starts[old], starts[old + 1]) if old >= 0 else (0, 0)
    b, b_end = (starts[new], starts[new + 1]) if new >= 0 else (0, 0)
    gain = 0.0
    while a < a_end or b < b_end:
        if b == b_end or (a < a_end and rows[a] < rows[b]):
            row = rows[a]
            gain += score_at(rules, row, totals[row] - 1) - score_at(rules, row, totals[row])
            a += 1
        elif a == a_end or rows[b] < rows[a]:
            row = rows[b]
            gain += score_at(rules, row, totals[row] + 1) - score_at(rules, row, totals[row])
            b += 1
        else:
            a += 1
            b += 1
    return gain


@njit(cache=True, nogil=True)
def shift(ground, rules, state, old, new):  # type: ignore[no-untyped-def]
    """Let the totals follow somebody from cell `old` to cell `new`, and the violation with them."""
    starts, rows, totals = ground.starts, ground.rows, state.totals
    a, a_end = (starts[old], starts[old + 1]) if old >= 0 else (0, 0)
    b, b_end = (starts[new], starts[new + 1]) if new >= 0 else (0, 0)
    worse = 0
    while a < a_end or b < b_end:
        if b == b_end or (a < a_end and rows[a] < rows[b]):
            row, by = rows[a], -1
            a += 1
        elif a == a_end or rows[b] < rows[a]:
            row, by = rows[b], 1
            b += 1
        else:
            a += 1
            b += 1
            continue
        worse -= violation_at(rules, row, totals[row])
        totals[row] += by
        worse += violation_at(rules, row, totals[row])
    state.figures[VIOLATION] += worse


@njit(cache=True, nogil=True)
def count_in(state, cell, by):  # type: ignore[no-untyped-def]
    """Change a cell's count, after its old one has been counted for the states that had it."""
    since = state.figures[CLOCK] - state.last[cell]
    if state.counts[cell] > 0:
        state.sums[cell] += state.counts[cell] * since
        state.present[cell] += since
    state.last[cell] = state.figures[CLOCK]
    state.counts[cell] += by


@njit(cache=True, nogil=True)
def recount(ground, rules, chances, state):  # type: ignore[no-untyped-def]
    """Counts, totals, violation and levels of the list from scratch, so that no rounding error builds up."""
    state.counts[:] = 0
    state.totals[:] = 0
    prior = chances.log_total[state.figures[N]]
    for person in range(state.figures[N]):
        cell = state.people[person]
        prior += chances.log_prior[cell]
        state.counts[cell] += 1
        for at in range(ground.starts[cell], ground.starts[cell + 1]):
            state.totals[ground.rows[at]] += 1
    score, violation = 0.0, 0
    for row in range(len(state.totals)):
        score += score_at(rules, row, state.totals[row])
        violation += violation_at(rules, row, state.totals[row])
    state.levels[SCORE], state.levels[PRIOR] = score, prior
    state.figures[VIOLATION] = violation


@njit(cache=True, nogil=True)
def one_step_from(ground, cell, random):  # type: ignore[no-untyped-def]
    """The cell with one attribute changed, any value being as likely; -1 if there is none."""
    attribute = draw_below(random, len(ground.sizes))
    value = draw_below(random, ground.sizes[attribute])
    at = np.int64(0)
    for k in range(len(ground.sizes)):
        at += ground.strides[k] * (value if k == attribute else ground.codes[cell, k])
    return np.int64(ground.lookup[at])


@njit(cache=True, nogil=True)
def exchanged(ground, cell, other, mask):  # type: ignore[no-untyped-def]
    """The cell of `cell` with the attributes in the mask as `other` has them; -1 if there is none."""
    at = np.int64(0)
    for k in range(len(ground.sizes)):
        at += ground.strides[k] * (ground.codes[other, k] if (mask >> k) & 1 else ground.codes[cell, k])
    return np.int64(ground.lookup[at])


@njit(cache=True, nogil=True)
def accepts(random, log_ratio):  # type: ignore[no-untyped-def]
    return log_ratio >= 0 or (log_ratio > -40.0 and np.log(draw_share(random)) < log_ratio)


@njit(cache=True, nogil=True)
def try_one(ground, rules, chances, pace, cold, weight, state, kind):  # type: ignore[no-untyped-def]
    """Somebody goes to another cell, comes or leaves."""
    random, n = state.random, state.figures[N]
    person, old, new, correction = -1, -1, -1, 0.0
    d_prior = 0.0
    if kind == 2 and draw_bits(random) >> np.uint64(63):
        if n == len(state.people):
            return
        new = draw_cell(chances, random)
        correction = -chances.log_proposal[new]
        d_prior = chances.log_total[n + 1] - chances.log_total[n]
    else:
        if n == 0:
            return
        person = draw_below(random, n)
        old = np.int64(state.people[person])
        if kind == 2:
            correction = chances.log_proposal[old]
            d_prior = chances.log_total[n - 1] - chances.log_total[n]
        elif kind == 1:
            new = draw_cell(chances, random)
            correction = chances.log_proposal[old] - chances.log_proposal[new]
        else:
            new = one_step_from(ground, old, random)
            if new < 0:
                return
    if old == new or (new >= 0 and chances.log_prior[new] == -np.inf):
        return
    if new >= 0:
        d_prior += chances.log_prior[new]
    if old >= 0:
        d_prior -= chances.log_prior[old]
    gain = gain_of(ground, rules, state.totals, old, new)
    if not accepts(random, gain * cold + weight * d_prior + (0.0 if pace.seeks else correction)):
        return
    shift(ground, rules, state, old, new)
    state.levels[SCORE] += gain
    state.levels[PRIOR] += d_prior
    if old >= 0:
        count_in(state, old, -1)
    if new >= 0:
        count_in(state, new, 1)
    if old < 0:
        state.people[n] = new
        state.figures[N] = n + 1
    elif new < 0:
        state.people[person] = state.people[n - 1]
        state.figures[N] = n - 1
    else:
        state.people[person] = new


@njit(cache=True, nogil=True)
def try_two(ground, rules, chances, cold, weight, state, kind):  # type: ignore[no-untyped-def]
    """Two people exchange some attributes, or each changes one."""
    random, n = state.random, state.figures[N]
    n_attributes = len(ground.sizes)
    if n < 2 or (kind == 3 and n_attributes < 2):
        return
    first = draw_below(random, n)
    second = draw_below(random, n - 1)
    second += second >= first
    a, b = np.int64(state.people[first]), np.int64(state.people[second])
    if kind == 3:
        mask = 1 + draw_below(random, (1 << n_attributes) - 2)
        new_a, new_b = exchanged(ground, a, b, mask), exchanged(ground, b, a, mask)
    else:
        new_a, new_b = one_step_from(ground, a, random), one_step_from(ground, b, random)
    if new_a < 0 or new_b < 0 or new_a == a or new_b == b or (new_a == b and new_b == a):
        return
    log_prior = chances.log_prior
    if log_prior[new_a] == -np.inf or log_prior[new_b] == -np.inf:
        return
    d_prior = log_prior[new_a] + log_prior[new_b] - log_prior[a] - log_prior[b]
    gain = gain_of(ground, rules, state.totals, a, new_a)
    before = state.figures[VIOLATION]
    shift(ground, rules, state, a, new_a)
    gain += gain_of(ground, rules, state.totals, b, new_b)
    if not accepts(random, gain * cold + weight * d_prior):
        shift(ground, rules, state, new_a, a)
        state.figures[VIOLATION] = before
        return
    shift(ground, rules, state, b, new_b)
    state.levels[SCORE] += gain
    state.levels[PRIOR] += d_prior
    count_in(state, a, -1)
    count_in(state, b, -1)
    count_in(state, new_a, 1)
    count_in(state, new_b, 1)
    state.people[first], state.people[second] = new_a, new_b


@njit(cache=True, nogil=True)
def walk(ground, rules, chances, pace, state, n_moves, thin, snapshots, heights):  # type: ignore[no-untyped-def]
    """Walk on by `n_moves` steps; every `thin` steps a possible list is kept in `snapshots`, its levels in `heights`.

    A walk that seeks cools from `hot` to `cold`, both factors on the log likelihood, and keeps the best possible list.
    """
    figures, levels, kinds = state.figures, state.levels, pace.kinds
    cold = pace.hot
    cooling = (pace.cold / pace.hot) ** (64.0 / max(n_moves, 1))
    since = 0
    for move in range(n_moves):
        if pace.seeks and move & 63 == 0:
            cold *= cooling
        weight = pace.prior_weight * (cold if pace.seeks else 1.0)
        share = draw_share(state.random)
        kind = 0
        while share >= kinds[kind]:
            kind += 1
        if kind < 3:
            try_one(ground, rules, chances, pace, cold, weight, state, kind)
        else:
            try_two(ground, rules, chances, cold, weight, state, kind)
        since += 1
        if figures[VIOLATION] == 0:
            figures[CLOCK] += 1
            if pace.seeks:
                objective = levels[SCORE] + pace.prior_weight * levels[PRIOR]
                if objective > levels[BEST_OBJECTIVE] + 1e-9:
                    levels[BEST_OBJECTIVE] = objective
                    figures[BEST] = figures[N]
                    state.best[: figures[N]] = state.people[: figures[N]]
            elif since >= thin and figures[HELD] < len(snapshots):
                held = figures[HELD]
                snapshots[held, : figures[N]] = state.people[: figures[N]]
                snapshots[held, figures[N] :] = -1
                heights[held] = levels[SCORE] + levels[PRIOR]
                figures[HELD] = held + 1
        if since >= thin:
            since = 0
