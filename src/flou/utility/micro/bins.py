"""Bins of one width with round bounds, from the original: numbers by 1, 2 or 5 with zeros, days by the calendar."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np

from flou.utility.micro.class_bounds import round_width
from flou.utility.micro.two_files import ColumnKind, Floats, Side
from flou.utility.micro.weighted import weighted_quantiles

_ENDS = np.array([0.01, 0.99])
#: Days from which bins are weeks, months, quarters, years.
_WEEK, _MONTH, _QUARTER, _YEAR = 3.0, 14.0, 50.0, 150.0


def bin_bounds(values: Floats, side: Side, kind: ColumnKind, n_bins: int) -> list[float]:
    """Bounds between the first and the last percent; what lies beyond is in two open bins."""
    low, high = weighted_quantiles(values, side.weights, _ENDS, weighted=side.weighted).tolist()
    if kind == "date":
        return _calendar(low, high, (high - low) / n_bins)
    if not high > low:
        known = values[~np.isnan(values)]
        low, high = float(known.min()), float(known.max())
        if not high > low:
            return []
    width = round_width((high - low) / n_bins)
    whole = bool((np.floor(values[~np.isnan(values)]) == values[~np.isnan(values)]).all())
    if whole:
        width = max(width, 1.0)
    first, last = math.floor(low / width), math.ceil(high / width)
    digits = max(0, 1 - math.floor(math.log10(width)))
    return [round(k * width, digits) for k in range(first, last + 1)]


def _calendar(low: float, high: float, width: float) -> list[float]:
    """Days, weeks, the first of months, quarters or years from `low` to `high`."""
    if not high > low:
        return []
    start, end = (dt.date(1970, 1, 1) + dt.timedelta(days=math.floor(x)) for x in (low, high))
    if width < _MONTH:
        step = 1 if width < _WEEK else 7
        first = start.toordinal() - (start.weekday() if step == 7 else 0)
        days = range(first, end.toordinal() + step, step)
    else:
        months = 1 if width < _QUARTER else 3 if width < _YEAR else 12 * math.ceil(width / 400)
        first = (start.year * 12 + start.month - 1) // months
        last = -(-(end.year * 12 + end.month) // months)
        days = [dt.date(*divmod_month(k * months)).toordinal() for k in range(first, last + 1)]  # type: ignore[assignment]
    zero = dt.date(1970, 1, 1).toordinal()
    return [float(d - zero) for d in days]


def divmod_month(months: int) -> tuple[int, int, int]:
    """Year, month and day of the first of a month counted from year 0."""
    return months // 12, months % 12 + 1, 1
