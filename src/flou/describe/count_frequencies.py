"""How often each count occurs among the cells of a table: all that inference about counts needs of it.

What an intruder learns of a cell from its published count, and what noise costs, depend on a table only through the
number of its cells with each true count (Enderle, Giessing and Tent 2020). So measures and calibration work on this
small list, whether it comes from a table in memory, a set of tables, or a frame of frequencies that somebody counted
elsewhere. It says which counts are rare in the original, so it is never published itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.engine import native
from flou.engine.errors import DataError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Counts and numbers of cells stay exact in 64 bits, also when they are added up.
_LARGEST = 2**53


@dataclass(frozen=True, eq=False)
class CountFrequencies:
    """The distinct true counts, ascending, and how many cells have each."""

    counts: Integers
    cells: Integers

    @classmethod
    def of(cls, counts: Iterable[tuple[Integers, Integers]]) -> CountFrequencies:
        """Pooled over several tables, each given by its counts and their numbers of cells."""
        held = list(counts)
        all_counts = np.concatenate([np.asarray(c, dtype=np.int64) for c, _ in held])
        distinct, place = np.unique(all_counts, return_inverse=True)
        cells = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(cells, place, np.concatenate([np.asarray(n, dtype=np.int64) for _, n in held]))
        kept = cells > 0
        if not kept.any():
            raise DataError("The table has no cells: there is no count to speak of.")
        return cls(distinct[kept], cells[kept])

    @classmethod
    def of_frame(cls, frame: Any) -> CountFrequencies:
        """From a frame with a column `i` (the count) and a column `N` (how many cells have it)."""
        if isinstance(frame, CountFrequencies):
            return frame
        held = _columns(frame, ("i", "N"), "counts= is a frame with a column i (the count) and a column N (its cells)")
        if "N" not in held:
            raise DataError(
                "counts= has no column N, the number of cells with each count i. Shares such as p_hat are not enough: "
                "give the numbers that they were made from."
            )
        counts, cells = whole_numbers(held["i"], "i"), whole_numbers(held["N"], "N")
        if len(np.unique(counts)) < len(counts):
            doubled = held["i"].filter(held["i"].is_duplicated())[0]
            raise DataError(f"counts= has the count i = {doubled} on several lines: add their N up first.")
        return cls.of([(counts, cells)])

    @property
    def n_cells(self) -> int:
        """All cells."""
        return int(self.cells.sum())

    @property
    def mean(self) -> float:
        """The mean count of a cell."""
        return float(self.counts @ self.cells.astype(np.float64)) / self.n_cells

    def shares(self, counts: Integers) -> Floats:
        """The share of cells with each of these counts; 0 where a count does not occur."""
        place = np.minimum(np.searchsorted(self.counts, counts), len(self.counts) - 1)
        found = np.where(self.counts[place] == counts, self.cells[place], 0)
        return found / self.n_cells


def _columns(frame: Any, names: tuple[str, ...], wanted: str) -> pl.DataFrame:
    """The named columns of a frame of any kind, in memory."""
    try:
        held = native.collect(native.enter(frame).frame)
    except DataError as error:
        raise DataError(f"{wanted}: {error}") from None
    if names[0] not in held.columns:
        raise DataError(f"{wanted}; this one has {', '.join(held.columns) or 'no columns'}.")
    if not held.height:
        raise DataError(f"{wanted}; this one has no lines.")
    return held.select(n for n in names if n in held.columns)


def read_columns(frame: Any, names: tuple[str, ...], wanted: str) -> pl.DataFrame:
    """Columns that all must be there."""
    held = _columns(frame, names, wanted)
    missing = [n for n in names if n not in held.columns]
    if missing:
        raise DataError(f"{wanted}; the column {missing[0]!r} is missing.")
    return held


def whole_numbers(column: pl.Series, name: str) -> Integers:
    """A column of whole numbers that are not negative, as integers; 3.0 is one, 2.5 and null are not."""
    if not column.dtype.is_numeric() or isinstance(column.dtype, pl.Decimal):
        raise DataError(f"counts=: the column {name} holds {column.dtype}, not whole numbers.")
    if column.null_count():
        raise DataError(f"counts=: the column {name} has {column.null_count():,} missing values.")
    values = column.to_numpy()
    wrong = (values < 0) | (values != np.floor(values)) | (values >= _LARGEST)
    if wrong.any():
        raise DataError(f"counts=: {name} = {values[wrong][0]} is no count; give whole numbers from 0 on, below 2^53.")
    return values.astype(np.int64)
