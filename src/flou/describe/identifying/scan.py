"""The scan: which columns that would be published look as if they named people.

It reads the names of the columns and every distinct value, whatever roles the schema gives. It is a net for what
somebody forgot, not a proof: a name that half of the records share with others passes.
"""

from __future__ import annotations

from dataclasses import dataclass

import narwhals as nw
import polars as pl

from flou.describe.identifying.column_names import identifier_in_name, names_birth
from flou.describe.identifying.value_patterns import in_numbers, in_texts, may_number
from flou.describe.microdata import Microdata
from flou.engine import native


@dataclass(frozen=True)
class Finding:
    """A column, and what it looks like."""

    column: str
    looks_like: str
    #: Whether its name says so, or its values.
    by: str


def scan_of(data: Microdata) -> tuple[Finding, ...]:
    """The scan of a file, made once."""
    found: tuple[Finding, ...] = data.remembered("scan", lambda: scan(data))
    return found


def scan(data: Microdata) -> tuple[Finding, ...]:
    """What the columns that would be published look like, but for those whose schema says why they may be."""
    schema = data.schema
    columns = [c for c in data.columns if c not in schema.hidden and c not in schema.scan]
    types = data.frame.collect_schema()
    found = []
    for column in columns:
        dtype = types[column]
        by_name = identifier_in_name(column)
        if by_name:
            found.append(Finding(column, by_name, "name"))
        if dtype.is_temporal() and names_birth(column):
            found.append(Finding(column, "a date of birth", "name"))
        looks: list[str] = []
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            values = _distinct(data, column, nw.col(column).cast(nw.String))
            looks = in_texts(values, listed=column in schema.modalities or column in schema.hierarchies)
        elif dtype.is_numeric():
            looks = (
                in_numbers(_distinct(data, column, nw.col(column).cast(nw.Int64))) if _may_number(data, column) else []
            )
        found += [Finding(column, look, "values") for look in looks]
    return tuple(found)


def _distinct(data: Microdata, column: str, values: nw.Expr) -> pl.DataFrame:
    """Each value that is not null, and in how many records."""
    held = data.frame.select(values.alias("value")).drop_nulls().group_by("value").agg(nw.len().alias("n"))
    return native.collect(held).with_columns(pl.col("n").cast(pl.Int64))


def _may_number(data: Microdata, column: str) -> bool:
    """Whether a column holds whole numbers that are worth looking at one by one; asked of the engine, by figures."""
    held = nw.col(column)
    figures = [
        held.max().alias("high"),
        held.min().alias("low"),
        held.n_unique().alias("n"),
        held.count().alias("there"),
    ]
    if not data.frame.collect_schema()[column].is_integer():
        figures.append((held != held.round(0)).cast(nw.Int64).sum().alias("broken"))
    row = native.collect(data.frame.select(*figures)).row(0, named=True)
    if not row["there"] or row.get("broken") or not 0 <= row["low"] <= row["high"] < 2.0**63:
        return False
    return may_number(row["high"], row["n"], row["there"])
