"""Columns that give a nulled key away: where every other record with the same value shows one value of the key.

A null protects only as far as no other published column says what it was. An age in years beside its class, a
stratum named after the region: whoever looks at the records that share it reads the nulled value off.
"""

from __future__ import annotations

import narwhals as nw
import polars as pl

from flou.describe.microdata import Microdata
from flou.engine import native

#: Records with a value from which on it says something, and the share of records that such values must have.
_MIN_RECORDS, _MIN_SHARE = 5, 0.5
#: Columns with more values are amounts and the like, whose values few share.
_MAX_VALUES = 10_000


def columns_that_tell(data: Microdata, key: str) -> list[str]:
    """The published columns, no keys, that determine a key."""
    schema = data.schema
    closed = {*schema.hidden, *schema.keys, schema.weight}
    others = [c for c in data.columns if c not in closed]
    if not others or not data.n_records:
        return []
    sizes = native.collect(data.frame.select(nw.col(*others).n_unique())).row(0, named=True)
    return [c for c in others if 1 < sizes[c] <= _MAX_VALUES and _determines(data, c, key)]


def _determines(data: Microdata, column: str, key: str) -> bool:
    table = data.key_table([column, key])
    pairs = table.frame.with_columns(pl.Series("__flou_n", table.counts)).drop_nulls([column, key])
    if pairs[key].n_unique() < 2:
        return False
    values = pairs.group_by(column).agg(pl.col("__flou_n").sum(), pl.len().alias("__flou_keys"))
    telling = values.filter(pl.col("__flou_n") >= _MIN_RECORDS)
    covered = int(telling["__flou_n"].sum()) >= _MIN_SHARE * int(pairs["__flou_n"].sum())
    return bool(covered and (telling["__flou_keys"] == 1).all())
