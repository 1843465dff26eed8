"""Nulls in some of a key's records: which ones is drawn, and applied to the rows where they are."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.describe.units import count_where
from flou.engine import native
from flou.engine.errors import DataError
from flou.engine.keys import KeyTable
from flou.engine.randomness import Draws
from flou.protect.micro.lattice.key_file import hide
from flou.protect.micro.nulls.parts import Nulling
from flou.protect.micro.shown_keys import GROUP, Shown, remembering, show

_KEY = f"{native.RESERVED}key"


def show_nulling(
    data: Microdata, table: KeyTable, columns: tuple[str, ...], nulling: Nulling, draw: Draws
) -> tuple[Microdata, Shown]:
    """The rows with their new nulls. Where the records of a key are treated differently, groups are drawn."""
    group = _groups(nulling)
    keys = table.frame.select(table.columns)[nulling.key]
    split = bool(group.any())
    if split:
        keys = keys.with_columns(pl.Series(GROUP, group))
    shown = {c: hide(keys[c], (nulling.mask >> j) & 1 == 1) for j, c in enumerate(columns)}
    held = Shown(keys, nulling.n, shown, np.zeros(len(nulling.key), dtype=np.bool_))
    frame = _with_groups(data, table, nulling, group, draw) if split else None
    return show(data, held, remembering(data.schema, data, held), frame), held


def _groups(nulling: Nulling) -> NDArray[np.int64]:
    """The number of each choice of nulls among those of its key."""
    first = np.concatenate([[True], nulling.key[1:] != nulling.key[:-1]])
    begin = np.flatnonzero(first)
    return np.arange(len(nulling.key)) - np.repeat(begin, np.diff(np.append(begin, len(nulling.key))))


def _with_groups(
    data: Microdata, table: KeyTable, nulling: Nulling, group: NDArray[np.int64], draw: Draws
) -> native.Frame:
    """The rows with the group of each; only keys whose records are divided are looked at."""
    divided = np.unique(nulling.key[group > 0])
    small = table.frame.select(table.columns)[divided].with_columns(pl.Series(_KEY, divided))
    on = list(table.columns)
    if not data.is_lazy:
        rows = native.collect(data.frame)
        key = _key_of(rows, small, on)
        inside = key >= 0
        drawn = np.zeros(len(rows), dtype=np.int64)
        drawn[inside] = _drawn(key[inside], data.unit_ids()[inside], nulling, group, draw)
        return nw.from_native(rows.with_columns(pl.Series(GROUP, drawn)), eager_only=True)
    unit = data.unit_column
    _require_distinct(data, unit)
    rows = native.collect(native.match_keys(data.frame.select(*dict.fromkeys([*on, unit])), small, on, "semi"))
    drawn = _drawn(_key_of(rows, small, on), rows[unit].to_numpy(), nulling, group, draw)
    groups = rows.select(unit).with_columns(pl.Series(GROUP, drawn))
    joined = native.match_keys(data.frame, groups, [unit], "left")
    return joined.with_columns(nw.col(GROUP).fill_null(0).cast(nw.Int64))


def _require_distinct(data: Microdata, unit: str) -> None:
    """Records are told apart by their id, so no two may share one."""
    n_null = count_where(data, nw.col(unit).is_null())
    counted = data.frame.select(unit).group_by(unit).agg(nw.len().alias(_KEY)).filter(nw.col(_KEY) > 1)
    n_repeated = int(native.collect(counted.select(nw.len().alias("n"))).item())
    if n_null or n_repeated:
        raise DataError(
            f"The id {unit!r} must be unique and never null: {n_null:,} are null, {n_repeated:,} are repeated."
        )


def _key_of(rows: pl.DataFrame, small: pl.DataFrame, on: list[str]) -> NDArray[np.int64]:
    """The number of each row's key; -1 where it is not among them."""
    found = native.collect(native.match_keys(nw.from_native(rows.select(on), eager_only=True), small, on, "left"))
    return found[_KEY].fill_null(-1).to_numpy().astype(np.int64)


def _drawn(
    key: NDArray[np.int64], ids: NDArray[np.generic], nulling: Nulling, group: NDArray[np.int64], draw: Draws
) -> NDArray[np.int64]:
    """The group of each record: the records of a key in a random order are dealt out to its groups."""
    order = np.lexsort((draw.bits(ids), key))
    wanted = np.isin(nulling.key, key)
    # groups stand by key, and so do the records: both in the order of the keys' numbers
    by_key = np.lexsort((group[wanted], nulling.key[wanted]))
    found = np.empty(len(key), dtype=np.int64)
    found[order] = np.repeat(group[wanted][by_key], nulling.n[wanted][by_key])
    return found
