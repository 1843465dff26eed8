"""Interval blur (Djiriguian, Missègue & Ricroch 2022): each value drawn anew within its class.

The values are cut into classes; a regression fitted on the classes alone (interval-censored maximum
likelihood) predicts each value from covariates; a residual drawn from the normal law, truncated so that the
value stays in its class, is added. The exact value is never used but for its class, so the blurred one
says no more about it than the class and the covariates do. Keeps the class of every record, and so means
and quantiles closely, and the links to the covariates; weakens links to other columns inside a class.
It does not hide the class: narrow classes hide little, and an extreme value is hidden only by the open
class that it stands in.
"""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, ParameterError
from flou.engine.guarantee import Guarantee
from flou.engine.method import Claim, Protection
from flou.engine.note import Note
from flou.engine.parameters import Names, Number, Share, as_tuple
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.protect.micro.blur.classes import given_classes, quantile_classes
from flou.protect.micro.blur.design import build_design
from flou.protect.micro.blur.selection import choose_covariates
from flou.protect.micro.remembered import Remembered
from flou.protect.micro.replaced import schema_of_new_values
from flou.protect.micro.rows import Amounts, Rows, read_rows

Floats = NDArray[np.float64]
#: Records from which on it can be told whether a file shows original values.
_ENOUGH_TO_SEE = 20
Breaks = Annotated[tuple[Number | dt.date, ...], BeforeValidator(as_tuple)]


