"""Cell keys as integers below 2^32: floats of other tools scaled, keys of contributors added up modulo 2^32.

A cell key (Fraser and Wooton 2005) decides a cell's noise. ptable, cellKey and ckm use the fractional part of a sum of
floats, whose last digits depend on the order of the summands; sums of integers modulo 2^32 do not, so the same
people give the same noise on every engine. Keys are secret: whoever knows the key of a cell can undo its noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flou.engine.errors import DataError

Integers = NDArray[np.int64]

#: Keys are integers from 0 to 2^32 - 1.
KEYS = 1 << 32


def keys_from_floats(floats: ArrayLike) -> Integers:
    """Keys in [0, 1) of other tools as integers: floor(x · 2^32)."""
    try:
        values = np.asarray(floats, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("Keys must be numbers in [0, 1); the column holds something else.") from None
    inside = (values >= 0.0) & (values < 1.0)
    if not inside.all():
        raise DataError(
            f"{int((~inside).sum()):,} of {values.size:,} keys are missing or lie outside [0, 1). "
            "Give the fractional part of the sum of record keys, 0 included and 1 not."
        )
    # scaling by a power of two is exact, so no key is rounded up to 2^32
    return np.floor(values * KEYS).astype(np.int64)


def sum_keys(record_keys: ArrayLike, cells: ArrayLike, n_cells: int) -> Integers:
    """The key of each cell 0, …, n_cells - 1: its contributors' keys added up modulo 2^32."""
    keys = checked_keys(record_keys)
    totals = np.zeros(n_cells, dtype=np.uint64)
    np.add.at(totals, np.asarray(cells, dtype=np.int64), keys.astype(np.uint64))  # 2^64 is a multiple of 2^32
    return (totals % np.uint64(KEYS)).astype(np.int64)


def checked_keys(cell_keys: ArrayLike) -> Integers:
    """An array of integer keys in [0, 2^32)."""
    array: NDArray[Any] = np.asarray(cell_keys)
    if array.dtype.kind not in "iu" and array.size:
        raise DataError(
            f"Cell keys must be integers from 0 to 2^32 - 1, not {array.dtype}. "
            "Turn keys in [0, 1) into integers with keys_from_floats first."
        )
    if array.size and (array.min() < 0 or array.max() >= KEYS):
        raise DataError("Cell keys must lie between 0 and 2^32 - 1. Reduce the sum of record keys modulo 2^32.")
    return array.astype(np.int64, copy=False)
