"""Does the role `id` name each person once? Asked when data are described, in the engine that holds them.

Two rows with one id are one person twice: counted as two they hide each other. So an id that occurs more than once is
refused, unless the schema says that a person may have several rows. An id that is null names nobody and is always
refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl

from flou.describe.schema import Schema
from flou.engine import native

if TYPE_CHECKING:
    from flou.describe.microdata import Microdata
    from flou.engine.keys import KeyTable

#: How many of the ids that occur more than once an error shows.
_SHOWN = 3
#: Numbers that may be unused for each record before ticking them off takes more room than hashing them.
_MOST_GAPS = 8
_N = f"{native.RESERVED}n"


def id_problems(frame: native.Frame, schema: Schema) -> list[str]:
    """What is wrong with the ids of a file; nothing where no column has this role."""
    if schema.id is None:
        if schema.rows_per_person == "several":
            return ['rows_per_person = "several" needs the role id: it says which rows belong to one person']
        return []
    name = schema.id
    if n_null := _count(frame.filter(nw.col(name).is_null())):
        return [
            f"the id {name!r} must be unique and never null: {n_null:,} are null. Give each of these records the id of "
            "its person, or leave them out"
        ]
    if schema.rows_per_person == "several" or all_differ(frame, name):
        return []
    return [_repeated(frame, name)]


def count_persons(data: Microdata, keys: KeyTable) -> int:
    """How many persons a file holds: the records of its keys, or the distinct ids where they may have several rows."""
    return keys.n_records if keys.people is None else int(data.key_table(()).persons.item())


def _count(frame: native.Frame) -> int:
    return int(native.collect(frame.select(nw.len().cast(nw.Int64).alias(_N))).item())


def all_differ(frame: native.Frame, name: str) -> bool:
    """Whether no id occurs twice; none of them is null. Whole numbers that span little are ticked off."""
    held = frame.select(name)
    if held.implementation.is_polars() and held.collect_schema()[name].is_integer():
        column = nw.col(name)
        ends = held.select(column.min().alias("low"), column.max().alias("high"), nw.len().alias("n"))
        low, high, n = native.collect(ends).row(0)
        if not n:
            return True
        if high - low < _MOST_GAPS * n:
            return _tick_off(held, int(low), int(high), int(n))
    n_distinct = native.collect(held.select(nw.col(name).n_unique().cast(nw.Int64).alias(_N))).item()
    return int(n_distinct or 0) == _count(held)


def _tick_off(held: native.Frame, low: int, high: int, n: int) -> bool:
    """Whether `n` whole numbers from `low` to `high` all differ; some of them in memory at a time."""
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    for rows in [held.to_polars()] if isinstance(held, nw.DataFrame) else native.batches(held):
        numbers = rows.to_series().to_numpy()
        seen[numbers - low if low else numbers] = True
    return int(np.count_nonzero(seen)) == n


def _repeated(frame: native.Frame, name: str) -> str:
    """The problem in words: how many persons there are, a few ids with their rows, and what to do."""
    grouped = frame.group_by(name).agg(nw.len().cast(nw.Int64).alias(_N))
    n_persons = _count(grouped)
    often = native.collect(grouped.filter(nw.col(_N) > 1)).sort([_N, name], descending=[True, False])
    shown = ", ".join(f"{person!r} ({n:,} times)" for person, n in often.head(_SHOWN).select(name, pl.col(_N)).rows())
    more = ", …" if often.height > _SHOWN else ""
    return (
        f"the id {name!r} must be unique and never null: the {_count(frame):,} records are of {n_persons:,} persons, "
        f"and {often.height:,} of the ids occur more than once: {shown}{more}. A person who is counted several times "
        "seems to hide among others. If a person may have several rows, declare "
        'rows_per_person = "several", and persons are counted; else make the ids unique, or take the role id away'
    )
