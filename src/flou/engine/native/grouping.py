"""Grouping rows by several sets of columns, and the largest rows of each group, on every engine.

narwhals has neither. DuckDB and Spark have grouping sets, one pass over the rows; Polars groups set by set.
Null in a column of a set is a value of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import polars as pl

from flou.engine.native import duckdb, polars, spark

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]
_SET = "__flou_set"


def group_sets(frame: Frame, sets: Sequence[Sequence[str]], count: str, sums: Sequence[str]) -> list[pl.DataFrame]:
    """For each set of columns its distinct values with the number of rows and the sums of integer columns."""
    native = frame.to_native()
    if isinstance(native, pl.DataFrame | pl.LazyFrame):
        # one scan a set, of its own columns alone: one for all would hold the file's columns in memory
        return [_polars(native.lazy(), chosen, count, sums) for chosen in sets]
    names = list(dict.fromkeys(c for chosen in sets for c in chosen))
    found = (_spark if type(native).__module__.startswith("pyspark.") else _duckdb)(native, sets, names, count, sums)
    found = found.with_columns(pl.col(count, *sums).cast(pl.Int64))
    # bit by bit, from the last column on, 1 where the column is summed over
    numbers = [sum(1 << (len(names) - 1 - j) for j, c in enumerate(names) if c not in chosen) for chosen in sets]
    return [
        found.filter(pl.col(_SET) == number).select(*chosen, count, *sums)
        for number, chosen in zip(numbers, sets, strict=True)
    ]


def _polars(frame: pl.LazyFrame, chosen: Sequence[str], count: str, sums: Sequence[str]) -> pl.DataFrame:
    packed = polars.group_packed(frame, list(chosen), count, {s: s for s in sums})
    if packed is not None:
        return packed
    figures = [pl.len().cast(pl.Int64).alias(count), *(pl.col(s).sum() for s in sums)]
    return polars.collect(frame.group_by(list(chosen)).agg(figures))


def _duckdb(relation: Any, sets: Sequence[Sequence[str]], names: list[str], count: str, sums: Sequence[str]) -> Any:
    quoted = [duckdb.quoted(n) for n in names]
    groups = ", ".join(f"({', '.join(duckdb.quoted(c) for c in chosen)})" for chosen in sets)
    figures = [
        f"GROUPING({', '.join(quoted)})::BIGINT AS {_SET}",
        f"COUNT(*) AS {duckdb.quoted(count)}",
        *(f"CAST(SUM({duckdb.quoted(s)}) AS BIGINT) AS {duckdb.quoted(s)}" for s in sums),
    ]
    sql = f"SELECT {', '.join([*quoted, *figures])} FROM __flou_rows GROUP BY GROUPING SETS ({groups})"
    return pl.from_arrow(relation.query("__flou_rows", sql).to_arrow_table())


def _spark(frame: Any, sets: Sequence[Sequence[str]], names: list[str], count: str, sums: Sequence[str]) -> Any:
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    grouped = frame.groupingSets([[frame[c] for c in chosen] for chosen in sets], *(frame[c] for c in names))
    figures = [F.grouping_id().alias(_SET), F.count(F.lit(1)).alias(count), *(F.sum(s).alias(s) for s in sums)]
    return spark.to_polars(grouped.agg(*figures).select(*names, _SET, count, *sums))


def largest_rows(frame: Frame, names: Sequence[str], by: Sequence[str], most: int) -> pl.DataFrame:
    """Of each group the rows that come first when ordered by `by`, each descending; `by` and the groups' columns."""
    native = frame.to_native()
    if isinstance(native, pl.DataFrame | pl.LazyFrame):
        alone = len(by) == 1
        largest = [pl.col(b).top_k(most) if alone else pl.col(b).top_k_by(list(by), most) for b in by]
        return polars.collect(native.lazy().group_by(list(names)).agg(largest).explode(list(by)))
    if type(native).__module__.startswith("pyspark."):
        from pyspark.sql import Window
        from pyspark.sql import functions as F  # noqa: N812

        window = Window.partitionBy(*names).orderBy(*(F.col(b).desc() for b in by))
        ranked = native.withColumn(_SET, F.row_number().over(window)).filter(F.col(_SET) <= most)
        return spark.to_polars(ranked.select(*names, *by))
    groups = ", ".join(duckdb.quoted(n) for n in names)
    order = ", ".join(f"{duckdb.quoted(b)} DESC" for b in by)
    chosen = ", ".join(duckdb.quoted(c) for c in (*names, *by))
    sql = (
        f"SELECT {chosen} FROM __flou_rows QUALIFY row_number() OVER (PARTITION BY {groups} ORDER BY {order}) <= {most}"
    )
    found = pl.from_arrow(native.query("__flou_rows", sql).to_arrow_table())
    assert isinstance(found, pl.DataFrame)
    return found
