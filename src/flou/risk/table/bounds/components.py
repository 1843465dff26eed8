"""Parts of a deviation that stand on their own: cells that share no equation with the others that it moves.

Each part is a deviation by itself, so it is judged by itself: whether its moves are whole numbers, whether it can be
turned round, and who knows none of its cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import connected_components


def label_parts(equations: csr_array) -> tuple[int, NDArray[np.int32]]:
    """How many parts there are and the number of each column's: columns that share an equation are in the same."""
    n_lines = equations.shape[0]
    links = block_array([[None, equations], [equations.T, None]], format="csr")
    # numbers without a column are lines that hold none
    _, labels = connected_components(links, directed=False)
    _, numbers = np.unique(labels[n_lines:], return_inverse=True)
    return int(numbers.max(initial=-1)) + 1, numbers.astype(np.int32)
