"""Additive noise: a normal draw on each value, of a share of the column's variance (Kim 1986; Brand 2002).

Uncorrelated noise is drawn for each column by itself: means are kept on average, variances grow by the
share, correlations shrink by 1 / (1 + share). Correlated noise has the covariance matrix of the columns
times the share: means and correlations are kept on average, and columns that add up still do. Within strata,
each has its own variance. It does not protect extreme values: an income ten times the next one is still the
largest. Nor does it keep signs, unless bounds are given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, ParameterError
from flou.engine.note import Note
from flou.engine.parameters import Columns, Names, Number
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.protect.micro.kept_input import KeptInput
from flou.protect.micro.multiples import Unit
from flou.protect.micro.noise_proof import CarriesNoise
from flou.protect.micro.noise_values import settle, unit_of
from flou.protect.micro.perturbable import require_numbers, require_perturbable, schema_of_new_numbers
from flou.protect.micro.rows import Amounts, Rows, read_rows, stratum_names
from flou.protect.micro.shared_amounts import SharedAmounts, stand_for_themselves
from flou.protect.micro.spread import correlations, deviations, root, ten_digits

Floats = NDArray[np.float64]

#: Noise below a third of the unit would be rounded away; bounds nearer than three of it would hold it back.
_LEAST = 3.0


class AdditiveNoise(Protection):
    """Add normal noise to numbers: `AdditiveNoise(["income", "spending"], share=0.1, kind="correlated")`."""

    reference: ClassVar[str] = "kim1986"
    title: ClassVar[str] = "additive noise"
    audience = "public"
    perturbative = True
    answers_by = always(amounts="reduces")
    noises: ClassVar[bool] = True
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns", "expected mean")

    columns: Columns = Field(description="numeric or date columns that get noise")
    share: float = Field(0.1, gt=0.0, le=10.0, description="variance of the noise as a share of the column's variance")
    kind: Literal["uncorrelated", "correlated"] = Field(
        "uncorrelated", description="noise of each column by itself, or with the covariances of the columns"
    )
    by: Names = Field((), description="strata, each with its own variance")
    unit: Unit | None = Field(None, description="round the new values to multiples of this; whole numbers to 1")
    at_least: Number | None = Field(None, description="no new value below this; noise is reflected there")
    at_most: Number | None = Field(None, description="no new value above this; noise is reflected there")

    @model_validator(mode="after")
    def _sensible(self) -> AdditiveNoise:
        if self.kind == "correlated" and len(self.columns) < 2:
            raise ParameterError('kind = "correlated" needs two columns or more: one column has no covariances.')
        if self.at_least is not None and self.at_most is not None and self.at_least >= self.at_most:
            raise ParameterError(f"at_least = {self.at_least} must lie below at_most = {self.at_most}.")
        return self

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(c for c in self.preserves if c != "expected mean" or not self._bounded)

    @property
    def _bounded(self) -> bool:
        return self.at_least is not None or self.at_most is not None

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        what = type(self).__name__
        require_perturbable(data, self.columns, what, self.by)
        shared = SharedAmounts.of(data, self.columns)
        rows = read_rows(data, [*self.columns, *self.by, *shared.needed], what)
        amounts = [rows.amounts(c) for c in self.columns]
        for held in amounts:
            require_numbers(held, what)
            self._require_within(held)
        strata = rows.strata(self.by)
        names = stratum_names(rows.frame, self.by)
        own = np.array([self._sizes(held, strata) for held in amounts])  # by column and stratum
        sizes = self._former_sizes(own, names, draw)
        roots = self._roots(amounts, strata, names, draw)
        noisy = self._noisy(rows, shared, amounts, sizes, roots, strata, draw)
        new: dict[str, pl.Series] = {}
        notes, drawn = shared.notes(), {}
        for held, values, size in zip(amounts, noisy, sizes, strict=True):
            unit = unit_of(held, self.unit)
            self._require_room(held.column, size, unit)
            settled = settle(data, held, values, unit, self.at_least, self.at_most)
            places = shared.places(rows, held.column)
            settled = settled if places is None else settled[places]
            drawn[held.column] = held.known & stand_for_themselves(places, len(rows))
            new[held.column] = held.shown(settled)
            notes += self._notes(held, settled, unit)
        released = rows.put_back(new, schema_of_new_numbers(data.schema, self.columns))
        outcome = self._outcome(rows, amounts, sizes, strata, new, released, notes, drawn)
        kept = {draw.first_name(c): _by_stratum(names, size) for c, size in zip(self.columns, sizes, strict=True)}
        return replace(outcome, reusable={"sizes": kept, "roots": _by_stratum(names, roots)})

    def _former_sizes(self, sizes: Floats, names: list[str], draw: Draws) -> Floats:
        """The standard deviations of the release before this one, where it had them: same value, same noise."""
        held = (draw.former or {}).get("sizes", {})
        return np.array(
            [[held.get(draw.first_name(c), {}).get(name, s) for name, s in zip(names, size, strict=True)]
             for c, size in zip(self.columns, sizes, strict=True)]
        )  # fmt: skip

    def _roots(self, amounts: list[Amounts], strata: NDArray[np.int64], names: list[str], draw: Draws) -> Floats:
        """The root of the correlation matrix of each stratum, of the release before this one where it had one."""
        k = len(amounts)
        if self.kind == "uncorrelated":
            return np.empty((len(names), 0, 0))
        found, n = correlations([a.values for a in amounts], strata, len(names))
        if (n <= k).any():
            where = f" in {int((n <= k).sum()):,} of {len(n):,} strata" if self.by else ""
            raise DataError(
                f"Fewer than {k + 1} records have a value in all of {', '.join(self.columns)}{where}: too few for "
                'their covariances. Use kind = "uncorrelated", fewer columns or fewer strata.'
            )
        held = (draw.former or {}).get("roots", {})
        roots = [held[name] if name in held else root(matrix) for name, matrix in zip(names, found, strict=True)]
        return np.array(roots, dtype=np.float64)

    def _sizes(self, held: Amounts, strata: NDArray[np.int64]) -> Floats:
        """The standard deviation of the noise in each stratum."""
        n_strata = int(strata.max(initial=0)) + 1
        spread = deviations(held.values, held.known, strata, n_strata)
        has_values = np.bincount(strata[held.known], minlength=n_strata) > 0 if n_strata > 1 else np.array([True])
        nil = has_values & ~(spread > 0)
        if nil.any():
            where = f" in {int(nil.sum()):,} of {n_strata:,} strata" if self.by else ""
            step = "Use fewer columns in by, or recode them." if self.by else "Leave it out, or drop it from the file."
            raise DataError(f"The column {held.column!r} does not vary{where}, so noise would be nil. {step}")
        return np.array([ten_digits(float(s)) for s in np.sqrt(self.share) * spread])

    def _noisy(
        self,
        rows: Rows,
        shared: SharedAmounts,
        amounts: list[Amounts],
        sizes: Floats,
        roots: Floats,
        strata: NDArray[np.int64],
        draw: Draws,
    ) -> list[Floats]:
        if self.kind == "uncorrelated":
            noisy = []
            for a, size in zip(amounts, sizes, strict=True):
                scale = float(size[0]) if len(size) == 1 else size[strata]
                own = draw.bound(a.column, scale if len(size) == 1 else "by stratum")
                held = [a.values] if len(size) == 1 else [a.values, size[strata]]
                noisy.append(own.add_normal(a.values, scale, shared.units(own, rows, [a.column], *held)))
            return noisy
        k = len(amounts)
        # one value that changes draws the noise of all columns anew: what they share would tell of it otherwise
        own = draw.bound(*self.columns)
        scales = [s[strata] for s in sizes] + [roots[strata, j, m] for j in range(k) for m in range(j + 1)]
        units = shared.units(own, rows, self.columns, *(a.values for a in amounts), *scales)
        normals = [own.normal(units, number) for number in range(k)]
        noise = [sum(roots[strata, j, m] * normals[m] for m in range(j + 1)) for j in range(k)]
        return [a.values + sizes[j][strata] * noise[j] for j, a in enumerate(amounts)]

    def _require_within(self, held: Amounts) -> None:
        # NaN lies beyond no bound
        below = int((held.values < self.at_least).sum()) if self.at_least is not None else 0
        above = int((held.values > self.at_most).sum()) if self.at_most is not None else 0
        if below + above:
            raise DataError(
                f"{below + above:,} values of {held.column!r} lie beyond the bounds already: widen at_least and "
                "at_most, or code these values first with BottomCode or TopCode."
            )

    def _require_room(self, column: str, size: Floats, unit: float | None) -> None:
        """Refuse a unit that would undo the noise, and bounds that would hold it back."""
        smallest, largest = float(np.nanmin(size)), float(np.nanmax(size))
        if unit is not None and unit > _LEAST * smallest:
            raise DataError(
                f"Noise on {column!r} has a standard deviation of {smallest:.3g}, which rounding to multiples of "
                f"{unit:g} would undo. Raise share, choose a smaller unit, or use Pram for a column of few values."
            )
        if self.at_least is not None and self.at_most is not None and self.at_most - self.at_least < _LEAST * largest:
            raise DataError(
                f"The bounds {self.at_least} and {self.at_most} are too near to each other for noise with a standard "
                f"deviation of {largest:.3g} on {column!r}: lower share, or widen the bounds."
            )

    def _notes(self, held: Amounts, settled: Floats, unit: float | None) -> list[Note]:
        notes = []
        if unit is not None:
            text = "{column}: values with their noise are rounded to multiples of {unit}, up as often as down"
            notes.append(Note(text, {"column": held.column, "unit": unit}))
        if not held.held.dtype.is_temporal() and not self._bounded:
            n_negative = int((settled < 0).sum())  # NaN is not below
            if n_negative and float(np.min(held.values, where=held.known, initial=0.0)) >= 0:
                text = "{column}: {n_negative} values became negative, where none was; give at_least = 0 if none may be"
                notes.append(Note(text, {"column": held.column, "n_negative": n_negative}, internal=True))
        if self._bounded:
            text = "{column}: noise is reflected at the bounds, so that the mean is kept only nearly"
            notes.append(Note(text, {"column": held.column}))
        return notes

    def _outcome(
        self,
        rows: Rows,
        amounts: list[Amounts],
        sizes: Floats,
        strata: NDArray[np.int64],
        new: dict[str, pl.Series],
        released: Microdata,
        notes: list[Note],
        drawn: dict[str, NDArray[np.bool_]],
    ) -> Outcome:
        beside = {
            a.column: pl.Series(np.where(drawn[a.column], size[strata], np.nan))
            for a, size in zip(amounts, sizes, strict=True)
            if len(size) > 1 or not drawn[a.column].all()
        }
        kept = KeptInput.of(rows, released, new, beside)
        guarantees = []
        for a, size in zip(amounts, sizes, strict=True):
            unit = unit_of(a, self.unit)
            coarseness = float(unit / np.nanmin(size)) if unit is not None else 0.0
            scale = None if a.column in beside else float(size[0])
            guarantees.append(CarriesNoise((a.column,), kept, scale, coarseness, self._bounded))
        return Outcome(
            released,
            guarantees=tuple(guarantees),
            changes=tuple(Change(a.column, _n_changed(a.held, new[a.column])) for a in amounts),
            notes=tuple(notes),
            details={"sizes": {a.column: size for a, size in zip(amounts, sizes, strict=True)}},
        )


def _by_stratum(names: list[str], held: Floats) -> dict[str, Any]:
    """What the noise of each stratum was drawn with, as plain values."""
    return {name: own.tolist() for name, own in zip(names, held, strict=True) if own.size and np.isfinite(own).all()}


def _n_changed(before: pl.Series, after: pl.Series) -> int:
    return int((before != after).sum())
