"""How numbers are cut into classes, as a parameter: a number of quantile classes, breaks, or each value by itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from flou.engine.parameters import Number

Break = Number | dt.date
Cut = Literal["values"] | int | tuple[Break, ...]


def _cuts(value: object) -> object:
    """A mapping as pairs, each checked."""
    pairs = tuple(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, tuple) or not pairs or not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
        raise ValueError(f"classes = {value!r} should name columns, such as {{age = 5, resources = [1000, 2000]}}.")
    return tuple((name, _cut(name, cut)) for name, cut in pairs)


def _cut(name: object, cut: object) -> object:
    if isinstance(cut, list | tuple):
        breaks = tuple(cut)
        if not breaks or not all(isinstance(b, int | float | dt.date) and not isinstance(b, bool) for b in breaks):
            raise ValueError(f"classes of {name!r} = {cut!r} should be a list of numbers or dates.")
        if any(as_day(b) <= as_day(a) for a, b in pairwise(breaks)):
            raise ValueError(f"classes of {name!r} = {cut!r} should be breaks that rise.")
        return breaks
    if cut == "values" or (isinstance(cut, int) and not isinstance(cut, bool) and 2 <= cut <= 100):
        return cut
    raise ValueError(f'classes of {name!r} = {cut!r} should be 2 to 100 classes, a list of breaks, or "values".')


def as_day(bound: Break) -> float:
    """A break as a number; a date as days since 1970."""
    return float(bound.toordinal() - dt.date(1970, 1, 1).toordinal()) if isinstance(bound, dt.date) else float(bound)


def _plain(value: tuple[tuple[str, Cut], ...]) -> dict[str, object]:
    return {name: list(cut) if isinstance(cut, tuple) else cut for name, cut in value}


#: Column → how it is cut, stored as pairs so that methods stay hashable.
Cuts = Annotated[
    tuple[tuple[str, Cut], ...], BeforeValidator(_cuts), PlainSerializer(_plain), WithJsonSchema({"type": "object"})
]
