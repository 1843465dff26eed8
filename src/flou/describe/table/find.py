"""A cell by the labels of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flou.describe.table.dimension import Dimension
from flou.engine.errors import DataError, ParameterError, did_you_mean
from flou.engine.values import instant_text, text_of

if TYPE_CHECKING:
    from flou.describe.table.table import Table


def find_cell(table: Table, labels: Mapping[str, object]) -> dict[str, Any]:
    """What is shown of a cell; columns that are not named are totals. An unlisted cell is shown as zero, or unknown."""
    nodes = find_nodes(table, labels)
    place = place_of(table, nodes)
    if place is not None:
        found: dict[str, Any] = table.only(place).all_cells().row(0, named=True)
        return found
    shown = {c: dim.labels[node, c] for dim, node in zip(table.dims, nodes, strict=True) for c in dim.columns}
    value = {} if table.published_values is None else {"value": 0.0}
    counted = table.published is None or table.published.counted
    if table.unlisted == "unknown":
        return {**shown, **dict.fromkeys(["count"] if counted else []), **dict.fromkeys(value), "status": "not listed"}
    nobody: dict[str, Any] = {"count": 0 if table.weight_name is None else 0.0} if counted else {}
    return {**shown, **nobody, **value, "status": "zero"}


def find_nodes(table: Table, labels: Mapping[str, object]) -> list[int]:
    """The node of each dimension that labels mean."""
    for name in labels:
        if name not in table.columns:
            raise ParameterError(f"The table has no column {name!r}.{did_you_mean(name, table.columns)}")
    return [find_node(dim, labels) for dim in table.dims]


def place_of(table: Table, nodes: Sequence[int]) -> int | None:
    """Where the cell with these nodes stands; None if it is not listed, an error if the table has no such margin."""
    hit = (table.cells.codes == np.array(nodes, dtype=np.int32)).all(axis=1)
    places = np.flatnonzero(hit)
    if len(places):
        return int(places[0])
    for j, (dim, node) in enumerate(zip(table.dims, nodes, strict=True)):
        held = table.cells.codes[:, j]
        # zonings side by side may differ in depth
        if not ((dim.reaches[held] == dim.reaches[node]) & (dim.zonings[held] == dim.zonings[node])).any():
            raise DataError(f"The table was made without this margin of {dim.name!r}.")
    return None


def find_node(dim: Dimension, labels: Mapping[str, object]) -> int:
    """The coarsest category that has these labels: a department alone is enough, its region follows from it."""
    hit = np.ones(dim.n_nodes, dtype=np.bool_)
    wanted = [c for c in dim.columns if c in labels]
    for column in wanted:
        named = [text_of(labels[column]), instant_text(text_of(labels[column]))]
        # a branch that ends above this column is known by its last label in it too
        hit &= (dim.labels[column].is_in(named) | dim.full_labels[column].is_in(named)).to_numpy()
    found = np.flatnonzero(hit)
    if not len(found):
        known = dim.labels[wanted[-1]].unique(maintain_order=True).to_list()
        raise DataError(
            f"{' and '.join(f'{c} = {labels[c]!r}' for c in wanted)} is no category of the table."
            f"{did_you_mean(text_of(labels[wanted[-1]]), known)}"
        )
    return int(found[np.argmin(dim.depths[found])])
