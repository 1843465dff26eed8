"""Which amounts are those of a household: equal for its members, so that they single out households.

With the role `household` it is seen from the file: in nearly all households of two and more the members have one value.
Without the role it can only be suspected: most values occur a few times, far oftener than values next to them would
make one expect. Personal amounts that fall together by chance do so with their neighbours as often as with themselves.
"""

from __future__ import annotations

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.values import codes_in

#: So many households of two and more must be there, and this share of them have one value: some are in error.
_LEAST_HOUSEHOLDS, _MOST_OF_THEM = 10, 0.95
#: A value that more records than this share is no household's; values of so few groups say nothing.
_LARGEST_GROUP, _LEAST_GROUPS = 10, 10
#: The share of records with such a value, and how much oftener than its neighbours one must occur again.
_LEAST_SHARE, _LEAST_RATIO = 0.5, 1.25

#: Above this many values not all are looked at.
_LOOKED_AT = 200_000

_N, _LOW, _HIGH = (f"{native.RESERVED}{name}" for name in ("n", "low", "high"))


def household_amounts(data: Microdata, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some columns whose values are a household's; none where no household is declared."""
    household = data.schema.household
    types = data.frame.collect_schema()
    if household is None or household not in types.names():
        return ()
    numbers = [c for c in columns if c != household and (types[c].is_numeric() or types[c] == nw.Date)]
    return tuple(c for c in numbers if _is_shared(_known(data, household, c), household, c))


def _known(data: Microdata, household: str, column: str) -> native.Frame:
    rows = data.frame.select(household, column).drop_nulls()
    codes = codes_in(rows.collect_schema()[column], data.schema.not_applicable.get(column, ()))
    return rows.filter(~nw.col(column).is_in(codes)) if codes else rows


def _is_shared(known: native.Frame, household: str, column: str) -> bool:
    """Whether nearly all households whose members do not all have the most common value have one value."""
    value, n = nw.col(column), nw.len().cast(nw.Int64).alias(_N)
    usual = native.collect(known.group_by(column).agg(n).sort(_N, column, descending=True).head(1))
    if not usual.height:
        return False
    common = usual[column].item()
    held = known.group_by(household).agg(n, value.min().alias(_LOW), value.max().alias(_HIGH))
    low, high = nw.col(_LOW), nw.col(_HIGH)
    figures = [
        nw.len().cast(nw.Int64).alias(_N),
        (low == high).cast(nw.Int64).sum().alias("alike"),
        low.min().alias(_LOW),
        low.max().alias(_HIGH),
    ]
    # nil, or a code for all, is what most households share of any column
    told = held.filter((nw.col(_N) > 1) & ~((low == nw.lit(common)) & (high == nw.lit(common))))
    row = native.collect(told.select(*figures)).row(0, named=True)
    enough = int(row[_N] or 0) >= _LEAST_HOUSEHOLDS
    return bool(enough and row["alike"] >= _MOST_OF_THEM * row[_N] and row[_LOW] != row[_HIGH])


def suspected_amounts(data: Microdata, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some columns whose values look like a household's, where no household is declared."""
    if data.schema.household is not None:
        return ()
    types = data.frame.collect_schema()
    found = []
    for column in (c for c in columns if types[c].is_numeric()):
        held = native.collect(data.frame.select(column).drop_nulls())[column]
        codes = codes_in(types[column], data.schema.not_applicable.get(column, ()))
        values = (held.filter(~held.is_in(codes)) if codes else held).cast(pl.Float64).to_numpy()
        if looks_shared(values):
            found.append(column)
    return tuple(found)


def looks_shared(values: NDArray[np.float64]) -> bool:
    """Whether most values occur a few times, where values next to them do not.

    Of many values only those of an interval in the middle are looked at, whole, with their neighbours.
    """
    if len(values) > _LOOKED_AT:
        reach = 0.5 * _LOOKED_AT / len(values)
        low, high = np.quantile(values[:: len(values) // _LOOKED_AT + 1], [0.6 - reach, 0.6 + reach])
        values = values[(values >= low) & (values <= high)]
    distinct, sizes = np.unique(values, return_counts=True)
    if len(distinct) < 2 * _LEAST_GROUPS:
        return False
    usual = int(np.argmax(sizes))
    few = (sizes > 1) & (sizes <= _LARGEST_GROUP)
    few[usual] &= sizes[usual] <= _LARGEST_GROUP
    n_told = len(values) - (sizes[usual] if sizes[usual] > _LARGEST_GROUP else 0)
    if few.sum() < _LEAST_GROUPS or sizes[few].sum() < _LEAST_SHARE * n_told:
        return False
    gaps = np.diff(distinct)
    nearest = gaps <= 1.5 * gaps.min()
    again = float((sizes[few] * (sizes[few] - 1) / 2).sum())
    beside = float((sizes[1:] * sizes[:-1])[nearest & (few[1:] | few[:-1])].sum())
    return again >= _LEAST_RATIO * beside
