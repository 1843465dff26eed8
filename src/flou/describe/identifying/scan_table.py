"""The scan of a table: what the categories that it publishes, and the names of its columns, look like."""

from __future__ import annotations

import numpy as np
import polars as pl

from flou.describe.identifying.column_names import identifier_in_name
from flou.describe.identifying.scan import Finding
from flou.describe.identifying.value_patterns import in_numbers, in_texts, may_number
from flou.describe.schema import Schema
from flou.describe.table.table import Table


def scan_table(table: Table) -> tuple[Finding, ...]:
    """What the dimensions and the amounts of a table look like, but for columns whose schema says why they may be."""
    schema, published, found = table.schema or Schema(), table.public(), list[Finding]()
    for j, dim in enumerate(published.dims):
        for column, source in zip(dim.columns, source_columns(table, j), strict=True):
            if source in schema.scan:
                continue
            found += _by_name(source)
            texts = dim.labels[column].unique().drop_nulls()
            values = _counted(table, j, column).filter(pl.col("value").is_in(texts.to_list()))
            listed = source in schema.modalities or source in schema.hierarchies
            found += [Finding(column, look, "values") for look in _looks(values, listed=listed)]
    value = published_value(table)
    if value and value not in schema.scan:
        found += _by_name(value)
    return tuple(found)


def source_columns(table: Table, j: int) -> list[str]:
    """For each column that shows a dimension the column of the records: `age` for `age@decade`."""
    dim, declared = table.dims[j], set() if table.schema is None else set(table.schema.declared)
    names = dim.names or dim.columns
    return [name if name in declared or "@" not in name else name.rpartition("@")[0] for name in names]


def published_value(table: Table) -> str:
    """The column whose sums are published; empty where none is."""
    return table.value_name or "" if table.published_values is not None else ""


def _by_name(column: str) -> list[Finding]:
    what = identifier_in_name(column)
    return [Finding(column, what, "name")] if what else []


def _looks(values: pl.DataFrame, *, listed: bool) -> list[str]:
    """Labels are texts: those of a column of whole numbers are read as such."""
    numbers = values.with_columns(pl.col("value").cast(pl.Int64, strict=False))
    if values.height and not numbers["value"].null_count():
        high = float(numbers["value"].max())  # type: ignore[arg-type]
        return in_numbers(numbers) if may_number(high, values.height, int(values["n"].sum())) else []
    return in_texts(values, listed=listed)


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
