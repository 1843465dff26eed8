"""A cell by the labels of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from flou.describe.table.dimension import Dimension
from flou.engine.errors import DataError, ParameterError, did_you_mean, listed
from flou.engine.values import text_of

if TYPE_CHECKING:
    from flou.describe.table.table import Table


def find_cell(table: Table, labels: Mapping[str, object]) -> dict[str, Any]:
    """What is shown of a cell; columns that are not named are totals. A cell that is not listed is shown as zero."""
    for name in labels:
        if name not in table.columns:
            raise ParameterError(f"The table has no column {name!r}.{did_you_mean(name, table.columns)}")
    nodes = [_node(dim, labels) for dim in table.dims]
    hit = (table.cells.codes == np.array(nodes, dtype=np.int32)).all(axis=1)
    places = np.flatnonzero(hit)
    if len(places):
        found: dict[str, Any] = table.all_cells()[int(places[0])].row(0, named=True)
        return found
    for j, (dim, node) in enumerate(zip(table.dims, nodes, strict=True)):
        listed_nodes = table.cells.codes[:, j]
        # zonings side by side may differ in depth
        same_level = (dim.depths[listed_nodes] == dim.depths[node]) & (dim.zonings[listed_nodes] == dim.zonings[node])
        if not same_level.any():
            raise DataError(f"The table was made without this margin of {dim.name!r}.")
    shown = {c: dim.labels[node, c] for dim, node in zip(table.dims, nodes, strict=True) for c in dim.columns}
    value = {} if table.published_values is None else {"value": 0.0}
    return {**shown, "count": 0, **value, "status": "zero"}


def _node(dim: Dimension, labels: Mapping[str, object]) -> int:
    """The coarsest category that has these labels: a department alone is enough, its region follows from it."""
    hit = np.ones(dim.n_nodes, dtype=np.bool_)
    wanted = [c for c in dim.columns if c in labels]
    for column in wanted:
        hit &= (dim.labels[column] == text_of(labels[column])).to_numpy()
    found = np.flatnonzero(hit)
    if not len(found):
        known = dim.labels[wanted[-1]].unique(maintain_order=True).to_list()
        raise DataError(
            f"{' and '.join(f'{c} = {labels[c]!r}' for c in wanted)} is no category of the table."
            f"{did_you_mean(text_of(labels[wanted[-1]]), known)}"
        )
    return int(found[np.argmin(dim.depths[found])])
