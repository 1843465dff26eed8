"""The cells of an original table and of its release, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.describe.mechanism.mechanism import Mechanism
from flou.engine.errors import DataError
from flou.risk.table.setting import counted_cells, mechanism_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """True and published counts; a cell that is withheld has no published count (NaN)."""

    true: Integers
    published: Floats
    #: How many cells each line stands for: empty cells that no table lists are one line.
    weight: Floats
    #: How the counts were published, where one mechanism describes it.
    mechanism: Mechanism | None

    @property
    def withheld(self) -> NDArray[np.bool_]:
        return np.isnan(self.published)

    @property
    def n_cells(self) -> int:
        return int(self.weight.sum())


def pair_cells(truth: tuple[Any, ...], released: tuple[Any, ...]) -> Cells:
    """The cells of all tables, each beside what is published of it."""
    if len(truth) != len(released) or not truth:
        raise DataError(f"{len(truth)} original tables and {len(released)} released ones cannot be compared.")
    true, published, n_empty = [], [], 0
    for original, release in zip(truth, released, strict=True):
        counts = np.asarray(original.true_counts, dtype=np.int64)
        if not np.array_equal(counts, release.true_counts):
            raise DataError("The release was not made from this table: their cells differ. Give its own original.")
        counted = counted_cells(original)
        true.append(counts[counted])
        published.append(np.asarray(release.published_counts, dtype=np.float64)[counted])
        n_empty += int(original.n_unlisted_zeros)
    true.append(np.zeros(1, dtype=np.int64))
    published.append(np.zeros(1))
    n_listed = sum(map(len, true)) - 1
    mechanisms = [_mechanism(t) for t in released]
    one = all(m == mechanisms[0] for m in mechanisms)
    return Cells(
        np.concatenate(true),
        np.concatenate(published),
        np.append(np.ones(n_listed), float(n_empty)),
        mechanisms[0] if one else None,
    )


def _mechanism(release: Any) -> Mechanism | None:
    try:
        return mechanism_of(release)
    except DataError:
        return None
