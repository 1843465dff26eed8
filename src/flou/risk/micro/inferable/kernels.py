"""Predict a hidden value from the records that share some released values; permute these values within classes.

Records are grouped by the released values. What the others of a group show predicts the value of each treated record:
the most frequent label, or for amounts the median. `share` says how many of the others agree with the prediction.
A record with a weight stands for so many records alike.
"""

from __future__ import annotations

import numpy as np

from flou.engine.compiled import njit


@njit(cache=True)
def order_by_group(group, n_groups):  # type: ignore[no-untyped-def]
    """The rows of each group, in their order, and where each group begins."""
    starts = np.zeros(n_groups + 1, dtype=np.int64)
    for g in group:
        starts[g + 1] += 1
    for g in range(n_groups):
        starts[g + 1] += starts[g]
    place = starts[:-1].copy()
    rows = np.empty(group.size, dtype=np.int64)
    for i in range(group.size):
        rows[place[group[i]]] = i
        place[group[i]] += 1
    return rows, starts


@njit(cache=True)
def predict_labels(group, n_groups, label, n_labels, learn, treated, support, share, right):  # type: ignore[no-untyped-def]
    """Fill support, share and right: how many others there are, how many agree, and whether they are right.

    `learn` and `treated` are numbers of records: those that show their label, and those whose label is asked for.
    """
    rows, starts = order_by_group(group, n_groups)
    tally = np.zeros(n_labels, dtype=np.int64)
    for g in range(n_groups):
        first, last = starts[g], starts[g + 1]
        asked = False
        for j in range(first, last):
            asked = asked or treated[rows[j]] > 0
        if not asked:
            continue
        total = 0
        for j in range(first, last):
            i = rows[j]
            if learn[i] > 0:
                tally[label[i]] += learn[i]
                total += learn[i]
        best, second = -1, -1
        for j in range(first, last):
            i = rows[j]
            here = label[i]
            if learn[i] > 0 and here != best and here != second:
                if best < 0 or tally[here] > tally[best]:
                    best, second = here, best
                elif second < 0 or tally[here] > tally[second]:
                    second = here
        for j in range(first, last):
            i = rows[j]
            if treated[i] == 0:
                continue
            n, mode = total, best
            agree = tally[best] if best >= 0 else 0
            if learn[i] > 0 and treated[i] > 0 and learn[i] == treated[i]:
                # nobody is predicted from himself
                n -= 1
                if label[i] == best:
                    agree -= 1
                    if second >= 0 and tally[second] > agree:
                        mode, agree = second, tally[second]
            support[i] = n
            share[i] = agree / n if n > 0 else 0.0
            right[i] = n > 0 and mode == label[i]
        for j in range(first, last):
            if learn[rows[j]] > 0:
                tally[label[rows[j]]] = 0


@njit(cache=True)
def predict_amounts(group, n_groups, value, learn, treated, tolerance, support, share, right):  # type: ignore[no-untyped-def]
    """The same for amounts: the median of the others, and how many of them lie within the tolerance of it.

    The rows are in the order of their values, those without one last.
    """
    rows, starts = order_by_group(group, n_groups)
    held = np.empty(group.size, dtype=np.float64)
    for g in range(n_groups):
        total = 0
        asked = False
        for j in range(starts[g], starts[g + 1]):
            asked = asked or treated[rows[j]] > 0
            if learn[rows[j]] > 0:
                held[total] = value[rows[j]]
                total += 1
        if not asked:
            continue
        for j in range(starts[g], starts[g + 1]):
            i = rows[j]
            if treated[i] == 0:
                continue
            own = 1 if learn[i] > 0 else 0
            n = total - own
            support[i] = n
            if n <= 0:
                share[i], right[i] = 0.0, False
                continue
            middle = n // 2
            if own and np.searchsorted(held[:total], value[i]) <= middle:
                middle += 1
            median = held[middle]
            low = np.searchsorted(held[:total], median - tolerance[i])
            high = np.searchsorted(held[:total], median + tolerance[i], side="right")
            near = abs(value[i] - median) <= tolerance[i]
            agree = high - low - (own if near else 0)
            share[i] = agree / n
            right[i] = near


@njit(cache=True)
def tally(support, share, right, treated, secret, shares, supports, out):  # type: ignore[no-untyped-def]
    """Per share and support that are asked for: records predicted, predicted right, and of these the secret ones."""
    out[:] = 0
    for i in range(support.size):
        if treated[i] == 0:
            continue
        for t in range(shares.size):
            if share[i] < shares[t]:
                continue
            for m in range(supports.size):
                if support[i] >= supports[m]:
                    out[t, m, 0] += treated[i]
                    if right[i]:
                        out[t, m, 1] += treated[i]
                        if secret[i]:
                            out[t, m, 2] += treated[i]


@njit(cache=True)
def permute_within(rows, starts, seed, out):  # type: ignore[no-untyped-def]
    """A permutation that stays within classes, given as by `order_by_group`; the seed says which (splitmix64)."""
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0xD1B54A32D192ED03)
    held = rows.copy()
    for g in range(starts.size - 1):
        for j in range(starts[g + 1] - 1, starts[g], -1):
            state += np.uint64(0x9E3779B97F4A7C15)
            z = state
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
            other = starts[g] + np.int64(z % np.uint64(j - starts[g] + 1))
            held[j], held[other] = held[other], held[j]
    for j in range(rows.size):
        out[rows[j]] = held[j]
