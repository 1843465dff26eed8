"""Columns that tell what is about to be nulled in a key, by the whole file: one group-by for each column.

A null protects only as far as no other published column says what it was. An age in years beside its class, a
stratum named after the region: whoever looks at the records that share it reads the nulled value off.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def columns_that_tell(data: Microdata, keys: KeyTable, column: str, nulled: NDArray[np.float64]) -> list[str]:
    """The published columns, neither keys nor the weight, that give a key back.

    `nulled` is the share of the records of each key that will show a null there.
    """
    schema = data.schema
    closed = {*schema.hidden, *schema.keys, *keys.columns, schema.weight}
    others = [c for c in data.columns if c not in closed]
    if not others or not data.n_records:
        return []
    sizes = native.collect(data.frame.select(nw.col(*others).n_unique())).row(0, named=True)
    return list(_telling(data, keys, column, nulled, [c for c in others if 1 < sizes[c] <= _MAX_VALUES]))


def _telling(
    data: Microdata, keys: KeyTable, column: str, nulled: NDArray[np.float64], others: list[str]
) -> Iterator[str]:
    for other in others:
        table = count_keys(data.frame, (other, *keys.columns))
        share = nulled[keys.locate(table.frame)]
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
        sure, _ = asked.leaks(
            Codes(np.where(groups < 0, groups.max(initial=0) + 1, groups), int(groups.max(initial=0)) + 2)
        )
        if sure >= max(1.0, _MIN_SHARE * treated.sum()):
            yield other
