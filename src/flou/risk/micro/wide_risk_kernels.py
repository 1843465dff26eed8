"""The extreme individual risk over the completions of a key: the search of `wide_kernels`, counts and weights at once.

The risk falls when more records share the key, and when they stand for more people. So the records that must count
bound it from above, and those that may count bound it from below.
"""

from __future__ import annotations

import math

import numpy as np

from flou.engine.compiled import njit
from flou.risk.micro.benedetti_franconi import RECURSION, TERMS
from flou.risk.micro.wide_kernels import all_ranges, candidates, certain_of, find_live, forbidden, narrow

#: What a search found when no completion is coherent, and when it was given up.
INCOHERENT, GIVEN_UP = -1.0, -2.0

_compiled = njit(cache=True, nogil=True)


@_compiled
def risk_of(frequency, people):  # type: ignore[no-untyped-def]
    """E[1/F | f], one at a time; see `benedetti_franconi`."""
    f = float(frequency)
    p = f / people
    if p >= 1.0:
        return 1.0 / f
    q = 1.0 - p
    if p < 0.5 and frequency <= RECURSION:
        risk = -p * math.log(p) / q
        for k in range(1, frequency):
            risk = p / q * (1.0 / k - risk)
        return risk
    term, total = 1.0, 1.0
    for k in range(1, TERMS):
        term *= k * q / (f + k)
        total += term
    return p / f * total


@_compiled
def _search(levels, sums, weights, unit, sizes, rules, live, n_known, level, lows, highs, largest, chosen, state):  # type: ignore[no-untyped-def]
    """Try the completions of the levels from `level` on; keep the extreme risk in state[0].

    state[1] counts the ranges looked at, state[2] is how many may be.
    """
    if level == levels.shape[0]:
        frequency, people = 0, 0
        for r in range(len(lows)):
            frequency += sums[highs[r]] - sums[lows[r]]
            people += weights[highs[r]] - weights[lows[r]]
        risk = risk_of(frequency, people * unit)
        if state[0] < 0 or (risk > state[0] if largest else risk < state[0]):
            state[0] = risk
        return
    state[1] += len(lows)
    if state[1] > state[2]:
        return
    values, masses, n_null = candidates(levels, sums, sizes, rules, live, chosen, n_known, level, lows, highs)
    _, heavy, null_people = candidates(levels, weights, sizes, rules, live, chosen, n_known, level, lows, highs)
    certain, certain_people = 0, 0
    if largest:
        for r in range(len(lows)):
            certain += certain_of(levels, sums, lows[r], highs[r], level)
            certain_people += certain_of(levels, weights, lows[r], highs[r], level)
    # the rarest values first where the risk is to be large
    order = np.argsort(masses if largest else -masses)
    column = levels[level]
    new_lows, new_highs = np.empty(2 * len(lows), dtype=np.int64), np.empty(2 * len(lows), dtype=np.int64)
    for k in range(len(order)):
        value = values[order[k]]
        if state[0] >= 0:
            if largest and certain > 0 and risk_of(certain, certain_people * unit) <= state[0]:
                return
            if not largest:
                most, most_people = n_null + masses[order[k]], null_people + heavy[order[k]]
                if most > 0 and risk_of(most, most_people * unit) >= state[0]:
                    continue  # a value with fewer records may still stand for more people
        chosen[level] = value
        if forbidden(rules, live, chosen, n_known, level):
            continue
        n = narrow(column, lows, highs, value, new_lows, new_highs)
        _search(
            levels, sums, weights, unit, sizes, rules, live, n_known, level + 1, new_lows[:n], new_highs[:n], largest,
            chosen, state,
        )  # fmt: skip
        if state[1] > state[2]:
            return


@_compiled
def find_extreme_risks(levels, sums, weights, unit, sizes, rules, n_exact, n_known, keys, largest, budget, out):  # type: ignore[no-untyped-def]
    """For each key the largest or smallest risk over its coherent completions."""
    stack = np.empty((levels.shape[0] + 2, 3), dtype=np.int64)
    lows, highs = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    live = np.empty(len(rules), dtype=np.bool_)
    state = np.empty(3, dtype=np.float64)
    for i in range(len(keys)):
        key = keys[i]
        n, lows, highs = all_ranges(levels, n_exact, n_known, key, lows, highs, stack)
        find_live(levels, rules, n_known, key, live)
        chosen = levels[:, key].copy()
        state[0], state[1], state[2] = INCOHERENT, 0, budget
        _search(
            levels, sums, weights, unit, sizes, rules, live, n_known, n_known, lows[:n], highs[:n], largest, chosen,
            state,
        )  # fmt: skip
        if state[1] > budget:
            out[i:] = GIVEN_UP  # one is enough: the others need not be searched
            return
        out[i] = state[0]
