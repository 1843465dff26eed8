"""Which ways there are to change hidden figures so that all equations still hold, as far as primary cells need them.

Cells are hidden one after the other, the primary ones first, then those that are wanted least. A cell whose column of
the equations depends on those before it closes a circuit: a way to change it and others together. The first circuit
through a primary cell is all that this cell needs of the cells hidden so far; when each primary cell has one, all cells
that were not reached can be published. What is left are the circuits that came first for some cell, or told two cells
apart of which somebody knows one: a small basis for the search in `elimination_turns`.

The columns are factored into triangles as they come (Gilbert and Peierls 1988), modulo a prime. Whether a circuit
passes through a cell that still needs one is told by a weighted sum of its figures that is carried along; only if it is
not zero are they computed.
"""

from __future__ import annotations

import numpy as np

from flou.engine.compiled import njit
from flou.protect.table.elimination_field import PRIME, enlarge, fold, invert, pop, push, take_out

_compiled = njit(cache=True, nogil=True)


@_compiled
def find_circuits(starts, rows, signs, n_rows, sensitive, owner, weights):  # type: ignore[no-untyped-def]
    """Circuits that the sensitive cells need, and the cells for which there is none.

    Column i of the equations is `rows[starts[i]:starts[i + 1]]` with `signs`. `owner` numbers who knows a cell, -1 for
    nobody; `weights` is a random figure for each cell that is sensitive or known. Gives the circuits (starts, cells,
    figures), how many columns were looked at, and for each cell its class: -1 where no circuit passes through it, and
    the same number for cells whose figures change in proportion in all circuits found.
    """
    n = len(starts) - 1
    weights = weights.copy()
    row_left = np.zeros(n_rows, dtype=np.int64)
    for i in range(len(rows)):
        row_left[rows[i]] += 1
    # the factors: L by columns with the pivot's own row first, U by columns
    pivot_of = np.full(n_rows, -1, dtype=np.int64)
    l_starts, u_starts = np.zeros(n_rows + 1, dtype=np.int64), np.zeros(n_rows + 1, dtype=np.int64)
    l_rows, l_figures = np.empty(1024, dtype=np.int64), np.empty(1024, dtype=np.int64)
    u_pivots, u_figures = np.empty(1024, dtype=np.int64), np.empty(1024, dtype=np.int64)
    u_own, carried, column_of = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    n_pivots = 0
    figures, seen, touched = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.bool_), np.empty(n_rows + 1, np.int64)
    heap, used, amounts = np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    solved, on_heap = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.bool_)
    # the circuits and what they tell apart
    kept_starts, n_kept = np.zeros(1024, dtype=np.int64), 0
    kept_cells, kept_figures = np.empty(1024, dtype=np.int64), np.empty(1024, dtype=np.int64)
    class_of, scale = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    # of each class: how many cells, the sum of their owners' numbers (0 for nobody) and of its squares
    classes, n_classes = np.zeros((3 * n + 3, 3), dtype=np.int64), 0
    circuit, changes = np.empty(n_rows + 1, dtype=np.int64), np.empty(n_rows + 1, dtype=np.int64)
    n_open = np.int64(sensitive.sum())
    n_mixed = 0  # classes in which somebody who knows one cell would know others
    stale = False
    done = 0
    while done < n and (n_open > 0 or n_mixed > 0):
        c = done
        done += 1
        n_touched = 0
        for i in range(starts[c], starts[c + 1]):
            row = rows[i]
            row_left[row] -= 1
            figures[row] = signs[i]
            seen[row] = True
            touched[n_touched] = row
            n_touched += 1
        n_touched, n_used = take_out(
            figures, seen, touched, n_touched, heap, pivot_of, l_starts, l_rows, l_figures, used, amounts
        )
        alarm = weights[c]
        for i in range(n_used):
            alarm = fold(alarm + (PRIME - amounts[i]) * carried[used[i]])
        chosen, n_left = -1, 0
        for i in range(n_touched):
            row = touched[i]
            seen[row] = False
            if figures[row] == 0:
                continue
            n_left += 1
            # a row that few columns to come have fills up little
            if chosen < 0 or row_left[row] < row_left[chosen] or (row_left[row] == row_left[chosen] and row < chosen):
                chosen = row
        if chosen >= 0:  # independent of the columns before
            at = l_starts[n_pivots]
            l_rows, l_figures = enlarge(l_rows, at + n_left), enlarge(l_figures, at + n_left)
            own = invert(figures[chosen])
            l_rows[at], l_figures[at] = chosen, 1
            at += 1
            for i in range(n_touched):
                row = touched[i]
                if figures[row] and row != chosen:
                    l_rows[at], l_figures[at] = row, fold(figures[row] * own)
                    at += 1
                figures[row] = 0
            from_ = u_starts[n_pivots]
            u_pivots, u_figures = enlarge(u_pivots, from_ + n_used), enlarge(u_figures, from_ + n_used)
            u_pivots[from_ : from_ + n_used] = used[:n_used]
            u_figures[from_ : from_ + n_used] = amounts[:n_used]
            pivot_of[chosen], column_of[n_pivots] = n_pivots, c
            u_own[n_pivots], carried[n_pivots] = own, fold(alarm * own)
            n_pivots += 1
            l_starts[n_pivots], u_starts[n_pivots] = at, from_ + n_used
            continue
        if alarm == 0:
            continue
        # the circuit: 1 at the column itself, less what it takes of each pivot column
        circuit[0], changes[0], n_circuit = c, 1, 1
        n_heap = 0
        for i in range(n_used):
            solved[used[i]] = amounts[i]
            on_heap[used[i]] = True
            n_heap = push(heap, n_heap, -used[i])
        while n_heap:
            n_heap = pop(heap, n_heap)
            k = -heap[n_heap]
            on_heap[k] = False
            share = fold(solved[k] * u_own[k])
            solved[k] = 0
            if share == 0:
                continue
            circuit[n_circuit], changes[n_circuit] = column_of[k], PRIME - share
            n_circuit += 1
            for i in range(u_starts[k], u_starts[k + 1]):
                pivot = u_pivots[i]
                solved[pivot] = fold(solved[pivot] + (PRIME - share) * u_figures[i])
                if not on_heap[pivot]:
                    on_heap[pivot] = True
                    n_heap = push(heap, n_heap, -pivot)
        # cells that change for the first time make a class; classes that do not change in proportion fall apart
        news = False
        fresh = -1
        keys, n_keys = np.empty(n_circuit, dtype=np.int64), 0
        for i in range(n_circuit):
            cell = circuit[i]
            if not sensitive[cell] and owner[cell] < 0:
                continue
            if class_of[cell] < 0:
                if fresh < 0:
                    fresh = n_classes
                    n_classes += 1
                    news = True
                class_of[cell], scale[cell] = fresh, invert(changes[i])
                count_in(classes, fresh, owner[cell], 1)
                n_open -= sensitive[cell]
            elif class_of[cell] != fresh and is_mixed(classes, class_of[cell]):
                keys[n_keys] = (class_of[cell] << 31) + fold(changes[i] * scale[cell])
                n_keys += 1
        if fresh >= 0:
            n_mixed += is_mixed(classes, fresh)
        keys = np.unique(keys[:n_keys])
        if n_keys:
            n_mixed, n_classes, apart = split_classes(
                keys, circuit, changes, n_circuit, class_of, scale, owner, classes, n_mixed, n_classes
            )
            news = news or apart
        if news:
            stale = True
            at = kept_starts[n_kept]
            kept_starts = enlarge(kept_starts, n_kept + 2)
            kept_cells, kept_figures = enlarge(kept_cells, at + n_circuit), enlarge(kept_figures, at + n_circuit)
            kept_cells[at : at + n_circuit] = circuit[:n_circuit]
            kept_figures[at : at + n_circuit] = changes[:n_circuit]
            n_kept += 1
            kept_starts[n_kept] = at + n_circuit
        elif stale:  # an alarm for nothing: cells that need no more circuits lose their weight
            stale = False
            for i in range(n):
                cls = class_of[i]
                if cls >= 0 and not is_mixed(classes, cls):
                    weights[i] = 0
            for k in range(n_pivots):
                total = weights[column_of[k]]
                for i in range(u_starts[k], u_starts[k + 1]):
                    total = fold(total + (PRIME - u_figures[i]) * carried[u_pivots[i]])
                carried[k] = fold(total * u_own[k])
    n_entries = kept_starts[n_kept]
    return kept_starts[: n_kept + 1], kept_cells[:n_entries], kept_figures[:n_entries], done, class_of


