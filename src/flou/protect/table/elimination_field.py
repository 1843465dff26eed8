"""Arithmetic modulo the prime 2^31 - 1, and the step that all eliminations share: taking known rows out of one.

Elimination over fractions grows them without bound, over floats it has to guess what is zero. Modulo a prime every
step is exact and every figure fits into a word; two products of such figures fit into 64 bits (as in the modular
methods of computer algebra, von zur Gathen and Gerhard 2013, chapter 5). It protects nothing by itself.
"""

from __future__ import annotations

import numpy as np

from flou.engine.compiled import njit

_compiled = njit(cache=True, nogil=True)

#: A Mersenne prime: remainders are found by shifts.
PRIME = 2**31 - 1
_BITS = 31


@_compiled
def fold(figure):  # type: ignore[no-untyped-def]
    """The remainder of a figure between 0 and 2^62."""
    figure = (figure & PRIME) + (figure >> _BITS)
    figure = (figure & PRIME) + (figure >> _BITS)
    return figure - PRIME if figure >= PRIME else figure


@_compiled
def invert(figure):  # type: ignore[no-untyped-def]
    """The reciprocal, by Fermat: the power PRIME - 2."""
    if figure == 1 or figure == PRIME - 1:
        return figure
    found, power, left = 1, figure, PRIME - 2
    while left:
        if left & 1:
            found = fold(found * power)
        power = fold(power * power)
        left >>= 1
    return found


@_compiled
def push(heap, n, number):  # type: ignore[no-untyped-def]
    """Put a number on a heap whose smallest one is on top; gives how many there are."""
    place = n
    while place > 0:
        above = (place - 1) >> 1
        if heap[above] <= number:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = number
    return n + 1


@_compiled
def pop(heap, n):  # type: ignore[no-untyped-def]
    """Take the smallest number from a heap; it is left behind the end. Gives how many there are."""
    n -= 1
    top, number = heap[0], heap[n]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n:
            break
        if below + 1 < n and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= number:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = number
    heap[n] = top
    return n


@_compiled
def enlarge(array, n):  # type: ignore[no-untyped-def]
    """The same array with room for n and as many again."""
    if n <= len(array):
        return array
    larger = np.empty(2 * n, dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@_compiled
def take_out(figures, seen, touched, n_touched, heap, pivot_of, starts, places, factors, used, amounts):  # type: ignore[no-untyped-def]
    """Take multiples of pivot rows out of one row until it has nothing left where a pivot stands.

    The row lies in `figures`, its places in `touched`, marked in `seen`. Pivot k holds 1 at its own place, and
    beside it only places whose pivots came later or that have none: in ascending order each is needed once. Gives how
    many places are touched now, and of how many pivots (`used`, with `amounts`) something was taken out.
    """
    n_heap = 0
    for i in range(n_touched):
        if pivot_of[touched[i]] >= 0:
            n_heap = push(heap, n_heap, pivot_of[touched[i]])
    n_used = 0
    while n_heap:
        n_heap = pop(heap, n_heap)
        k = heap[n_heap]
        own = starts[k]  # the own place of a pivot stands first
        amount = figures[places[own]]
        if amount == 0:
            continue
        used[n_used] = k
        amounts[n_used] = amount
        n_used += 1
        figures[places[own]] = 0
        less = PRIME - amount
        for i in range(own + 1, starts[k + 1]):
            place = places[i]
            figures[place] = fold(figures[place] + less * factors[i])
            if not seen[place]:
                seen[place] = True
                touched[n_touched] = place
                n_touched += 1
                if pivot_of[place] >= 0:
                    n_heap = push(heap, n_heap, pivot_of[place])
    return n_touched, n_used
