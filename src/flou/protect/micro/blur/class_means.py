"""Shifts of the prediction that keep the mean of each class.

A normal law misfits the ends of a distribution, and there most. Moving the prediction of a whole class by
λ is the exponential tilting of its truncated law: of all laws in the class with the wanted mean, the one
nearest to the fitted one. The mean of a class of many records says nothing about one of them; classes with
fewer than 30 records keep the fitted law.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]

#: A class with fewer records has no mean of its own to keep.
MIN_RECORDS = 30
#: Records of a class that its shift is found on; all of the two end classes up to four times as many.
_LOOKED_AT = 5_000
#: Where the search for a shift begins and where it ends; in a class that is narrow beside the standard deviation
#: values move towards one of its ends only under a large shift.
_NEAR, _FAR = 12.0, 12.0 * 4**6


def shifts_of_classes(
    number: NDArray[np.int64], values: Floats, n_classes: int, drawn: Callable[[NDArray[np.intp], float], Floats]
) -> Floats:
    """λ of each class, in standard deviations; `drawn(records, λ)` are the values that records would show."""
    order = np.argsort(number, kind="stable")
    ends = np.searchsorted(number[order], np.arange(n_classes + 1))
    shifts = np.zeros(n_classes)
    for c in range(n_classes):
        members = order[ends[c] : ends[c + 1]]
        if len(members) < MIN_RECORDS:
            continue
        wanted = float(values[members].mean())
        most = _LOOKED_AT * (4 if c in (0, n_classes - 1) else 1)
        some = members[:: max(1, len(members) // most)]

        def gap(shift: float, some: NDArray[np.intp] = some, wanted: float = wanted) -> float:
            return float(drawn(some, shift).mean()) - wanted

        sign = -1.0 if gap(0.0) > 0 else 1.0
        end = _NEAR
        while sign * gap(sign * end) < 0 and end < _FAR:
            end *= 4
        shifts[c] = sign * end
        if sign * gap(sign * end) > 0:
            shifts[c] = brentq(gap, *sorted((0.0, sign * end)), xtol=1e-4)
    return shifts
