"""Released columns as numbers of their values: exact, and for numbers with many values in twenty quantile bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BINS = 20
#: Columns with more values than this are combined with others in bins.
_FEW = 200
#: Combinations of two columns that are still looked through.
_MAX_GROUPS = 2_000_000


@dataclass(frozen=True)
class Codes:
    """For each record the number of its value, a null having one of its own."""

    values: Ints
    n: int

    def joined(self, other: Codes) -> Codes | None:
        """The combinations of two; None where there could be too many."""
        if self.n * other.n > _MAX_GROUPS:
            return None
        return Codes(self.values * other.n + other.values, self.n * other.n)

    def compact(self) -> Codes:
        """The same classes, numbered without gaps."""
        distinct, places = np.unique(self.values, return_inverse=True)
        return Codes(places.astype(np.int64), len(distinct))


def exact(column: pl.Series) -> Codes:
    """The values as they are."""
    if column.dtype == pl.String:
        places = column.cast(pl.Categorical).to_physical().cast(pl.Int64)
        return Codes(places.fill_null(-1).to_numpy() + 1, int(places.max() or 0) + 2).compact()  # type: ignore[arg-type]
    known = column.is_not_null().to_numpy()
    values = column.cast(pl.Int8) if column.dtype == pl.Boolean else column
    held = values.to_physical().fill_null(0).to_numpy()
    distinct, places_of = np.unique(held, return_inverse=True)
    return Codes(np.where(known, places_of, len(distinct)).astype(np.int64), len(distinct) + 1)


def binned(column: pl.Series) -> Codes:
    """Numbers and dates in quantile bins of about as many records."""
    return quantile_bins(numbers(column), BINS)


def quantile_bins(values: Floats, n_bins: int) -> Codes:
    known = values[np.isfinite(values)]
    if not len(known):
        return Codes(np.zeros(len(values), dtype=np.int64), 1)
    cuts = np.unique(np.quantile(known, np.arange(1, n_bins) / n_bins))
    places = np.searchsorted(cuts, values, side="right").astype(np.int64)
    return Codes(np.where(np.isfinite(values), places, len(cuts) + 1), len(cuts) + 2)


def combined(columns: list[pl.Series], n: int) -> Codes:
    """The classes of records that show the same in all columns."""
    found = Codes(np.zeros(n, dtype=np.int64), 1)
    for column in columns:
        codes = exact(column)
        found = Codes(found.values * codes.n + codes.values, found.n * codes.n).compact()
    return found


def is_numeric(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype == pl.Date


def numbers(column: pl.Series) -> Floats:
    """Numbers, or dates as days, NaN where there are none."""
    held = column.cast(pl.Int32) if column.dtype == pl.Date else column
    return held.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def alone(column: pl.Series) -> list[Codes]:
    """How a column is looked at by itself: as it is, and in bins."""
    codes = exact(column)
    return [codes, binned(column)] if is_numeric(column) and codes.n > BINS + 1 else [codes]


def in_pairs(column: pl.Series) -> Codes:
    """How a column is looked at beside another one."""
    codes = exact(column)
    return binned(column) if is_numeric(column) and codes.n > _FEW else codes
