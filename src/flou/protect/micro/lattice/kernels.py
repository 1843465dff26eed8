"""Compiled loops over distinct keys: bringing them to a node's levels, and adding up what a node's classes cost."""

from __future__ import annotations

import numpy as np

from flou.engine.compiled import njit

_compiled = njit(cache=True, nogil=True)
#: Codes that fit in so many places are numbered by a table, others by hashing.
DENSE = 1 << 16


@_compiled
def pack_rows(codes, up, starts, strides, rows):  # type: ignore[no-untyped-def]
    """One integer a row from the codes of its columns at a node; columns with stride 0 are left out."""
    packed = np.zeros(len(rows), dtype=np.int64)
    for j in range(len(starts)):
        start, stride = starts[j], strides[j]
        if stride == 0:
            continue
        column = codes[j]
        for i in range(len(rows)):
            packed[i] += stride * up[start + column[rows[i]]]
    return packed


@_compiled
def number(packed, room, place):  # type: ignore[no-untyped-def]
    """The number of each packed key among the distinct ones, in order of appearance; returns how many there are."""
    n = 0
    if room <= DENSE:
        table = np.full(room, -1, dtype=np.int32)
        for i in range(len(packed)):
            p = packed[i]
            if table[p] < 0:
                table[p] = n
                n += 1
            place[i] = table[p]
        return n
    size = 16
    while size < 2 * len(packed):
        size *= 2
    slots, keys = np.full(size, -1, dtype=np.int32), np.empty(len(packed), dtype=np.int64)
    for i in range(len(packed)):
        p = packed[i]
        h = np.int64((np.uint64(p) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & (size - 1)
        while True:
            s = slots[h]
            if s < 0:
                slots[h], keys[n], place[i] = n, p, n
                n += 1
                break
            if keys[s] == p:
                place[i] = s
                break
            h = (h + 1) & (size - 1)
    return n


@_compiled
def roll_up(codes, up, starts, strides, room, rows, counts):  # type: ignore[no-untyped-def]
    """Classes at a node from those of a finer one: a row that shows each class, its records, and each one's place."""
    packed = pack_rows(codes, up, starts, strides, rows)
    place = np.empty(len(rows), dtype=np.int32)
    n = number(packed, room, place)
    first, total = np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.int64)
    for i in range(len(rows)):
        c = place[i]
        if first[c] < 0:
            first[c] = rows[i]
        total[c] += counts[i]
    return first, total, place


@_compiled
def add_up(codes, leaves, starts, rows, counts, failing):  # type: ignore[no-untyped-def]
    """Records of failing classes; of the others their number, the sum of squared sizes, and leaves per column."""
    n_failing, n_classes, squares = 0, 0, 0.0
    shown = np.zeros(len(starts), dtype=np.int64)
    for i in range(len(rows)):
        if failing[i]:
            n_failing += counts[i]
            continue
        n_classes += 1
        squares += float(counts[i]) * float(counts[i])
        for j in range(len(starts)):
            shown[j] += leaves[starts[j] + codes[j, rows[i]]] * counts[i]
    return n_failing, n_classes, squares, shown


@_compiled
def add_up_by_size(codes, leaves, starts, rows, counts, top):  # type: ignore[no-untyped-def]
    """By size of a class, up to `top` (larger ones with it): records, classes, squared sizes, leaves per column."""
    records, classes = np.zeros(top + 1, dtype=np.int64), np.zeros(top + 1, dtype=np.int64)
    squares, shown = np.zeros(top + 1), np.zeros((top + 1, len(starts)), dtype=np.int64)
    for i in range(len(rows)):
        size = min(counts[i], top)
        records[size] += counts[i]
        classes[size] += 1
        squares[size] += float(counts[i]) * float(counts[i])
        for j in range(len(starts)):
            shown[size, j] += leaves[starts[j] + codes[j, rows[i]]] * counts[i]
    return records, classes, squares, shown


@_compiled
def spread_of(codes, up, starts, sizes, rows, counts, failing):  # type: ignore[no-untyped-def]
    """For each column the entropy, in bits times records, of what failing classes would have shown."""
    out = np.zeros(len(starts))
    total = 0
    for i in range(len(rows)):
        if failing[i]:
            total += counts[i]
    for j in range(len(starts)):
        seen = np.zeros(sizes[j], dtype=np.int64)
        for i in range(len(rows)):
            if failing[i]:
                seen[up[starts[j] + codes[j, rows[i]]]] += counts[i]
        for v in range(sizes[j]):
            if seen[v] > 0:
                out[j] -= seen[v] * np.log2(seen[v] / total)
    return out