class IntervalBlur(Protection):
    """Draw each value anew within its class, given other columns: `IntervalBlur("apa_amount", given=["gir", "age"])`.

    It replaces its column. A later rule can still name the values of the plan's input, `original.apa_amount`.
    """

    reference: ClassVar[str] = "djiriguian2022"
    title: ClassVar[str] = "interval blur"
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns")

    column: str = Field(description="the column of amounts, ages or dates to blur")
    given: Names = Field((), description="covariates; without any, those that go best with the column are chosen")
    classes: int = Field(20, ge=2, le=1000, description="number of classes of equal size, where no breaks are given")
    breaks: Breaks = Field((), description="bounds of the classes, each class with its lower bound")
    top: Literal["closed", "open"] = Field(
        "closed", description="whether the last class ends at the last break, or takes in all above, shown below it"
    )
    saturated: Number | None = Field(
        None, description="a ceiling: values at or above it are a class of their own and shown as it"
    )
    zeros: Literal["keep", "model"] | None = Field(
        None, description="zeros stay zeros, or are modelled like other values; default: keep under a log"
    )
    scale: Literal["log", "identity"] = Field("log", description="what the regression explains: the log or the value")
    unit: float = Field(1.0, gt=1e-9, description="blurred values are shown as multiples of this; days for dates")
    class_means: Literal["keep", "free"] = Field(
        "keep", description="shift the draws of a class so that its mean stays, or leave it to the regression"
    )
    max_covariates: int = Field(8, ge=1, le=50, description="how many covariates are chosen at most")
    max_collinearity: Share = Field(
        0.6, description="a covariate is not chosen when those before it explain more of its variance than this"
    )

    @model_validator(mode="after")
    def _coherent(self) -> IntervalBlur:
        if self.column in self.given:
            raise ParameterError(f"given names {self.column!r}, the column that is blurred: give other columns.")
        edges = self._edges()
        if self.breaks and (len(edges) < 3 or not all(a < b for a, b in pairwise(edges))):
            raise ParameterError(
                f"breaks = {list(self.breaks)!r} should be at least three bounds, each above the one before."
            )
        if edges and self.scale == "log" and edges[0] < 0:
            raise ParameterError(
                f'breaks begin at {edges[0]:g}, which has no log: begin at 0, or take scale = "identity".'
            )
        if self.top == "open" and not self.breaks:
            raise ParameterError('top = "open" goes with breaks; classes by quantiles are open at both ends anyway.')
        if self.saturated is not None and self.breaks and self.saturated <= edges[-2]:
            raise ParameterError(f"saturated = {self.saturated} must lie above the lower bound of the last class.")
        return self

    def _edges(self) -> list[float]:
        return [float((b - dt.date(1970, 1, 1)).days) if isinstance(b, dt.date) else float(b) for b in self.breaks]

    @property
    def _zeros_kept(self) -> bool:
        return self.zeros == "keep" or (self.zeros is None and self.scale == "log")

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        rows = read_rows(data, (self.column, *self._candidates(data)), type(self).__name__)
        held = rows.amounts(self.column)
        self._check(data, held)
        blurring = Blurring.of(self, held)
        covariates = list(self.given) or choose_covariates(
            self._scaled(held.values[blurring.modelled]),
            rows.frame.drop(self.column).filter(pl.Series(blurring.modelled)),
            self.max_covariates,
            self.max_collinearity,
        )
        drawn = blurring.draw(rows, held, covariates, draw.uniform(rows.ids))
        new = held.shown(drawn.values)
        before = held.values[held.known]
        after = drawn.values[held.known]
        named = {"column": self.column, "covariates": ", ".join(covariates)}
        text = "{column} is drawn anew within classes, given {covariates}"
        if not covariates:
            text = "{column} is drawn anew within classes; no other column explains it"
        return Outcome(
            rows.put_back({self.column: new}, schema_of_new_values(data, self.column, new)),
            guarantees=self._guarantees(rows, blurring, held),
            changes=(Change(self.column, int((before != after).sum())),),
            figures={
                "n_classes": blurring.classes.n,
                "n_covariates": len(covariates),
                "sigma": float(f"{drawn.sigma:.6g}"),
                "mean_deviation": float(f"{after.mean() / before.mean() - 1:.4g}") if before.mean() else None,
                "n_zeros": int(blurring.zero.sum()),
                "n_saturated": int(blurring.full.sum()),
            },
            notes=(Note(text, dict(named)),),
            details={"covariates": tuple(covariates), "edges": tuple(blurring.classes.edges.tolist())},
        )

    def _candidates(self, data: Microdata) -> tuple[str, ...]:
        hidden = (*data.schema.hidden, data.schema.weight)
        for name in self.given:
            if name in hidden:
                raise DataError(f"given names {name!r}, which is never published or is the weight: give other columns.")
        return self.given or tuple(c for c in data.columns if c not in (*hidden, self.column))

    def _check(self, data: Microdata, held: Amounts) -> None:
        if self.column in data.schema.hidden or self.column == data.schema.weight:
            raise DataError(f"{self.column!r} is never published or is the weight, so it is not blurred.")
        if held.held.dtype == pl.Date and self.scale == "log":
            raise ParameterError(f'{self.column!r} holds dates, which have no log: take scale = "identity".')
        if held.whole and not float(self.unit).is_integer():
            raise ParameterError(f"{self.column!r} holds whole numbers, so unit must be one too; it is {self.unit}.")
        known = held.values[held.known]
        if not len(known) or not np.isfinite(known).all():
            raise DataError(f"{self.column!r} needs finite values to be blurred; it has none, or infinite ones.")
        negative = int((known < 0).sum())
        if self.scale == "log" and negative:
            raise DataError(
                f'{negative:,} values of {self.column!r} are negative and have no log: take scale = "identity", or '
                "bottom-code them first."
            )

    def _scaled(self, values: Floats) -> Floats:
        if self.scale == "identity":
            return values
        with np.errstate(divide="ignore"):
            return np.log(values)

    def _guarantees(self, rows: Rows, blurring: Blurring, held: Amounts) -> tuple[Guarantee, ...]:
        first, last = blurring.classes.multiples(self.unit)
        # zeros, saturated values and classes with one multiple have nothing to choose from
        free = np.append(last > first, [False, False, False])
        remembered = Remembered(rows.owners, np.column_stack([blurring.number, held.values]))

        def looked_at(data: object) -> tuple[NDArray[np.int64], Floats, Floats] | None:
            """Class, original and value now of the records that are left; None where the values are shown no more."""
            assert isinstance(data, Microdata)
            if not _still_amounts(data, self.column):
                return None
            was, now = remembered.beside(data, [self.column])
            return was[:, 0].astype(np.int64), was[:, 1], Amounts.of(data, now[self.column]).values

        def outside(data: object) -> int:
            found = looked_at(data)
            return 0 if found is None else int((blurring.class_of(found[2]) != found[0]).sum())

        def off_unit(data: object) -> int:
            found = looked_at(data)
            if found is None:
                return 0
            counts = found[2][(found[0] >= 0) & (found[0] < blurring.classes.n)] / self.unit
            return int((np.abs(counts - np.rint(counts)) > 1e-6).sum())

        def undone(data: object) -> int:
            """The records that show their original amount, where nearly all do: the blur was lost on the way."""
            found = looked_at(data)
            if found is None:
                return 0
            drawn = free[found[0]]
            same = drawn & (np.abs(found[1] - found[2]) <= self.unit / 2)
            return int(same.sum()) if drawn.sum() >= _ENOUGH_TO_SEE and same.sum() > 0.95 * drawn.sum() else 0

        named: dict[str, object] = {"column": self.column}
        return (
            Guarantee(Note("every value of {column} stays in its class", named), outside),
            Guarantee(Note("{column} is shown in multiples of {unit}", {**named, "unit": self.unit}), off_unit),
            Guarantee(Note("{column} does not show the original values", named), undone),
        )


