"""One column of a sheet, given as texts and kinds of cells, as a column of one type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NoReturn

import polars as pl

from flou.describe.schema import ColumnType
from flou.engine.errors import DataError

_INTEGER = r"^-?(?:0|[1-9]\d{0,17})$"
#: Fifteen digits before the point: a float holds no more, and long codes must not collide.
_NUMBER = r"^-?(?:0|[1-9]\d{0,14})(?:\.\d+)?(?:[eE][+-]?\d+)?$"
#: Whole numbers up to here have a float of their own, and spreadsheets have no others.
_EXACT = 2**53
_WORDS = {"number": "numbers", "text": "texts", "date": "dates", "time": "times", "boolean": "true/false"}


def typed(cells: pl.DataFrame, name: str, declared: ColumnType | None, where: str) -> pl.Series:
    """The column in its declared type, or in the one that its cells are of."""
    counts = dict(cells["kind"].drop_nulls().value_counts().iter_rows())
    if declared is None:
        if len(counts) > 1:
            _refuse_mixture(counts, name, where)
        declared = _type_of(cells, next(iter(counts), "text"))
    fits, values = _converted(declared)
    wrong = cells.filter(pl.col("text").is_not_null() & ~fits.fill_null(False)).height
    if wrong:
        raise DataError(
            f"{where}: the column {name!r} should hold type {declared}, but {wrong:,} of its cells do not fit. "
            "Mend them, or declare codes of missing values as undetermined."
        )
    series = cells.select(values.alias(name))[name]
    # a day without an hour is a date
    return series.dt.date() if declared == "date" and (series.dt.time() == dt.time()).all() else series


def _type_of(cells: pl.DataFrame, kind: str) -> ColumnType:
    if kind == "number":
        numbers = cells["text"].cast(pl.Float64)
        whole = ((numbers == numbers.floor()) & (numbers.abs() <= _EXACT)).all()
        return "integer" if whole else "number"
    kinds: Mapping[str, ColumnType] = {"boolean": "boolean", "date": "date"}
    return kinds.get(kind, "text")


def _converted(declared: ColumnType) -> tuple[pl.Expr, pl.Expr]:
    """Which cells fit a type, and their values in it."""
    text, kind = pl.col("text"), pl.col("kind")
    if declared == "text":
        return pl.lit(True), text
    if declared == "boolean":
        return text.is_in(["true", "false"]), text == "true"
    if declared == "date":
        # a text may be written as a date, but the 31st of February is none
        moment = pl.coalesce(
            text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us"),
            text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us")),
        )
        return kind.is_in(["date", "text"]) & moment.is_not_null(), moment
    number = text.cast(pl.Float64, strict=False)
    if declared == "number":
        return (kind == "number") | ((kind == "text") & text.str.contains(_NUMBER)), number
    whole = (number == number.floor()) & (number.abs() <= _EXACT)
    fits = ((kind == "number") & whole) | ((kind == "text") & text.str.contains(_INTEGER))
    return fits, pl.coalesce(text.cast(pl.Int64, strict=False), number.cast(pl.Int64, strict=False))


def _refuse_mixture(counts: Mapping[str, int], name: str, where: str) -> NoReturn:
    mixture = " and ".join(f"{n:,} {_WORDS[kind]}" for kind, n in sorted(counts.items()))
    raise DataError(
        f"{where}: the column {name!r} mixes {mixture}. Make them all of one kind, declare the column as "
        'type = "text", or declare codes of missing values as undetermined.'
    )
