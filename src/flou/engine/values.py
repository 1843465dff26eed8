"""Category values as text: one canonical form, so that files, schemas and frames agree on what is equal.

`1`, `1.0` and `"1"` are written the same way by a CSV file, a pandas column with gaps and an integer
column; declared values are therefore matched by this form.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

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


def plain_text(value: object) -> str:
    """A parameter or figure as people read it: `[a, b]`, `k_anonymity(k = 3)`, 1,234."""
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


def settings_text(settings: Mapping[str, object]) -> str:
    """Parameters as a plan writes them: `k = 3, missing = category`."""
    return ", ".join(f"{name} = {plain_text(value)}" for name, value in settings.items())


def distinct(series: pl.Series) -> list[object]:
    """The distinct values of a column, sorted, without null."""
    return series.drop_nulls().unique().sort().to_list()
