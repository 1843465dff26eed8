"""Types of PostgreSQL and types of Flou, both ways.

Every column is cast on purpose when it is read: left alone, the driver gives exact numbers as text and
takes an object number for a signed one. What has no simple value in Flou is refused, by name.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from flou.engine.database_uri import quoted
from flou.engine.errors import DataError, OutputError, listed

_AS_INTEGER, _AS_TEXT, _AS_IT_IS = "{}::pg_catalog.int8", "{}::pg_catalog.text", "{}"
#: A number without digits after the point is whole; the cast fails where one does not fit 64 bits.
_AS_WHOLE = "NULLIF({}, 'NaN')::pg_catalog.int8"
_AS_FLOAT = "{}::pg_catalog.float8"
_READ = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), _AS_INTEGER),
    **dict.fromkeys(("text", "varchar", "bpchar", "char", "name", "citext", "uuid", "enum"), _AS_TEXT),
    **dict.fromkeys(("float4", "float8", "bool", "date", "time", "timestamp", "timestamptz"), _AS_IT_IS),
    "money": "{}::pg_catalog.numeric::pg_catalog.float8",
}

#: Name, type as the database writes it, name of the base type ("enum" for any enumeration) and its modifier.
COLUMNS = """
WITH RECURSIVE held AS (
    SELECT attnum, attname::text AS name, pg_catalog.format_type(atttypid, atttypmod) AS shown,
           atttypid AS type, atttypmod AS modifier
    FROM pg_catalog.pg_attribute WHERE attrelid = $1::int8::oid AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT held.attnum, held.name, held.shown, t.typbasetype, t.typtypmod
    FROM held JOIN pg_catalog.pg_type t ON t.oid = held.type WHERE t.typtype = 'd'
)
SELECT held.name, held.shown,
       CASE WHEN t.typtype = 'e' THEN 'enum'
            WHEN t.typnamespace = 'pg_catalog'::regnamespace OR t.typname = 'citext' THEN t.typname::text
            ELSE '' END,
       held.modifier::int8
FROM held JOIN pg_catalog.pg_type t ON t.oid = held.type WHERE t.typtype <> 'd' ORDER BY held.attnum
"""


@dataclass(frozen=True)
class Column:
    """A column as the catalogue describes it, in the order of `COLUMNS`."""

    name: str
    shown: str
    base: str
    modifier: int

    @property
    def cast(self) -> str | None:
        """How it is read; None for what holds no simple values."""
        if self.base != "numeric":
            return _READ.get(self.base)
        return _AS_WHOLE if self.modifier >= 4 and _scale(self.modifier) <= 0 else _AS_FLOAT


def _scale(modifier: int) -> int:
    """Digits after the point of a numeric(p, s), from eleven bits with a sign."""
    return (((modifier - 4) & 0x7FF) ^ 0x400) - 0x400


def select_list(columns: Sequence[Column], table: str) -> str:
    """What to select, so that every value arrives as a type that Flou knows."""
    if not columns:
        raise DataError(f"The table {table} has no columns.")
    refused = [f"{c.name} ({c.shown})" for c in columns if c.cast is None]
    if refused:
        raise DataError(
            f"These columns of {table} hold no simple values: {listed(refused)}. Make a view that casts them "
            "(column::text) or leaves them out, and read the view."
        )
    return ", ".join(f"{c.cast.format(quoted(c.name))} AS {quoted(c.name)}" for c in columns if c.cast is not None)


def require_in_range(frame: pl.DataFrame, n_nulls: Sequence[int]) -> None:
    """Refuse dates and times that have no place in Flou; the driver wraps an infinite date round to any other."""
    first, last = dt.date(1, 1, 1), dt.date(9999, 12, 31)
    for column, expected in zip(frame.iter_columns(), n_nulls, strict=True):
        whole = column.dtype in (pl.Date, pl.Datetime)
        outside = whole and not column.dt.date().is_between(first, last).all()
        if outside or column.null_count() != expected:
            raise DataError(
                f"The column {column.name!r} holds infinite dates, dates outside the years 1 to 9999, or 24:00 as a "
                "time. Make a view that replaces them, and read the view."
            )


def written_types(schema: pl.Schema) -> dict[str, tuple[str, pl.DataType]]:
    """For each column its type in the database, and the type to send it as."""
    found = {name: _written(dtype) for name, dtype in schema.items()}
    refused = [f"{name} ({schema[name]})" for name, types in found.items() if types is None]
    if refused:
        raise OutputError(f"These columns hold no simple values and cannot be written: {listed(refused)}.")
    return {name: types for name, types in found.items() if types is not None}


def _written(dtype: pl.DataType) -> tuple[str, pl.DataType] | None:
    if isinstance(dtype, pl.Datetime):
        kind = "timestamp" if dtype.time_zone is None else "timestamptz"
        return kind, pl.Datetime("us", dtype.time_zone)
    if isinstance(dtype, pl.Decimal):
        return f"numeric({dtype.precision or 38}, {dtype.scale})", dtype
    if dtype.is_integer():
        return "bigint", pl.Int64()
    if dtype.is_float():
        return ("real", pl.Float32()) if dtype == pl.Float32 else ("double precision", pl.Float64())
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Null):
        return "text", pl.String()
    simple: dict[type[pl.DataType], str] = {pl.Boolean: "boolean", pl.Date: "date", pl.Time: "time"}
    return (simple[type(dtype)], dtype) if type(dtype) in simple else None
