"""The heuristic of local suppression for one key: a greedy start, then a search.

The records of a key are cut into *units*; a unit is placed at a *node*, a released key, which belongs
to a *pattern*, the set of its null columns.  An open node has to be safe.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.protect.micro.nulls import kernels, search_kernels
from flou.protect.micro.nulls.kernels import NOWHERE, Problem, State
from flou.protect.micro.nulls.parts import Nulling, bits, compress, is_safe, mask_costs, pack
from flou.protect.micro.nulls.search_kernels import Pool

TABLE_CELLS = 60_000_000  # keys x patterns of the table that the search works on
MAX_PATTERNS = 4_096  # what twelve columns have; numbers of patterns must fit in 16 bits
TINY = 300  # units; a problem as small as that is searched more widely
MANY = 20_000  # units; up to that the search also starts around the units that were safe
STEPS_PER_SEED = 500
QUICK_WORK = 2_000_000_000  # a few seconds
WORK_PER_SEED = 14_000  # a step and a half, for six columns and k = 3


def choose_patterns(own: NDArray[np.int64], cost: NDArray[np.float64], room: int) -> NDArray[np.int64]:
    """The patterns to work with, cheap ones first: all of them, or the most promising `room`."""
    d = len(cost)
    if 1 << d <= room:
        patterns = np.arange(1 << d, dtype=np.int64)
    else:
        values, frequency = np.unique(own, return_counts=True)
        usual = values[np.argsort(-frequency, kind="stable")][: room // 4]
        dear_first = np.argsort(-cost, kind="stable")
        chain = np.cumsum(np.int64(1) << dear_first[::-1].astype(np.int64))  # ends with all columns
        patterns = np.unique(np.concatenate([usual, chain, cheap_masks(cost, room // 2)]))
    return patterns[np.argsort(mask_costs(patterns, cost), kind="stable")]


def cheap_masks(cost: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """About the `limit` cheapest masks, built column by column."""
    masks = np.zeros(1, np.int64)
    for j in range(len(cost)):
        masks = np.concatenate([masks, masks | (np.int64(1) << np.int64(j))])
        masks = masks[np.argsort(mask_costs(masks, cost), kind="stable")][:limit]
    return masks


def tabulate(
    codes: NDArray[np.int32], counts: NDArray[np.int64], patterns: NDArray[np.int64], least: int
) -> tuple[NDArray[np.int32], NDArray[np.int16], NDArray[np.int64], NDArray[np.int32]]:
    """The nodes that can have at least `least` records: node_of, pattern_of, start, joiners."""
    own = bits(codes < 0)
    node_of = np.full((len(codes), len(patterns)), NOWHERE, np.int32)
    joiners, sizes, n_nodes = [], [], 0
    room = np.empty(len(codes), np.int64)
    for p, pattern in enumerate(patterns):
        keys = np.flatnonzero(own & ~pattern == 0)
        packed = pack(codes, [j for j in range(codes.shape[1]) if not pattern >> j & 1])[keys]
        order = np.argsort(packed)
        nodes, kept = kernels.group_sorted(order, packed, counts, least, keys, p, node_of, n_nodes, room)
        joiners.append(order[:kept].astype(np.int32))
        sizes.append(room[:nodes].copy())
        n_nodes += nodes
    pattern_of = np.repeat(np.arange(len(patterns), dtype=np.int16), [len(s) for s in sizes])
    start = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return node_of, pattern_of, start, np.concatenate(joiners)


def make_problem(
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    need: NDArray[np.float64],
    pattern_cost: NDArray[np.float64],
    patterns: NDArray[np.int64],
    least: int,
) -> Problem:
    """Cut the keys into units: single records, or whole keys where weights decide.

    Of a large key only some records can be lent; the others stay, and are in no unit.
    """
    if weights is None:
        movable = np.where(counts >= 2 * least, np.minimum(counts - least, 2 * least), counts)
        unit_key = np.repeat(np.arange(len(codes), dtype=np.int32), movable)
        unit_size, unit_weight = np.ones(len(unit_key), np.int64), np.zeros(len(unit_key))
        first_unit = np.concatenate([[0], np.cumsum(movable)])
    else:
        unit_key = np.arange(len(codes), dtype=np.int32)
        unit_size, unit_weight = counts, weights
        first_unit = np.arange(len(codes) + 1)
    table = tabulate(codes, counts, patterns, least)
    return Problem(table[0], pattern_cost, *table[1:], unit_key, unit_size, unit_weight, first_unit, need)


def start_state(
    problem: Problem, counts: NDArray[np.int64], own_place: NDArray[np.int64], settled: NDArray[np.bool_]
) -> tuple[State, NDArray[np.int32]]:
    """Settled keys stay at their own node, the units of the others wait to be placed."""
    n_units, n_nodes = len(problem.unit_key), len(problem.pattern_of)
    state = State(
        np.full(n_units, NOWHERE, np.int16), np.zeros(n_nodes, np.int64), np.zeros(n_nodes),
        np.full(n_nodes, NOWHERE, np.int32), np.full(n_units, NOWHERE, np.int32),
        np.full(n_units, NOWHERE, np.int32), np.array([20240229], np.uint64),
    )  # fmt: skip
    in_units = np.bincount(problem.unit_key, problem.unit_size, len(counts)).astype(np.int64)
    fixed = np.flatnonzero(counts > in_units)
    np.add.at(state.records, problem.node_of[fixed, own_place[fixed]], (counts - in_units)[fixed])
    at_home = settled[problem.unit_key]
    kernels.put_all(problem, state, np.flatnonzero(at_home), own_place[problem.unit_key])
    return state, np.flatnonzero(~at_home).astype(np.int32)


def construct(problem: Problem, state: State, waiting: NDArray[np.int32], least: int, lend: bool) -> NDArray[np.int32]:
    """Form classes greedily, by the cost per waiting record; returns the units left over.

    With lending, a class of `enough` waiting records is filled up with records of rich classes.
    """
    shares = (least, -(-2 * least // 3), -(-least // 2), -(-least // 3), 1) if lend else (least,)
    events = sorted(
        (float(problem.cost[p]) * least / enough, p, enough) for p in range(len(problem.cost)) for enough in set(shares)
    )
    tally, heft = np.zeros_like(state.records), np.zeros_like(state.weight)
    for _, pattern, enough in events:
        if len(waiting) == 0:
            break
        waiting = kernels.form_classes(problem, state, waiting, pattern, enough, least, tally, heft)
    return waiting


def search(problem: Problem, state: State, seeds: NDArray[np.int32], least: int, effort: float) -> None:
    """Improve the placement by ruin and recreate; how long depends on the input and the effort alone."""
    tiny = len(problem.unit_key) <= TINY
    reach = (8 if tiny else 4) * least  # units that are placed anew in a step, at most
    size = 8 * least + 16  # and room for the rest of their classes
    n_slots = size * len(problem.cost)
    pool = Pool(
        np.empty(size, np.int32), np.empty(size, np.int16), np.empty(size), np.empty(size, np.int32),
        np.zeros(len(state.records), np.int32), np.zeros(n_slots, np.int32), np.empty(n_slots, np.int64),
    )  # fmt: skip
    steps = count_steps(len(seeds), len(problem.cost) * reach**2, effort)
    epochs = 50 if steps > 20 * len(seeds) else 1  # with few steps, only go downhill
    hottest = 0.0 if epochs == 1 else (1.0 if tiny else 0.2) * problem.cost[problem.cost > 0].min(initial=1.0)
    total = best = 0.0
    best_place = state.place.copy()
    for epoch in range(epochs):
        heat = hottest * (1 - epoch / epochs) ** 2
        begin, end = steps * epoch // epochs, steps * (epoch + 1) // epochs
        total += search_kernels.improve(problem, state, pool, seeds, begin, end, reach, least, heat)
        if total < best - 1e-9:
            best, best_place = total, state.place.copy()
    state.place[:] = best_place


def count_steps(n_seeds: int, work: int, effort: float) -> int:
    """How many steps the search takes, if a step takes this much work.

    Many steps for each seed while that is quick, and in any case some work for each seed.
    """
    return int(effort * min(STEPS_PER_SEED * n_seeds, max(QUICK_WORK // work, WORK_PER_SEED * n_seeds // work)))


def as_nulling(
    problem: Problem, state: State, counts: NDArray[np.int64], patterns: NDArray[np.int64], own: NDArray[np.int64]
) -> Nulling:
    """The nulls of each key, from the places of its units."""
    place = patterns[state.place.astype(np.int64)] & ~own[problem.unit_key]
    in_units = np.bincount(problem.unit_key, problem.unit_size, len(counts)).astype(np.int64)
    key = np.concatenate([problem.unit_key, np.arange(len(counts))]).astype(np.int64)
    mask = np.concatenate([place, np.zeros(len(counts), np.int64)])
    return compress(key, mask, np.concatenate([problem.unit_size, counts - in_units]))


def null_key(
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    cost: NDArray[np.float64],
    need: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
    effort: float = 1.0,
) -> Nulling:
    """Null cells until every class of the whole key is safe.

    Raises ValueError if the file would not even be safe as one class.
    """
    own = bits(codes < 0)
    settled = is_safe(counts, np.zeros(len(counts)) if weights is None else weights, need)
    if settled[counts > 0].all():
        return Nulling(np.arange(len(codes)), np.zeros(len(codes), np.int64), counts)
    patterns = choose_patterns(own, cost, min(MAX_PATTERNS, TABLE_CELLS // len(codes)))
    # A safe key whose own pattern is not among those stays out of it.
    active = np.flatnonzero((counts > 0) & (~settled | np.isin(own, patterns)))
    nulling = place_keys(
        codes[active], counts[active], cost, need, None if weights is None else weights[active], patterns, effort
    )
    if nulling is None:
        return null_everything(codes, counts, need, weights)
    rest = np.setdiff1d(np.arange(len(codes)), active)
    return compress(
        np.concatenate([active[nulling.key], rest]),
        np.concatenate([nulling.mask, np.zeros(len(rest), np.int64)]),
        np.concatenate([nulling.n, counts[rest]]),
    )


def place_keys(
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    cost: NDArray[np.float64],
    need: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    patterns: NDArray[np.int64],
    effort: float,
) -> Nulling | None:
    """Place every key at nodes of the given patterns; None if the greedy start finds no way."""
    least = int(np.flatnonzero(np.isfinite(need))[0])
    own = bits(codes < 0)
    settled = is_safe(counts, np.zeros(len(counts)) if weights is None else weights, need)
    problem = make_problem(codes, counts, weights, need, mask_costs(patterns, cost), patterns, least)
    by_value = np.argsort(patterns)
    own_place = by_value[np.searchsorted(patterns[by_value], own).clip(max=len(patterns) - 1)]
    state, waiting = start_state(problem, counts, own_place, settled)
    n_units = len(problem.unit_key)
    seeds = np.arange(n_units, dtype=np.int32) if n_units <= MANY else waiting.copy()
    waiting = construct(problem, state, waiting, least, lend=weights is None)
    if not kernels.put_leftovers(problem, state, waiting):
        return None
    search(problem, state, seeds, least, effort)
    return as_nulling(problem, state, counts, patterns, own)


def null_everything(
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    need: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
) -> Nulling:
    """The last resort: one class."""
    total_weight = np.zeros(1) if weights is None else weights.sum(keepdims=True)
    if not is_safe(counts.sum(keepdims=True), total_weight, need)[0]:
        raise ValueError("the file is not safe even if every cell is null")
    everything = (np.int64(1) << np.int64(codes.shape[1])) - 1
    return Nulling(np.arange(len(codes)), everything & ~bits(codes < 0), counts)
