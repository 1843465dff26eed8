"""Margins of a table that most of its cells are listed in: sums along the axes of an array.

The same result as `roll_up.roll_up`, without any sorting: one array of all cells a figure, one axis a
dimension. Each axis in turn grows from its atoms to its nodes. Sums of keys may run over 64 bits: what
counts is their remainder modulo 2^32, which that does not change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.roll_up import CELL, KEY, Climb, Digits, Ints

#: An array of so many cells fits in memory (512 MB a figure), and is worth it where so few of them are empty.
_MAX_CELLS, _MAX_EMPTY, _SMALL = 1 << 26, 8, 1 << 20


def fits(cells: pl.DataFrame, climbs: Sequence[Climb]) -> bool:
    """Whether an array of all cells is the better way."""
    # on the way an axis has as many places as atoms, of which there may be more than nodes: ages in a few bands
    n = math.prod(max(climb.dimension.n_nodes, climb.n_atoms) for climb in climbs)
    return n <= _MAX_CELLS and n <= max(_MAX_EMPTY * cells.height, _SMALL)


def roll_up_dense(
    cells: pl.DataFrame, digits: Digits, climbs: Sequence[Climb], listed_by: str, *, every: bool
) -> pl.DataFrame:
    """All cells of a table in order: those with a figure `listed_by`, or `every` one of the wanted levels."""
    places = tuple(digits.unpack(cells[CELL].to_numpy()).T)
    first = _climbed(places, cells[listed_by].to_numpy(), climbs)
    wanted = np.ones((), dtype=np.bool_)
    for climb in climbs:
        wanted = np.logical_and.outer(wanted, climb.wanted)
    found = np.flatnonzero(wanted) if every else np.flatnonzero(first)
    nodes = np.unravel_index(found, first.shape)
    columns = [pl.Series(CELL, digits.pack(nodes)), pl.Series(listed_by, first.ravel()[found])]
    del first
    for name in cells.columns:
        if name not in (CELL, listed_by):
            figures = _climbed(places, cells[name].to_numpy(), climbs).ravel()[found]
            columns.append(pl.Series(name, figures & (2**32 - 1) if name == KEY else figures))
    return pl.DataFrame(columns).select(cells.columns)


def _climbed(places: tuple[NDArray[np.int32], ...], figures: Ints, climbs: Sequence[Climb]) -> Ints:
    """The figure of every cell, from those of the atoms."""
    cells = np.zeros([climb.n_atoms for climb in climbs], dtype=np.int64)
    cells[places] = figures
    # the axes that grow most come last, while the array is still small
    for axis in sorted(range(len(climbs)), key=lambda j: climbs[j].dimension.n_nodes / climbs[j].n_atoms):
        cells = _along(cells, axis, climbs[axis])
    return cells


def _along(cells: Ints, axis: int, climb: Climb) -> Ints:
    """One axis of atoms becomes one of nodes."""
    shape = list(cells.shape)
    shape[axis] = climb.dimension.n_nodes
    out = np.zeros(shape, dtype=np.int64)
    nodes, depths = np.moveaxis(out, axis, 0), climb.dimension.depths
    for zoning, finest in enumerate(climb.finest):
        order = np.argsort(finest, kind="stable")
        _add(nodes, np.take(cells, order, axis=axis), finest[order], axis)
        if not climb.margins:
            continue
        in_zoning = climb.dimension.zonings == zoning
        for depth in range(climb.dimension.levels[zoning], 1, -1):
            below = np.flatnonzero(in_zoning & (depths == depth))
            if len(below):  # all branches may be shorter
                _add(nodes, np.take(out, below, axis=axis), climb.dimension.parents[below], axis)
    if climb.margins:
        top = np.flatnonzero((climb.dimension.zonings == 0) & (depths == 1))
        nodes[0] = np.take(out, top, axis=axis).sum(axis=axis)
    return out


def _add(nodes: Ints, parts: Ints, above: NDArray[np.integer], axis: int) -> None:
    """Put the sums of parts, which are in the order of the nodes above them, into those nodes."""
    starts = np.flatnonzero(np.concatenate([[True], above[1:] != above[:-1]]))
    sums = parts if len(starts) == len(above) else np.add.reduceat(parts, starts, axis=axis)
    nodes[above[starts]] = np.moveaxis(sums, axis, 0)
