"""Local suppression under several requirements at once, each on columns of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.protect.micro.nulls.kernels import restore_cells
from flou.protect.micro.nulls.parts import Nulling, Requirements, class_sizes, compress, pack, plain_need, release
from flou.protect.micro.nulls.solver import null_key

ROUNDS = 8


def null_for_requirements(
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    requirements: Requirements,
    cost: NDArray[np.float64],
    effort: float = 1.0,
) -> Nulling:
    """Null cells until every requirement holds, then give back what is not needed."""
    requirements = essential(requirements)
    nulling = Nulling(np.arange(len(codes)), np.zeros(len(codes), np.int64), counts)
    for _ in range(ROUNDS):
        broken = False
        for columns, k in requirements:
            if (class_sizes(codes, nulling, columns) < k).any():
                broken = True
                nulling = null_more(codes, nulling, columns, k, cost, effort)
        if not broken:
            break
    else:  # k records in all columns together imply k records in any of them
        together = tuple(sorted({j for columns, _ in requirements for j in columns}))
        nulling = null_more(codes, nulling, together, max(k for _, k in requirements), cost, effort)
    return nulling if len(requirements) == 1 else give_back(codes, nulling, requirements, cost)


def essential(requirements: Requirements) -> Requirements:
    """The requirements that no other one implies, those with the most columns first."""
    kept: list[tuple[tuple[int, ...], int]] = []
    for columns, k in sorted(requirements, key=lambda r: (-len(set(r[0])), -r[1])):
        if not any(set(columns) <= set(others) and k <= least for others, least in kept):
            kept.append((tuple(sorted(set(columns))), k))
    return kept


def null_more(
    codes: NDArray[np.int32],
    nulling: Nulling,
    columns: tuple[int, ...],
    k: int,
    cost: NDArray[np.float64],
    effort: float,
) -> Nulling:
    """Add nulls so that one requirement holds."""
    chosen = list(columns)
    part = release(codes, nulling)[:, chosen]
    _, first, group = np.unique(pack(part, range(len(chosen))), return_index=True, return_inverse=True)
    sizes = np.bincount(group, nulling.n).astype(np.int64)
    added = null_key(np.ascontiguousarray(part[first]), sizes, cost[chosen], plain_need(k), effort=effort)

    # Both lists, in the order of the groups, cut the same records into runs: cut at all the ends.
    order = np.argsort(group, kind="stable")
    run_ends, added_ends = np.cumsum(nulling.n[order]), np.cumsum(added.n)
    ends = np.union1d(run_ends, added_ends)
    run = order[np.searchsorted(run_ends, ends)]
    new_mask = added.mask[np.searchsorted(added_ends, ends)]
    mask = nulling.mask[run]
    for i, j in enumerate(chosen):
        mask = mask | (new_mask >> i & 1) << j
    return compress(nulling.key[run], mask, np.diff(ends, prepend=0))


def give_back(
    codes: NDArray[np.int32], nulling: Nulling, requirements: Requirements, cost: NDArray[np.float64]
) -> Nulling:
    """Undo nulls that are not needed, column by column, until there is none."""
    changed = True
    while changed:
        before = nulling
        for j in np.argsort(-cost, kind="stable"):
            nulling = give_back_column(codes, nulling, [r for r in requirements if j in r[0]], int(j))
        changed = len(before.n) != len(nulling.n) or bool((before.mask != nulling.mask).any())
    return nulling


def give_back_column(codes: NDArray[np.int32], nulling: Nulling, requirements: Requirements, j: int) -> Nulling:
    """Undo nulls of one column where the requirements on it allow."""
    bit = np.int64(1) << np.int64(j)
    rows = np.flatnonzero(nulling.mask & bit)
    if len(rows) == 0:
        return nulling
    now = release(codes, nulling)
    then = now[rows].copy()
    then[:, j] = codes[nulling.key[rows], j]
    group = pack(then, range(codes.shape[1]))
    order = np.argsort(group, kind="stable")
    rows, then, group = rows[order], then[order], group[order]

    now_class, then_class, sizes = [], [], []
    for columns, _ in requirements:
        packed = pack(np.concatenate([now, then]), columns)
        classes = np.unique(packed, return_inverse=True)[1]
        now_class.append(classes[rows])
        then_class.append(classes[len(now) :])
        sizes.append(np.bincount(classes[: len(now)], nulling.n, minlength=2 * len(now)).astype(np.int64))
    restored = np.zeros(len(rows), np.int64)
    least = np.array([k for _, k in requirements], np.int64)
    restore_cells(np.array(now_class), np.array(then_class), nulling.n[rows], group, least, np.array(sizes), restored)

    left = nulling.n.copy()
    left[rows] -= restored
    return compress(
        np.concatenate([nulling.key, nulling.key[rows]]),
        np.concatenate([nulling.mask, nulling.mask[rows] & ~bit]),
        np.concatenate([left, restored]),
    )
