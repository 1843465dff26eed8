"""How a table lies on a page: its dimensions but the last make the rows, the last one the columns.

Rows and columns stand in the order of the nodes, so that a category comes before its parts. What is too much for a page
is cut, and how much that is can be said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flou.describe.table.cells import Ints
from flou.describe.table.roll_up import Digits
from flou.describe.table.table import Table


@dataclass(frozen=True, eq=False)
class Layout:
    """Which cell stands where."""

    #: The nodes of each row, one column a dimension; and the nodes of the columns, none where there is one dimension.
    rows: Ints
    columns: Ints
    #: The number of the cell, row by row; -1 where the table lists none.
    places: Ints
    n_more_rows: int
    n_more_columns: int

    @property
    def n_row_dims(self) -> int:
        return int(self.rows.shape[1])

    def span(self, row: int, j: int) -> int:
        """How many rows from this one on share their categories up to dimension j; 0 if the one above does."""
        heads = self.rows[:, : j + 1]
        if row > 0 and (heads[row - 1] == heads[row]).all():
            return 0
        differs = (heads[row:] != heads[row]).any(axis=1)
        return int(np.argmax(differs)) if differs.any() else len(heads) - row


def lay_out(table: Table, max_rows: int, max_columns: int) -> Layout:
    """The places of the cells, as far as there is room."""
    codes = table.cells.codes.astype(np.int64)
    n_row_dims = max(len(table.dims) - 1, 1)
    digits = Digits(tuple(dim.n_nodes for dim in table.dims[:n_row_dims]))
    packed, first, row = np.unique(digits.pack(list(codes[:, :n_row_dims].T)), return_index=True, return_inverse=True)
    across = codes[:, n_row_dims] if len(table.dims) > n_row_dims else np.zeros(len(codes), dtype=np.int64)
    nodes, column = np.unique(across, return_inverse=True)
    kept = (row < max_rows) & (column < max_columns)
    n_rows, n_columns = min(len(packed), max_rows), min(len(nodes), max_columns)
    places = np.full((n_rows, n_columns), -1, dtype=np.int64)
    places[row[kept], column[kept]] = np.flatnonzero(kept)
    return Layout(
        rows=codes[first[:n_rows], :n_row_dims],
        columns=nodes[:n_columns] if len(table.dims) > n_row_dims else nodes[:0],
        places=places,
        n_more_rows=len(packed) - n_rows,
        n_more_columns=len(nodes) - n_columns,
    )
