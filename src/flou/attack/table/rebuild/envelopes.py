"""Log chances of totals as straight pieces: the least concave function above them, row by row.

A linear program maximises a sum of concave functions by itself, taking the steepest pieces first. Log chances of random
rounding and of geometric noise are concave; those of cell keys are not, and there the pieces lie above some totals: the
program then gives an upper bound, and its answer counts where the totals it ends at are corners. Rows with the same log
chances share their pieces. Nothing here is random, and nothing protects anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from flou.attack.table.rebuild.problem import Bools
from flou.attack.table.rebuild.rows import Rows
from flou.describe.table.cells import Floats, Ints

#: Slopes that differ by less are one piece: what floats lose.
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Envelopes:
    """The pieces of all rows: of which row, how many totals wide, and how steep; from the least total of each row."""

    of_piece: Ints
    widths: Floats
    slopes: Floats
    #: The log weight of each row's least total.
    base: Floats
    #: Whether every total of the row lies on its pieces.
    concave: Bools


def find_envelopes(rows: Rows) -> Envelopes:
    """The concave envelope of each row's log weights; the first and last total of each row must be possible."""
    known: dict[bytes, tuple[Floats, Floats, bool]] = {}
    pieces = []
    for row in range(rows.n):
        weights = rows.weights_of(row)
        key = (weights - weights[0]).tobytes()
        if key not in known:
            known[key] = _envelope(weights)
        pieces.append(known[key])
    n_pieces = np.array([len(widths) for widths, _, _ in pieces], dtype=np.int64)
    empty = np.zeros(0)
    return Envelopes(
        np.repeat(np.arange(rows.n), n_pieces),
        np.concatenate([empty, *[widths for widths, _, _ in pieces]]),
        np.concatenate([empty, *[slopes for _, slopes, _ in pieces]]),
        rows.weights[rows.offsets[:-1]],
        np.array([concave for _, _, concave in pieces], dtype=np.bool_),
    )


def _envelope(weights: Floats) -> tuple[Floats, Floats, bool]:
    """Widths and slopes of the pieces, steepest first, and whether all totals lie on them."""
    can = np.flatnonzero(weights > -np.inf).tolist()
    corners: list[int] = []
    for at in can:
        while len(corners) > 1 and _slope(weights, corners[-1], at) >= _slope(weights, *corners[-2:]) - _SAME:
            corners.pop()
        corners.append(at)
    widths = np.diff(corners).astype(np.float64)
    slopes = np.array([_slope(weights, a, b) for a, b in pairwise(corners)])
    above = np.interp(np.arange(len(weights)), corners, weights[corners])
    concave = len(can) == len(weights) and bool((above - weights <= _SAME * len(weights)).all())
    return widths, slopes, concave


def _slope(weights: Floats, first: int, second: int) -> float:
    return float((weights[second] - weights[first]) / (second - first))
