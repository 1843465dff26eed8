"""Tables that others published: what is shown, how it came about, and nothing of what is true.

    flou.Table.from_published(frame, ["region", "sex"], mechanism=flou.protect.RandomRounding(5).mechanism)

Counts that are null are suppressed. The mechanism is what the office says that it did; without one the shown counts are
true. Such a table can be attacked and its bounds computed; it cannot be protected, for nobody here knows its figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.table.cells import Published
from flou.describe.table.dimension import TOTAL
from flou.describe.table.from_frame import table_from_frame
from flou.describe.table.table import Table
from flou.engine import native
from flou.engine.errors import DataError, ParameterError, did_you_mean
from flou.engine.result import unused
from flou.engine.tabulation import Listing

if TYPE_CHECKING:
    from flou.describe.schema import Schema


def table_from_published(
    frame: object,
    dims: Sequence[str] | str,
    *,
    count: str = "count",
    mechanism: Mechanism | None = None,
    total: str = TOTAL,
    cells: Listing | Literal["as given"] = "as given",
    name: str = "",
    schema: Schema | None = None,
) -> Table:
    """A table as it was published, from a frame that lists its cells.

    `cells` says whether cells are listed that nobody is in ("all"), or none ("occupied"): then somebody is in each that
    is suppressed. By default the first if a zero is among those shown. `schema` is what is known of the columns.
    """
    entered = native.enter(frame)
    rows = native.collect(entered.frame)
    if count not in rows.columns:
        raise DataError(f"The frame has no column {count!r}.{did_you_mean(count, rows.columns)} "
                        f"Columns: {', '.join(rows.columns)}.")  # fmt: skip
    if cells not in ("occupied", "all", "as given"):
        raise ParameterError(f'cells = {cells!r} must be "occupied" or "all".')
    if mechanism is not None and not isinstance(mechanism, Mechanism):
        raise ParameterError(
            f"mechanism = {mechanism!r} is no mechanism: give what made the figures, such as "
            "flou.protect.RandomRounding(base=5).mechanism, or leave it out where they are true."
        )
    shown = rows[count]
    zeros = bool((shown == 0).any()) if shown.dtype.is_numeric() else False
    listing: Listing = cells if cells != "as given" else "all" if zeros else "occupied"
    if not shown.dtype.is_numeric() and shown.drop_nulls().len():
        raise DataError(
            f"The column {count!r} holds {shown.dtype}, not counts: write suppressed cells as null, and the others as "
            "whole numbers."
        )
    number = unused("place", rows.columns)
    filled = rows.with_columns(pl.col(count).fill_null(0).cast(pl.Float64)).with_row_index(number)
    held = table_from_frame(filled, dims, count=count, weighted=number, total=total, cells=listing, name=name,
                            schema=schema)  # fmt: skip
    assert held.cells.weighted is not None
    place = held.cells.weighted.astype(np.int64)  # the line of each cell in the frame
    hidden = shown.is_null().to_numpy()[place]
    counts: Any = held.true_counts
    published = Published(np.where(hidden, np.nan, counts) if hidden.any() else counts)
    return replace(
        held,
        cells=held.cells.shapes_alone(),
        weight_name=None,
        combinations=(tuple(dim.levels[0] for dim in held.dims),),  # its finest cells, though none may be shown
        n_unlisted_zeros=0,
        published=published,
        mechanism=mechanism,
        marks=held.marks.add(released=True),
        native_kind=entered.kind,
    )