def _still_amounts(data: Microdata, column: str) -> bool:
    """Whether a column is there and still holds amounts; dropped or recoded, its values are no longer shown."""
    if column not in data.columns:
        return False
    dtype = data.frame.collect_schema()[column]
    return dtype.is_numeric() or dtype.is_temporal()


class Drawn:
    """Blurred values of all records (NaN where there is none) and the fitted standard deviation."""

    def __init__(self, values: Floats, sigma: float) -> None:
        self.values, self.sigma = values, sigma


class Blurring:
    """The classes of one column: zeros and saturated values apart, the others modelled."""

    def __init__(self, method: IntervalBlur, held: Amounts, zero: NDArray[np.bool_], full: NDArray[np.bool_]) -> None:
        self._method, self.zero, self.full = method, zero, full
        self.modelled = held.known & ~zero & ~full
        values = held.values[self.modelled]
        if not len(values):
            raise DataError(f"{held.column!r} has no value to blur besides zeros and saturated ones.")
        edges = tuple(method._edges())
        if edges:
            self.classes = given_classes(values, edges, method.top, positive=method._zeros_kept)
        else:
            self.classes = quantile_classes(values, method.classes, method.unit, positive=method._zeros_kept)
        if method.saturated is not None:
            self.classes = self.classes.below(float(method.saturated))
        self._saturated = method.saturated
        self.classes.multiples(method.unit)
        self.number = self.class_of(held.values)

    @classmethod
    def of(cls, method: IntervalBlur, held: Amounts) -> Blurring:
        none = np.zeros(len(held.known), dtype=np.bool_)
        zero = held.known & (held.values == 0) if method._zeros_kept else none
        full = held.known & (held.values >= method.saturated) if method.saturated is not None else none
        return cls(method, held, zero, full)

    def class_of(self, values: Floats) -> NDArray[np.int64]:
        """The class of each value: after the others those of zeros and of saturated values; -1 where there is none."""
        number = self.classes.of(values)
        if self._method._zeros_kept:
            number = np.where(values == 0, self.classes.n, number)
        if self._saturated is not None:
            number = np.where(values >= self._saturated, self.classes.n + 1, number)
        return np.where(np.isnan(values), -1, number)

    def draw(self, rows: Rows, held: Amounts, covariates: list[str], uniform: Floats) -> Drawn:
        """Fit on the classes and draw each modelled value anew."""
        from flou.protect.micro.blur.censored import fit_intervals
        from flou.protect.micro.blur.class_means import shifts_of_classes
        from flou.protect.micro.blur.truncated import truncated_normal

        fitted = self.modelled | self.full
        design = build_design(rows.frame.select(covariates).filter(pl.Series(fitted)))
        scaled = self._method._scaled(self.classes.edges)
        finite = scaled[np.isfinite(scaled)]
        centre, spread = float(finite.mean()), float(finite.std()) or 1.0
        scaled = (scaled - centre) / spread
        low, high = self.classes.censoring(scaled)
        number = self.number[fitted]
        if self._saturated is not None:
            ceiling = (float(self._method._scaled(np.array([float(self._saturated)]))[0]) - centre) / spread
            # classes, then the place of zeros (never fitted), then saturated values
            low, high = np.append(low, [np.nan, ceiling]), np.append(high, [np.nan, np.inf])
        fit = fit_intervals(design.numbers, design.codes, design.n_levels, low[number], high[number])
        inside = number < self.classes.n
        predicted = design.predict(fit.coefficients)[inside]
        number = number[inside]
        u = uniform[self.modelled]

        def drawn(records: NDArray[np.intp] | slice, shift: float | Floats) -> Floats:
            mean, own = predicted[records] + fit.sigma * shift, number[records]
            a, b = (scaled[:-1][own] - mean) / fit.sigma, (scaled[1:][own] - mean) / fit.sigma
            blurred = (mean + fit.sigma * truncated_normal(a, b, u[records])) * spread + centre
            blurred = np.exp(blurred) if self._method.scale == "log" else blurred
            return self.classes.rounded(blurred, own, self._method.unit)

        shifts = np.zeros(self.classes.n)
        if self._method.class_means == "keep":
            shifts = shifts_of_classes(number, held.values[self.modelled], self.classes.n, drawn)
        values = np.full(len(uniform), np.nan)
        values[self.modelled] = drawn(slice(None), shifts[number])
        values[self.zero] = 0.0
        if self._saturated is not None:
            values[self.full] = float(self._saturated)
        return Drawn(values, fit.sigma * spread)
