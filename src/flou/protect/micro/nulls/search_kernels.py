"""Kernels of the search by ruin and recreate: take some units out, and place them anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flou.engine.compiled import njit
from flou.protect.micro.nulls.kernels import NOWHERE, Problem, State, cheapest_open, is_safe, put, safe_without, take


class Pool(NamedTuple):
    """Scratch space for the units that are taken out and placed anew."""

    unit: NDArray[np.int32]
    origin: NDArray[np.int16]
    fallback: NDArray[np.float64]  # by free unit: cost of the cheapest node that is open
    free: NDArray[np.int32]  # units not placed yet, dearest fallback first
    slot_of: NDArray[np.int32]  # [node] -> slot; valid only if slot_node points back
    slot_node: NDArray[np.int32]
    slot_count: NDArray[np.int64]


@njit(cache=True, nogil=True)
def draw(state: State, n: int) -> int:
    """Next pseudo-random number below n: a fixed sequence, so that runs can be repeated."""
    x = state.random[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    state.random[0] = x
    return np.int64((x >> np.uint64(33)) % np.uint64(n))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def grab(problem: Problem, state: State, pool: Pool, n: int, unit: int) -> int:
    """Take a unit into the pool of n: alone if its class can spare it, else with its whole class."""
    node = problem.node_of[problem.unit_key[unit], state.place[unit]]
    spare = safe_without(problem, state, node, unit)
    whole = not spare or draw(state, 4) == 0
    if whole:
        members = 0
        other = state.head[node]
        while other >= 0 and n + members <= pool.unit.size:
            members += 1
            other = state.after[other]
        whole = n + members <= pool.unit.size
    if not whole and not spare:
        return n
    other = state.head[node] if whole else unit
    while other >= 0:
        following = state.after[other] if whole else NOWHERE
        pool.unit[n] = other
        pool.origin[n] = state.place[other]
        take(problem, state, other)
        n += 1
        other = following
    return n


@njit(cache=True, nogil=True)
def ruin(problem: Problem, state: State, pool: Pool, seed: int, target: int) -> int:
    """Fill the pool with the seed and about `target` units like those that are in it."""
    n = grab(problem, state, pool, 0, seed)
    n_patterns = problem.cost.size
    for _ in range(4 * target):
        if n == 0 or n >= target:
            break
        key = problem.unit_key[pool.unit[draw(state, n)]]
        pattern = min(draw(state, n_patterns), draw(state, n_patterns))  # rather few nulls
        node = problem.node_of[key, pattern]
        if node < 0:
            continue
        begin = problem.start[node]
        key = problem.joiners[begin + draw(state, problem.start[node + 1] - begin)]
        first = problem.first_unit[key]
        unit = first + draw(state, problem.first_unit[key + 1] - first)
        if state.place[unit] != NOWHERE:
            n = grab(problem, state, pool, n, unit)
    return n  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def sort_free(pool: Pool, n_free: int) -> None:
    """Free units by fallback, dearest first (insertion sort: few, and nearly sorted)."""
    for i in range(1, n_free):
        unit, fallback = pool.free[i], pool.fallback[i]
        j = i
        while j > 0 and pool.fallback[j - 1] < fallback:
            pool.free[j], pool.fallback[j] = pool.free[j - 1], pool.fallback[j - 1]
            j -= 1
        pool.free[j], pool.fallback[j] = unit, fallback


@njit(cache=True, nogil=True)
def list_slots(problem: Problem, state: State, pool: Pool, n_free: int) -> int:
    """List the closed nodes at which some free unit would be cheaper than at its fallback."""
    n_slots = 0
    for i in range(n_free):
        key = problem.unit_key[pool.free[i]]
        size = problem.unit_size[pool.free[i]]
        for pattern in range(problem.cost.size):
            if problem.cost[pattern] >= pool.fallback[0]:
                break
            node = problem.node_of[key, pattern]
            if node < 0 or state.records[node] > 0:
                continue
            slot = pool.slot_of[node]
            if slot >= n_slots or pool.slot_node[slot] != node:
                slot = n_slots
                n_slots += 1
                pool.slot_of[node] = slot
                pool.slot_node[slot] = node
                pool.slot_count[slot] = 0
            pool.slot_count[slot] += size
    return n_slots


@njit(cache=True, nogil=True)
def gain_of(problem: Problem, pool: Pool, n_free: int, node: int) -> tuple[float, int]:
    """What opening the node saves, with the number of records; -1 if it cannot be safe."""
    pattern = problem.pattern_of[node]
    cost = problem.cost[pattern]
    gain, weight, count = 0.0, 0.0, 0
    for i in range(n_free):
        unit = pool.free[i]
        if pool.fallback[i] <= cost and count > 0 and is_safe(problem, count, weight):
            break
        if problem.node_of[problem.unit_key[unit], pattern] == node:
            count += problem.unit_size[unit]
            weight += problem.unit_weight[unit]
            gain += (pool.fallback[i] - cost) * problem.unit_size[unit]
    return (gain, count) if is_safe(problem, count, weight) else (-1.0, count)


@njit(cache=True, nogil=True)
def open_node(problem: Problem, state: State, pool: Pool, n_free: int, node: int) -> int:
    """Open a node with as few free units as it takes; for the others it is a fallback now."""
    pattern = problem.pattern_of[node]
    left = 0
    for i in range(n_free):
        unit, fallback = pool.free[i], pool.fallback[i]
        if problem.node_of[problem.unit_key[unit], pattern] == node:
            if state.records[node] == 0 or not is_safe(problem, state.records[node], state.weight[node]):
                put(problem, state, unit, pattern)
                continue
            fallback = min(fallback, problem.cost[pattern])
        pool.free[left], pool.fallback[left] = unit, fallback
        left += 1
    sort_free(pool, left)
    return left


@njit(cache=True, nogil=True)
def recreate(problem: Problem, state: State, pool: Pool, n: int, least: int) -> bool:
    """Place the units of the pool greedily; False if one finds no place."""
    nothing = 2.0 * problem.cost[-1] + 1.0
    for i in range(n):
        pool.free[i] = pool.unit[i]
        pattern = cheapest_open(problem, state, pool.unit[i])
        pool.fallback[i] = nothing if pattern < 0 else problem.cost[pattern]
    sort_free(pool, n)
    n_slots = list_slots(problem, state, pool, n)
    by_record = draw(state, 2) == 0
    noise = (0.02, 0.1, 0.5, 2.0)[draw(state, 4)] / 64
    n_free = n
    while n_free > 0:
        best, best_score = NOWHERE, 1e-9
        for slot in range(n_slots):
            node = pool.slot_node[slot]
            if pool.slot_count[slot] < least or state.records[node] > 0 or draw(state, 16) == 0:
                continue
            gain, count = gain_of(problem, pool, n_free, node)
            if gain > 0.0:
                score = (gain / count if by_record else gain) * (1.0 + noise * draw(state, 64))
                if score > best_score:
                    best, best_score = node, score
        if best == NOWHERE:
            break
        n_free = open_node(problem, state, pool, n_free, best)
    for i in range(n_free):
        pattern = cheapest_open(problem, state, pool.free[i])
        if pattern == NOWHERE:
            return False
        put(problem, state, pool.free[i], pattern)
    return True


@njit(cache=True, nogil=True)
def improve(  # type: ignore[no-untyped-def]
    problem: Problem, state: State, pool: Pool, seeds, begin: int, end: int, size: int, least: int, heat: float
):
    """Ruin and recreate, once around each of seeds[begin:end] (cyclic); returns the change of cost.

    A result that is dearer by x is kept with probability exp(-x / heat).
    """
    total = 0.0
    for step in range(begin, end):
        seed = seeds[step % seeds.size]
        n = ruin(problem, state, pool, seed, 2 + draw(state, size))
        placed = recreate(problem, state, pool, n, least)
        change = 0.0
        for i in range(n):
            if state.place[pool.unit[i]] != NOWHERE:
                change -= problem.cost[pool.origin[i]] * problem.unit_size[pool.unit[i]]
                change += problem.cost[state.place[pool.unit[i]]] * problem.unit_size[pool.unit[i]]
        allowed = 1e-9 - heat * np.log((draw(state, 1 << 20) + 1.0) / (1 << 20))
        if placed and change <= allowed:
            total += change
            continue
        for i in range(n):
            if state.place[pool.unit[i]] != NOWHERE:
                take(problem, state, pool.unit[i])
        for i in range(n):
            put(problem, state, pool.unit[i], pool.origin[i])
    return total
