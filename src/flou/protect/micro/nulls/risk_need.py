"""How much weight a class needs for its individual risk to stay below a threshold, by its number of records."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from flou.risk.micro.benedetti_franconi import expected_inverse

#: A class that meets its need exactly must not fail by rounding.
_MARGIN = 1e-9


def least_weights(max_risk: float, k: int, n_records: int) -> NDArray[np.float64]:
    """For each number of records the smallest sum of weights with E[1/F] at most `max_risk`; infinite below k.

    From 1 / max_risk records on any weights will do, since a record stands for itself at least.
    """
    enough = max(k, math.ceil(1.0 / max_risk))
    sizes = np.arange(1, min(enough, n_records) + 1)
    # the risk falls as the weights grow, from 1/f: bisect between f and a weight that surely suffices
    low = sizes.astype(np.float64)
    high = np.maximum(low, 1.0)
    while (unmet := expected_inverse(sizes, high) > max_risk).any():
        high = np.where(unmet, 2.0 * high, high)
    for _ in range(80):
        middle = (low + high) / 2
        met = expected_inverse(sizes, middle) <= max_risk
        low, high = np.where(met, low, middle), np.where(met, middle, high)
    need = np.concatenate([[np.inf], high * (1.0 + _MARGIN)])
    need[:k] = np.inf
    if enough <= n_records:
        need[enough] = 0.0
    return need
