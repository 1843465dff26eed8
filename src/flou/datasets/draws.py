"""What the generators share: drawing categories by shares, and turning positions into text."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]


def labelled(name: str, index: Ints, labels: tuple[str | None, ...]) -> pl.Series:
    """Turn positions into text; gathering in polars spares one Python string per row."""
    return pl.Series(name, labels, dtype=pl.String).gather(pl.Series(index))


def logistic(x: NDArray[np.floating[Any]]) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), dtype=np.float64)


def draw_category(shares: Floats, row: Ints, rng: np.random.Generator) -> Ints:
    """For each record one category, by the shares in its row of the table; they need not sum to one.

    All rows are laid end to end on one line, row r from r to r + 1, so that one search serves all records.
    """
    cumulated = np.cumsum(shares, axis=1)
    ends = cumulated / cumulated[:, -1:] + np.arange(len(shares))[:, None]
    # Kept away from one: adding the row's number must not round into the next row.
    drawn = np.minimum(rng.random(row.size), 1.0 - 2.0**-30)
    found = np.searchsorted(ends.ravel(), drawn + row, side="right")
    return np.asarray(found - row * shares.shape[1], dtype=np.int64)
