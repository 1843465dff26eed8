"""PyArrow: tables in; Polars itself gives them back."""

from __future__ import annotations

from typing import Any

import polars as pl


def columns(table: Any) -> list[str]:
    return list(table.column_names)


def to_polars(table: Any) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
