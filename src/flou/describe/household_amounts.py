"""Which amounts are those of a household: equal for its members, so that they single out households.

With the role `household` it is seen from the file: in most households of two and more the members have one value, far
more often than the values that occur would make them. Those who deviate, by error or by another way of asking, do not
undo that: they are told by their share.
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

#: So many households of two and more must be there, and this share of them have one value.
_LEAST_HOUSEHOLDS, _MOST_OF_THEM = 10, 0.5
#: How much oftener that must be than two persons of the file have one value.
_BEYOND_CHANCE = 2
#: A value that more records than this share is no household's; values of so few groups say nothing.
_LARGEST_GROUP, _LEAST_GROUPS = 10, 10
#: The share of records with such a value, and how much oftener than its neighbours one must occur again.
_LEAST_SHARE, _LEAST_RATIO = 0.5, 1.25

#: Above this many values not all are looked at.
_LOOKED_AT = 200_000

_N = f"{native.RESERVED}n"


def household_amounts(data: Microdata, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some columns whose values are a household's; none where no household is declared."""
    return tuple(deviating_households(data, columns))


def deviating_households(data: Microdata, columns: tuple[str, ...]) -> dict[str, float]:
    """For each column with amounts of households the share of those of two and more whose members do not agree."""
    household = data.schema.household
    types = data.frame.collect_schema()
    if household is None or household not in types.names():
        return {}
    numbers = [c for c in columns if c != household and (types[c].is_numeric() or types[c] == nw.Date)]
    if not numbers:
        return {}
    amounts = {f"{native.RESERVED}{i}": _amount(data, c) for i, c in enumerate(numbers)}
    rows = data.frame.select(household, *(value.alias(name) for name, value in amounts.items()))
    rows = rows.filter(~nw.col(household).is_null())
    held = rows.group_by(household).agg(*(figure for name in amounts for figure in _figures(name)))
    # one pass over the rows for all columns; what is common is looked for where it can still change the answer
    likely = native.collect(held.select(*(figure for name in amounts for figure in _alike(name))))
    found = {}
    for name, column in zip(amounts, numbers, strict=True):
        n, alike = (int(likely[f"{figure} {name}"].item() or 0) for figure in ("n", "alike"))
        if n >= _LEAST_HOUSEHOLDS and alike > _MOST_OF_THEM * n and _is_shared(rows.select(name), held, name):
            found[column] = 1 - alike / n
    return found


def _amount(data: Microdata, column: str) -> nw.Expr:
    """A column without the codes that are no amounts."""
    codes = codes_in(data.frame.collect_schema()[column], data.schema.not_applicable.get(column, ()))
    return nw.when(~nw.col(column).is_in(codes)).then(nw.col(column)) if codes else nw.col(column)


def _figures(name: str) -> list[nw.Expr]:
    value = nw.col(name)
    return [
        value.count().cast(nw.Int64).alias(f"n {name}"),
        value.min().alias(f"low {name}"),
        value.max().alias(f"high {name}"),
    ]


def _alike(name: str) -> list[nw.Expr]:
    """How many households of two and more there are, and how many of them have one value."""
    several, one = nw.col(f"n {name}") > 1, nw.col(f"low {name}") == nw.col(f"high {name}")
    return [
        several.cast(nw.Int64).sum().alias(f"n {name}"),
        (several & one).cast(nw.Int64).sum().alias(f"alike {name}"),
    ]


def _is_shared(values: native.Frame, held: native.Frame, name: str) -> bool:
    """Whether most households whose members do not all have the most common value have one value, beyond chance."""
    counted = values.drop_nulls().group_by(name).agg(nw.len().cast(nw.Int64).alias(_N))
    common, largest = native.collect(counted.sort(_N, name, descending=True).head(1)).row(0)
    n_values = nw.col(_N).cast(nw.Float64)
    sums = native.collect(counted.select(n_values.sum().alias("all"), (n_values * n_values).sum().alias("pairs")))
    every, pairs = sums.row(0)
    # two persons agree, given that not both have the most common value
    chance = (pairs - largest**2) / max(1.0, every**2 - largest**2)
    low, high = nw.col(f"low {name}"), nw.col(f"high {name}")
    # nil, or a code for all, is what most households share of any column
    told = held.filter((nw.col(f"n {name}") > 1) & ~((low == nw.lit(common)) & (high == nw.lit(common))))
    row = native.collect(told.select(*_alike(name), low.min().alias("least"), low.max().alias("most"))).row(
        0, named=True
    )
    n = int(row[f"n {name}"] or 0)
    if n < _LEAST_HOUSEHOLDS or row["least"] == row["most"]:
        return False
    share = row[f"alike {name}"] / n
    return bool(share > _MOST_OF_THEM and share > _BEYOND_CHANCE * chance)


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
