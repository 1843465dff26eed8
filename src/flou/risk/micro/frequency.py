"""How many records share a key, when keys have undetermined values (Saoud).

f(c) of a complete key c counts the records compatible with c. The dense array of the key space has an
extra place for null on each axis; each way of counting is one pass per axis over it, whatever the
number of rows or of missing patterns. A space that does not fit in memory is searched instead (`wide`):

- `orthodox` (Benschop et al. 2017, sdcMicro's default): f(i) counts the records that agree with i where
  both are known;
- `optimistic` (OPTA, eq. 7) and `pessimistic` (PESA, eq. 8): the largest and the smallest f(c) over the
  complete keys c compatible with i;
- `conservative` (sdcMicro's alpha = 0): complete records that agree with i where i is known, and records
  with the same nulls and values;
- `category`: null is a category of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.describe.keyspace import Dense, KeySpace
from flou.engine.sense import Missing

Counts = NDArray[np.int64]


def count_frequencies(space: KeySpace, missing: Missing) -> Counts:
    """The frequency of each key of the table: records, or persons where they may have several rows."""
    space.check_declared()
    space.refuse_incoherent(space.violating())
    persons = space.persons(missing)
    if missing not in ("optimistic", "pessimistic") or not space.free:
        return add_up(space, persons, missing)
    if not space.is_dense:
        from flou.risk.micro import wide  # compiled loops, loaded only when they are needed

        return wide.find_extremes(space, largest=missing == "optimistic")[0]
    cells = space.filled(space.keys.counts)
    add_compatible(cells)
    return take_extreme(space, cells, largest=missing == "optimistic")


def add_up(space: KeySpace, values: NDArray[Any], missing: Missing) -> NDArray[Any]:
    """For each key the sum of counts or weights over the records that count for it; not for completions."""
    if missing == "category" or not space.free:
        return values
    if not space.is_dense:
        from flou.risk.micro import wide

        return wide.add_conservative(space, values) if missing == "conservative" else wide.add_orthodox(space, values)
    cells = space.filled(values)
    if missing == "conservative":
        return _conservative(space, cells, values)
    agree_with_wildcards(cells)
    return _at_keys(space, cells)


def find_completions(space: KeySpace, missing: Missing) -> NDArray[np.int32] | None:
    """For OPTA and PESA, the completion behind each key's figure; None where no key was completed."""
    if missing not in ("optimistic", "pessimistic") or not space.free:
        return None
    if not space.is_dense:
        from flou.risk.micro import wide

        return wide.find_extremes(space, largest=missing == "optimistic")[1]
    cells = space.filled(space.keys.counts)
    add_compatible(cells)
    take_extreme(space, cells, largest=missing == "optimistic")
    return read_completions(space, cells)


def _at_keys(space: KeySpace, cells: Dense) -> NDArray[Any]:
    """The figure of each key of the table; counts as 64-bit integers."""
    found: NDArray[Any] = cells[space.positions]
    return found.astype(np.int64) if found.dtype.kind in "iu" else found


def _conservative(space: KeySpace, cells: Dense, values: NDArray[Any]) -> NDArray[Any]:
    incomplete = (space.free_codes == -1).any(axis=1)
    cells[tuple(p[incomplete] for p in space.positions)] = 0
    for axis in range(1, cells.ndim):
        known, null = _places(cells, axis)
        np.sum(known, axis=axis, out=null)
    return _at_keys(space, cells) + np.where(incomplete, values, 0)


def agree_with_wildcards(cells: Dense) -> None:
    """Orthodox counts in place: a known value agrees with itself and null, null agrees with everything."""
    for axis in range(1, cells.ndim):
        known, null = _places(cells, axis)
        everything = known.sum(axis=axis, dtype=cells.dtype)
        everything += null
        known += np.expand_dims(null, axis)
        null[...] = everything


def add_compatible(cells: Dense) -> None:
    """f(c) of every complete key in place: records with a null are compatible with each value of that axis."""
    for axis in range(1, cells.ndim):
        known, null = _places(cells, axis)
        known += np.expand_dims(null, axis)


def take_extreme(space: KeySpace, cells: Dense, *, largest: bool) -> NDArray[Any]:
    """The largest or smallest figure over the coherent completions of each key.

    `cells` holds the figure of every complete key; afterwards the null places hold the extreme over
    their axis, from which `read_completions` finds the way back.
    """
    whole = cells.dtype.kind in "iu"
    lowest, highest = (-1, int(np.iinfo(cells.dtype).max)) if whole else (-np.inf, np.inf)
    mark = lowest if largest else highest
    space.require_values()
    space.exclude_incoherent(cells, mark)
    reduce = np.maximum if largest else np.minimum
    for axis in range(1, cells.ndim):
        known, null = _places(cells, axis)
        reduce.reduce(known, axis=axis, out=null)
    found = _at_keys(space, cells)
    space.refuse_incoherent(found == mark)
    return found


def _places(cells: Dense, axis: int) -> tuple[Dense, Dense]:
    """Views of the known values and of the null place along an axis."""
    lead: tuple[Any, ...] = (slice(None),) * axis
    return cells[(*lead, slice(None, -1))], cells[(*lead, -1)]


def read_completions(space: KeySpace, cells: Dense) -> NDArray[np.int32]:
    """The completion behind each key's OPTA or PESA, as codes of the free columns.

    The null place along an axis holds the extreme over that axis, so the first value that has the same
    figure continues the path, axis by axis.
    """
    codes = space.free_codes.copy()
    anchor = space.anchors[1]
    target = cells[space.positions]
    for j in range(codes.shape[1]):
        rows = np.flatnonzero(codes[:, j] == -1)
        if not len(rows):
            continue
        n_values = cells.shape[j + 1] - 1
        place: list[NDArray[np.integer]] = [
            anchor[rows][:, None],
            *(codes[rows, i][:, None] for i in range(codes.shape[1])),
        ]
        place[j + 1] = np.arange(n_values)[None, :]
        codes[rows, j] = np.argmax(cells[tuple(place)] == target[rows][:, None], axis=1)
    return codes
