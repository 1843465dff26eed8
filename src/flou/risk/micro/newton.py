"""Newton's method for log-linear models, where proportional fitting creeps.

With many structural zeros the estimate often lies on the boundary, some means going to zero, and proportional fitting
then gains a digit in ten times as many cycles. Newton's method needs the margins of every two terms, which is the
Hessian, and gains a factor of e a step even there. Cells are a list: those that can have anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.engine.progress import tell

Table = NDArray[Any]

#: Steps, parameters, and cells × terms that it is used for.
_MAX_STEPS = 60
MAX_PARAMETERS = 3_000
MAX_ENTRIES = 150_000_000


def improve(table: Table, means: Table, terms: Sequence[tuple[int, ...]], tolerance: float) -> tuple[Table, float]:
    """Better means, and how many records the farthest margin is still off."""
    held = np.flatnonzero(means)
    start = np.log(means.flat[held])
    places, sizes = _places(means.shape, held, terms)
    wanted = np.concatenate([np.bincount(p, table.flat[held], n) for p, n in zip(places, sizes, strict=True)])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    beta = np.zeros(offsets[-1])
    mu, far = np.exp(start), np.inf
    likelihood = -float(mu.sum())
    for step in range(_MAX_STEPS):
        tell("fit the log-linear model", step, _MAX_STEPS)
        margins = np.concatenate([np.bincount(p, mu, n) for p, n in zip(places, sizes, strict=True)])
        gap = wanted - margins
        far = float(np.abs(gap).max())
        if far <= tolerance:
            break
        hessian = _hessian(places, sizes, offsets, mu)
        # the terms share effects, so the matrix is singular: a small ridge chooses among equal answers
        direction = np.linalg.solve(hessian + np.diag(1e-9 * (1.0 + margins)), gap)
        beta, mu, likelihood, moved = _climb(beta, direction, likelihood, wanted, start, places, offsets)
        if not moved:
            break
    out = np.zeros(means.shape)
    out.flat[held] = mu
    return out, far


def _places(
    shape: tuple[int, ...], held: NDArray[np.intp], terms: Sequence[tuple[int, ...]]
) -> tuple[list[NDArray[np.int32]], list[int]]:
    """For each term the place of every cell in its margin."""
    codes = np.unravel_index(held, shape)
    places, sizes = [], []
    for term in terms:
        place = np.zeros(len(held), dtype=np.int32)
        size = 1
        for j in term:
            place = (place * shape[j] + codes[j]).astype(np.int32)
            size *= shape[j]
        places.append(place)
        sizes.append(size)
    return places, sizes


def _hessian(places: list[NDArray[np.int32]], sizes: list[int], offsets: NDArray[np.intp], mu: Table) -> Table:
    out = np.zeros((offsets[-1], offsets[-1]))
    for a, first in enumerate(places):
        rows = slice(offsets[a], offsets[a + 1])
        out[rows, rows] = np.diag(np.bincount(first, mu, sizes[a]))
        for b in range(a + 1, len(places)):
            block = np.bincount(first.astype(np.int64) * sizes[b] + places[b], mu, sizes[a] * sizes[b])
            columns = slice(offsets[b], offsets[b + 1])
            out[rows, columns] = block.reshape(sizes[a], sizes[b])
            out[columns, rows] = out[rows, columns].T
    return out


def _climb(
    beta: Table,
    direction: Table,
    likelihood: float,
    wanted: Table,
    start: Table,
    places: list[NDArray[np.int32]],
    offsets: NDArray[np.intp],
) -> tuple[Table, Table, float, bool]:
    """The longest of ever shorter steps that does not lower the likelihood."""
    length = 1.0
    while length > 1e-6:
        tried = beta + length * direction
        with np.errstate(over="ignore"):
            mu = np.exp(start + sum(tried[offsets[t] : offsets[t + 1]][place] for t, place in enumerate(places)))
        reached = float(wanted @ tried - mu.sum())
        if np.isfinite(reached) and reached >= likelihood - 1e-12 * abs(likelihood):
            return tried, mu, reached, True
        length /= 2
    with np.errstate(over="ignore"):
        mu = np.exp(start + sum(beta[offsets[t] : offsets[t + 1]][place] for t, place in enumerate(places)))
    return beta, mu, likelihood, False
