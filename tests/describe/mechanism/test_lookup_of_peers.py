"""Cells that ckm and cellKey perturbed, from the same counts and keys: count, key in [0, 1), and what they made of it."""

from __future__ import annotations

import numpy as np
import pytest

from flou import TransitionMatrix
from flou.describe.mechanism.cell_keys import keys_from_floats

#: ckm 1.1.0, D = 5, V = 5, js = 2: 34 of 1,996 cells of a synthetic table, published counts last.
CKM = [
    (1, 0.001868741, 0), (1, 0.296241515, 0), (1, 0.640261518, 0), (1, 0.989732668, 6), (2, 0.005758086, 0),
    (2, 0.351549236, 0), (2, 0.712581871, 4), (2, 0.999795344, 7), (3, 0.000528238, 0), (3, 0.398725955, 3),
    (3, 0.756588858, 5), (3, 0.984802243, 8), (4, 0.001780545, 0), (4, 0.367973499, 3), (4, 0.659839089, 5),
    (4, 0.993415305, 9), (5, 0.005839665, 0), (5, 0.340282260, 4), (5, 0.667477887, 6), (5, 0.994262091, 10),
    (6, 0.008384727, 3), (6, 0.204057100, 4), (6, 0.625825364, 7), (6, 0.957340923, 10), (7, 0.001353313, 3),
    (7, 0.265067755, 5), (7, 0.684439609, 8), (7, 0.994436130, 12), (8, 0.000122982, 3), (8, 0.702070157, 9),
    (12, 0.428062264, 12), (18, 0.855146269, 20), (30, 0.994053379, 35), (2000, 0.992700303, 2005),
]  # fmt: skip
#: cellKey 1.0.2, D = 5, V = 3, js = 2: 12 of 418 cells, deviations last.
CELLKEY = [
    (1, 0.09794155, -1), (3, 0.17641876, -3), (4, 0.66646172, 1), (6, 0.52958543, 0), (8, 0.45810954, 0),
    (9, 0.88000372, 2), (13, 0.87573465, 2), (22, 0.08408156, -2), (37, 0.24599987, -1), (75, 0.18007447, -2),
    (110, 0.04334749, -3), (2000, 0.93234829, 3),
]  # fmt: skip


@pytest.mark.parametrize(("matrix", "cells", "published"), [((5, 5, 2), CKM, True), ((5, 3, 2), CELLKEY, False)])
def test_same_counts_and_keys_same_noise(
    matrix: tuple[int, float, int], cells: list[tuple[int, float, int]], published: bool
) -> None:
    counts, keys, theirs = (np.array(column) for column in zip(*cells, strict=True))
    deviations = TransitionMatrix(*matrix).deviations(counts, keys_from_floats(keys))
    assert (deviations + (counts if published else 0)).tolist() == theirs.tolist()
