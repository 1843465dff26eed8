"""Cells take turns to be published, the most wanted first, unless that would disclose a sensitive one (Langsrud 2024).

Each hidden figure is a sum of multiples of a few free ones, its row. What is published is known, and so is what its
rows span; in what is left, rows are taken modulo them. Publishing a cell would disclose exactly the cells whose rows
are multiples of its own. It would disclose a cell to somebody who knows another one if the two rows become multiples of
each other. Then the cell stays hidden: it is suppressed for the sake of the others.

Rows of sensitive and of known cells are kept up to date at each step, the others are brought up to date when their turn
comes. Whether a cell can be recomputed exactly is all that is looked at: how narrowly it can be bounded is not.
"""

from __future__ import annotations

import numpy as np

from flou.engine.compiled import njit
from flou.protect.table.elimination_field import PRIME, enlarge, fold, invert, take_out

_compiled = njit(cache=True, nogil=True)


@_compiled
def take_turns(starts, places, figures, n_free, n_fixed, sensitive, owner, weights):  # type: ignore[no-untyped-def]
    """Which cells stay hidden, and the rows of the sensitive and known ones in the end.

    Row i is `places[starts[i]:starts[i + 1]]`, ascending, with `figures`. The first `n_fixed` cells are hidden in any
    case; the others have their turn from the last to the first. `owner` numbers who knows a cell, -1 for nobody;
    `weights` is a random figure for each place. Gives hidden, and beginnings, lengths, places and figures of the rows.
    """
    n = len(starts) - 1
    hidden = np.zeros(n, dtype=np.bool_)
    hidden[:n_fixed] = True
    anyone = np.any(owner >= 0)
    # rows that are kept up to date lie in a pool; what a row was before is left there until there is no room
    begins, lengths, marks = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    pool_places, pool_figures, end = np.empty(1024, np.int64), np.empty(1024, np.int64), 0
    # which rows have a place: a chain for each; rows that lost the place stay in it
    heads, n_chained, links = np.full(n_free, -1, np.int64), np.zeros(n_free, np.int64), 0
    link_next, link_row = np.empty(1024, np.int64), np.empty(1024, np.int64)
    n_live = 0
    for i in range(n):
        if not sensitive[i] and owner[i] < 0:
            continue
        size = starts[i + 1] - starts[i]
        pool_places, pool_figures = enlarge(pool_places, end + size), enlarge(pool_figures, end + size)
        pool_places[end : end + size] = places[starts[i] : starts[i + 1]]
        pool_figures[end : end + size] = figures[starts[i] : starts[i + 1]]
        begins[i], lengths[i] = end, size
        marks[i] = mark_row(pool_places, pool_figures, end, size, weights)
        link_next, link_row = enlarge(link_next, links + size), enlarge(link_row, links + size)
        for j in range(end, end + size):
            links = chain(heads, n_chained, link_next, link_row, links, pool_places[j], i)
        end += size
        n_live += size
    # the rows of published cells
    pivot_of = np.full(n_free, -1, dtype=np.int64)
    p_starts, n_pivots = np.zeros(n_free + 1, dtype=np.int64), 0
    p_places, p_figures = np.empty(1024, dtype=np.int64), np.empty(1024, dtype=np.int64)
    row, seen, touched = np.zeros(n_free, np.int64), np.zeros(n_free, np.bool_), np.empty(n_free + 1, np.int64)
    heap, used, amounts = np.empty(n_free + 1, np.int64), np.empty(n_free, np.int64), np.empty(n_free, np.int64)
    changed, new_begins = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    new_lengths, new_marks = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    number = np.full(n, -1, dtype=np.int64)
    for c in range(n - 1, n_fixed - 1, -1):
        n_touched = starts[c + 1] - starts[c]
        for i in range(n_touched):
            place = places[starts[c] + i]
            touched[i], row[place], seen[place] = place, figures[starts[c] + i], True
        n_touched, _ = take_out(
            row, seen, touched, n_touched, heap, pivot_of, p_starts, p_places, p_figures, used, amounts
        )
        at = p_starts[n_pivots]
        p_places, p_figures = enlarge(p_places, at + n_touched), enlarge(p_figures, at + n_touched)
        size, own = 0, -1
        for place in np.sort(touched[:n_touched]):
            seen[place] = False
            if row[place]:
                p_places[at + size], p_figures[at + size] = place, row[place]
                if own < 0 or n_chained[place] < n_chained[p_places[at + own]]:
                    own = size
                size += 1
            row[place] = 0
        if size == 0:  # known already
            continue
        rescale = invert(p_figures[at + own])
        for i in range(at, at + size):
            p_figures[i] = fold(p_figures[i] * rescale)
        # what the sensitive rows would be
        if end > 4 * n_live + 4096:
            pool_places, pool_figures, end = tidy(pool_places, pool_figures, begins, lengths, n_live)
        pivot, tail, n_changed, told = p_places[at + own], end, 0, False
        link = heads[pivot]
        while link >= 0:
            i = link_row[link]
            link = link_next[link]
            if number[i] >= 0:
                continue
            amount = find_figure(pool_places, pool_figures, begins[i], lengths[i], pivot)
            if amount == 0:
                continue
            room = tail + lengths[i] + size
            pool_places, pool_figures = enlarge(pool_places, room), enlarge(pool_figures, room)
            left = subtract(
                pool_places, pool_figures, begins[i], lengths[i], p_places, p_figures, at, size, amount, tail
            )
            if left == 0 and sensitive[i]:
                told = True
                break
            number[i] = n_changed
            changed[n_changed], new_begins[n_changed], new_lengths[n_changed] = i, tail, left
            if anyone:
                new_marks[n_changed] = mark_row(pool_places, pool_figures, tail, left, weights)
            n_changed += 1
            tail += left
        if anyone and not told and n_changed:
            told = tells_apart(
                changed, n_changed, new_begins, new_lengths, new_marks, number, begins, lengths, marks, pool_places,
                pool_figures, heads, n_chained, link_next, link_row, sensitive, owner,
            )  # fmt: skip
        if told:
            hidden[c] = True
        else:
            # the pivot's own place first
            p_places[at], p_places[at + own] = p_places[at + own], p_places[at]
            p_figures[at], p_figures[at + own] = p_figures[at + own], p_figures[at]
            pivot_of[pivot] = n_pivots
            n_pivots += 1
            p_starts[n_pivots] = at + size
            for k in range(n_changed):
                i = changed[k]
                link_next = enlarge(link_next, links + new_lengths[k])
                link_row = enlarge(link_row, links + new_lengths[k])
                old, stop = begins[i], begins[i] + lengths[i]
                for j in range(new_begins[k], new_begins[k] + new_lengths[k]):
                    while old < stop and pool_places[old] < pool_places[j]:
                        old += 1
                    if old == stop or pool_places[old] != pool_places[j]:
                        links = chain(heads, n_chained, link_next, link_row, links, pool_places[j], i)
                n_live += new_lengths[k] - lengths[i]
                begins[i], lengths[i], marks[i] = new_begins[k], new_lengths[k], new_marks[k]
            end = tail
        for k in range(n_changed):
            number[changed[k]] = -1
    return hidden, begins, lengths, pool_places, pool_figures


