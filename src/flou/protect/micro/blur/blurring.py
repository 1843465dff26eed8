"""One stratum of an interval blur: its classes, its regression, and its values drawn anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.engine.errors import DataError
from flou.protect.micro.blur.classes import Classes, given_classes, quantile_classes
from flou.protect.micro.blur.design import build_design
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
        self, method: IntervalBlur, values: Floats, codes: Floats, zero: NDArray[np.bool_], full: NDArray[np.bool_]
    ) -> None:
        self._method, self._codes, self.zero, self.full = method, codes, zero, full
        self.modelled = ~np.isnan(values) & ~zero & ~full
        amounts = values[self.modelled]
        if not len(amounts):
            where = f" in a stratum of {', '.join(method.by)}" if method.by else ""
            raise DataError(f"{method.column!r} has no value to blur besides zeros and saturated ones{where}.")
        edges, positive = tuple(method._edges()), method._zeros_kept
        if edges:
            self.classes = given_classes(amounts, edges, method.top, method.min_records, positive=positive)
        else:
            least, unit = method.min_records, method.unit
            self.classes = quantile_classes(amounts, method.classes, unit, least, positive=positive)
        if method.saturated is not None:
            self.classes = self.classes.below(float(method.saturated))
        if not edges:
            self.classes = self.classes.widened(method.unit)
        self._saturated = method.saturated
        first, last = self.classes.multiples(method.unit)
        self.number = self.class_of(values)
        #: How often chance finds the original among what a class shows; zeros and saturated values always show it.
        self.chance = np.append(np.minimum(1.5 / (last - first + 1), 0.9), [1.0, 1.0, 1.0])

    @classmethod
    def of(cls, method: IntervalBlur, values: Floats, codes: Floats) -> Blurring:
        """The classes of some values, NaN where a record has none; `codes` mean something else and are never drawn."""
        none = np.zeros(len(values), dtype=np.bool_)
        zero = values == 0 if method._zeros_kept else none
        full = values >= method.saturated if method.saturated is not None else none
        return cls(method, values, codes, zero, full)

    def class_of(self, values: Floats) -> NDArray[np.int64]:
        """The class of each value: after the others those of zeros and of saturated values; -1 where there is none."""
        number = self.classes.of(values)
        if self._method._zeros_kept:
            number = np.where(values == 0, self.classes.n, number)
        if self._saturated is not None:
            number = np.where(values >= self._saturated, self.classes.n + 1, number)
        return np.where(np.isnan(values), -1, number)

    def draw(self, others: pl.DataFrame, original: Floats, uniform: Floats) -> Floats:
        """Fit on the classes and draw each modelled value anew, given `others`; NaN where a record has none."""
        from flou.protect.micro.blur.censored import fit_intervals
        from flou.protect.micro.blur.class_means import shifts_of_classes
        from flou.protect.micro.blur.truncated import truncated_normal

        fitted = self.modelled | self.full
        self.covariates = self._chosen(others, original)
        design = build_design(others.filter(pl.Series(fitted)).select(self.covariates), int(fitted.sum()))
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
        bounds = np.concatenate([low[number], high[number]])
        if len(np.unique(bounds[np.isfinite(bounds)])) < 2:
            raise DataError(
                f"{self._method.column!r} falls into two classes open at the ends, and the one bound between them does "
                "not tell how far values spread. Take three classes or more."
            )
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
            return self.classes.rounded(blurred, own, self._method.unit, self._codes)

        shifts = np.zeros(self.classes.n)
        if self._method.class_means == "keep":
            # where draws end is as far as one value may move the mean of its class
            wanted = np.clip(original[self.modelled], self.classes.edges[0], self.classes.edges[-1])
            shifts = shifts_of_classes(number, wanted, self.classes.n, drawn)
        values = np.full(len(uniform), np.nan)
        values[self.modelled] = drawn(slice(None), shifts[number])
        values[self.zero] = 0.0
        if self._saturated is not None:
            values[self.full] = float(self._saturated)
        self.sigma = fit.sigma * spread
        return values

    def _chosen(self, others: pl.DataFrame, original: Floats) -> tuple[str, ...]:
        """The covariates that were given, without those that have one value in this stratum; or those that fit best."""
        method, some = self._method, pl.Series(self.modelled)
        if method.given:
            return tuple(c for c in method.given if not method.by or others[c].filter(some).n_unique() > 1)
        # a zero has no log; half a unit stands for it
        least = method.unit / 2 if method.scale == "log" else -np.inf
        target = method._scaled(np.maximum(original[self.modelled], least))
        return tuple(choose_covariates(target, others.filter(some), method.max_covariates, method.max_collinearity))
