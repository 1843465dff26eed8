"""How many people of a public table share each key of a file.

A record of the file agrees with the people who have its known key values, whatever they have where it is null:
local suppression hides among more people. A person of the table whose value is null agrees with no known value,
so that what the table does not know never adds to the crowd.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.describe.unique_ids import count_persons
from flou.engine import native
from flou.engine.errors import DataError, listed
from flou.engine.keys import KeyTable
from flou.engine.method import require_columns
from flou.engine.several_rows import refuse_several_rows
from flou.engine.values import as_written_in, text_of
from flou.risk.micro.setting import require_keys, require_sampling_weights

#: Where the people behind a key are counted.
Population = Literal["table", "weights"]

PEOPLE = f"{native.RESERVED}people"
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def people_table(data: Microdata, public: Microdata) -> KeyTable:
    """The public table by the keys of the file."""
    refuse_several_rows(public, "The public table")
    keys = require_keys(data)
    require_columns(public, keys, "The public table lacks a key: keys")
    return public.key_table(keys)


def alike(keys: KeyTable, public: KeyTable) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The keys of both, those of the table with how many people have each.

    Where a column is stored otherwise they are canonical texts: 1, 1.0 and "1" are one value, and so are a moment and
    the text that a CSV file has for it.
    """
    other = [c for c in keys.columns if keys.frame[c].dtype != public.frame[c].dtype]
    ours, theirs = (
        held.frame.with_columns(_texts(held.frame[c], beside.frame[c].dtype) for c in other)
        for held, beside in ((keys, public), (public, keys))
    )
    return ours, theirs.with_columns(pl.Series(PEOPLE, public.counts))


def _texts(held: pl.Series, other: pl.DataType) -> pl.Series:
    """Values as canonical texts, to compare them with a column of another type."""
    texts = [None if v is None else text_of(as_written_in(other, v)) for v in held.to_list()]
    return pl.Series(held.name, texts, dtype=pl.String)


def count_people(keys: KeyTable, public: KeyTable) -> Ints:
    """For each key of the file the number of people who agree with it."""
    found = np.zeros(keys.n_keys, dtype=np.int64)
    nulls = keys.codes == -1
    ours, people = alike(keys, public)
    for pattern in np.unique(nulls, axis=0):
        rows = np.flatnonzero((nulls == pattern).all(axis=1))
        known = [c for c, null in zip(keys.columns, pattern, strict=True) if not null]
        if not known:
            found[rows] = public.n_records
            continue
        held = people.group_by(known).agg(pl.col(PEOPLE).sum())
        joined = ours[rows].select(known).join(held, on=known, how="left", maintain_order="left")
        found[rows] = joined[PEOPLE].fill_null(0).to_numpy()
    return found


def count_same(keys: KeyTable, public: KeyTable) -> Ints:
    """For each key of the file the number of people with the very same, null being a category."""
    ours, people = alike(keys, public)
    columns = list(keys.columns)
    joined = ours.join(people, on=columns, how="left", nulls_equal=True, maintain_order="left")
    return joined[PEOPLE].fill_null(0).to_numpy()


def require_contained(keys: KeyTable, people: Ints, n_persons: int, n_people: int) -> None:
    """Refuse a public table that cannot hold everybody of the file."""
    who = "records" if keys.people is None else "persons"
    if n_persons > n_people:
        raise DataError(
            f"The public table does not contain the file: it has {n_people:,} people, and the file {n_persons:,} {who}."
        )
    short = keys.persons > people
    if short.any():
        n = int((keys.persons - people)[short].sum())
        rows = keys.frame.filter(short).rows()
        hint = "" if None not in (v for row in rows for v in row) else " Undetermined keys are in no public table."
        raise DataError(
            f"The public table does not contain the file: {int(short.sum()):,} keys have more {who} than the table "
            f"has people ({n:,} too many). Is it the right table, with its keys recoded as in the file? Some "
            f"keys ({', '.join(keys.columns)}): {listed(rows, 3)}.{hint}"
        )


def population_frequencies(data: Microdata, public: Microdata | None) -> tuple[KeyTable, Floats]:
    """The keys of a file and how many people have each: counted in a public table, else the sums of weights."""
    keys = data.key_table(require_keys(data))
    if public is not None:
        people = count_people(keys, people_table(data, public))
        require_contained(keys, people, count_persons(data, keys), public.n_records)
        return keys, people.astype(np.float64)
    if keys.weights is None:
        raise DataError('population = "weights" needs the role weight, which is not declared.')
    require_sampling_weights(data)
    return keys, keys.weights
