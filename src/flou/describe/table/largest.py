"""The largest contributions of each cell, which the dominance rules look at.

The largest of a margin are among the largest of its parts, so a few of each cell are enough. A holding
that gives to several cells counts once in their margin: there all of its parts must travel, since a
holding that is nowhere among the largest may be so in the sum.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.roll_up import CELL
from flou.engine import native

#: What a contributor gives, and the sampling weight it gives it with.
AMOUNT, WEIGHT = f"{native.RESERVED}amount", f"{native.RESERVED}weight"
Floats = NDArray[np.float64]


def keep_largest(rows: pl.DataFrame, most: int) -> pl.DataFrame:
    """Of each cell the contributions that are largest in absolute value, largest first."""
    by: list[str | pl.Expr] = [CELL, AMOUNT, *([WEIGHT] if WEIGHT in rows.columns else [])]
    if rows.height and float(rows[AMOUNT].min()) < 0:  # type: ignore[arg-type]
        by.insert(1, pl.col(AMOUNT).abs())
    ordered = rows.sort(by, descending=[False] + [True] * (len(by) - 1))
    return ordered.filter(_rank(ordered[CELL].to_numpy()) < most)


def _rank(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each line among those of its cell, where equal cells stand together."""
    if not len(cells):
        return np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    return np.arange(len(cells)) - np.repeat(starts, np.diff(starts, append=len(cells)))


def as_matrix(rows: pl.DataFrame, cells: NDArray[np.int64], most: int, column: str) -> Floats:
    """One line a cell of `cells`, which are in order: its largest contributions, NaN where there are fewer."""
    out = np.full((len(cells), most), np.nan)
    held = rows[CELL].to_numpy()
    out[np.searchsorted(cells, held), _rank(held)] = rows[column].to_numpy()
    return out
