"""Loops of rank swapping and of drawing categories, and the sort that they need.

Each record brings its own random bits, a hash of its unit id; where one draw is not enough, further ones
follow from the same bits (SplitMix64, Steele, Lea & Flood 2014).
"""

from __future__ import annotations

import numpy as np

from flou.engine.compiled import njit

_compiled = njit(cache=True, nogil=True)
_TRIES = 32


_DIGIT = 11
_ALL = np.uint64((1 << _DIGIT) - 1)


@_compiled
def sort_stably(keys, order):  # type: ignore[no-untyped-def]
    """The places in `order`, sorted by the keys (64 bits) at these places; equal ones stay in their order.

    By digits from the last to the first, each a counting sort; digits that all keys share are passed over.
    """
    n = len(order)
    n_digits = (64 + _DIGIT - 1) // _DIGIT
    counts = np.zeros((n_digits, 1 << _DIGIT), dtype=np.int64)
    held = np.empty(n, dtype=np.uint64)
    for i in range(n):
        key = keys[order[i]]
        held[i] = key
        for d in range(n_digits):
            counts[d, (key >> np.uint64(d * _DIGIT)) & _ALL] += 1
    now, later, later_held = order.copy(), np.empty_like(order), np.empty_like(held)
    for d in range(n_digits):
        if counts[d].max() == n:
            continue
        total = 0
        for b in range(1 << _DIGIT):
            total, counts[d, b] = total + counts[d, b], total
        for i in range(n):
            digit = (held[i] >> np.uint64(d * _DIGIT)) & _ALL
            place = counts[d, digit]
            counts[d, digit] = place + 1
            later[place] = now[i]
            later_held[place] = held[i]
        now, later, held, later_held = later, now, later_held, held
    return now


@_compiled
def _next(state):  # type: ignore[no-untyped-def]
    """The state after one more draw, and the draw, uniform in [0, 1)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return state, np.float64(z >> np.uint64(11)) * 2.0**-53


@_compiled
def swap_ranks(starts, reaches, bits, partner):  # type: ignore[no-untyped-def]
    """Partners of sorted values: each not yet swapped with one drawn among those not yet swapped within reach above.

    Group g holds the ranks from `starts[g]` up to the next start; `bits` are the random bits of the value at
    each rank; `partner` begins as -1 everywhere and a value without a partner gets itself.
    """
    for g in range(len(starts) - 1):
        end = starts[g + 1]
        for i in range(starts[g], end):
            if partner[i] >= 0:
                continue
            last = min(i + reaches[g], end - 1)
            state, found = bits[i], np.int64(-1)
            # about seven in ten are free, so a few tries find one; each free one is as likely as any other
            for _ in range(_TRIES):
                state, u = _next(state)
                j = i + 1 + np.int64(u * (last - i))
                if last > i and partner[j] < 0:
                    found = j
                    break
            if found < 0:
                n_free = 0
                for k in range(i + 1, last + 1):
                    n_free += partner[k] < 0
                state, u = _next(state)
                wanted = np.int64(u * n_free)
                for k in range(i + 1, last + 1):
                    if partner[k] < 0:
                        if wanted == 0:
                            found = np.int64(k)
                            break
                        wanted -= 1
            if found < 0:
                partner[i] = i
            else:
                partner[i], partner[found] = found, i


@_compiled
def draw_targets(rows, uniforms, starts, thresholds, targets, out):  # type: ignore[no-untyped-def]
    """The new code of each record: the first target of its row whose threshold lies above the draw; -1 has no row."""
    for i in range(len(rows)):
        row = rows[i]
        if row < 0:
            continue
        low, high = starts[row], starts[row + 1] - 1
        while low < high:
            middle = (low + high) >> 1
            if uniforms[i] < thresholds[middle]:
                high = middle
            else:
                low = middle + 1
        out[i] = targets[low]
