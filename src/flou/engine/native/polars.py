"""Polars: joins on keys that may be null."""

from __future__ import annotations

from typing import Literal

import polars as pl


def columns(frame: pl.DataFrame | pl.LazyFrame) -> list[str]:
    return frame.collect_schema().names()


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """DuckDB hands sums back as Decimal or Int128: as the ordinary 64-bit types."""
    decimals = [n for n, t in frame.schema.items() if t.is_decimal()]
    wide = [n for n, t in frame.schema.items() if t == pl.Int128]
    if not decimals and not wide:
        return frame
    return frame.with_columns(pl.col(decimals).cast(pl.Float64), pl.col(wide).cast(pl.Int64))


def match_eager(
    frame: pl.DataFrame, keys: pl.DataFrame, on: list[str], how: Literal["semi", "anti", "left"]
) -> pl.DataFrame:
    return frame.join(keys, on=on, how=how, nulls_equal=True, maintain_order="left")


def match_lazy(
    frame: pl.LazyFrame, keys: pl.DataFrame, on: list[str], how: Literal["semi", "anti", "left"]
) -> pl.LazyFrame:
    return frame.join(keys.lazy(), on=on, how=how, nulls_equal=True)
