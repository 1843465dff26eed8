"""One stratum of an interval blur: its classes, its regression, and its values drawn anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.engine.errors import DataError
from flou.protect.micro.blur.classes import Classes, given_classes, quantile_classes
from flou.protect.micro.blur.design import build_design
from flou.protect.micro.blur.former import FormerBlur, Model
from flou.protect.micro.blur.predictor import Predictor
from flou.protect.micro.blur.selection import choose_covariates

if TYPE_CHECKING:
    from flou.protect.micro.blur.interval_blur import IntervalBlur

Floats = NDArray[np.float64]


class Blurring:
    """The classes of a stratum's values: zeros and saturated values apart, the others modelled."""

    classes: Classes
    #: Known once values were drawn.
    covariates: tuple[str, ...] = ()
    sigma: float = 0.0

    def __init__(
        self,
        method: IntervalBlur,
        values: Floats,
        codes: Floats,
        zero: NDArray[np.bool_],
        full: NDArray[np.bool_],
        former: FormerBlur | None,
    ) -> None:
        self._method, self._codes, self.zero, self.full, self._former = method, codes, zero, full, former
        self.modelled = ~np.isnan(values) & ~zero & ~full
        amounts = values[self.modelled]
        if not len(amounts):
            where = f" in a stratum of {', '.join(method.by)}" if method.by else ""
            raise DataError(f"{method.column!r} has no value to blur besides zeros and saturated ones{where}.")
        self.classes = self._classes(amounts)
        self._saturated = method.saturated
        first, last = self.classes.multiples(method.unit)
        self.number = self.class_of(values)
        #: The classes that draws are bound to: those of the former release, of which some may be joined now.
        self.bound_to = self.classes if former is None else former.classes
        self.drawn_as = number_classes(method, self.bound_to, values)
        #: How often chance finds the original among what a class shows; zeros and saturated values always show it.
        self.chance = np.append(np.minimum(1.5 / (last - first + 1), 0.9), [1.0, 1.0, 1.0])

    def _classes(self, amounts: Floats) -> Classes:
        """The classes of the modelled values: the former ones, those at given breaks, or new ones by quantiles."""
        method, edges, former = self._method, tuple(self._method._edges()), self._former
        least, positive, unit = method.min_records, method._zeros_kept, method.unit
        if edges:
            found = given_classes(amounts, edges, method.top, least, positive=positive)
        elif former is not None:
            return former.classes.joined(amounts, least)
        else:
            found = quantile_classes(amounts, method.classes, unit, least, positive=positive)
        if method.saturated is not None:
            found = found.below(float(method.saturated))
        return found if edges else found.widened(unit)

    @classmethod
    def of(cls, method: IntervalBlur, values: Floats, codes: Floats, former: FormerBlur | None = None) -> Blurring:
        """The classes of some values, NaN where a record has none; `codes` mean something else and are never drawn."""
        none = np.zeros(len(values), dtype=np.bool_)
        zero = values == 0 if method._zeros_kept else none
        full = values >= method.saturated if method.saturated is not None else none
        return cls(method, values, codes, zero, full, former)

    def class_of(self, values: Floats) -> NDArray[np.int64]:
        """Number of each value's class: n for zeros, n + 1 for saturated values, -1 for missing ones."""
        return number_classes(self._method, self.classes, values)

    @property
    def as_before(self) -> bool:
        """Whether values were drawn by the regression of the former release."""
        return self._former is not None and self._model is self._former.model

    def kept(self) -> FormerBlur:
        """What the next release draws alike with."""
        return FormerBlur(self.bound_to, self._model)

    def draw(self, others: pl.DataFrame, original: Floats, uniform: Floats) -> Floats:
        """Draw each modelled value anew within its class, given `others`; NaN where a record has none.

        The regression is fitted on the classes alone, or it is that of the former release.
        """
        from flou.protect.micro.blur.class_means import shifts_of_classes
        from flou.protect.micro.blur.truncated import truncated_normal

        former = self._former
        held = former is not None and former.model.predictor.fits(others)
        model = former.model if former is not None and held else self._fitted(others, original)
        self.covariates = model.predictor.covariates
        scaled = (self._method._scaled(self.classes.edges) - model.centre) / model.spread
        predicted = model.predictor.predict(others.filter(pl.Series(self.modelled)))
        number, u = self.number[self.modelled], uniform[self.modelled]

        def drawn(records: NDArray[np.intp] | slice, shift: float | Floats) -> Floats:
            mean, own = predicted[records] + model.sigma * shift, number[records]
            a, b = (scaled[:-1][own] - mean) / model.sigma, (scaled[1:][own] - mean) / model.sigma
            blurred = (mean + model.sigma * truncated_normal(a, b, u[records])) * model.spread + model.centre
            blurred = np.exp(blurred) if self._method.scale == "log" else blurred
            return self.classes.rounded(blurred, own, self._method.unit, self._codes)

        moved_by = self.drawn_as[self.modelled]
        if not held and self._method.class_means == "keep":
            # where draws end is as far as one value may move the mean of its class
            wanted = np.clip(original[self.modelled], self.classes.edges[0], self.classes.edges[-1])
            n = self.bound_to.n
            model = replace(model, shifts=shifts_of_classes(moved_by, wanted, n, drawn))
        values = np.full(len(uniform), np.nan)
        values[self.modelled] = drawn(slice(None), model.shifts[moved_by])
        values[self.zero] = 0.0
        if self._saturated is not None:
            values[self.full] = float(self._saturated)
        self._model, self.sigma = model, model.sigma * model.spread
        return values

    def _fitted(self, others: pl.DataFrame, original: Floats) -> Model:
        """The regression of the values on the covariates, of which it knows the classes alone."""
        from flou.protect.micro.blur.censored import fit_intervals

        fitted = self.modelled | self.full
        covariates = others.filter(pl.Series(fitted)).select(self._chosen(others, original))
        design = build_design(covariates, int(fitted.sum()))
        scaled = self._method._scaled(self.classes.edges)
        finite = scaled[np.isfinite(scaled)]
        centre, spread = float(finite.mean()), float(finite.std()) or 1.0
        low, high = self.classes.censoring((scaled - centre) / spread)
        number = self.number[fitted]
        if self._saturated is not None:
            ceiling = (float(self._method._scaled(np.array([float(self._saturated)]))[0]) - centre) / spread
            # classes, then the place of zeros (never fitted), then saturated values
            low, high = np.append(low, [np.nan, ceiling]), np.append(high, [np.nan, np.inf])
        bounds = np.concatenate([low[number], high[number]])
        if len(np.unique(bounds[np.isfinite(bounds)])) < 2:
            raise DataError(
                f"{self._method.column!r} falls into two classes open at the ends, and the one bound between them does "
                "not tell how far values spread. Take three classes or more."
            )
        fit = fit_intervals(design.numbers, design.codes, design.n_levels, low[number], high[number])
        predictor = Predictor.of(covariates, design, fit.coefficients)
        return Model(predictor, fit.sigma, centre, spread, np.zeros(self.bound_to.n))

    def _chosen(self, others: pl.DataFrame, original: Floats) -> tuple[str, ...]:
        """The covariates that were given, without those that have one value in this stratum; or those that fit best."""
        method, some = self._method, pl.Series(self.modelled)
        if method.given:
            return tuple(c for c in method.given if not method.by or others[c].filter(some).n_unique() > 1)
        # a zero has no log; half a unit stands for it
        least = method.unit / 2 if method.scale == "log" else -np.inf
        target = method._scaled(np.maximum(original[self.modelled], least))
        return tuple(choose_covariates(target, others.filter(some), method.max_covariates, method.max_collinearity))


def number_classes(method: IntervalBlur, classes: Classes, values: Floats) -> NDArray[np.int64]:
    """Number of each value's class: n for zeros, n + 1 for saturated values, -1 for missing ones."""
    number = classes.of(values)
    if method._zeros_kept:
        number = np.where(values == 0, classes.n, number)
    if method.saturated is not None:
        number = np.where(values >= method.saturated, classes.n + 1, number)
    return np.where(np.isnan(values), -1, number)
