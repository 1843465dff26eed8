"""Tables that others published: what is shown, how it came about, and nothing of what is true.

    flou.Table.from_published(frame, ["region", "sex"], mechanism=flou.protect.RandomRounding(5).mechanism)

Counts that are null are suppressed. The mechanism is what the office says that it did; without one the shown counts are
true. The categories are those that the frame names, with those that the schema declares. Such a table can be attacked
and its bounds computed; it cannot be protected, for nobody here knows its figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.table.cells import Published
from flou.describe.table.dimension import TOTAL, Dimension
from flou.describe.table.from_frame import table_from_frame
from flou.describe.table.roll_up import Digits
from flou.describe.table.seen import cell_name
from flou.describe.table.table import Table
from flou.describe.table.unseen_cells import Zeros
from flou.engine import native
from flou.engine.calls import in_words
from flou.engine.errors import DataError, ParameterError, did_you_mean
from flou.engine.result import unused
from flou.engine.tabulation import Listing
from flou.engine.values import text_of

if TYPE_CHECKING:
    from flou.describe.schema import Schema


@in_words("Table.from_published")
def table_from_published(
    frame: object,
    dims: Sequence[str] | str,
    *,
    count: str = "count",
    mechanism: Mechanism | None = None,
    total: str = TOTAL,
    cells: Listing | Literal["as given"] = "as given",
    zeros: Zeros | None = None,
    name: str = "",
    schema: Schema | None = None,
) -> Table:
    """A table as it was published, from a frame that lists its cells.

    Of a cell that the frame does not list nothing is known. `cells = "occupied"` says that it lists every cell that
    somebody is in: others are empty, and a suppressed one is not. A suppressed cell may be empty unless `zeros =
    "shown"` says that no empty cell is suppressed. `schema` declares the values of the columns.
    """
    entered = native.enter(frame)
    rows = native.collect(entered.frame)
    if count not in rows.columns:
        raise DataError(f"The frame has no column {count!r}.{did_you_mean(count, rows.columns)} "
                        f"Columns: {', '.join(rows.columns)}.")  # fmt: skip
    if cells not in ("occupied", "all", "as given"):
        raise ParameterError(f'cells = {cells!r} must be "occupied" or "all".')
    if zeros not in (None, "shown", "may be withheld"):
        raise ParameterError(f'zeros = {zeros!r} must be "shown" or "may be withheld".')
    if mechanism is not None and not isinstance(mechanism, Mechanism):
        raise ParameterError(
            f"mechanism = {mechanism!r} is no mechanism: give what made the figures, such as "
            "flou.protect.RandomRounding(base=5).mechanism, or leave it out where they are true."
        )
    shown = rows[count]
    listing: Listing = "occupied" if cells == "occupied" else "all"
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
    if listing == "occupied" and mechanism is None:
        _require_margins(held, hidden | (counts > 0))
    found_dims = held.dims if listing == "occupied" else tuple(_with_declared(dim, schema) for dim in held.dims)
    sure = zeros == "shown" or (zeros is None and listing == "occupied" and mechanism is None)
    return replace(
        held,
        dims=found_dims,
        cells=held.cells.shapes_alone(),
        weight_name=None,
        combinations=(tuple(dim.levels[0] for dim in held.dims),),  # its finest cells, though none may be shown
        n_unlisted_zeros=0,
        unlisted="zero" if listing == "occupied" else "unknown",
        zeros_withheld=not sure,
        published=published,
        mechanism=mechanism,
        marks=held.marks.add(released=True),
        native_kind=entered.kind,
    )


def _with_declared(dim: Dimension, schema: Schema | None) -> Dimension:
    """The dimension with the categories that the schema declares of it, if it has a single level."""
    (column, *finer), known = dim.names or dim.columns, None
    if schema is not None and not finer and dim.n_zonings == 1:
        known = schema.declared_modalities.get(column)
    if schema is None or known is None:
        return replace(dim, declared=False)
    texts = dict.fromkeys(text_of(v) for v in (*known, *schema.undetermined.get(column, ())[:1]))
    more = [text for text in texts if text not in set(dim.labels[dim.columns[0]].to_list())]
    return replace(
        dim,
        labels=pl.concat([dim.labels, pl.DataFrame({dim.columns[0]: more}, schema=dim.labels.schema)]),
        parents=np.concatenate([dim.parents, np.zeros(len(more), dtype=np.int32)]),
        zonings=np.concatenate([dim.zonings, np.zeros(len(more), dtype=np.int32)]),
        depths=np.concatenate([dim.depths, np.ones(len(more), dtype=np.int32)]),
        declared=True,
    )


def _require_margins(table: Table, occupied: NDArray[np.bool_]) -> None:
    """Refuse `cells = "occupied"` where an occupied cell has a margin that is not listed."""
    digits, codes = Digits(tuple(dim.n_nodes for dim in table.dims)), table.cells.codes
    listed_ = digits.pack(list(codes.T))
    depths = np.stack([dim.depths[codes[:, j]] for j, dim in enumerate(table.dims)], axis=1)
    for combination in np.unique(depths, axis=0):
        below = np.flatnonzero(occupied & (depths >= combination).all(axis=1))
        above = [dim.up_to(int(combination[j]))[codes[below, j]] for j, dim in enumerate(table.dims)]
        missing = np.flatnonzero(~np.isin(digits.pack(above), listed_))
        if len(missing):
            nodes = [int(held[missing[0]]) for held in above]
            name = " × ".join(dim.category(node) for dim, node in zip(table.dims, nodes, strict=True))
            part = cell_name(table, int(below[missing[0]]))
            raise DataError(
                f'cells = "occupied" says that every cell that somebody is in is listed, and {name} is not, though '
                f"{part} is. Leave cells out: nothing is then assumed of cells that are not listed."
            )
