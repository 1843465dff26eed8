"""From noise to values that a column can show: within bounds, rounded, and no code by chance.

Values that noise carried over a bound are reflected there: what is lost on one side of a value comes back
nearer to it. Of the ways to keep bounds that leave no pile of values on the bound itself, it biases least
(at one standard deviation from the bound the mean rises by 0.17 of it, where drawing again until the value
fits raises it by 0.29).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, ParameterError
from flou.engine.values import codes_in
from flou.protect.micro.multiples import nearest_multiples
from flou.protect.micro.rows import Amounts

Floats = NDArray[np.float64]


def unit_of(amounts: Amounts, unit: float | None) -> float | None:
    """What the new values of a column are multiples of: as asked, 1 in a column of whole numbers, else nothing."""
    if amounts.whole and unit is not None and not float(unit).is_integer():
        raise ParameterError(
            f"{amounts.column!r} holds whole numbers or days, so unit must be whole too; it is {unit}."
        )
    return 1.0 if amounts.whole and unit is None else unit


def reflect(values: Floats, low: float | None, high: float | None) -> Floats:
    """Values folded back into the interval from `low` to `high`, as often as needed."""
    if low is not None and high is not None:
        width = high - low
        folded: Floats = low + width - np.abs(np.mod(values - low, 2.0 * width) - width)
        return folded
    if low is not None:
        return low + np.abs(values - low)
    return values if high is None else high - np.abs(high - values)


def settle(
    data: Microdata, amounts: Amounts, new: Floats, unit: float | None, low: float | None, high: float | None
) -> Floats:
    """New values as they will be shown."""
    if low is not None or high is not None:
        new = reflect(new, low, high)
    if unit is not None:
        new = nearest_multiples(new, unit)
        new = np.where(new < low, new + unit, new) if low is not None else new
        new = np.where(new > high, new - unit, new) if high is not None else new
    if amounts.whole and np.max(np.abs(new), initial=0.0, where=amounts.known) >= 2.0**63:
        raise DataError(f"Noise on {amounts.column!r} gives numbers that do not fit into 64 bits. Rescale the column.")
    return _no_codes(data, amounts, new, unit)


def _no_codes(data: Microdata, amounts: Amounts, new: Floats, unit: float | None) -> Floats:
    """A value that became a not-applicable code by chance goes one step back towards the true one."""
    declared = data.schema.not_applicable.get(amounts.column, ())
    if not declared:
        return new
    codes = np.array([float(c) for c in _numbers(codes_in(data.frame.collect_schema()[amounts.column], declared))])
    step = unit or 1e-6
    for _ in range(len(codes)):
        hit = amounts.known & np.isin(new, codes)
        if not hit.any():
            break
        towards = np.where(amounts.values >= new, step, -step)
        new = np.where(hit, new + towards, new)
    return new


def _numbers(codes: Sequence[object]) -> list[float]:
    return [float(c) for c in codes if isinstance(c, int | float) and not isinstance(c, bool)]
