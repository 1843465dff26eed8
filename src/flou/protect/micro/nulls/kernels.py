"""Kernels of the search for a cheap set of nulls.

A *unit* is a few records that move together, a *pattern* is a set of null columns, and a *node* is a
released key: a pattern plus the values that are left.  A unit can be placed at one node per pattern.
A node is open when it has records, and every open node has to be safe.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flou.engine.compiled import njit

NOWHERE = -1


class Problem(NamedTuple):
    """What never changes; patterns are sorted by cost, so the first open node is the cheapest."""

    node_of: NDArray[np.int32]  # [key, pattern] -> node, or NOWHERE if it can never be safe
    cost: NDArray[np.float64]  # of a pattern, per record
    pattern_of: NDArray[np.int16]  # [node]
    start: NDArray[np.int64]  # node v may be joined by the keys joiners[start[v]:start[v + 1]]
    joiners: NDArray[np.int32]
    unit_key: NDArray[np.int32]
    unit_size: NDArray[np.int64]
    unit_weight: NDArray[np.float64]
    first_unit: NDArray[np.int64]  # units of key i: first_unit[i]:first_unit[i + 1]
    need: NDArray[np.float64]  # least weight of a safe class, by its number of records


class State(NamedTuple):
    """Where the units are; the units of a node form a doubly linked list."""

    place: NDArray[np.int16]  # [unit] -> pattern, or NOWHERE
    records: NDArray[np.int64]  # [node], with the records that are not in any unit
    weight: NDArray[np.float64]  # [node]
    head: NDArray[np.int32]  # [node] -> unit
    after: NDArray[np.int32]  # [unit] -> unit
    before: NDArray[np.int32]  # [unit] -> unit
    random: NDArray[np.uint64]  # [1] state of the generator


@njit(cache=True, nogil=True)
def is_safe(problem: Problem, count: int, weight: float) -> bool:
    """Whether a class of so many records and so much weight is safe."""
    return bool(weight >= problem.need[min(count, problem.need.size - 1)])


@njit(cache=True, nogil=True)
def safe_with(problem: Problem, state: State, node: int, unit: int) -> bool:
    """Would the node be safe if the unit joined it?"""
    count = state.records[node] + problem.unit_size[unit]
    return is_safe(problem, count, state.weight[node] + problem.unit_weight[unit])  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def safe_without(problem: Problem, state: State, node: int, unit: int) -> bool:
    """Would the node be safe, or empty, if the unit left it?"""
    count = state.records[node] - problem.unit_size[unit]
    return count == 0 or is_safe(problem, count, state.weight[node] - problem.unit_weight[unit])  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def put(problem: Problem, state: State, unit: int, pattern: int) -> None:
    """Place a unit."""
    node = problem.node_of[problem.unit_key[unit], pattern]
    state.place[unit] = pattern
    state.records[node] += problem.unit_size[unit]
    state.weight[node] += problem.unit_weight[unit]
    follower = state.head[node]
    state.head[node] = unit
    state.before[unit] = NOWHERE
    state.after[unit] = follower
    if follower >= 0:
        state.before[follower] = unit


@njit(cache=True, nogil=True)
def take(problem: Problem, state: State, unit: int) -> None:
    """Take a unit out of its node."""
    node = problem.node_of[problem.unit_key[unit], state.place[unit]]
    state.place[unit] = NOWHERE
    state.records[node] -= problem.unit_size[unit]
    state.weight[node] -= problem.unit_weight[unit]
    if state.records[node] == 0:
        state.weight[node] = 0.0  # forget rounding errors
    leader, follower = state.before[unit], state.after[unit]
    if leader >= 0:
        state.after[leader] = follower
    else:
        state.head[node] = follower
    if follower >= 0:
        state.before[follower] = leader


@njit(cache=True, nogil=True)
def cheapest_open(problem: Problem, state: State, unit: int) -> int:
    """The cheapest pattern at which the unit finds an open node; NOWHERE if there is none."""
    key = problem.unit_key[unit]
    for pattern in range(problem.cost.size):
        node = problem.node_of[key, pattern]
        if node >= 0 and state.records[node] > 0 and safe_with(problem, state, node, unit):
            return pattern
    return NOWHERE


@njit(cache=True, nogil=True)
def group_sorted(order, packed, counts, least, keys, pattern, node_of, first_node, sizes):  # type: ignore[no-untyped-def]
    """Number the runs of equal packed keys that have at least `least` records.

    Writes node_of[:, pattern], the joiners of the new nodes to the front of `order`, and their
    numbers to `sizes`.  Returns (number of nodes, number of joiners).
    """
    n = order.size
    kept = nodes = begin = 0
    while begin < n:
        value = packed[order[begin]]
        end, records = begin, 0
        while end < n and packed[order[end]] == value:
            records += counts[keys[order[end]]]
            end += 1
        if records >= least:
            sizes[nodes] = end - begin
            for i in range(begin, end):
                key = keys[order[i]]
                node_of[key, pattern] = first_node + nodes
                order[kept] = key
                kept += 1
            nodes += 1
        begin = end
    return nodes, kept


@njit(cache=True, nogil=True)
def borrow(problem: Problem, state: State, node: int, tally: int, least: int) -> bool:
    """Move records of rich classes to `node`, which would have `tally` of the `least` records."""
    pattern = problem.pattern_of[node]
    begin = problem.start[node]
    end = min(problem.start[node + 1], begin + 200)  # bounds the work; the rest is left to `improve`
    lent = np.empty(least, np.int32)
    n_lent = 0
    for i in range(begin, end):
        key = problem.joiners[i]
        for unit in range(problem.first_unit[key], problem.first_unit[key + 1]):
            if state.place[unit] == NOWHERE or problem.cost[state.place[unit]] >= problem.cost[pattern]:
                continue
            home = problem.node_of[key, state.place[unit]]
            if state.records[home] - problem.unit_size[unit] >= least:
                lent[n_lent] = unit
                n_lent += 1
                take(problem, state, unit)
                put(problem, state, unit, pattern)
                tally += problem.unit_size[unit]
                if tally >= least:
                    return True
    for i in range(n_lent):  # not enough: home again
        take(problem, state, lent[i])
        put(problem, state, lent[i], cheapest_open(problem, state, lent[i]))
    return False


@njit(cache=True, nogil=True)
def form_classes(problem: Problem, state: State, waiting, pattern: int, enough: int, least: int, tally, heft):  # type: ignore[no-untyped-def]
    """Place the waiting units that can form or join classes of this pattern.

    A class is formed by `enough` waiting records, if the others up to `least` can be borrowed.
    Returns the units that still wait.
    """
    for unit in waiting:
        node = problem.node_of[problem.unit_key[unit], pattern]
        if node >= 0:
            tally[node] = 0
            heft[node] = 0.0
    for unit in waiting:
        node = problem.node_of[problem.unit_key[unit], pattern]
        if node >= 0:
            tally[node] += problem.unit_size[unit]
            heft[node] += problem.unit_weight[unit]
    left = 0
    for unit in waiting:
        node = problem.node_of[problem.unit_key[unit], pattern]
        if node >= 0 and tally[node] > 0 and state.records[node] == 0:  # the first unit of a new class
            fits = is_safe(problem, tally[node], heft[node])
            if not fits and enough < least and tally[node] >= enough:
                fits = borrow(problem, state, node, tally[node], least)
            tally[node] = -1 if fits else 0  # -1: all of them fit
        if node >= 0 and (tally[node] < 0 or (state.records[node] > 0 and safe_with(problem, state, node, unit))):
            put(problem, state, unit, pattern)
        else:
            waiting[left] = unit
            left += 1
    return waiting[:left]


@njit(cache=True, nogil=True)
def put_all(problem: Problem, state: State, units, pattern_of_unit) -> None:  # type: ignore[no-untyped-def]
    """Place many units, each at its own pattern."""
    for unit in units:
        put(problem, state, unit, pattern_of_unit[unit])


@njit(cache=True, nogil=True)
def put_leftovers(problem: Problem, state: State, waiting) -> bool:  # type: ignore[no-untyped-def]
    """Null every column of the last units, and of as many others as it takes; False if that fails."""
    full = problem.cost.size - 1
    if waiting.size == 0 or problem.node_of[problem.unit_key[waiting[0]], full] == NOWHERE:
        return bool(waiting.size == 0)
    node = problem.node_of[problem.unit_key[waiting[0]], full]
    for unit in waiting:
        put(problem, state, unit, full)
    for whole_classes in (False, True):  # first what the other classes can spare
        for unit in range(state.place.size):
            if is_safe(problem, state.records[node], state.weight[node]):
                return True
            home = problem.node_of[problem.unit_key[unit], state.place[unit]]
            if home == node or not (whole_classes or safe_without(problem, state, home, unit)):
                continue
            other = state.head[home] if whole_classes else unit
            while other >= 0:
                following = state.after[other] if whole_classes else NOWHERE
                take(problem, state, other)
                put(problem, state, other, full)
                other = following
    return is_safe(problem, state.records[node], state.weight[node])  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def restore_cells(now, then, n, group, least, count, restored) -> None:  # type: ignore[no-untyped-def]
    """Give rows a value back where all requirements hold with it.

    now[r], then[r]: class of each row under requirement r with the null and with the value;
    the rows of one group have the same classes.  Writes how many records of each row are restored.
    """
    begin = 0
    while begin < n.size:
        end, records = begin, 0
        while end < n.size and group[end] == group[begin]:
            records += n[end]
            end += 1
        spare, lack, all_may_go = records, 1, True
        for r in range(least.size):
            rest = count[r, now[r, begin]] - records
            all_may_go &= rest == 0 or rest >= least[r]
            spare = min(spare, count[r, now[r, begin]] - least[r])
            lack = max(lack, least[r] - count[r, then[r, begin]])
        moved = records if all_may_go else spare
        if moved >= lack:
            for r in range(least.size):
                count[r, now[r, begin]] -= moved
                count[r, then[r, begin]] += moved
            for i in range(begin, end):
                restored[i] = min(n[i], moved)
                moved -= restored[i]
        begin = end
