"""What randomness hangs on: an id for each unit, which neither the order of rows nor the engine changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.unique_ids import all_differ
from flou.engine import native
from flou.engine.errors import DataError, LazyInputError
from flou.engine.several_rows import refuse_several_rows

if TYPE_CHECKING:
    from flou.describe.microdata import Microdata


def count_where(data: Microdata, condition: nw.Expr) -> int:
    """Number of records that meet a condition; a null does not meet it."""
    with data.watched():
        met = condition.fill_null(False).cast(nw.Int64).sum().alias("n")
        return int(native.collect(data.frame.select(met)).item() or 0)


def unit_ids(data: Microdata) -> NDArray[np.generic]:
    """The role `id`, or for rows in memory their place in an order by content."""
    refuse_several_rows(data, "A draw by id")
    if data.schema.id is not None:
        return declared_ids(native.collect(data.frame.select(data.schema.id))[data.schema.id])
    if data.is_lazy:
        raise LazyInputError(
            "Randomness needs an id for each unit. Declare the role id, or load the rows with .collect()."
        )
    return ids_by_content(native.collect(data.shown(reveal=True)))


def published_owners(data: Microdata) -> NDArray[np.generic]:
    """Whose row each row of `.public()` is, in that order."""
    rows, name = native.collect(data.numbered().frame), data.unit_column
    return rows.sort(*data.public().columns, name, nulls_last=True)[name].to_numpy()


def declared_ids(held: pl.Series) -> NDArray[np.generic]:
    """The ids of the role `id`, once it is sure that they tell all units apart."""
    n_null = held.null_count()
    if n_null or not all_differ(nw.from_native(held.to_frame(), eager_only=True), held.name):
        raise DataError(
            f"The id {held.name!r} must be unique and never null: {n_null:,} are null, "
            f"{len(held) - held.n_unique():,} are repeated."
        )
    return held.to_numpy()


def ids_by_content(rows: pl.DataFrame) -> NDArray[np.int64]:
    """The place of each row in an order by content, where no id is declared."""
    order = rows.with_row_index("__flou_row").sort(rows.columns, nulls_last=True)["__flou_row"].to_numpy()
    ids = np.empty(len(order), dtype=np.int64)
    ids[order] = np.arange(len(order))
    return ids
