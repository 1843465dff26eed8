"""DuckDB: the small table is uploaded on the relation's own connection and joined there."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import polars as pl

from flou.engine.spool import spool_folder


def columns(relation: Any) -> list[str]:
    return list(relation.columns)


def match(relation: Any, keys: pl.DataFrame, on: list[str], how: Literal["semi", "anti", "left"]) -> Any:
    """Join with IS NOT DISTINCT FROM, so that null matches null.

    `relation.query` runs on the relation's own connection, where a frame of another connection could
    not be joined; the key table travels inside the query, so nothing is left registered behind.
    """
    condition = " AND ".join(f"__flou_rows.{quoted(c)} IS NOT DISTINCT FROM __flou_keys.{quoted(c)}" for c in on)
    extra = "".join(f", __flou_keys.{quoted(c)}" for c in keys.columns if c not in on) if how == "left" else ""
    source = f"({_values(keys)}) AS __flou_keys"
    sql = f"SELECT __flou_rows.*{extra} FROM __flou_rows {how.upper()} JOIN {source} ON {condition}"
    return relation.query("__flou_rows", sql)


def batches(relation: Any, size: int) -> Iterator[pl.DataFrame]:
    for batch in relation.to_arrow_reader(size):
        rows = pl.from_arrow(batch)
        assert isinstance(rows, pl.DataFrame)
        yield rows


def scan_files(files: list[str]) -> Any:
    """Parquet files in place, on a connection of their own."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")  # it would be printed among the results
    connection.execute("SET TimeZone = 'UTC'")  # DuckDB would take the machine's
    # rows that do not fit in memory would go to the working folder, readable by all
    connection.execute("SET temp_directory = ?", [str(spool_folder())])
    return connection.read_parquet([glob.escape(f) for f in files])


def scan_again(relation: Any, parts: Path) -> Any:
    """Parts on disk, read on the connection of a relation so that both can be joined."""
    pattern = str(parts / "*.parquet").replace("'", "''")
    return relation.query("__flou_rows", f"SELECT * FROM read_parquet('{pattern}')")


def _values(keys: pl.DataFrame) -> str:
    """The small table as one JSON text, parsed by the engine: thousands of literal rows would take it seconds."""
    columns = [[None if v is None else _text(v) for v in keys[c].to_list()] for c in keys.columns]
    rows = json.dumps([dict(enumerate(row)) for row in zip(*columns, strict=True)]).replace("'", "''")
    shape = json.dumps([{str(i): "VARCHAR" for i in range(keys.width)}])
    casts = ", ".join(f'CAST("{i}" AS {_sql_type(t)}) AS {quoted(n)}' for i, (n, t) in enumerate(keys.schema.items()))
    return f"SELECT {casts} FROM (SELECT UNNEST(from_json('{rows}', '{shape}'), recursive := true))"


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


def _text(value: object) -> str:
    """A value as text that DuckDB's cast reads back exactly."""
    return repr(value) if isinstance(value, float) else str(value)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
