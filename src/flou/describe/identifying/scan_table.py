"""The scan of a table: what the categories that it publishes, and the names of its columns, look like."""

from __future__ import annotations

import numpy as np
import polars as pl

from flou.describe.identifying.column_names import names_birth
from flou.describe.identifying.number_patterns import may_number
from flou.describe.identifying.scan import Finding, by_name, looks_of
from flou.describe.schema import Schema
from flou.describe.table.table import Table


def scan_table(table: Table) -> tuple[Finding, ...]:
    """What the dimensions and the amounts of a table look like, but for columns whose schema says why they may be."""
    schema, published, found = table.schema or Schema(), table.public(), list[Finding]()
    for j, dim in enumerate(published.dims):
        for column, source in zip(dim.columns, source_columns(table, j), strict=True):
            if source in schema.scan:
                continue
            found += by_name(source)
            texts = dim.labels[column].unique().drop_nulls()
            values = _counted(table, j, column).filter(pl.col("value").is_in(texts.to_list()))
            listed = source in schema.modalities or source in schema.hierarchies
            found += [Finding(column, look, "values") for look in _looks(values, source, listed=listed)]
    value = published_value(table)
    if value and value not in schema.scan:
        found += by_name(value)
    return tuple(found)


def source_columns(table: Table, j: int) -> list[str]:
    """For each column that shows a dimension the column of the records: `age` for `age@decade`."""
    dim, declared = table.dims[j], set() if table.schema is None else set(table.schema.declared)
    names = dim.names or dim.columns
    return [name if name in declared or "@" not in name else name.rpartition("@")[0] for name in names]


def published_value(table: Table) -> str:
    """The column whose sums are published; empty where none is."""
    return table.value_name or "" if table.published_values is not None else ""


def _looks(values: pl.DataFrame, column: str, *, listed: bool) -> list[str]:
    """Labels are texts: those of a column of whole numbers are read as such."""
    numbers = values.with_columns(pl.col("value").cast(pl.Int64, strict=False))
    held = numbers["value"]
    if not values.height or held.null_count():
        return looks_of(values, column, listed=listed)
    low, high, n = float(held.min()), float(held.max()), int(values["n"].sum())  # type: ignore[arg-type]
    if names_birth(column) or may_number(low, high, values.height, n):
        return looks_of(numbers, column, listed=listed)
    return []


def _counted(table: Table, j: int, column: str) -> pl.DataFrame:
    """The categories of a column, and how many records have each.

    Each combination of levels of the other dimensions adds up to the records that it covers: the largest sum counts.
    """
    held = table.published_counts if table.cells.count is None else table.cells.count
    depths = {
        f"{i} {part}": getattr(dim, part)[table.cells.codes[:, i]]
        for i, dim in enumerate(table.dims)
        for part in ("zonings", "depths")
    }
    label = table.dims[j].labels[column].gather(table.cells.codes[:, j].astype(np.uint32))
    rows = pl.DataFrame({"value": label, "n": np.nan_to_num(held), **depths})
    sums = rows.filter(pl.col("value") != table.dims[j].total).group_by("value", *depths).agg(pl.col("n").sum())
    return sums.group_by("value").agg(pl.col("n").max().cast(pl.Int64).clip(1))
