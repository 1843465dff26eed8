"""Multiplicative noise: each value times a random factor near 1 (Kim & Winkler 2003).

The factor is lognormal with mean 1 and standard deviation `share`: totals and means are kept on average,
signs stay, zeros stay zeros, and the noise grows with the value, so that small amounts stay small and large
ones move far. It does not protect small values, whose noise is small too, nor the fact that a value is zero.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError
from flou.engine.guarantee import Guarantee
from flou.engine.note import Note
from flou.engine.parameters import Columns
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.protect.micro.kept_input import KeptInput
from flou.protect.micro.multiples import Unit
from flou.protect.micro.noise_proof import CarriesNoise
from flou.protect.micro.noise_values import settle, unit_of
from flou.protect.micro.perturbable import require_numbers, require_perturbable, schema_of_new_numbers
from flou.protect.micro.rows import Amounts, read_rows
from flou.protect.micro.shared_amounts import SharedAmounts, stand_for_themselves

Floats = NDArray[np.float64]


class MultiplicativeNoise(Protection):
    """Multiply numbers by factors around 1: `MultiplicativeNoise("turnover", share=0.1)`."""

    reference: ClassVar[str] = "kim2003"
    title: ClassVar[str] = "multiplicative noise"
    audience = "public"
    perturbative = True
    answers_by = always(amounts="reduces")
    noises: ClassVar[bool] = True
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns", "expected mean")

    columns: Columns = Field(description="numeric columns that get noise")
    share: float = Field(0.1, gt=0.0, le=1.0, description="standard deviation of the factor, whose mean is 1")
    unit: Unit | None = Field(None, description="round the new values to multiples of this; whole numbers to 1")

    @property
    def _log_sd(self) -> float:
        """The standard deviation of the factor's logarithm: Var(f) = exp(s²) - 1 where E(f) = 1."""
        return math.sqrt(math.log1p(self.share**2))

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        what = type(self).__name__
        require_perturbable(data, self.columns, what)
        shared = SharedAmounts.of(data, self.columns)
        rows = read_rows(data, [*self.columns, *shared.needed], what)
        new: dict[str, pl.Series] = {}
        beside: dict[str, pl.Series] = {}
        changes, notes, s = [], shared.notes(), self._log_sd
        for column in self.columns:
            held = rows.amounts(column)
            require_numbers(held, what, dates=False)
            unit = unit_of(held, self.unit)
            proven = self._proven(held, unit)
            own = draw.bound(column, s)
            factors = np.exp(s * own.normal(shared.units(own, rows, [column], held.values)) - 0.5 * s * s)
            settled = settle(data, held, held.values * factors, unit, None, None)
            places = shared.places(rows, column)
            settled = settled if places is None else settled[places]
            new[column] = held.shown(settled)
            beside[column] = pl.Series(np.where(proven & stand_for_themselves(places, len(rows)), s, np.nan))
            changes.append(Change(column, int((held.held != new[column]).sum())))
            notes += self._notes(held, proven, unit)
        released = rows.put_back(new, schema_of_new_numbers(data.schema, self.columns))
        kept = KeptInput.of(rows, released, new, beside)
        return Outcome(released, guarantees=self._guarantees(kept), changes=tuple(changes), notes=tuple(notes))

    def _proven(self, held: Amounts, unit: float | None) -> NDArray[np.bool_]:
        """The records whose noise rounding does not undo: all but zeros and, where values are rounded, small ones."""
        least = 0.0 if unit is None else unit / self.share
        with np.errstate(invalid="ignore"):
            proven: NDArray[np.bool_] = held.known & (held.values != 0.0) & (np.abs(held.values) >= least)
        if not proven.any():
            raise DataError(
                f"Every value of {held.column!r} is zero, or so small that rounding would undo noise of this share. "
                "Raise share, choose a smaller unit, or use AdditiveNoise."
            )
        return proven

    def _notes(self, held: Amounts, proven: NDArray[np.bool_], unit: float | None) -> list[Note]:
        notes = []
        zero = held.values == 0.0
        n_zero = int(zero.sum())
        n_small = int((held.known & ~proven & ~zero).sum())
        if n_zero:
            text = "{column}: {n_zero} values are zero and stay so"
            notes.append(Note(text, {"column": held.column, "n_zero": n_zero}, internal=True))
        if n_small:
            text = "{column}: {n_small} values are so small beside the unit {unit} that rounding may undo their noise"
            notes.append(Note(text, {"column": held.column, "n_small": n_small, "unit": unit}, internal=True))
        elif unit is not None:
            text = "{column}: values with their noise are rounded to multiples of {unit}, up as often as down"
            notes.append(Note(text, {"column": held.column, "unit": unit}))
        return notes

    def _guarantees(self, kept: KeptInput) -> tuple[Guarantee, ...]:
        found = []
        for column in self.columns:
            rounded = self.unit is not None or kept.made[column].dtype.is_integer()
            coarseness = 1.0 if rounded else 0.0  # at most: smaller values are left out
            found.append(CarriesNoise((column,), kept, None, coarseness, weakened=rounded, factors=True))
        return tuple(found)
