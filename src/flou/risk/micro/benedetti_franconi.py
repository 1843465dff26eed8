"""E[1/F | f]: the chance that a record of a sample is linked to the right person (Benedetti & Franconi 1998).

F, the number of people with a key, given f sampled ones, is taken to be negative binomial with success
probability p, estimated by f over the sum of the weights. Then

    r = p^f / f · 2F1(f, f; f + 1; 1 - p) = p / f · 2F1(1, 1; f + 1; 1 - p)

The second form (Euler's transformation) is a series of positive terms, k! (1-p)^k / ((f+1)…(f+k)), and
r(f + 1) = p / (1 - p) · (1/f - r(f)), with r(1) = -p log(p) / (1 - p). The recursion damps errors for
p < 1/2; everywhere else the series ends after a few terms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Up to this frequency small p are answered by the recursion; beyond it the series is short for every p.
RECURSION = 16
#: Terms after which the series is at the precision of the machine for all that it is used for.
TERMS = 60


def expected_inverse(frequencies: NDArray[np.int64], populations: Floats) -> Floats:
    """E[1/F | f] for each frequency f and estimated population frequency (sum of weights), 1/f where they are equal."""
    f = frequencies.astype(np.float64)
    p = np.minimum(f / populations, 1.0)
    out = 1.0 / f
    rare = (p < 0.5) & (frequencies <= RECURSION)
    out[rare] = _by_recursion(frequencies[rare], p[rare])
    rest = ~rare & (p < 1.0)
    out[rest] = _by_series(f[rest], p[rest])
    return out


def _by_recursion(frequencies: NDArray[np.int64], p: Floats) -> Floats:
    q = 1.0 - p
    risk = -p * np.log(p) / q
    for f in range(1, int(frequencies.max(initial=1))):
        left = frequencies > f
        risk[left] = p[left] / q[left] * (1.0 / f - risk[left])
    return risk


def _by_series(f: Floats, p: Floats) -> Floats:
    q = 1.0 - p
    term = np.ones_like(f)
    total = np.ones_like(f)
    for k in range(1, TERMS):
        term *= k * q / (f + k)
        total += term
    return p / f * total
