"""Tables that others have counted: one line a cell, a column for each level of each dimension.

    flou.Table.from_frame(frame, ["region>department", "sex"], count="n", key="ckey")

Totals bear one label in every column. Of a nested dimension the columns below a total are totals too. What
is counted must be whole numbers; cell keys are whole numbers in [0, 2^32) or, as other tools write them,
numbers in [0, 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.mechanism.cell_keys import keys_from_floats
from flou.describe.schema import Schema
from flou.describe.table.cells import Cells, Floats, Ints
from flou.describe.table.dimension import TOTAL, Dimension, build_dimension
from flou.describe.table.roll_up import Digits
from flou.describe.table.spec import DimensionSpec, level_name, parse_dims, reserved
from flou.describe.table.table import Table
from flou.engine import native
from flou.engine.calls import in_words
from flou.engine.errors import DataError, ParameterError, did_you_mean, listed
from flou.engine.keys import factorise
from flou.engine.tabulation import Listing
from flou.engine.values import text_of


@in_words("Table.from_frame")
def table_from_frame(
    frame: object,
    dims: Sequence[str] | str,
    *,
    count: str = "count",
    value: str | None = None,
    weighted: str | None = None,
    key: str | None = None,
    total: str = TOTAL,
    cells: Listing | Literal["as given"] = "as given",
    name: str = "",
    schema: Schema | None = None,
) -> Table:
    """A table from a frame that lists its cells.

    `count` is the column of counts, `value` that of sums, `weighted` that of weighted counts, `key` that of cell keys.
    `cells` says whether all cells are listed, or those alone that somebody is in; by default all if zeros
    are among them and none is missing. `schema` says what is known of the columns: one that is called "age5" or
    "age@age5" is then known to be that level of the hierarchy of age.
    """
    entered = native.enter(frame)
    rows = native.collect(entered.frame)
    specs = parse_dims(dims, rows.columns, Schema())
    for column in (count, value, weighted, key):
        if column is not None and column not in rows.columns:
            raise DataError(
                f"The frame has no column {column!r}.{did_you_mean(column, rows.columns)} "
                f"Columns: {', '.join(rows.columns)}."
            )
    taken = reserved([c for spec in specs for c in spec.columns])
    if taken:
        raise ParameterError(
            f"A dimension cannot be called {listed(taken)}, as a column of every table is: rename it first."
        )
    if not rows.height:
        raise DataError("The frame has no rows: a table needs at least one cell.")
    if cells not in ("occupied", "all", "as given"):
        raise ParameterError(f'cells = {cells!r} must be "occupied" or "all".')
    counts = _whole(rows[count])
    read = [_dimension(spec, rows, total) for spec in specs]
    codes = np.stack([nodes for _, nodes in read], axis=1)
    n_unlisted = _unlisted([dim for dim, _ in read], codes)
    # a zero among some of the cells does not say that the others are listed for any other reason than that they are not
    listing: Listing = cells if cells != "as given" else "all" if (counts == 0).any() and not n_unlisted else "occupied"
    found_dims = tuple(replace(dim, declared=listing == "all", names=_names(dim, schema)) for dim, _ in read)
    packed = Digits(tuple(dim.n_nodes for dim in found_dims)).pack(list(codes.T))
    order = np.argsort(packed, kind="stable")
    _require_once(rows, packed, order, specs)
    held = Cells(
        codes=codes[order],
        count=counts[order],
        key=None if key is None else _keys(rows[key])[order],
        weighted=None if weighted is None else _amounts(rows[weighted])[order],
        value=None if value is None else _amounts(rows[value])[order],
    )
    return Table(
        dims=found_dims,
        cells=held,
        value_name=value,
        weight_name=weighted,
        listed=listing,
        schema=schema,
        n_unlisted_zeros=0 if listing == "all" else n_unlisted,
        native_kind=entered.kind,
        name=name,
    )


def _names(dim: Dimension, schema: Schema | None) -> tuple[str, ...]:
    """The one name of each level, where a schema says what the columns are."""
    return () if schema is None else tuple(level_name(column, schema) for column in dim.columns)


def _unlisted(dims: Sequence[Dimension], codes: NDArray[np.int32]) -> int:
    """How many cells the levels that occur would make beside those that are listed."""
    possible = 1
    for j, dim in enumerate(dims):
        levels = {(int(dim.zonings[c]), int(dim.depths[c])) for c in np.unique(codes[:, j])}
        possible *= sum((int(z), int(d)) in levels for z, d in zip(dim.zonings, dim.depths, strict=True))
    return max(0, possible - len(codes))


def _dimension(spec: DimensionSpec, rows: pl.DataFrame, total: str) -> tuple[Dimension, NDArray[np.int32]]:
    """The dimension and the node of each cell."""
    texts, codes = {}, {}
    for column in spec.columns:
        if rows[column].null_count():
            raise DataError(
                f"The column {column!r} is null in {rows[column].null_count():,} cells. A total is labelled "
                f"{total!r} (another label is given with total=), a category by its name."
            )
        values, places = factorise(rows[column])
        labels = [text_of(v) for v in values]
        # categories keep the order in which the frame lists them
        _, first = np.unique(places, return_index=True)
        kept = [labels[i] for i in np.argsort(first) if labels[i] != total]
        place_of = {t: i for i, t in enumerate(kept)}
        texts[column] = kept
        codes[column] = np.array([place_of.get(t, -1) for t in labels], dtype=np.int32)[places]
    zonings, finest_rows = [], []
    for path in spec.zonings:
        shown = tuple(level.shown for level in path)
        coded = np.stack([codes[c] for c in shown], axis=1)
        _require_totals_below(spec, shown, coded, total)
        if not (coded[:, -1] >= 0).any():
            raise DataError(f"No cell of {spec.name!r} has a category of {shown[-1]!r}: all of them are totals.")
        zonings.append((shown, coded[coded[:, 0] >= 0], tuple(texts[c] for c in shown)))
        finest_rows.append(coded)
    dimension, _ = build_dimension(spec.name, zonings, total)
    return dimension, _nodes(dimension, np.concatenate(finest_rows, axis=1), spec, texts)


def _require_totals_below(spec: DimensionSpec, shown: tuple[str, ...], coded: NDArray[np.int32], total: str) -> None:
    for j in range(1, len(shown)):
        wrong = int(((coded[:, j - 1] < 0) & (coded[:, j] >= 0)).sum())
        if wrong:
            raise DataError(
                f"In {spec.name!r}, {wrong:,} cells have a category of {shown[j]!r} but {total!r} in {shown[j - 1]!r}: "
                "below a total everything is a total."
            )


def _nodes(
    dimension: Dimension, coded: NDArray[np.int32], spec: DimensionSpec, texts: dict[str, list[str]]
) -> NDArray[np.int32]:
    """The node of each cell, by its labels."""
    known = np.full((dimension.n_nodes, len(dimension.columns)), -1, dtype=np.int32)
    for j, column in enumerate(dimension.columns):
        number = {t: i for i, t in enumerate(texts[column])}
        known[:, j] = [number.get(t, -1) for t in dimension.labels[column].to_list()]
    sizes = tuple(len(texts[c]) + 1 for c in dimension.columns)
    digits = Digits(sizes)
    have = digits.pack(list((known + 1).T))
    order = np.argsort(have)
    wanted = digits.pack(list((coded + 1).T))
    place = np.minimum(np.searchsorted(have, wanted, sorter=order), len(have) - 1)
    found = order[place]
    missing = have[found] != wanted
    if missing.any():
        raise DataError(
            f"In {spec.name!r}, {int(missing.sum()):,} cells have categories of two zonings that stand side by side: a "
            "cell belongs to one of them, and is a total in the other."
        )
    nodes: NDArray[np.int32] = found.astype(np.int32)
    return nodes


def _require_once(rows: pl.DataFrame, packed: Ints, order: NDArray[np.intp], specs: Sequence[DimensionSpec]) -> None:
    ordered = packed[order]
    twice = order[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        columns = [c for spec in specs for c in spec.columns]
        shown = [", ".join(map(text_of, row)) for row in rows[twice[:5]].select(columns).rows()]
        raise DataError(f"{len(twice):,} cells are listed twice, such as {listed(shown)}. Each cell has one line.")


def _whole(series: pl.Series) -> Ints:
    if series.null_count():
        raise DataError(f"The counts {series.name!r} are null in {series.null_count():,} cells.")
    if not series.dtype.is_numeric():
        raise DataError(f"The counts {series.name!r} should be whole numbers; the column is {series.dtype}.")
    counts = series.to_numpy()
    if not (counts < 2**62).all():
        raise DataError(f"The counts {series.name!r} should be whole numbers; some are infinite or as large as 2^62.")
    if (counts < 0).any() or (counts != np.floor(counts)).any():
        raise DataError(
            f"The counts {series.name!r} should be whole numbers, none negative. Weighted counts are given beside the "
            "number of contributors: weighted=."
        )
    return counts.astype(np.int64)


def _amounts(series: pl.Series) -> Floats:
    if series.null_count() or not series.dtype.is_numeric():
        raise DataError(f"The column {series.name!r} should hold numbers, in every cell.")
    amounts = series.cast(pl.Float64).to_numpy()
    if not np.isfinite(amounts).all():
        raise DataError(f"The column {series.name!r} holds infinite amounts, which cannot be a sum.")
    return amounts


def _keys(series: pl.Series) -> Ints:
    if series.null_count() or not series.dtype.is_numeric():
        raise DataError(f"The cell keys {series.name!r} should be numbers, one for every cell.")
    if series.dtype.is_float():
        return keys_from_floats(series.to_numpy())
    keys: Any = series.to_numpy()
    if (keys < 0).any() or (keys >= 2**32).any():
        raise DataError(f"The cell keys {series.name!r} should be whole numbers in [0, 2^32), or numbers in [0, 1).")
    held: Ints = keys.astype(np.int64)
    return held
