"""Category values as text: one canonical form, so that files, schemas and frames agree on what is equal.

`1`, `1.0` and `"1"` are written the same way by a CSV file, a pandas column with gaps and an integer
column; declared values are therefore matched by this form.
"""

from __future__ import annotations

import datetime as dt

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


def distinct(series: pl.Series) -> list[object]:
    """The distinct values of a column, sorted, without null."""
    return series.drop_nulls().unique().sort().to_list()