@_compiled
def chain(heads, n_chained, link_next, link_row, links, place, row):  # type: ignore[no-untyped-def]
    """Note that a row has a place."""
    link_next[links], link_row[links] = heads[place], row
    heads[place] = links
    n_chained[place] += 1
    return links + 1


@_compiled
def mark_row(places, figures, begin, size, weights):  # type: ignore[no-untyped-def]
    """A weighted sum that is the same for all multiples of a row."""
    if size == 0:
        return 0
    total = 0
    for j in range(begin, begin + size):
        total = fold(total + figures[j] * weights[places[j]])
    return fold(total * invert(figures[begin]))


@_compiled
def find_figure(places, figures, begin, size, place):  # type: ignore[no-untyped-def]
    """The figure of a row at a place, 0 if it has none."""
    low, high = begin, begin + size
    while low < high:
        middle = (low + high) >> 1
        if places[middle] < place:
            low = middle + 1
        else:
            high = middle
    return figures[low] if low < begin + size and places[low] == place else 0


@_compiled
def subtract(places, figures, begin, size, less_places, less_figures, at, n_less, amount, tail):  # type: ignore[no-untyped-def]
    """Write a row less a multiple of another behind the pool's end; gives its length."""
    i, stop, j, last = begin, begin + size, at, at + n_less
    factor, n = PRIME - amount, 0
    while i < stop or j < last:
        if j == last or (i < stop and places[i] < less_places[j]):
            place, figure = places[i], figures[i]
            i += 1
        elif i == stop or less_places[j] < places[i]:
            place, figure = less_places[j], fold(factor * less_figures[j])
            j += 1
        else:
            place, figure = places[i], fold(figures[i] + factor * less_figures[j])
            i += 1
            j += 1
        if figure:
            places[tail + n], figures[tail + n] = place, figure
            n += 1
    return n


