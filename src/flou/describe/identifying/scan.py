"""The scan: which columns that would be published look as if they named people.

It reads the names of the columns and every distinct value, whatever roles the schema gives. It is a net for what
somebody forgot, not a proof. An alarm too many costs a line in the schema; a miss costs a person.
"""

from __future__ import annotations

from dataclasses import dataclass

import narwhals as nw
import polars as pl

from flou.describe.identifying.column_names import identifier_in_name, names_birth, names_people
from flou.describe.identifying.number_patterns import are_dates, in_numbers, may_number
from flou.describe.identifying.value_patterns import in_texts
from flou.describe.microdata import Microdata
from flou.engine import native

#: What a column looks like whose name says birth, and whose values are days.
BIRTH = "a date of birth"


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
        dtype, listed = types[column], column in schema.modalities or column in schema.hierarchies
        found += by_name(column)
        born = names_birth(column)
        looks = [BIRTH] if dtype.is_temporal() and born else []
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            values = _distinct(data, column, nw.col(column).cast(nw.String))
            looks += looks_of(values, column, listed=listed)
        elif dtype.is_numeric() and _may_number(data, column, born=born):
            values = _distinct(data, column, nw.col(column).cast(nw.Int64))
            looks += looks_of(values, column, listed=listed)
        found += [Finding(column, look, "name" if look == BIRTH else "values") for look in looks]
    return tuple(found)


def by_name(column: str) -> list[Finding]:
    """What the name of a column says that it holds."""
    what = identifier_in_name(column)
    return [Finding(column, what, "name")] if what else []


def looks_of(values: pl.DataFrame, column: str, *, listed: bool) -> list[str]:
    """What texts or whole numbers look like, given as `value` with the number `n` of records."""
    if names_birth(column) and are_dates(values["value"].cast(pl.String)):
        return [BIRTH]
    if values["value"].dtype == pl.String:
        return in_texts(values, listed=listed, hinted=names_people(column))
    return in_numbers(values, listed=listed)


def _distinct(data: Microdata, column: str, values: nw.Expr) -> pl.DataFrame:
    """Each value that is not null, and in how many records."""
    held = data.frame.select(values.alias("value")).drop_nulls().group_by("value").agg(nw.len().alias("n"))
    return native.collect(held).with_columns(pl.col("n").cast(pl.Int64))


def _may_number(data: Microdata, column: str, *, born: bool) -> bool:
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
    if not row["there"] or row.get("broken") or not -(2.0**63) < row["low"] <= row["high"] < 2.0**63:
        return False
    return born or may_number(row["low"], row["high"], row["n"], row["there"])