@_compiled
def split_classes(  # type: ignore[no-untyped-def]
    keys, circuit, changes, n_circuit, class_of, scale, owner, classes, n_mixed, n_classes
):
    """Split classes by how much their cells change in a circuit; `keys` are the pairs of class and ratio that occur.

    Gives how many classes hold a known cell beside others, how many classes there are, and whether any was split.
    """
    apart = False
    first = 0
    while first < len(keys):
        cls = keys[first] >> 31
        last = first
        while last < len(keys) and keys[last] >> 31 == cls:
            last += 1
        n_changed = 0
        for i in range(n_circuit):
            cell = circuit[i]
            n_changed += class_of[cell] == cls
        if last - first == 1 and n_changed == classes[cls, 0]:  # all in proportion
            first = last
            continue
        apart = True
        n_mixed -= 1
        # those that do not change keep the number; if there are none, one of the ratios does
        staying = keys[first] if n_changed == classes[cls, 0] else -1
        base = n_classes
        n_classes += last - first
        for i in range(n_circuit):
            cell = circuit[i]
            if class_of[cell] != cls:
                continue
            key = (cls << 31) + fold(changes[i] * scale[cell])
            if key == staying:
                continue
            part = base + np.searchsorted(keys[first:last], key)
            class_of[cell] = part
            count_in(classes, cls, owner[cell], -1)
            count_in(classes, part, owner[cell], 1)
        n_mixed += is_mixed(classes, cls)
        for part in range(base, n_classes):
            n_mixed += is_mixed(classes, part)
        first = last
    return n_mixed, n_classes, apart


@_compiled
def count_in(classes, cls, owner, more):  # type: ignore[no-untyped-def]
    """Count a cell in to a class, or out of it."""
    classes[cls, 0] += more
    classes[cls, 1] += more * (owner + 1)
    classes[cls, 2] += more * (owner + 1) * (owner + 1)


@_compiled
def is_mixed(classes, cls):  # type: ignore[no-untyped-def]
    """Whether a class holds cells of several owners, or of one and nobody (Cauchy-Schwarz is no equality)."""
    return classes[cls, 0] * classes[cls, 2] != classes[cls, 1] * classes[cls, 1]
