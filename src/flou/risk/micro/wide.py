"""Frequencies on a key space that does not fit in memory: the same figures, without its cells.

Only keys that occur are held, sorted so that those with the same beginning lie together. A key finds the
records that agree with it by binary search, its known columns first. The optimistic and pessimistic
figures are searched over the completions column by column (branch and bound): values that nobody has and
no rule forbids all give the same figure, so one stands for them all; a branch ends when what it could
still give, by the records that may count or must count, is no better than what was found.

Which columns come first depends on which are null, so keys are sorted once for each chain of nested sets
of null columns, rather than once for each set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.keyspace import KeySpace
from flou.engine.errors import KeySpaceTooLargeError, listed
from flou.engine.keys import WEIGHT_UNIT, Codes, pack
from flou.engine.progress import tell
from flou.risk.micro import wide_kernels as kernels

Counts = NDArray[np.int64]
Positions = NDArray[np.int64]

#: Ranges that the search for one key may look at: some ten seconds.
BUDGET = 100_000_000
#: Keys handled between two words on progress, which is also when Ctrl-C is heard.
_BLOCK = 1_000


@dataclass(frozen=True, eq=False)
class _Query:
    """Keys that are null on the same columns, as positions among the sorted keys."""

    n_known: int
    keys: Positions


@dataclass(frozen=True, eq=False)
class _Sorted:
    """All keys in one order. Levels are the columns in that order: strata, which agree exactly, then the keys."""

    levels: Codes
    sums: Counts
    #: For each level the number of values, and the key column it is, or -1 for a stratum.
    sizes: NDArray[np.int64]
    column: NDArray[np.int64]
    rules: NDArray[np.int32]
    #: Position in the key table of each sorted key.
    order: NDArray[np.intp]
    n_exact: int
    queries: tuple[_Query, ...]


def add_orthodox(space: KeySpace, values: NDArray[Any]) -> NDArray[Any]:
    """Counts or weights of the records that agree with each key where both are known."""
    return _add_up(space, values, wild=True)


def add_conservative(space: KeySpace, values: NDArray[Any]) -> NDArray[Any]:
    """Those of complete records that agree with each key where it is known, and of records with the same nulls."""
    complete = np.asarray(~_nulls(space).any(axis=1))
    return _add_up(space, np.where(complete, values, 0), wild=False) + np.where(complete, 0, values)


def _add_up(space: KeySpace, values: NDArray[Any], *, wild: bool) -> NDArray[Any]:
    if values.dtype.kind == "f":  # sums of weights are whole numbers of small units
        return _add_up(space, np.rint(values / WEIGHT_UNIT).astype(np.int64), wild=wild) * WEIGHT_UNIT
    found = np.empty(space.keys.n_keys, dtype=np.int64)
    for held, query, keys in _blocks(space, values):
        out = np.empty(len(keys), dtype=np.int64)
        kernels.count_agreeing(held.levels, held.sums, held.n_exact, query.n_known, keys, wild, out)
        found[held.order[keys]] = out
    return found


def find_extremes(space: KeySpace, *, largest: bool, budget: int = BUDGET) -> tuple[Counts, NDArray[np.int32]]:
    """The largest or smallest frequency over the coherent completions of each key, and such a completion.

    The completion is given as codes of `space.free`.
    """
    space.require_values()
    found = np.empty(space.keys.n_keys, dtype=np.int64)
    completions = np.empty((space.keys.n_keys, len(space.columns)), dtype=np.int32)
    for held, query, keys in _blocks(space, space.keys.counts):
        out = np.empty(len(keys), dtype=np.int64)
        best = np.empty((len(keys), len(held.levels)), dtype=np.int32)
        kernels.find_extremes(
            held.levels,
            held.sums,
            held.sizes,
            held.rules,
            held.n_exact,
            query.n_known,
            keys,
            largest,
            budget,
            out,
            best,
        )
        places = held.order[keys]
        _refuse_given_up(space, places[out == kernels.GIVEN_UP])
        found[places] = out
        for level in range(held.n_exact, len(held.levels)):
            completions[places, held.column[level]] = best[:, level]
    space.refuse_incoherent(found == kernels.INCOHERENT)
    return found, completions[:, [space.columns.index(c) for c in space.free]]


def find_extreme_risks(space: KeySpace, weights: NDArray[np.float64], *, largest: bool, budget: int = BUDGET) -> Any:
    """The largest or smallest individual risk over the coherent completions of each key."""
    from flou.risk.micro import wide_risk_kernels as risk_kernels

    space.require_values()
    units = np.rint(weights / WEIGHT_UNIT).astype(np.int64)
    found = np.empty(space.keys.n_keys)
    for held, query, keys in _blocks(space, space.keys.counts):
        people = np.concatenate([[0], np.cumsum(units[held.order])])
        out = np.empty(len(keys))
        risk_kernels.find_extreme_risks(
            held.levels,
            held.sums,
            people,
            WEIGHT_UNIT,
            held.sizes,
            held.rules,
            held.n_exact,
            query.n_known,
            keys,
            largest,
            budget,
            out,
        )
        places = held.order[keys]
        _refuse_given_up(space, places[out == risk_kernels.GIVEN_UP])
        found[places] = out
    space.refuse_incoherent(found == risk_kernels.INCOHERENT)
    return found


def _refuse_given_up(space: KeySpace, keys: NDArray[np.intp]) -> None:
    if not len(keys):
        return
    nulls = _nulls(space)[keys[0]]
    open_columns = [c for c, null in zip(space.columns, nulls, strict=True) if null]
    raise KeySpaceTooLargeError(
        f"The completions of keys with {listed(open_columns)} undetermined are too many to search: "
        f"{space.n_possible():,} keys are possible. Declare the combinations that cannot exist (incoherent), recode "
        'the keys with the most modalities, use fewer keys, or count with missing="orthodox" or "category".'
    )


def _nulls(space: KeySpace) -> NDArray[np.bool_]:
    """Which keys are null on which columns."""
    found: NDArray[np.bool_] = _codes(space) == -1
    return found


def _codes(space: KeySpace) -> Codes:
    return space.keys.codes[:, [space.keys.columns.index(c) for c in space.columns]]


def _blocks(space: KeySpace, counts: Counts) -> Iterator[tuple[_Sorted, _Query, Positions]]:
    """Every key once, some at a time, beside the sorted keys that answer it."""
    total, done = space.keys.n_keys, 0
    for held in _sorted_keys(space, counts):
        for query in held.queries:
            for start in range(0, len(query.keys), _BLOCK):
                keys = query.keys[start : start + _BLOCK]
                tell("count keys with undetermined values", done, total)
                yield held, query, keys
                done += len(keys)
    tell("count keys with undetermined values", total, total)


def _sorted_keys(space: KeySpace, counts: Counts) -> Iterator[_Sorted]:
    """The keys in as many orders as it takes for every set of null columns to stand last in one."""
    codes, nulls = _codes(space), _nulls(space)
    strata = space.keys.codes[:, [space.keys.columns.index(c) for c in space.strata]]
    everything = np.ascontiguousarray(np.hstack([strata, codes]).T)
    n_exact = strata.shape[1]
    sizes = np.array([*(s.max(initial=0) + 1 for s in strata.T), *(len(space.categories[c]) for c in space.columns)])
    rules = _rules(space)
    rules = np.hstack([np.full((len(rules), n_exact), kernels.ANY, dtype=np.int32), rules])
    patterns, pattern_of = np.unique(nulls, axis=0, return_inverse=True)
    for chain in _chains(patterns):
        # a column stands the later, the more of the chain's sets hold it; known ones with many values come first
        depth = np.concatenate([np.full(n_exact, -1), patterns[chain].sum(axis=0)])
        order_of_columns = np.lexsort([-sizes, depth])
        asked = np.flatnonzero(np.isin(pattern_of, chain))
        held = _relevant(everything, asked, n_exact)
        levels = everything[:, held][order_of_columns] if held is not None else everything[order_of_columns]
        order = pl.Series(pack(levels.T, sizes[order_of_columns].tolist())).arg_sort().to_numpy().astype(np.int64)
        keys = order if held is None else held[order]
        place = np.full(space.keys.n_keys, -1, dtype=np.int64)
        place[keys] = np.arange(len(keys))
        yield _Sorted(
            levels=np.take(levels, order, axis=1),
            sums=np.concatenate([[0], np.cumsum(counts[keys])]),
            sizes=sizes[order_of_columns],
            column=order_of_columns - n_exact,
            rules=np.ascontiguousarray(rules[:, order_of_columns]),
            order=keys,
            n_exact=n_exact,
            queries=tuple(
                _Query(n_exact + int((~patterns[p]).sum()), np.sort(place[asked[pattern_of[asked] == p]]))
                for p in chain
            ),
        )


#: So few keys are cheaper to compare with all the others than to sort them all for.
_FEW = 16


def _relevant(levels: Codes, asked: Positions, n_exact: int) -> Positions | None:
    """The keys that agree with one of a few; None when many are asked for, and all are to be sorted."""
    if len(asked) > _FEW:
        return None
    agreeing = np.zeros(levels.shape[1], dtype=bool)
    for key in asked:
        same = np.ones(levels.shape[1], dtype=bool)
        for j, column in enumerate(levels):
            if j < n_exact:
                same &= column == column[key]
            elif column[key] != -1:
                same &= (column == column[key]) | (column == -1)
        agreeing |= same
    return np.flatnonzero(agreeing)


def _chains(patterns: NDArray[np.bool_]) -> list[list[int]]:
    """Sets of null columns in chains, each set within the one before it: one order of the columns serves a chain."""
    chains: list[list[int]] = []
    for p in np.argsort(-patterns.sum(axis=1), kind="stable").tolist():
        room = [c for c in chains if not (patterns[p] & ~patterns[c[-1]]).any()]
        if room:
            min(room, key=lambda c: int(patterns[c[-1]].sum())).append(p)
        else:
            chains.append([p])
    return chains


def _rules(space: KeySpace) -> NDArray[np.int32]:
    """Coherence rules as codes of the key columns; a rule with a value that nobody can have forbids nothing."""
    found: list[list[Any]] = []
    for rule in space.incoherent:
        codes = {column: space.code_of(column, value) for column, value in rule.items()}
        if None not in codes.values():
            found.append([codes.get(c, kernels.ANY) for c in space.columns])
    return np.array(found, dtype=np.int32).reshape(len(found), len(space.columns))
