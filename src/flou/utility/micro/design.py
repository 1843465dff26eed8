"""The design of a regression: numbers as they are, categories by an indicator a value, in both files alike.

The reference of a category is the original's most frequent value among those that both files have. A value that
one of the files lacks has no coefficient there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flou.utility.micro.least_squares import Fit, Rows, fit_least_squares
from flou.utility.micro.two_files import Categories, Codes, Floats

#: A column, and the value whose indicator it is; ("", None) is the intercept.
Term = tuple[str, str | None]
Which = Literal[0, 1]
INTERCEPT: Term = ("", None)


@dataclass(frozen=True, eq=False)
class Numeric:
    """A number in both files, NaN where there is no value; `centre` and `scale` make the sums well behaved."""

    name: str
    values: tuple[Floats, Floats]
    centre: float
    scale: float


@dataclass(frozen=True, eq=False)
class Categorical:
    """A category in both files, as codes; null is no value."""

    name: str
    held: Categories

    @property
    def codes(self) -> tuple[Codes, Codes]:
        return self.held.original, self.held.released

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(v for v in self.held.levels if v is not None)


@dataclass(frozen=True, eq=False)
class Variables:
    """Outcome, regressors and weights of both files, complete records only."""

    outcome: tuple[Floats, Floats]
    weights: tuple[Floats, Floats]
    numeric: tuple[Numeric, ...]
    categorical: tuple[Categorical, ...]

    def part(self, places: tuple[NDArray[np.intp], NDArray[np.intp]], without: str = "") -> Variables:
        """Some of the records of each file, and all regressors but one."""
        first, second = places
        return Variables(
            (self.outcome[0][first], self.outcome[1][second]),
            (self.weights[0][first], self.weights[1][second]),
            tuple(replace(x, values=(x.values[0][first], x.values[1][second]))
                  for x in self.numeric if x.name != without),
            tuple(Categorical(x.name, Categories(x.held.levels, x.codes[0][first], x.codes[1][second]))
                  for x in self.categorical if x.name != without),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Estimates:
    """What a fit gives in one file: coefficient, standard error and records of each term."""

    fit: Fit
    terms: tuple[Term, ...]
    counts: dict[Term, int]


class NoCommonValueError(Exception):
    """A category of which the two files have no value in common."""


def references(held: Variables) -> dict[str, int]:
    """The reference of each category: the original's most frequent value that the release has too."""
    out = {}
    for x in held.categorical:
        counts = [np.bincount(c, minlength=len(x.levels)) for c in x.codes]
        shared = np.where(counts[1] > 0, counts[0], 0)
        if not shared.max(initial=0):
            raise NoCommonValueError(x.name)
        out[x.name] = int(shared.argmax())
    return out


def terms_of(held: Variables, which: Which, reference: dict[str, int]) -> tuple[tuple[Term, ...], dict[Term, int]]:
    """The terms that one file has, and the records behind each."""
    n = len(held.outcome[which])
    counts: dict[Term, int] = {INTERCEPT: n} | {(x.name, None): n for x in held.numeric}
    for x in held.categorical:
        for i, c in enumerate(np.bincount(x.codes[which], minlength=len(x.levels)).tolist()):
            if c and i != reference[x.name]:
                counts[x.name, x.levels[i]] = c
    return tuple(counts), counts


def estimate(held: Variables, which: Which, reference: dict[str, int]) -> Estimates:
    """Fit one of the two files."""
    terms, counts = terms_of(held, which, reference)
    rows = _rows(held, which, terms)
    fit = fit_least_squares(rows, len(terms), held.outcome[which], held.weights[which])
    # numbers were centred and scaled: back to their units
    back = np.eye(len(terms))
    for j, x in enumerate(held.numeric, start=1):
        back[j, j] = 1 / x.scale
        back[0, j] = -x.centre / x.scale
    return Estimates(Fit(back @ fit.coefficients, back @ fit.covariance @ back.T, fit.n), terms, counts)


def _rows(held: Variables, which: Which, terms: tuple[Term, ...]) -> Rows:
    """The design between two places: constant, numbers, indicators."""
    place = {term: j for j, term in enumerate(terms)}
    # the column of the design that a code stands for; -1 for the reference
    lookup = [np.array([place.get((x.name, v), -1) for v in x.levels], dtype=np.int64) for x in held.categorical]

    def rows(start: int, stop: int) -> Floats:
        n = len(held.outcome[which][start:stop])
        out = np.zeros((n, len(terms)))
        out[:, 0] = 1.0
        for j, x in enumerate(held.numeric, start=1):
            out[:, j] = (x.values[which][start:stop] - x.centre) / x.scale
        for category, columns in zip(held.categorical, lookup, strict=True):
            at = columns[category.codes[which][start:stop]]
            shown = np.flatnonzero(at >= 0)
            out[shown, at[shown]] = 1.0
        return out

    return rows
