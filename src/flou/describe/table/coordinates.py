"""What a cell is called in whatever table it stands: the columns and labels that are not totals.

A department of a table by region, department and sex has the coordinates `department = 59, sex = F`: its region
follows from it, and totals say nothing. So it is the same cell in a table by department and sex, with other dimensions
around it, and in any order of the dimensions. Names are all there is: a category that is called otherwise elsewhere,
or the same people under another description, are another cell. Cell keys, which go by the people, know better.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.dimension import Dimension
from flou.describe.table.table import Table

U64 = NDArray[np.uint64]
#: 64 bits for each of some texts.
HashTexts = Callable[[NDArray[np.generic]], U64]


def node_names(dim: Dimension) -> list[tuple[str, str]]:
    """The column and label of each node below the total: the finest that is not a total itself.

    What a hierarchy calls the same on several levels is one value, which has the name of its own column on all of them.
    """
    own = [("", "")] * dim.n_nodes
    for column, name in zip(dim.columns, dim.names or dim.columns, strict=True):
        for node, label in enumerate(dim.labels[column].to_list()):
            if label != dim.total:
                own[node] = (dim.values.get((name, label), name), label)
    return own[1:]


def hash_coordinates(table: Table, hash_texts: HashTexts) -> U64:
    """One number a cell for its coordinates: the sum modulo 2^64 of the hashes of its columns with their labels.

    A sum does not depend on the order of the dimensions, and a total adds nothing to it.
    """
    found = np.zeros(table.n_cells, dtype=np.uint64)
    for j, dim in enumerate(table.dims):
        # the length of the column's name keeps `ab = c` apart from `a = bc`
        texts = np.array([f"{len(c)} {c} {label}" for c, label in node_names(dim)], dtype=object)
        of_node = np.concatenate([np.zeros(1, dtype=np.uint64), hash_texts(texts)])
        found += of_node[table.cells.codes[:, j]]
    return found
