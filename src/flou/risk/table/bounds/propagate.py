"""Bounds that follow from single equations: what a total leaves for a part when the others take their least.

Each equation bounds each of its cells by what the others can be at most and at least, and bounds found so help in other
equations; some rounds of that are cheap beside linear programs. The bounds are valid and often those that are reached
indeed, which a single table that reaches them proves without a program of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from flou.describe.table.cells import Floats

#: So many rounds at most: each step of them is valid, further ones would only be closer.
_ROUNDS = 12


def tighten(equations: csr_array, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Closer bounds of columns whose sums along each equation, with its signs, are zero."""
    low, high = low.copy(), high.copy()
    rows = np.repeat(np.arange(equations.shape[0]), np.diff(equations.indptr))
    columns, signs = equations.indices, equations.data
    for _ in range(_ROUNDS if len(rows) else 0):
        # the least and the most that each term of an equation can be
        term_low = np.where(signs > 0, low[columns], -high[columns])
        term_high = np.where(signs > 0, high[columns], -low[columns])
        least = -_others(rows, term_high, equations.shape[0], np.inf)
        most = -_others(rows, term_low, equations.shape[0], -np.inf)
        new_low, new_high = low.copy(), high.copy()
        np.maximum.at(new_low, columns, np.where(signs > 0, least, -most))
        np.minimum.at(new_high, columns, np.where(signs > 0, most, -least))
        if _same(new_low, low) and _same(new_high, high):
            break
        low, high = new_low, new_high
    return low, high


def _others(rows: NDArray[np.int64], terms: Floats, n_rows: int, endless: float) -> Floats:
    """For each term the sum of the others of its row: endless where one of them is."""
    infinite = np.isinf(terms)
    finite = np.where(infinite, 0.0, terms)
    sums = np.bincount(rows, weights=finite, minlength=n_rows)[rows] - finite
    n_infinite = np.bincount(rows, weights=infinite, minlength=n_rows)[rows] - infinite
    return np.where(n_infinite > 0, endless, sums)


def _same(new: Floats, old: Floats) -> bool:
    """Whether nothing has become closer by more than floats lose."""
    changed = np.flatnonzero(new != old)
    if np.isinf(old[changed]).any():
        return False
    return bool(np.all(np.abs(new[changed] - old[changed]) <= 1e-12 * np.abs(old[changed])))