@_compiled
def are_multiples(places, figures, first, second, size):  # type: ignore[no-untyped-def]
    """Whether two rows of the same length are multiples of each other."""
    for j in range(size):
        if places[first + j] != places[second + j]:
            return False
        if fold(figures[first] * figures[second + j]) != fold(figures[second] * figures[first + j]):
            return False
    return True


@_compiled
def matters(i, j, sensitive, owner):  # type: ignore[no-untyped-def]
    """Whether somebody who knows one of two cells must not compute the other."""
    if i == j or owner[i] == owner[j]:
        return False
    return (sensitive[i] and owner[j] >= 0) or (sensitive[j] and owner[i] >= 0)


@_compiled
def tells_apart(  # type: ignore[no-untyped-def]
    changed, n_changed, new_begins, new_lengths, new_marks, number, begins, lengths, marks, places, figures, heads,
    n_chained, link_next, link_row, sensitive, owner,
):  # fmt: skip
    """Whether a changed row becomes a multiple of another one, of two that must not be told from each other."""
    order = np.argsort(new_marks[:n_changed])
    for a in range(n_changed):
        k = order[a]
        for b in range(a + 1, n_changed):
            other = order[b]
            if new_marks[other] != new_marks[k]:
                break
            if new_lengths[k] != new_lengths[other] or new_lengths[k] == 0:
                continue
            if not matters(changed[k], changed[other], sensitive, owner):
                continue
            if are_multiples(places, figures, new_begins[k], new_begins[other], new_lengths[k]):
                return True
    for k in range(n_changed):
        i, size = changed[k], new_lengths[k]
        if size == 0:
            continue
        rarest = places[new_begins[k]]
        for j in range(new_begins[k], new_begins[k] + size):
            if n_chained[places[j]] < n_chained[rarest]:
                rarest = places[j]
        link = heads[rarest]
        while link >= 0:
            other = link_row[link]
            link = link_next[link]
            if number[other] >= 0 or lengths[other] != size or marks[other] != new_marks[k]:
                continue
            if not matters(i, other, sensitive, owner):
                continue
            if are_multiples(places, figures, new_begins[k], begins[other], size):
                return True
    return False


@_compiled
def tidy(places, figures, begins, lengths, n_live):  # type: ignore[no-untyped-def]
    """The pool without what rows were before."""
    new_places, new_figures = np.empty(2 * n_live + 1024, np.int64), np.empty(2 * n_live + 1024, np.int64)
    end = 0
    for i in range(len(begins)):
        size = lengths[i]
        new_places[end : end + size] = places[begins[i] : begins[i] + size]
        new_figures[end : end + size] = figures[begins[i] : begins[i] + size]
        begins[i] = end
        end += size
    return new_places, new_figures, end
