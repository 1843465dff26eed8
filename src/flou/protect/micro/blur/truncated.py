"""Truncated normal values by inversion, exact far into the tails."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

Floats = NDArray[np.float64]


def truncated_normal(low: Floats, high: Floats, uniform: Floats) -> Floats:
    """Standard normal values between `low` and `high` (perhaps infinite), one a uniform number in (0, 1).

    Inverted on the logarithm of the distribution function, in the lower tail, where it keeps its digits.
    """
    flip = low > -high  # more of the interval lies above zero: draw its mirror image
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    u = np.where(flip, 1.0 - uniform, uniform)
    log_a, log_b = log_ndtr(a), log_ndtr(b)
    drawn = ndtri_exp(np.logaddexp(np.log1p(-u) + log_a, np.log(u) + log_b))
    drawn = np.clip(drawn, a, b)
    return np.asarray(np.where(flip, -drawn, drawn), dtype=np.float64)
