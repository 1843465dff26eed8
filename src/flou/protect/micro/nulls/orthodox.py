"""Local suppression as sdcMicro counts it: nulls are wildcards, and stand only in records below k.

For comparison alone. Choices of nulls are gone through from the cheapest, never a whole key; records that would agree
with k others take them. As nulls only ever add agreement, what was reached stays reached.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import Infeasible, ParameterError
from flou.protect.micro.nulls.parts import Nulling, bits, mask_costs, pack

#: Every choice of nulls is tried: 256 with eight keys.
MAX_KEYS = 8


def null_as_wildcards(
    codes: NDArray[np.int32], counts: NDArray[np.int64], k: int, cost: NDArray[np.float64]
) -> Nulling:
    """One choice of nulls for all records of a key."""
    d = codes.shape[1]
    if d > MAX_KEYS:
        raise ParameterError(
            f'sense = "orthodox" is for comparison, with {MAX_KEYS} keys at most; the file has {d}. Use sense = '
            '"category".'
        )
    own = bits(codes < 0)
    masks = np.arange(1, (1 << d) - 1)
    masks = masks[np.argsort(mask_costs(masks, cost), kind="stable")]
    chosen = np.zeros(len(codes), dtype=np.int64)
    risky = agreeing(codes, counts, chosen | own) < k
    while risky.any():
        before = chosen.copy()
        for mask in masks:
            trial = np.where(risky & (mask_costs(chosen, cost) < mask_costs(np.array([mask]), cost)[0]), mask, chosen)
            reached = agreeing(codes, counts, trial | own) >= k
            chosen = np.where(risky & reached, trial, chosen)
            risky &= agreeing(codes, counts, chosen | own) < k
            if not risky.any():
                break
        if risky.any() and (chosen == before).all():
            raise Infeasible(
                f"k = {k} cannot be reached with nulls as wildcards unless whole keys are nulled.",
                best=f"{int(counts[risky].sum()):,} records below k",
                next_step='Use sense = "category", recode the keys first, or ask for a smaller k.',
            )
    return Nulling(np.arange(len(codes)), chosen & ~own, counts)


def agreeing(codes: NDArray[np.int32], counts: NDArray[np.int64], nulls: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each key the records that agree with it where neither is null."""
    patterns, pattern_of = np.unique(nulls, return_inverse=True)
    found = np.zeros(len(codes), dtype=np.int64)
    for a in range(len(patterns)):
        here = np.flatnonzero(pattern_of == a)
        for b in range(len(patterns)):
            there = np.flatnonzero(pattern_of == b)
            both = [j for j in range(codes.shape[1]) if not (patterns[a] | patterns[b]) >> j & 1]
            packed = pack(codes[np.concatenate([here, there])], both)
            values, place = np.unique(packed, return_inverse=True)
            total = np.bincount(place[len(here) :], counts[there], len(values)).astype(np.int64)
            found[here] += total[place[: len(here)]]
    return found
