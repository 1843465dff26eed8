"""Loops over sorted keys: how many records agree with a key, and the extreme over its completions.

The keys stand sorted, column by column ("level" by level), null (-1) first. Those that share a prefix are
a range of positions, found by binary search; the number of records in a range is a difference of sums.
A range is a node of a tree nobody builds.
"""

from __future__ import annotations

import numpy as np

from flou.engine.compiled import njit

#: A rule does not speak of this level.
ANY = -2
#: What a search found when no completion is coherent, and when it was given up.
INCOHERENT, GIVEN_UP = -1, -2

_compiled = njit(cache=True, nogil=True)


@_compiled
def _first_not_below(column, low, high, value):  # type: ignore[no-untyped-def]
    while low < high:
        middle = (low + high) >> 1
        if column[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@_compiled
def _end_of(column, low, high, value):  # type: ignore[no-untyped-def]
    """Where the block of `value` that begins at `low` ends; blocks are mostly short, so steps double."""
    step = 1
    while low + step < high and column[low + step] == value:
        low += step
        step *= 2
    return _first_not_below(column, low, min(low + step, high), value + 1)


@_compiled
def _ranges(levels, n_exact, n_known, key, wild, lows, highs, stack):  # type: ignore[no-untyped-def]
    """Ranges of keys that agree with `key` on its first `n_known` levels; a null agrees unless the level is exact."""
    n_found, top = 0, 0
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, levels.shape[1], 0
    top = 1
    while top:
        top -= 1
        low, high, level = stack[top, 0], stack[top, 1], stack[top, 2]
        if level == n_known:
            if n_found == len(lows):
                return -1
            lows[n_found], highs[n_found] = low, high
            n_found += 1
            continue
        column = levels[level]
        value = column[key]
        if wild and level >= n_exact and value != -1 and column[low] == -1:
            end = _end_of(column, low, high, -1)
            stack[top, 0], stack[top, 1], stack[top, 2] = low, end, level + 1
            top += 1
            low = end
        start = _first_not_below(column, low, high, value)
        if start < high and column[start] == value:
            stack[top, 0], stack[top, 1] = start, _end_of(column, start, high, value)
            stack[top, 2] = level + 1
            top += 1
    return n_found


@_compiled
def count_agreeing(levels, sums, n_exact, n_known, keys, wild, out):  # type: ignore[no-untyped-def]
    """For each key, the records that agree with it on its first levels, whatever they are on the others."""
    n_levels = levels.shape[0]
    stack = np.empty((n_levels + 2, 3), dtype=np.int64)
    lows, highs = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    for i in range(len(keys)):
        n = _ranges(levels, n_exact, n_known, keys[i], wild, lows, highs, stack)
        while n < 0:
            lows, highs = np.empty(2 * len(lows), dtype=np.int64), np.empty(2 * len(highs), dtype=np.int64)
            n = _ranges(levels, n_exact, n_known, keys[i], wild, lows, highs, stack)
        total = 0
        for r in range(n):
            total += sums[highs[r]] - sums[lows[r]]
        out[i] = total


@_compiled
def certain_of(levels, sums, low, high, level):  # type: ignore[no-untyped-def]
    """Records of a range that are null on every further level: they count whatever the completion."""
    while level < levels.shape[0] and low < high:
        if levels[level, low] != -1:
            return 0
        high = _end_of(levels[level], low, high, -1)
        level += 1
    return sums[high] - sums[low]


@_compiled
def forbidden(rules, live, chosen, n_known, level):  # type: ignore[no-untyped-def]
    """Whether a rule forbids what has been chosen up to `level`."""
    for r in range(len(rules)):
        if not live[r] or rules[r, level] != chosen[level]:
            continue
        hit = True
        for j in range(n_known, rules.shape[1]):
            if rules[r, j] != ANY and (j > level or rules[r, j] != chosen[j]):
                hit = False
                break
        if hit:
            return True
    return False


@_compiled
def candidates(levels, sums, sizes, rules, live, chosen, n_known, level, lows, highs):  # type: ignore[no-untyped-def]
    """Values worth trying on a level, the records that have each, and the records that are null there.

    These are the values that some record has, those that a rule speaks of, and one more to stand for all
    the others, which nobody has and no rule forbids.
    """
    column = levels[level]
    n_null = 0
    values, masses = np.empty(16, dtype=np.int32), np.empty(16, dtype=np.int64)
    n = 0
    for r in range(len(lows)):
        at, high = lows[r], highs[r]
        while at < high:
            value = column[at]
            end = _end_of(column, at, high, value)
            mass = sums[end] - sums[at]
            if value == -1:
                n_null += mass
            else:
                if n == len(values):
                    more_values, more_masses = np.empty(2 * n, dtype=np.int32), np.empty(2 * n, dtype=np.int64)
                    more_values[:n], more_masses[:n] = values, masses
                    values, masses = more_values, more_masses
                values[n], masses[n] = value, mass
                n += 1
            at = end
    n_mentioned = 0
    for r in range(len(rules)):
        n_mentioned += live[r] and rules[r, level] != ANY
    held = np.empty(n + n_mentioned + 1, dtype=np.int32)
    held[:n] = values[:n]
    mass_of = np.zeros(n + n_mentioned + 1, dtype=np.int64)
    mass_of[:n] = masses[:n]
    for r in range(len(rules)):
        if live[r] and rules[r, level] != ANY:
            held[n] = rules[r, level]
            n += 1
    order = np.argsort(held[:n])
    found, found_mass = np.empty(n + 1, dtype=np.int32), np.zeros(n + 1, dtype=np.int64)
    m = 0
    for k in range(n):
        if m and found[m - 1] == held[order[k]]:
            found_mass[m - 1] += mass_of[order[k]]
        else:
            found[m], found_mass[m] = held[order[k]], mass_of[order[k]]
            m += 1
    if m < sizes[level]:
        other = 0
        while other < m and found[other] == other:
            other += 1
        found[m], found_mass[m] = other, 0  # the smallest value that is not among them
        m += 1
    return found[:m], found_mass[:m], n_null


@_compiled
def all_ranges(levels, n_exact, n_known, key, lows, highs, stack):  # type: ignore[no-untyped-def]
    """The ranges of keys that agree with `key` where it is known, nulls as wildcards; room is made for them."""
    n = _ranges(levels, n_exact, n_known, key, True, lows, highs, stack)
    while n < 0:
        lows, highs = np.empty(2 * len(lows), dtype=np.int64), np.empty(2 * len(highs), dtype=np.int64)
        n = _ranges(levels, n_exact, n_known, key, True, lows, highs, stack)
    return n, lows, highs


@_compiled
def find_live(levels, rules, n_known, key, live):  # type: ignore[no-untyped-def]
    """Which rules what is known of `key` leaves possible."""
    for r in range(len(rules)):
        live[r] = True
        for j in range(n_known):
            if rules[r, j] != ANY and rules[r, j] != levels[j, key]:
                live[r] = False
                break


@_compiled
def narrow(column, lows, highs, value, new_lows, new_highs):  # type: ignore[no-untyped-def]
    """The parts of the ranges that agree with a value, being null there or having it; returns how many."""
    n = 0
    for r in range(len(lows)):
        low, high = lows[r], highs[r]
        if column[low] == -1:
            end = _end_of(column, low, high, -1)
            new_lows[n], new_highs[n] = low, end
            n += 1
            low = end
        start = _first_not_below(column, low, high, value)
        if start < high and column[start] == value:
            new_lows[n], new_highs[n] = start, _end_of(column, start, high, value)
            n += 1
    return n


@_compiled
def _search(levels, sums, sizes, rules, live, n_known, level, lows, highs, largest, chosen, best, state):  # type: ignore[no-untyped-def]
    """Try the completions of the levels from `level` on; keep the best figure in state[0] and its values in `best`.

    state[1] counts the ranges looked at, state[2] is how many may be.
    """
    n_levels = levels.shape[0]
    if level == n_levels:
        figure = 0
        for r in range(len(lows)):
            figure += sums[highs[r]] - sums[lows[r]]
        if state[0] < 0 or (figure > state[0] if largest else figure < state[0]):
            state[0] = figure
            best[:] = chosen
        return
    state[1] += len(lows)
    if state[1] > state[2]:
        return
    values, masses, n_null = candidates(levels, sums, sizes, rules, live, chosen, n_known, level, lows, highs)
    certain = 0
    if not largest:
        for r in range(len(lows)):
            certain += certain_of(levels, sums, lows[r], highs[r], level)
    order = np.argsort(-masses if largest else masses)
    column = levels[level]
    new_lows, new_highs = np.empty(2 * len(lows), dtype=np.int64), np.empty(2 * len(lows), dtype=np.int64)
    for k in range(len(order)):
        value, mass = values[order[k]], masses[order[k]]
        if state[0] >= 0:
            if largest and n_null + mass <= state[0]:
                return  # no completion with this value, or with a rarer one, can do better
            if not largest and certain >= state[0]:
                return
        chosen[level] = value
        if forbidden(rules, live, chosen, n_known, level):
            continue
        n = narrow(column, lows, highs, value, new_lows, new_highs)
        _search(
            levels, sums, sizes, rules, live, n_known, level + 1, new_lows[:n], new_highs[:n], largest, chosen, best,
            state,
        )  # fmt: skip
        if state[1] > state[2]:
            return


@_compiled
def find_extremes(levels, sums, sizes, rules, n_exact, n_known, keys, largest, budget, out, completions):  # type: ignore[no-untyped-def]
    """For each key, the largest or smallest figure over its coherent completions, and one that has it."""
    n_levels = levels.shape[0]
    stack = np.empty((n_levels + 2, 3), dtype=np.int64)
    lows, highs = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    live = np.empty(len(rules), dtype=np.bool_)
    state = np.empty(3, dtype=np.int64)
    for i in range(len(keys)):
        key = keys[i]
        n, lows, highs = all_ranges(levels, n_exact, n_known, key, lows, highs, stack)
        find_live(levels, rules, n_known, key, live)
        chosen = levels[:, key].copy()
        state[0], state[1], state[2] = INCOHERENT, 0, budget
        _search(
            levels, sums, sizes, rules, live, n_known, n_known, lows[:n], highs[:n], largest, chosen, completions[i],
            state,
        )  # fmt: skip
        if state[1] > budget:
            out[i:] = GIVEN_UP  # one is enough: the others need not be searched
            return
        out[i] = state[0]
