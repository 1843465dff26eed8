"""Classes of a number with round bounds, taken from the original so that both files are cut alike.

An exact quantile would itself be somebody's value, and a table cut at it could not be read; the lowest and
the highest class are open, so that no extreme value shows.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from flou.engine.errors import ParameterError
from flou.utility.micro.two_files import Categories, Codes, ColumnKind, Floats, TwoFiles
from flou.utility.micro.weighted import weighted_quantiles

#: A number with so many distinct values at most is a group of its own each.
FEW_VALUES = 20
#: More groups than these are no groups that anybody would read.
MOST_GROUPS = 1000
_ZERO = dt.date(1970, 1, 1)


def groups(files: TwoFiles, name: str, n_classes: int) -> Categories:
    """The groups of a column: its values, or classes of a number that has many."""
    if files.kinds[name] == "category" or (files.kinds[name] == "number" and files.n_values(name) <= FEW_VALUES):
        found = files.categories(name)
        if found.n > MOST_GROUPS:
            raise ParameterError(f"by names {name!r}, which has {found.n:,} values: too many groups to compare.")
        return found
    return quantile_classes(files, name, n_classes)


def quantile_classes(files: TwoFiles, name: str, n_classes: int) -> Categories:
    """A number (or day) of both files cut at round bounds near the original's quantiles."""
    values, _ = files.numbers(name)
    shares = np.arange(1, n_classes) / n_classes
    cuts = weighted_quantiles(values, files.original.weights, shares, weighted=files.original.weighted)
    return cut_at(files, name, rounded_bounds(cuts, values, files.kinds[name]))


def cut_at(files: TwoFiles, name: str, bounds: Sequence[float]) -> Categories:
    """A number of both files cut at bounds; a value on a bound belongs to the class above it."""
    names = class_names(bounds, files.kinds[name])
    first, second = (_codes(v, bounds) for v in files.numbers(name))
    some_null = bool((first == len(names)).any() or (second == len(names)).any())
    return Categories((*names, None) if some_null else names, first, second)


def _codes(values: Floats, bounds: Sequence[float]) -> Codes:
    codes = np.searchsorted(np.asarray(bounds, dtype=np.float64), values, side="right")
    return np.where(np.isnan(values), len(bounds) + 1, codes)


def rounded_bounds(cuts: Floats, values: Floats, kind: ColumnKind) -> list[float]:
    """Cuts at round numbers (days: the first of a month), each with values on both sides."""
    known = values[~np.isnan(values)]
    cuts = cuts[~np.isnan(cuts)]
    if not len(known) or not len(cuts):
        return []
    if kind == "date":
        rounded = [float((_ZERO + dt.timedelta(days=round(c))).replace(day=1).toordinal() - _ZERO.toordinal())
                   for c in cuts]  # fmt: skip
    else:
        gaps = np.diff(np.unique(cuts))
        gap = float(np.median(gaps)) if len(gaps) else float(abs(cuts[0]) or 1.0)
        unit = round_width(gap / 5, down=True)
        if (known == np.floor(known)).all():
            unit = max(unit, 1.0)
        rounded = [round_to(c, unit) for c in cuts]
    low, high = float(known.min()), float(known.max())
    return sorted({b for b in rounded if low < b <= high})


def round_width(x: float, *, down: bool = False) -> float:
    """The nearest 1, 2 or 5 with zeros that is not smaller (or not larger)."""
    if not x > 0 or not math.isfinite(x):
        return 1.0
    power = math.floor(math.log10(x))
    steps = [float(f"{m}e{p}") for p in (power - 1, power, power + 1) for m in (1, 2, 5)]
    return max(s for s in steps if s <= x * (1 + 1e-9)) if down else min(s for s in steps if s >= x * (1 - 1e-9))


def round_to(x: float, unit: float) -> float:
    """A multiple of a round unit, without the dust of binary fractions."""
    digits = max(0, -math.floor(math.log10(unit)) + 1)
    return round(round(x / unit) * unit, digits)


def class_names(bounds: Sequence[float], kind: ColumnKind) -> tuple[str, ...]:
    """`< 5`, `[5, 10)`, `≥ 10`."""
    shown = [bound_text(b, kind) for b in bounds]
    if not shown:
        return ("–",)
    inner = [f"[{a}, {b})" for a, b in pairwise(shown)]
    return (f"< {shown[0]}", *inner, f"≥ {shown[-1]}")


def bound_text(bound: float, kind: ColumnKind) -> str:
    """A bound as people read it."""
    if kind == "date":
        return (_ZERO + dt.timedelta(days=round(bound))).isoformat()
    return f"{bound:.12g}"
