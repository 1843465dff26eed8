"""What permuted columns give back by chance: the largest leak of 200 permutations within classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flou.risk.micro.inferable.codes import Codes
from flou.risk.micro.inferable.kernels import order_by_group, permute_within

N_PERMUTATIONS = 200
#: So many may reach a leak that exceeds the 99th percentile.
_MAY_REACH = 2


def by_chance(
    strata: Codes, leaks: Callable[[NDArray[np.int64]], Sequence[tuple[int, ...]]], observed: Sequence[tuple[int, ...]]
) -> tuple[list[int], list[list[bool]]]:
    """Per level the 99th percentile of the largest leak over all columns, and which observed leaks exceed it.

    `leaks` gives the leaks of the columns taken from other rows. It ends early where nothing can exceed.
    """
    rows, starts = order_by_group(strata.values, strata.n)
    places = np.empty(len(rows), dtype=np.int64)
    seen = np.array(observed).reshape(len(observed), -1)
    largest: list[NDArray[np.int64]] = []
    for seed in range(N_PERMUTATIONS):
        permute_within(rows, starts, seed + 1, places)
        largest.append(np.array(leaks(places)).reshape(-1, seen.shape[1]).max(axis=0))
        if (np.sum(np.array(largest) >= seen.max(axis=0), axis=0) > _MAY_REACH).all():
            break
    bounds = np.sort(np.array(largest), axis=0)[-min(len(largest), _MAY_REACH + 1)]
    return bounds.tolist(), (seen > bounds).T.tolist()
