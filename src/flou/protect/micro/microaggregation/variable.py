"""A column as microaggregation sees it: a quantity on a line, or a category that equals others or not.

Quantities are divided by their standard deviation in the file, so that euros and years weigh the same. Categories
become indicators, scaled so that two different ones are at distance 1 (Domingo-Ferrer & Torra 2005 take the same
distance for nominal data). Nulls and not-applicable codes are set aside: they stay as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from flou.engine.errors import DataError
from flou.engine.values import codes_in
from flou.protect.micro.microaggregation.centre import (
    Floats,
    Ints,
    Show,
    mean_of_groups,
    median_of_groups,
    mode_of_groups,
)
from flou.protect.micro.rows import Amounts, Rows

#: What `aside` says of a record that has a value, and of one that has none; codes have the numbers above.
VALUE, NULL = 0, 1


@dataclass(frozen=True)
class Quantity:
    """Numbers or dates."""

    amounts: Amounts
    aside: Ints

    @cached_property
    def _centre_and_scale(self) -> tuple[float, float]:
        known = self.amounts.values[self.aside == VALUE]
        if not len(known):
            return 0.0, 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            centre, scale = float(known.mean()), float(known.std())
        if not (math.isfinite(centre) and math.isfinite(scale)):
            raise DataError(
                f"{self.amounts.column!r} has values that are infinite or too large to compare: code them first, for "
                "instance by top_code."
            )
        return centre, scale or 1.0

    def coordinates(self, rows: Ints) -> Floats:
        """One column: standardised values."""
        centre, scale = self._centre_and_scale
        return ((self.amounts.values[rows] - centre) / scale)[:, None]

    @property
    def total(self) -> float:
        """The sum of squares around the average of all records."""
        return float((self.coordinates(np.flatnonzero(self.aside == VALUE)) ** 2).sum())

    def shown(self, groups: Ints, show: Show) -> pl.Series:
        """The column with what groups show."""
        known = self.aside == VALUE
        values, held = self.amounts.values[known], groups[known]
        new = self.amounts.values.copy()
        if len(values) and show == "median":
            new[known] = median_of_groups(held, values)
        elif len(values):
            means = mean_of_groups(held, values)
            # of numbers that are equally frequent, the one nearest to the middle
            new[known] = means if show == "mean" else mode_of_groups(held, values, np.abs(values - means))
        return self.amounts.shown(new)


@dataclass(frozen=True)
class Category:
    """Texts, or true and false."""

    held: pl.Series
    #: The distinct values in the order in which they first appear, and the number of each record's; -1 for null.
    values: pl.Series
    numbers: Ints
    aside: Ints

    def coordinates(self, rows: Ints) -> Floats:
        """An indicator for each category that these records have, 1/√2 where it is theirs."""
        present, number = np.unique(self.numbers[rows], return_inverse=True)
        points = np.zeros((len(rows), len(present)))
        points[np.arange(len(rows)), number] = math.sqrt(0.5)
        return points

    @cached_property
    def _counts(self) -> Ints:
        return np.bincount(self.numbers[self.aside == VALUE], minlength=max(len(self.values), 1))

    @property
    def total(self) -> float:
        """The sum of squares around the average of all records."""
        n = int(self._counts.sum())
        return 0.5 * (n - float((self._counts.astype(float) ** 2).sum()) / n) if n else 0.0

    def shown(self, groups: Ints, show: Show) -> pl.Series:
        """The column with the most frequent category of each group, whatever quantities show."""
        known = self.aside == VALUE
        if not known.any():
            return self.held
        numbers = self.numbers[known]
        shown = np.zeros(len(known), dtype=np.int64)
        # of categories that are equally frequent in a group, the one that is more so in the file
        shown[known] = mode_of_groups(groups[known], numbers.astype(float), -self._counts[numbers].astype(float))
        new = self.values.gather(pl.Series(shown))
        return self.held.zip_with(pl.Series(~known), new.alias(self.held.name))


Variable = Quantity | Category


def variable_of(rows: Rows, column: str) -> Variable:
    """A column of the file as a quantity or as a category."""
    held, data = rows.frame[column], rows.data
    declared = data.schema.not_applicable.get(column, ())
    codes = codes_in(data.frame.collect_schema()[column], declared)
    aside = np.zeros(len(held), dtype=np.int64)
    for number, code in enumerate(codes, start=NULL + 1):
        aside[(held == code).fill_null(False).to_numpy()] = number
    aside[held.is_null().to_numpy()] = NULL
    if held.dtype.is_numeric() or held.dtype == pl.Date:
        return Quantity(rows.amounts(column), aside)
    if held.dtype not in (pl.String, pl.Boolean, pl.Categorical, pl.Enum):
        raise DataError(f"{column!r} is {held.dtype}: Microaggregation takes numbers, dates, texts and true/false.")
    if held.dtype != pl.Boolean:
        held = held.cast(pl.String)
    values = held.drop_nulls().unique(maintain_order=True)
    numbers = np.full(len(held), -1, dtype=np.int64)
    if len(values):
        places = held.replace_strict(values, pl.Series(np.arange(len(values))), default=-1, return_dtype=pl.Int64)
        numbers = places.to_numpy()
    return Category(held, values, numbers, aside)
