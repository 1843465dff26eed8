"""Local suppression: null as few cells as possible so that every released key is shown by k records.

A null counts as a value of its own.  Works on the table of distinct keys; the records of a key may be
treated differently, so that a large class can lend records to a small one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flou.protect.micro.nulls.exact import null_cells_exactly
from flou.protect.micro.nulls.parts import Nulling, Requirements, class_sizes, is_safe, pack, release
from flou.protect.micro.nulls.requirements import null_for_requirements
from flou.protect.micro.nulls.solver import null_key

__all__ = ["Nulling", "null_cells", "null_cells_exactly", "violations"]


def null_cells(
    codes: ArrayLike,
    counts: ArrayLike,
    k: int,
    cost: ArrayLike | None = None,
    requirements: Requirements | None = None,
    weights: ArrayLike | None = None,
    need: ArrayLike | None = None,
    effort: float = 1.0,
) -> Nulling:
    """Cheap nulls so that every released key is shown by at least k records.

    codes: distinct keys [n_keys, d], -1 is null; counts: records of each key; cost: of a null, by
    column (default 1).  requirements: (columns, k) that must hold together instead of the whole key.
    weights and need: a class of c records is safe if its weights sum to need[min(c, len(need) - 1)];
    then a key is never split.  effort: how long to search, 1 for a few seconds.  Raises ValueError if
    there are too few records.
    """
    codes = np.ascontiguousarray(codes, np.int32)
    counts = np.asarray(counts, np.int64)
    cost = np.ones(codes.shape[1]) if cost is None else np.asarray(cost, np.float64)
    if (weights is None) != (need is None):
        raise ValueError("weights and need come together")
    if weights is not None and need is not None:
        if requirements is not None:
            raise ValueError("requirements cannot be combined with weights")
        return null_by_weight(
            codes, counts, cost, np.asarray(weights, np.float64), np.asarray(need, np.float64), effort
        )
    if requirements is None:
        requirements = [(tuple(range(codes.shape[1])), k)]
    if counts.sum() < max((least for _, least in requirements), default=0):
        raise ValueError("there are fewer records than a class needs")
    return null_for_requirements(codes, counts, requirements, cost, effort)


def null_by_weight(
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    cost: NDArray[np.float64],
    weights: NDArray[np.float64],
    need: NDArray[np.float64],
    effort: float = 1.0,
) -> Nulling:
    """Null whole keys until the classes have the weights they need."""
    for slack in (0.0, 1e-9):  # sums that the search keeps up to date may be off in the last digits
        nulling = null_key(codes, counts, cost, need * (1 + slack), weights, effort)
        _, group = np.unique(pack(release(codes, nulling), range(codes.shape[1])), return_inverse=True)
        sizes = np.bincount(group, nulling.n).astype(np.int64)
        if is_safe(sizes, np.bincount(group, weights[nulling.key]).astype(np.float64), need).all():
            break
    return nulling


def violations(
    codes: ArrayLike, counts: ArrayLike, nulling: Nulling, k: int, requirements: Requirements | None = None
) -> int:
    """How many records are in a class that is too small, under any of the requirements."""
    codes = np.asarray(codes, np.int32)
    if (np.bincount(nulling.key, nulling.n, len(codes)) != np.asarray(counts)).any():
        raise ValueError("the nulling does not cover the records")
    if requirements is None:
        requirements = [(tuple(range(codes.shape[1])), k)]
    too_small = np.zeros(len(nulling.n), np.bool_)
    for columns, least in requirements:
        too_small |= class_sizes(codes, nulling, columns) < least
    return int(nulling.n[too_small].sum())
