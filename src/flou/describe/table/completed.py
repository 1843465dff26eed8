"""A table with the margins that it does not list: what nobody shows, and everybody can add up.

Parts add up to their total whether or not the total is shown. A table of the finest cells alone, or one that leaves out
a level, still ties its cells together through such margins, so that whoever computes with a table, for protection or
against it, needs them. Margins that are added are the sums of their parts; nothing is said of their contributors.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from flou.describe.table.cells import Cells, Floats, Ints
from flou.describe.table.dimension import Dimension
from flou.describe.table.roll_up import Digits
from flou.describe.table.table import Table


def completed(table: Table) -> tuple[Table, Ints]:
    """The table with every margin above a listed cell, and the places of the listed cells in it."""
    digits = Digits(tuple(dim.n_nodes for dim in table.dims))
    packed = digits.pack(list(table.cells.codes.T))
    figures = _figures(table)
    listed = packed
    for j, dim in enumerate(table.dims):
        for depth in range(int(dim.depths.max(initial=0)), 0, -1):
            packed, figures = _with_level(packed, figures, dim, j, depth, digits)
    order = np.argsort(packed, kind="stable")
    packed = packed[order]
    places = np.searchsorted(packed, listed)
    if len(packed) == len(listed):
        return table, np.arange(len(listed))
    held = {name: array[order] for name, array in figures.items()}
    spread = {f.name: _spread(getattr(table.cells, f.name), places, len(packed), f.name) for f in fields(Cells)}
    spread |= {"codes": digits.unpack(packed), "count": np.rint(held["count"]).astype(np.int64)}
    spread |= {name: held[name] for name in ("weighted", "value") if name in held}
    return table.with_changes(cells=Cells(**spread), published=None, suppression=None), places


#: What is said of the contributors of a margin that is added: nothing, and that nobody is alone in it.
_UNKNOWN = {"holdings": 2, "sole": -1, "largest": np.nan, "largest_weights": np.nan, "possible": True, "coherent": True}


def _spread(array: Any, places: Ints, n: int, name: str) -> Any:
    """A column of the listed cells with what is said of the others."""
    if array is None or name not in _UNKNOWN:
        return None
    out = np.full((n, *array.shape[1:]), _UNKNOWN[name], dtype=array.dtype)
    out[places] = array
    return out


def _figures(table: Table) -> dict[str, Floats]:
    cells = table.cells
    figures = {"count": table.true_counts.astype(np.float64), "weighted": cells.weighted, "value": cells.value}
    return {name: array for name, array in figures.items() if array is not None}


def _with_level(
    packed: Ints, figures: dict[str, Floats], dim: Dimension, j: int, depth: int, digits: Digits
) -> tuple[Ints, dict[str, Floats]]:
    """The cells with those above the ones of a depth along a dimension, each the sum of its parts."""
    node = packed // digits.strides[j] % digits.sizes[j]
    below = np.flatnonzero(dim.depths[node] == depth)
    above = packed[below] + (dim.parents[node[below]].astype(np.int64) - node[below]) * digits.strides[j]
    missing, place = np.unique(above[~np.isin(above, packed)], return_inverse=True)
    if not len(missing):
        return packed, figures
    new = np.isin(above, missing)
    sums = {
        name: np.concatenate([array, np.bincount(place, weights=array[below[new]], minlength=len(missing))])
        for name, array in figures.items()
    }
    return np.concatenate([packed, missing]), sums
