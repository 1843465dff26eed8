"""Minimal sample uniques: the smallest sets of keys on which a record is alone (Elliot, Manning & Ford 2002).

A record that is alone on some columns is alone on all that include them. So sizes are taken in turn: a set of
columns is counted without the records that are already known to be alone on a part of it, and whoever is then
alone has a minimal unique. Records that are null on one of the columns neither have uniques there nor share
anybody's value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import ParameterError
from flou.engine.keys import Codes
from flou.engine.progress import tell

#: Sets of columns that may be looked at: all of 17 keys, or six of 25.
MAX_SETS = 250_000
#: Packed values below this are counted by a table instead of by sorting.
_MAX_TABLE = 1 << 26
#: Unused places for each row before sorting is cheaper in memory.
_GAPS = 4

Rows = NDArray[np.int64]


def minimal_uniques(codes: Codes, counts: NDArray[np.int64], max_size: int) -> Iterator[tuple[tuple[int, ...], Rows]]:
    """Each set of columns with the keys that have a minimal unique on it, smaller sets first."""
    n_columns = codes.shape[1]
    n_sets = sum(math.comb(n_columns, size) for size in range(1, max_size + 1))
    if n_sets > MAX_SETS:
        raise ParameterError(
            f"max_size = {max_size} of {n_columns} keys are {n_sets:,} sets of columns, more than {MAX_SETS:,}."
        )
    columns = [np.ascontiguousarray(codes[:, j]) for j in range(n_columns)]
    sizes = [int(c.max(initial=-1)) + 1 for c in columns]
    #: Keys that are alone on each set of the size before, as bits.
    alone: dict[tuple[int, ...], NDArray[np.uint8]] = {(): np.packbits(np.zeros(len(codes), dtype=bool))}
    done = 0
    for size in range(1, max_size + 1):
        found: dict[tuple[int, ...], NDArray[np.uint8]] = {}
        for chosen in combinations(range(n_columns), size):
            tell("search minimal uniques", done, n_sets)
            done += 1
            parts = [alone[chosen[:i] + chosen[i + 1 :]] for i in range(size)]
            known = np.bitwise_or.reduce(parts) if len(parts) > 1 else parts[0]
            left = _left(known, columns, chosen)
            rows = left[_single(columns, sizes, chosen, counts, left)]
            if len(rows):
                yield chosen, rows
            if size < max_size:
                marked = np.unpackbits(known, count=len(codes)).view(bool)
                marked[rows] = True
                found[chosen] = np.packbits(marked)
        alone = found
    tell("search minimal uniques", n_sets, n_sets)


def _left(known: NDArray[np.uint8], columns: list[NDArray[np.int32]], chosen: tuple[int, ...]) -> Rows:
    """Keys that are not yet known to be alone and have a value in every column."""
    held = np.unpackbits(known, count=len(columns[0])).view(bool)
    np.logical_not(held, out=held)
    for j in chosen:
        held &= columns[j] >= 0
    return np.flatnonzero(held)


def _single(
    columns: list[NDArray[np.int32]], sizes: list[int], chosen: tuple[int, ...], counts: NDArray[np.int64], rows: Rows
) -> NDArray[np.bool_]:
    """Which of the rows stand for one record and share their values with no other row."""
    packed, room = np.zeros(len(rows), dtype=np.int64), 1
    for j in chosen:
        if room * max(sizes[j], 1) >= 2**62:
            _, packed = np.unique(packed, return_inverse=True)
            room = len(rows)
        packed = packed * sizes[j] + columns[j][rows]
        room *= max(sizes[j], 1)
    if room <= min(_MAX_TABLE, _GAPS * len(rows) + 1024):
        alone = _single_by_table(packed, room)
    else:
        alone = _single_by_sorting(packed)
    return np.asarray(alone & (counts[rows] == 1))


def _single_by_table(packed: NDArray[np.int64], room: int) -> NDArray[np.bool_]:
    """A value occurs once where the first row that has it is also the last."""
    row = np.arange(len(packed), dtype=np.int32)
    holder = np.empty(room, dtype=np.int32)
    holder[packed] = row
    alone = holder[packed] == row
    holder[packed[::-1]] = row[::-1]
    alone &= holder[packed] == row
    return np.asarray(alone)


def _single_by_sorting(packed: NDArray[np.int64]) -> NDArray[np.bool_]:
    """A value occurs once where both of its neighbours in order are others."""
    order = np.argsort(packed, kind="stable")
    held = packed[order]
    differs = np.concatenate([[True], held[1:] != held[:-1], [True]])
    alone = np.empty(len(packed), dtype=bool)
    alone[order] = differs[:-1] & differs[1:]
    return alone
