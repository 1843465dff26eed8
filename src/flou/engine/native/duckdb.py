"""DuckDB: the small table is uploaded on the relation's own connection and joined there."""

from __future__ import annotations

import math
from typing import Any, Literal

import polars as pl


def columns(relation: Any) -> list[str]:
    return list(relation.columns)


def match(relation: Any, keys: pl.DataFrame, on: list[str], how: Literal["semi", "anti", "left"]) -> Any:
    """Join with IS NOT DISTINCT FROM, so that null matches null.

    `relation.query` runs on the relation's own connection, where a frame of another connection could
    not be joined; the key table travels as literal rows, so nothing is left registered behind.
    """
    condition = " AND ".join(f"__flou_rows.{_quoted(c)} IS NOT DISTINCT FROM __flou_keys.{_quoted(c)}" for c in on)
    extra = "".join(f", __flou_keys.{_quoted(c)}" for c in keys.columns if c not in on) if how == "left" else ""
    source = f"({_values(keys)}) AS __flou_keys"
    sql = f"SELECT __flou_rows.*{extra} FROM __flou_rows {how.upper()} JOIN {source} ON {condition}"
    return relation.query("__flou_rows", sql)


def _values(keys: pl.DataFrame) -> str:
    names = ", ".join(_quoted(n) for n in keys.columns)
    if keys.is_empty():
        empty = ", ".join(f"CAST(NULL AS {_sql_type(t)}) AS {_quoted(n)}" for n, t in keys.schema.items())
        return f"SELECT {empty} WHERE FALSE"
    types = [_sql_type(t) for t in keys.dtypes]
    rows = ", ".join(
        "(" + ", ".join(f"CAST({_literal(v)} AS {t})" for v, t in zip(row, types, strict=True)) + ")"
        for row in keys.iter_rows()
    )
    return f"SELECT * FROM (VALUES {rows}) AS __flou_literal({names})"


def _sql_type(dtype: pl.DataType) -> str:
    if dtype.is_integer():
        return "BIGINT"
    if dtype.is_float():
        return "DOUBLE"
    if isinstance(dtype, pl.Decimal):
        return f"DECIMAL({dtype.precision or 38}, {dtype.scale})"
    if isinstance(dtype, pl.Datetime):
        return "TIMESTAMPTZ" if dtype.time_zone else "TIMESTAMP"
    return {pl.Boolean: "BOOLEAN", pl.Date: "DATE"}.get(type(dtype), "VARCHAR")


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
