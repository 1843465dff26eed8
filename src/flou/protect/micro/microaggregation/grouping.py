"""Groups within strata: who may be grouped with whom, and the sum of squares that it costs.

A cell is the records of one stratum that have the same columns null, and the same not-applicable codes: nobody outside
it can show the same combination. Each cell is grouped alone. Records whose columns are all null show nothing and need
no company; any other cell with fewer records than a group needs is refused, never released as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from flou.engine.errors import DataError, Infeasible
from flou.engine.progress import tell
from flou.protect.micro.microaggregation.centre import Floats, Ints
from flou.protect.micro.microaggregation.variable import NULL, VALUE, Category, Variable

Improve = Literal["exchange", "none"]
Partition = Callable[[Floats], Ints]
#: Coordinates of one cell that fit in memory: 2.4 GB with the tree.
_MAX_COORDINATES = 10**8


@dataclass(frozen=True)
class Groups:
    """A group for every record, numbered from 0; those of records that show nothing mean nothing."""

    of: Ints
    n: int
    squares: float


def group_records(variables: Sequence[Variable], strata: Ints, size: int, partition: Partition) -> Groups:
    """Groups of at least `size` records in every cell of strata, nulls and codes."""
    cells = list(_cells(variables, strata))
    _require_enough([len(rows) for rows, values, null in cells if not null], size)
    groups, n_groups, squares = np.zeros(len(strata), dtype=np.int64), 0, 0.0
    for i, (rows, values, null) in enumerate(cells):
        tell("protect: microaggregation", i, len(cells))
        if null:
            continue
        points = _points(values, rows)
        found = partition(points) if points.shape[1] else np.zeros(len(rows), dtype=np.int64)
        groups[rows] = found + n_groups
        n_groups += int(found.max()) + 1
        squares += _squares(points, found)
    return Groups(groups, n_groups, squares)


def _cells(variables: Sequence[Variable], strata: Ints) -> Iterator[tuple[Ints, list[Variable], bool]]:
    """The rows of each cell, in their order; the variables that have a value in it; whether all are null."""
    code = strata
    for variable in variables:
        code = np.unique(code * (int(variable.aside.max(initial=0)) + 1) + variable.aside, return_inverse=True)[1]
    order = np.argsort(code, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1) if len(order) else ():
        asides = [int(v.aside[rows[0]]) for v in variables]
        values = [v for v, aside in zip(variables, asides, strict=True) if aside == VALUE]
        yield rows, values, all(aside == NULL for aside in asides)


def _require_enough(sizes: list[int], size: int) -> None:
    small = [n for n in sizes if n < size]
    if small:
        raise Infeasible(
            f"group_size = {size}: {sum(small):,} records stand in {len(small):,} of {len(sizes):,} strata with fewer "
            "records than that; records with different nulls or not-applicable codes are strata of their own.",
            best=f"groups of {min(small):,}",
            next_step="Use fewer strata in by= or recode them, fewer columns, a smaller group_size, or fill the nulls "
            "or drop these records first.",
        )


def _points(variables: Sequence[Variable], rows: Ints) -> Floats:
    """Where the records of a cell stand; a coordinate that all share says nothing and is left out."""
    n_categories = sum(len(v.values) for v in variables if isinstance(v, Category))
    if n_categories * len(rows) > _MAX_COORDINATES:
        raise DataError(
            f"{len(rows):,} records with {n_categories:,} categories do not fit in memory: recode the categories to "
            "fewer, or group within strata, by=."
        )
    parts = [v.coordinates(rows) for v in variables]
    points = np.concatenate(parts, axis=1) if parts else np.empty((len(rows), 0))
    return np.ascontiguousarray(points[:, (points != points[:1]).any(axis=0)])


def _squares(points: Floats, groups: Ints) -> float:
    from flou.protect.micro.microaggregation.exchange import sum_of_squares

    return sum_of_squares(points, groups)


def by_mdav(size: int, improve: Improve) -> Partition:
    """All columns together."""
    from flou.protect.micro.microaggregation.exchange import exchange_members
    from flou.protect.micro.microaggregation.mdav import group_by_mdav

    def partition(points: Floats) -> Ints:
        groups = group_by_mdav(points, size)
        return exchange_members(points, groups, size) if improve == "exchange" else groups

    return partition


def by_optimal_cuts(size: int) -> Partition:
    """One column alone."""
    from flou.protect.micro.microaggregation.univariate import group_values

    return lambda points: group_values(points[:, 0], size)
