"""Loops of the random walk over counts: steps of one or two people, accepted as Metropolis and Hastings do.

The walk holds a list of people, each in a cell. A vector of counts x has n!/(x_1! x_2! ...) such lists; when all of
them share its chance evenly, the multinomial prior n! prod pi_i^x_i / x_i! of the vector is prod pi of the people's
cells in a list: factorials vanish, and a step that is symmetric between people needs no correction. Rows that a step
leaves outside of what they allow cost `penalty` a unit, so that the walk gets from one possible vector to another
through impossible ones, which are never counted (Dobra 2003 has the swaps that connect tables of fixed margins).

Where people share their noise, a step that the rows accept one by one is then accepted, or not, by what the sets of
people change about it: two stages, with the right chances together (Christen and Fox 2005).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flou.attack.table.rebuild.ground import Int32s
from flou.attack.table.rebuild.shared_noise_kernel import CONFLICTS, SURPLUS, follow, gather
from flou.attack.table.rebuild.step_kernel import (
    change,
    compiled,
    count_in,
    draw_below,
    draw_bits,
    draw_share,
    exchanged,
    gain_of,
    gain_of_two,
    one_step_from,
    price,
    shift,
)
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


@compiled
def recount(ground, rules, chances, sharing, state, sets):  # type: ignore[no-untyped-def]
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
    gather(sharing, state.people, state.figures[N], sets)
    score += sets.levels[SURPLUS] - penalty * sets.levels[CONFLICTS]
    state.levels[SCORE], state.levels[PRIOR] = score, prior
    state.figures[VIOLATION] = violation + np.int64(sets.levels[CONFLICTS])


@compiled
def walk(ground, rules, chances, sharing, pace, state, sets, n_moves, thin, snapshots, heights):  # type: ignore[no-untyped-def]
    """Walk on by `n_moves` steps; every `thin`-th possible list is kept in `snapshots`, its level in `heights`.

    A walk that seeks cools from `hot` to `cold`, both factors on the log likelihood, and keeps the best possible list.
    """
    rows, codes, sizes, strides, lookup = ground
    low, high, offsets, scores, violations, penalty = rules
    log_prior, log_total, log_proposal, alias_share, alias = chances
    people, counts, totals, gains, figures, levels, random, best, sums, present, last = state
    s_rows, s_starts, shown, s_spans, s_scores, tempered = sharing
    words, s_sums, s_totals, slots, s_held, s_levels = sets
    shares = s_rows.shape[1] > 0
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
            taken = d_prior > -np.inf and (
                log_ratio >= 0 or (log_ratio > -40.0 and np.log(draw_share(random)) < log_ratio)
            )
            if taken and shares:
                # The second stage: the sets of people follow, and go back if what they change speaks against it.
                surplus, conflicts = s_levels[SURPLUS], s_levels[CONFLICTS]
                word = words[first if first >= 0 else n]
                follow(
                    s_rows, s_starts, shown, s_spans, s_scores, tempered, s_sums, s_totals, slots, s_held, s_levels,
                    word, old, new
                )  # fmt: skip
                if second >= 0:
                    follow(
                        s_rows, s_starts, shown, s_spans, s_scores, tempered, s_sums, s_totals, slots, s_held,
                        s_levels, words[second], other_old, other_new
                    )  # fmt: skip
                beyond = s_levels[SURPLUS] - surplus - penalty * (s_levels[CONFLICTS] - conflicts)
                log_ratio = beyond * factor
                taken = log_ratio >= 0 or (log_ratio > -40.0 and np.log(draw_share(random)) < log_ratio)
                if taken:
                    gain += beyond
                    violation += np.int64(s_levels[CONFLICTS] - conflicts)
                    if new < 0:
                        words[first], words[n - 1] = words[n - 1], word
                else:
                    if second >= 0:
                        follow(
                            s_rows, s_starts, shown, s_spans, s_scores, tempered, s_sums, s_totals, slots, s_held,
                            s_levels, words[second], other_new, other_old
                        )  # fmt: skip
                    follow(
                        s_rows, s_starts, shown, s_spans, s_scores, tempered, s_sums, s_totals, slots, s_held,
                        s_levels, word, new, old
                    )  # fmt: skip
                    s_levels[SURPLUS], s_levels[CONFLICTS] = surplus, conflicts
            if taken:
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
