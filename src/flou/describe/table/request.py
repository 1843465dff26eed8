"""What is asked for when a table is made, checked before anything is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flou.describe.microdata import Microdata
from flou.describe.table.dimension import TOTAL
from flou.describe.table.spec import DimensionSpec, parse_dims, reserved
from flou.engine.errors import DataError, ParameterError, did_you_mean, listed
from flou.engine.tabulation import Listing


@dataclass(frozen=True)
class TableRequest:
    """One table as it was asked for, checked."""

    dims: tuple[DimensionSpec, ...]
    value: str | None
    margins: tuple[bool, ...]
    weight: str | None
    holding: str | None
    largest: int
    cells: Listing
    total: str
    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns by which records are grouped."""
        held = dict.fromkeys(c for dim in self.dims for c in dim.columns)
        return tuple(held)


def check_spec(
    data: Microdata,
    dims: Any,
    *,
    value: str | None = None,
    margins: Any = True,
    weight: str | None = None,
    holding: str | None = None,
    largest: int = 3,
    cells: Listing = "occupied",
    total: str = TOTAL,
    name: str = "",
    **unknown: Any,
) -> TableRequest:
    """A table's specification, checked before anything is counted."""
    if unknown:
        known = ("dims", "value", "margins", "weight", "holding", "largest", "cells", "total", "name")
        word = next(iter(unknown))
        raise ParameterError(f"A table has no option {word!r}.{did_you_mean(word, known)} Options: {', '.join(known)}.")
    specs = parse_dims(dims, data.columns, data.schema)
    shown = [level.shown for spec in specs for level in spec.levels]
    taken = reserved(shown)
    if taken:
        raise ParameterError(
            f"A dimension cannot be called {listed(taken)}, as a column of every table is: rename it first."
        )
    for role, column in (("value", value), ("weight", weight), ("holding", holding)):
        if column is not None:
            _require_column(data, role, column)
    if holding is not None and weight is not None:
        raise ParameterError(
            "holding and weight together are not defined: a weighted record stands for several contributors, of which "
            "nobody knows whose they are. Tabulate without the weight."
        )
    if isinstance(largest, bool) or not isinstance(largest, int) or not 0 <= largest <= 100:
        raise ParameterError(f"largest = {largest!r} must be a whole number from 0 to 100.")
    if cells not in ("occupied", "all"):
        raise ParameterError(f'cells = {cells!r} must be "occupied" or "all".')
    if not isinstance(total, str) or not total:
        raise ParameterError(f"total = {total!r} must be a text: the label of totals.")
    identifying = [c for spec in specs for c in spec.columns if c in data.schema.hidden]
    if identifying:
        raise ParameterError(f"{listed(identifying)} identifies people or units: it cannot be a dimension.")
    return TableRequest(specs, value, _margins(specs, margins), weight, holding, largest if value else 0, cells, total,
                     str(name))  # fmt: skip


def _margins(specs: Sequence[DimensionSpec], margins: Any) -> tuple[bool, ...]:
    if isinstance(margins, bool):
        return tuple(margins for _ in specs)
    names = [spec.name for spec in specs]
    if isinstance(margins, str) or not isinstance(margins, Sequence):
        raise ParameterError(f"margins = {margins!r} must be true, false or a list of dimensions: {listed(names)}.")
    for wanted in margins:
        if wanted not in names:
            raise ParameterError(f"margins names {wanted!r}, which is no dimension: {listed(names)}.")
    return tuple(name in margins for name in names)


def _require_column(data: Microdata, role: str, column: str) -> None:
    if not isinstance(column, str) or column not in data.columns:
        raise DataError(
            f"{role} = {column!r} names no column of the data.{did_you_mean(str(column), data.columns)} "
            f"Columns: {', '.join(data.columns)}."
        )
    if role != "holding" and not data.frame.collect_schema()[column].is_numeric():
        raise DataError(
            f"{role} = {column!r} should be a column of numbers; it is {data.frame.collect_schema()[column]}."
        )
