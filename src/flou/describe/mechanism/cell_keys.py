"""Cell keys as integers below 2^32: floats of other tools scaled, and a look whether keys are random at all.

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


#: How far the distribution of n keys may lie from uniform, in units of 1 / sqrt(n). Independent keys lie farther once
#: in 10^8 files; those of cells, which share people, are independent pair by pair alone, and get more room.
FAR, _FAR_OF_CELLS = 3.2, 4.8
#: So many cells, or twice as many, are looked at.
_LOOKED_AT = 30_000


def require_uniform(below: ArrayLike, n: int, what: str, far: float = FAR) -> None:
    """Refuse keys that are not spread over their range: `below` has their share below each of equally many steps.

    Numbers of persons, counts or keys of fewer bits would move all cells alike, which protects nobody. Few keys
    cannot be told from random ones.
    """
    shares = np.asarray(below, dtype=np.float64)
    distance = float(np.abs(shares - np.arange(1, len(shares) + 1) / len(shares)).max())
    if distance * np.sqrt(n) > far:
        raise DataError(
            f"The {what} are not spread over their range, 0 to 2^32 (or 0 to 1), as random keys are: all cells would "
            "be moved alike. Are they numbers of something else, or drawn from a shorter range? Draw them anew, "
            "uniformly, or take lasting keys: flou.record_keys(people, secret=…)."
        )


def require_random(counts: Integers, keys: Integers) -> None:
    """Refuse cell keys that cannot be sums of random keys: not uniform, or one key for cells of different counts."""
    # of a large table some cells are enough, spread over it
    some = slice(None, None, max(1, len(counts) // _LOOKED_AT))
    counts, keys = counts[some], keys[some]
    occupied = counts > 0
    held, shown = keys[occupied], counts[occupied]
    distinct = np.unique(held)
    if len(distinct):
        steps = np.arange(1, 257) * (KEYS // 256)
        require_uniform(np.searchsorted(distinct, steps) / len(distinct), len(distinct), "cell keys", _FAR_OF_CELLS)
    n_pairs = len(np.unique(shown * KEYS + held)) if shown.size and shown.max() < 2**30 else len(distinct)
    # cells of different counts have different people, so a key in common is an accident
    by_accident = len(distinct) ** 2 / KEYS
    if n_pairs - len(distinct) > 5 + 10 * by_accident:
        raise DataError(
            f"{n_pairs - len(distinct):,} cells of different counts have the same cell key, although they hold "
            "different people. The keys of a table are sums of its records' keys: see flou.record_keys."
        )
