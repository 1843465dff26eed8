"""The frontier of a risk-utility plane: points that no other point beats on both sides (Duncan et al. 2001)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mark_frontier(risk: Floats, utility: Floats) -> NDArray[np.bool_]:
    """Whether no other point has as little risk and as much utility, and more of one; NaN is never on the frontier."""
    known = ~(np.isnan(risk) | np.isnan(utility))
    lower = risk[None, :] < risk[:, None]
    higher = utility[None, :] > utility[:, None]
    no_worse = (risk[None, :] <= risk[:, None]) & (utility[None, :] >= utility[:, None])
    beaten = np.asarray((no_worse & (lower | higher)).any(axis=1))
    return known & ~beaten
