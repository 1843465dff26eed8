"""Classes of counts by size: 0, 1 to 4, 5 to 9, and so on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Where classes begin, unless others are asked for.
SIZES = (0, 1, 5, 10, 100, 1000)


def class_of(counts: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """The number of each count's class; those below the first class share it."""
    return np.maximum(np.searchsorted(np.asarray(sizes), counts, side="right") - 1, 0).astype(np.int64)


def class_text(number: int, sizes: Sequence[int]) -> str:
    """A class as people read it: 0, 1–4, ≥ 1000."""
    first = sizes[number]
    if number == len(sizes) - 1:
        return f"≥ {first}"
    last = sizes[number + 1] - 1
    return str(first) if last == first else f"{first}–{last}"
