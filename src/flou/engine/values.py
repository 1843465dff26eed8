"""Category values as text: one canonical form, so that files, schemas and frames agree on what is equal.

`1`, `1.0` and `"1"` are written the same way by a CSV file, a pandas column with gaps and an integer
column; declared values are therefore matched by this form.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import polars as pl


def text_of(value: object) -> str:
    """The canonical text of one category value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dt.date | dt.datetime):
        return value.isoformat()
    return str(value)


class Proportion(float):
    """A share that people read as a percentage."""


def percent(share: float) -> str:
    """A share as a percentage, with enough digits that a small one does not read as zero."""
    value = 100 * share
    if value == 0:
        return "0"
    digits = 1 if value >= 1 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f}" if value >= 0.001 else "< 0.001"


def plain_text(value: object) -> str:
    """A parameter or figure as people read it: `[a, b]`, `k_anonymity(k = 3)`, 1,234."""
    if isinstance(value, Proportion):
        return f"{percent(value)}%"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{int(value):,}" if float(value).is_integer() else f"{value:,}"
    if isinstance(value, Mapping):
        inner = dict(value)
        name = inner.pop("method", None)
        shown = ", ".join(f"{k} = {plain_text(v)}" for k, v in inner.items())
        return f"{name}({shown})" if name else f"{{{shown}}}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(plain_text(v) for v in value) + "]"
    return str(value)


def plain_lists(value: object) -> object:
    """Tuples as lists, all the way down, as TOML and JSON have them."""
    if isinstance(value, Mapping):
        return {k: plain_lists(v) for k, v in value.items()}
    return [plain_lists(v) for v in value] if isinstance(value, list | tuple) else value


def settings_text(settings: Mapping[str, object]) -> str:
    """Parameters as a plan writes them: `k = 3, missing = category`."""
    return ", ".join(f"{name} = {plain_text(value)}" for name, value in settings.items())


def codes_in(dtype: Any, codes: Iterable[object]) -> list[Any]:
    """Declared codes as values that a column of this type can hold; the others cannot occur in it."""
    texts = sorted({text_of(c) for c in codes})
    if dtype.is_temporal():
        return [c for c in codes if isinstance(c, dt.date)]
    if not dtype.is_numeric():
        return texts
    found: list[Any] = []
    for text in texts:
        with suppress(ValueError):
            number = float(text)
            if not dtype.is_integer():
                found.append(number)
            elif number.is_integer():
                found.append(int(number))
    return found


def distinct(series: pl.Series) -> list[object]:
    """The distinct values of a column, sorted, without null."""
    return series.drop_nulls().unique().sort().to_list()
