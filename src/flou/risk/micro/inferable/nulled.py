"""Columns that tell what is about to be nulled in a key, by the whole file: one group-by for each column.

A null protects only as far as no other published column says what it was. An age in years beside its class, a
stratum named after the region: whoever looks at the records that share it reads the nulled value off.
"""

from __future__ import annotations

from collections.abc import Mapping

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.keys import KeyTable, count_keys
from flou.risk.micro.inferable.codes import Codes
from flou.risk.micro.inferable.predict import Asked

#: Columns with more values are amounts and the like, whose values few share.
_MAX_VALUES = 10_000
#: The share of the nulled values that a column must give back.
_MIN_SHARE = 0.5


def columns_that_tell(
    data: Microdata, keys: KeyTable, nulled: Mapping[str, NDArray[np.float64]]
) -> dict[str, list[str]]:
    """For each key that gets nulls the published columns, neither keys nor the weight, that give it back.

    `nulled` is by key column the share of the records of each key that will show a null there.
    """
    schema = data.schema
    closed = {*schema.hidden, *schema.keys, schema.weight}
    others = [c for c in data.columns if c not in closed]
    found: dict[str, list[str]] = {c: [] for c in nulled}
    if not others or not nulled or not data.n_records:
        return found
    sizes = native.collect(data.frame.select(nw.col(*others).n_unique())).row(0, named=True)
    for other in (c for c in others if 1 < sizes[c] <= _MAX_VALUES):
        table = count_keys(data.frame, tuple(dict.fromkeys((other, *keys.columns))))
        place = keys.locate(table.frame)
        for column, share in nulled.items():
            if _tells(table, other, column, share[place]):
                found[column].append(other)
    return found


def _tells(table: KeyTable, other: str, column: str, share: NDArray[np.float64]) -> bool:
    """Whether a column gives back at least half of what is nulled in a key, and is nearly always right."""
    labels, groups = (table.codes[:, table.columns.index(c)].astype(np.int64) for c in (column, other))
    known = labels >= 0
    treated = np.where(known & (share > 0), table.counts, 0)
    asked = Asked.labels(
        Codes(np.maximum(labels, 0), max(1, int(labels.max(initial=0)) + 1)),
        np.where(known & (share < 1), table.counts, 0),
        treated,
        known,
    )
    # a null of the other column is a value like any other
    last = int(groups.max(initial=0)) + 1
    sure, _ = asked.leaks(Codes(np.where(groups < 0, last, groups), last + 1))
    return bool(sure >= max(1.0, _MIN_SHARE * treated.sum()))
