"""Small parts that the heuristic and the exact local suppression share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flou.engine import keys

Requirements = Sequence[tuple[tuple[int, ...], int]]


@dataclass(frozen=True)
class Nulling:
    """n records of a key get the nulls of a mask (bit j: column j); sums to the counts by key."""

    key: NDArray[np.int64]
    mask: NDArray[np.int64]
    n: NDArray[np.int64]


def pack(codes: NDArray[np.int32], columns: Sequence[int]) -> NDArray[np.int64]:
    """One number per row, equal for rows that agree in the columns (-1, null, is a value)."""
    chosen = list(columns)
    return keys.pack(codes[:, chosen], [int(codes[:, j].max(initial=0)) + 1 for j in chosen])


def bits(nulls: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows of booleans as bit masks."""
    return nulls.astype(np.int64) @ (np.int64(1) << np.arange(nulls.shape[1], dtype=np.int64))


def mask_costs(masks: NDArray[np.int64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cost of the columns of each mask."""
    return ((masks[:, None] >> np.arange(len(cost))) & 1) @ cost


def compress(key: NDArray[np.int64], mask: NDArray[np.int64], n: NDArray[np.int64]) -> Nulling:
    """Add up what concerns the same key and mask, and drop what concerns no record."""
    key, mask, n = key[n > 0], mask[n > 0], n[n > 0]
    order = np.lexsort((mask, key))
    key, mask, n = key[order], mask[order], n[order]
    first = np.flatnonzero(np.r_[True, (key[1:] != key[:-1]) | (mask[1:] != mask[:-1])])
    return Nulling(key[first], mask[first], np.add.reduceat(n, first))


def plain_need(k: int) -> NDArray[np.float64]:
    """The rule of k records, as a table of least weights by count."""
    return np.concatenate([np.full(k, np.inf), [0.0]])


def is_safe(counts: NDArray[np.int64], weights: NDArray[np.float64], need: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which classes are safe."""
    return weights >= need[np.minimum(counts, len(need) - 1)]


def release(codes: NDArray[np.int32], nulling: Nulling) -> NDArray[np.int32]:
    """The released key of each row of the nulling."""
    nulls = nulling.mask[:, None] >> np.arange(codes.shape[1]) & 1
    return np.where(nulls == 1, np.int32(-1), codes[nulling.key])


def class_sizes(codes: NDArray[np.int32], nulling: Nulling, columns: Sequence[int]) -> NDArray[np.int64]:
    """For each row of the nulling, how many records show the same in the columns."""
    _, group = np.unique(pack(release(codes, nulling), columns), return_inverse=True)
    return np.bincount(group, nulling.n).astype(np.int64)[group]
