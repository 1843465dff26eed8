"""Frequencies on every m of the keys: what an intruder finds who knows some of them, whichever they are.

The rows are grouped once, by all keys; every subset is counted on the distinct keys alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from flou.describe.keyspace import KeySpace
from flou.engine.errors import ParameterError
from flou.engine.progress import tell
from flou.engine.sense import Missing
from flou.risk.micro.frequency import Counts, count_frequencies

#: Subsets that may be counted: 8 of 20 keys are 125,970.
MAX_SUBSETS = 200_000


@dataclass(frozen=True, eq=False)
class SubsetCounts:
    """For each key its smallest frequency over the subsets, and the subset that has it."""

    frequencies: Counts
    rarest: NDArray[np.int32]
    subsets: tuple[tuple[str, ...], ...]

    def names(self) -> list[str]:
        """The rarest subset of each key, for people."""
        written = [", ".join(s) for s in self.subsets]
        return [written[i] for i in self.rarest]


def count_subsets(space: KeySpace, size: int, missing: Missing) -> SubsetCounts:
    """Count each key on every subset of `size` key columns; of subsets that are equally rare the first is named."""
    n = math.comb(len(space.columns), size)
    if n == 0:
        raise ParameterError(f"subsets = {size} is larger than the number of keys: there are {len(space.columns)}.")
    if n > MAX_SUBSETS:
        raise ParameterError(f"subsets = {size} of {len(space.columns)} keys are {n:,}, more than {MAX_SUBSETS:,}.")
    space.check_declared()
    space.refuse_incoherent(space.violating())
    subsets = tuple(combinations(space.columns, size))
    smallest = np.full(space.keys.n_keys, np.iinfo(np.int64).max)
    rarest = np.zeros(space.keys.n_keys, dtype=np.int32)
    for i, subset in enumerate(subsets):
        tell("count subsets of the keys", i, n)
        strata = tuple(s for s in space.strata if s not in subset)
        table, place = space.keys.marginal((*subset, *strata))
        # a rule that speaks of other keys too says nothing of these alone
        rules = [r for r in space.incoherent if set(r) <= set(subset)]
        counted = count_frequencies(KeySpace(table, subset, space.strata, space.modalities, rules), missing)[place]
        rarer = counted < smallest
        smallest[rarer], rarest[rarer] = counted[rarer], i
    return SubsetCounts(smallest, rarest, subsets)
