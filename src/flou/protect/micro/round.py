"""Rounding: show numbers as multiples of a unit (Willenborg & de Waal 2001).

Each value becomes the nearest multiple; one that lies halfway goes to the even multiple, so that totals are
pushed neither up nor down. Nothing is drawn: the same value is always shown in the same way, anywhere. It
hides digits that would single a record out when it is matched with another file. It does not protect values
that are large beside the unit: a turnover of a thousand million is as recognisable without its last digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.engine import native
from flou.engine.errors import DataError, ParameterError
from flou.engine.guarantee import Guarantee
from flou.engine.parameters import Columns
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.engine.values import codes_in, text_of
from flou.protect.micro.exact_floats import exact_floats
from flou.protect.micro.multiples import Unit, nearest_multiples, nearest_whole_multiples
from flou.protect.micro.perturbable import require_perturbable
from flou.protect.micro.replaced import known_values, schema_after, value_counts


class Round(Protection):
    """Round numbers to multiples of a unit: `Round("income", unit=100)`."""

    reference: ClassVar[str] = "willenborg2001"
    title: ClassVar[str] = "rounding"
    audience = "public"
    perturbative = True
    answers_by = always(amounts="reduces")
    allows_several_rows: ClassVar[bool] = True
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns")

    columns: Columns = Field(description="numeric columns to round")
    unit: Unit = Field(description="values become multiples of this")

    @property
    def recodes(self) -> str | None:
        return self.columns[0] if len(self.columns) == 1 else None

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        require_perturbable(data, self.columns, "Round", weights=True)
        types = data.frame.collect_schema()
        codes = {}
        for column in self.columns:
            dtype = types[column]
            if not dtype.is_numeric():
                raise DataError(f"Round needs a column of numbers; {column!r} is {dtype}.")
            if dtype.is_integer() and not float(self.unit).is_integer():
                raise ParameterError(f"{column!r} holds whole numbers, so unit must be whole too; it is {self.unit}.")
            codes[column] = codes_in(dtype, data.schema.not_applicable.get(column, ()))
        n_changed = self._counted(data, codes)
        unit = self.unit

        def rounded(rows: pl.DataFrame) -> pl.DataFrame:
            return rows.with_columns(_rounded(rows[c], unit, held) for c, held in codes.items())

        schema = data.schema
        for column in self.columns:
            schema = self._schema(data, schema, column, codes[column])
        return Outcome(
            data.with_frame(native.map_batches(data.frame, rounded), schema),
            guarantees=tuple(MultiplesOf(c, self.unit, tuple(codes[c])) for c in self.columns),
            changes=tuple(Change(c, n) for c, n in n_changed.items()),
        )

    def _counted(self, data: Microdata, codes: Mapping[str, Sequence[object]]) -> dict[str, int]:
        """How many values change, once it is sure that none becomes what it must not."""
        n_changed = dict.fromkeys(self.columns, 0)
        for rows in native.batches(data.frame.select(*self.columns)):
            for column, held in codes.items():
                before, after = rows[column], _rounded(rows[column], self.unit, held)
                moved = (before != after).fill_null(value=False)
                n_changed[column] += int(moved.sum())
                became = int((moved & after.is_in(held)).sum()) if held else 0
                if became:
                    raise DataError(
                        f"Rounding {column!r} to multiples of {self.unit} would turn values into a code that means "
                        "not applicable. Choose another unit, or recode the code."
                    )
                if column == data.schema.weight and bool(((after == 0) & (before > 0)).any()):
                    raise DataError(
                        f"{column!r} is the weight: rounded to multiples of {self.unit} some records would weigh "
                        "nothing. Choose a smaller unit."
                    )
        return n_changed

    def _schema(self, data: Microdata, schema: Schema, column: str, codes: Sequence[object]) -> Schema:
        """What is declared about a column speaks of the rounded values."""
        if column not in (*schema.keys, *schema.modalities, *schema.hierarchies):
            return schema
        values = [v for v in known_values(data, column, value_counts(data, column)[0]) if _is_number(v)]
        held = pl.Series(column, [float(text_of(v)) for v in values], dtype=pl.Float64)
        kept = [float(text_of(c)) for c in codes]
        whole = data.frame.collect_schema()[column].is_integer()
        shown = [int(v) if whole else v for v in _rounded(held, self.unit, kept).to_list()]
        mapping = dict(zip(values, shown, strict=True))
        hierarchy = schema.hierarchies.get(column)
        if hierarchy is not None and not all(hierarchy.covers(v) for v in set(shown) - set(kept)):
            hierarchy = None
        after = schema_after(schema, column, mapping, hierarchy)
        return after.with_changes(types=schema.types)


@dataclass(frozen=True, eq=False)
class MultiplesOf(Guarantee):
    """A column shows multiples of a unit, and codes of what is not applicable."""

    column: str
    unit: float
    codes: tuple[object, ...]

    text = "only multiples of {unit} are shown in {column}"

    def violations(self, data: Microdata) -> int:
        if self.column not in data.columns or not data.frame.collect_schema()[self.column].is_numeric():
            return 0  # dropped or recoded since: its values are no longer shown
        shown = (rows[self.column] for rows in native.batches(data.frame.select(self.column)))
        return sum(int((held != _rounded(held, self.unit, self.codes)).sum()) for held in shown)


def _is_number(value: object) -> bool:
    try:
        float(text_of(value))
    except ValueError:
        return False
    return True


def _rounded(held: pl.Series, unit: float, codes: Sequence[object]) -> pl.Series:
    """A column's nearest multiples in whole numbers or floats; nulls and codes stay."""
    kept = held.is_null() | held.is_in(codes) if codes else held.is_null()
    new = pl.Series(held.name, _multiples(held, unit))
    return held.cast(new.dtype).zip_with(kept.fill_null(value=True), new) if kept.any() else new


def _multiples(held: pl.Series, unit: float) -> NDArray[np.int64] | NDArray[np.float64]:
    if held.dtype.is_integer():
        whole = held.fill_null(0).to_numpy()
        if np.max(np.abs(whole), initial=0) >= 2**62 or np.min(whole, initial=0) < -(2**62):
            raise DataError(f"{held.name!r} has numbers of more than 62 bits, which cannot be rounded.")
        return nearest_whole_multiples(whole, int(unit))
    values = exact_floats(held).fill_null(0.0).to_numpy()
    if not np.isfinite(values).all():
        raise DataError(f"The column {held.name!r} has infinite values. Top-code them first, or make them null.")
    return nearest_multiples(values, unit)
