"""Which deviation a cell key means: half-open intervals of integers, the same on every machine.

The cumulated chances of a row, rounded to multiples of 2^-32, cut the keys 0, …, 2^32 - 1 into one interval a
deviation: the deviation is the first whose threshold lies above the key (Thompson, Broadfoot and Elazar 2013). A guide
table of the leading bits of the key answers most cells of a large table in one access; the search answers the others,
so both give the same deviations. A chance below 2^-33 becomes an empty interval: the lookup never draws it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.describe.mechanism.cell_keys import KEYS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Guide = NDArray[np.int32]

_BITS = 12
_SHIFT = 32 - _BITS


def cut_keys(chances: Floats) -> Integers:
    """Thresholds of each row: round(cumulated chance · 2^32), from the last possible deviation on 2^32 exactly."""
    thresholds: Integers = np.rint(np.minimum(np.cumsum(chances, axis=1), 1.0) * KEYS).astype(np.int64)
    width = chances.shape[1]
    ends = width - 1 - (chances[:, ::-1] > 0).argmax(axis=1)
    thresholds[np.arange(width) >= ends[:, None]] = KEYS
    return thresholds


def draw_guide(thresholds: Integers) -> Guide:
    """For each row and leading bits of the key the place of the deviation, or -1 where the bits leave it open."""
    starts = np.arange(1 << _BITS, dtype=np.int64) << _SHIFT
    rows = np.arange(len(thresholds), dtype=np.int64)[:, None]
    low = search_places(thresholds, rows, starts)
    high = search_places(thresholds, rows, starts + (1 << _SHIFT) - 1)
    return np.where(low == high, low, -1).astype(np.int32).reshape(-1)


def search_places(thresholds: Integers, rows: Integers, keys: Integers) -> Integers:
    """The place in its row of the first threshold above each key, by one search over all rows laid end to end."""
    n_rows, width = thresholds.shape
    ends = (thresholds + np.arange(n_rows, dtype=np.int64)[:, None] * KEYS).reshape(-1)
    places: Integers = np.searchsorted(ends, rows * KEYS + keys, side="right") - rows * width
    return places


def look_up(guide: Guide, thresholds: Integers, rows: Integers, keys: Integers) -> Integers:
    """The same places by the guide table, and by the search where it leaves them open."""
    places: Integers = guide[(rows << _BITS) | (keys >> _SHIFT)].astype(np.int64)
    open_ones = np.flatnonzero(places < 0)
    places[open_ones] = search_places(thresholds, rows[open_ones], keys[open_ones])
    return places


def guide_size(n_rows: int) -> int:
    """How many places a guide has: for fewer cells the search is cheaper than making it."""
    return n_rows << _BITS
