"""The user's linear regression on both files, coefficient by coefficient.

Would an analyst of the release tell the same story? Each coefficient has a confidence interval in either file; the
overlap of the two, averaged over the coefficients, is the measure of Karr, Kohnen, Oganian, Reiter & Sanil (2006).
Weighted least squares, with each file's own weights and robust (HC1) standard errors.

It keeps silent about every model but this one. With many records intervals are narrow, and a deviation of no practical
importance ends the overlap: read the coefficients beside it. Standard errors know nothing of strata or households.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.comparison import ComparisonResult, Detail, Shown
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.figure import Figure
from flou.engine.note import Note
from flou.engine.owners import Owners
from flou.engine.parameters import Columns
from flou.engine.utility import Utility
from flou.engine.values import Proportion
from flou.utility.micro.class_bounds import FEW_VALUES, MOST_GROUPS, cut_at, quantile_classes
from flou.utility.micro.coefficients import coefficient_lines, figures_of
from flou.utility.micro.cuts import Cuts, as_day
from flou.utility.micro.design import (
    Categorical,
    NoCommonValueError,
    Numeric,
    Term,
    Variables,
    estimate,
    references,
    terms_of,
)
from flou.utility.micro.forest_chart import forest_chart
from flou.utility.micro.least_squares import CollinearDesignError
from flou.utility.micro.two_files import (
    Categories,
    TwoFiles,
    column_kinds,
    read_files,
    require_comparable,
    weight_notes,
)
from flou.utility.micro.weighted import mean_and_sd

_MOST_TERMS = 500
_F, _I, _S = pl.Float64, pl.Int64, pl.String
_SCHEMA = {
    "by": _S, "group": _S, "column": _S, "level": _S, "reference": _S, "records_original": _I, "records_released": _I,
    "original": _F, "se_original": _F, "low_original": _F, "high_original": _F,
    "released": _F, "se_released": _F, "low_released": _F, "high_released": _F, "overlap": _F,
}  # fmt: skip


class Regression(Utility):
    """A linear regression on both files, its coefficients and the overlap of their confidence intervals.

    Reference: Karr, Kohnen, Oganian, Reiter & Sanil (2006).
    Result: `.value` the mean overlap over the coefficients of the regression on all records; `.coefficients` one line
    a coefficient.
    """

    reference: ClassVar[str] = "karr2006"
    title: ClassVar[str] = "regression on both files"
    audience = "public"
    headline: ClassVar[Figure] = Figure(
        "value", "mean overlap of the confidence intervals", "share", "either", "public"
    )
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure.public("worst_group", "smallest mean overlap of a group", "share"),
        Figure.public("n_coefficients", "coefficients in both files", "number"),
        Figure(
            "n_sign_changed", "coefficients whose sign changed, significant in both files", "number", "either", "public"
        ),
        Figure.public("n_apart", "coefficients whose intervals do not overlap at all", "number"),
        Figure.public("n_lost", "coefficients that one file alone has", "number"),
        Figure("n_original", "complete records in the original", "count"),
        Figure.public("n_released", "complete records in the release", "count"),
        Figure.public("n_incomplete", "records of the release left out: a value is missing", "count"),
    )
    allows_several_rows: ClassVar[bool] = True

    outcome: str = Field(description="the number that is explained")
    on: Columns = Field(description="the columns that explain it; categories by an indicator a value")
    scale: Literal["identity", "log"] = Field("identity", description="explain the outcome, or its logarithm")
    classes: Cuts | None = Field(
        None,
        description='numbers that are cut into classes: how many by quantiles, a list of breaks, or "values" for each',
    )
    by: Columns | None = Field(None, description="columns whose groups get a regression each, one grouping each")
    level: float = Field(0.95, gt=0.0, lt=1.0, description="level of the confidence intervals")

    @model_validator(mode="after")
    def _consistent(self) -> Regression:
        if self.outcome in self.on or self.outcome in (self.by or ()):
            raise ParameterError(f"outcome = {self.outcome!r} cannot explain itself: take it out of on and by.")
        foreign = [name for name, _ in self.classes or () if name not in (*self.on, *(self.by or ()))]
        if foreign:
            raise ParameterError(f"classes names {listed(foreign)}, which is neither in on nor in by.")
        return self

    def _compare(self, original: Microdata, released: Microdata, owners: Owners) -> ComparisonResult:
        kinds = column_kinds(original, released)
        allowed: tuple[Any, ...] = ("number",) if self.scale == "log" else ("number", "date")
        require_comparable(original, released, (self.outcome,), "outcome", kinds, allowed)
        require_comparable(original, released, self.on, "on", kinds)
        require_comparable(original, released, self.by or (), "by", kinds)
        names = (self.outcome, *self.on, *(self.by or ()))
        files = read_files(original, released, names, kinds)
        held, kept = self._variables(files)
        lines, notes = self._fit(held, None, None)
        for by in self.by or ():
            for group, part in self._parts(files, held, kept, by):
                try:
                    found, _ = self._fit(part, by, group)
                    lines += found
                except DataError:
                    value: dict[str, object] = {"column": by, "value": "–" if group is None else group}
                    notes.append(Note("no regression for the group {column}: {value}", value, internal=True))
        dropped = [side.n - len(k) for side, k in zip(files.sides, kept, strict=True)]
        return self._result(
            original,
            owners,
            value=figures_of(lines)["overlap"],
            figures={**_counted(lines, self.by is not None), "n_original": len(kept[0]), "n_released": len(kept[1]),
                     "n_incomplete": dropped[1]},
            notes=(*weight_notes(original, released), *notes),
            details={
                "coefficients": Detail(
                    "Coefficients", pl.DataFrame(lines, schema=_SCHEMA, orient="row"), _shown(self.by is not None),
                    "overlap", smallest_first=True, counts=("records_original", "records_released"),
                    brief=("by", "group", "column", "original", "se_original", "released", "se_released", "overlap"),
                )
            },
            chart=forest_chart,
        )  # fmt: skip

    def _variables(self, files: TwoFiles) -> tuple[Variables, tuple[Any, Any]]:
        """Outcome and regressors on complete records, and where these are in each file."""
        outcome = files.numbers(self.outcome)
        numeric, categorical = [], []
        cuts = dict(self.classes or ())
        for name in self.on:
            if files.kinds[name] == "category" or name in cuts:
                categorical.append(Categorical(name, self._cut(files, name)))
            else:
                values = files.numbers(name)
                centre, sd, _ = mean_and_sd(values[0], files.original.weights)
                numeric.append(Numeric(name, values, centre, sd if sd > 0 else 1.0))
        places = []
        for i, side in enumerate(files.sides):
            complete = ~np.isnan(outcome[i]) & (side.weights > 0)
            for x in numeric:
                complete &= ~np.isnan(x.values[i])
            for c in categorical:
                complete &= c.codes[i] < len(c.levels)
            places.append(np.flatnonzero(complete))
        kept = (places[0], places[1])
        weights = (files.original.weights, files.released.weights)
        held = Variables(outcome, weights, tuple(numeric), tuple(categorical)).part(kept)
        if self.scale == "log":
            held = Variables(self._logarithms(held), held.weights, held.numeric, held.categorical)
        return held, kept

    def _logarithms(self, held: Variables) -> Any:
        for y, what in zip(held.outcome, ("original", "release"), strict=True):
            n = int((y <= 0).sum())
            if n:
                raise DataError(
                    f'scale = "log": {self.outcome!r} is 0 or negative in {n:,} records of the {what}, which have no '
                    'logarithm. Leave these records out of both files, or take scale = "identity".'
                )
        return tuple(np.log(y) for y in held.outcome)

    def _cut(self, files: TwoFiles, name: str) -> Categories:
        wanted = dict(self.classes or ()).get(name)
        if wanted is None or wanted == "values":
            held = files.categories(name)
            if held.n > MOST_GROUPS:
                raise ParameterError(f"{name!r} has {held.n:,} values, too many for a regression: recode it first.")
            if not files.in_common(name):
                raise DataError(
                    f"{name!r} was recoded: the original and the release have no value of it in common. "
                    "Leave it out, or give the original as recoded."
                )
            return held
        if files.kinds[name] == "category":
            raise ParameterError(f"classes names {name!r}, which holds no numbers to be cut.")
        if isinstance(wanted, int):
            return quantile_classes(files, name, wanted)
        return cut_at(files, name, [as_day(b) for b in wanted])

    def _parts(self, files: TwoFiles, held: Variables, kept: Any, by: str) -> Iterator[tuple[str | None, Variables]]:
        """The records of each group; the column itself explains nothing there."""
        if files.kinds[by] != "category" and by not in dict(self.classes or ()) and files.n_values(by) > FEW_VALUES:
            raise ParameterError(f"by names {by!r}, which has many values: cut it, classes = {{{by} = 5}}.")
        groups = self._cut(files, by)
        codes = (groups.original[kept[0]], groups.released[kept[1]])
        for i, group in enumerate(groups.levels):
            places = (np.flatnonzero(codes[0] == i), np.flatnonzero(codes[1] == i))
            if len(places[0]) or len(places[1]):
                yield group, held.part(places, without=by)

    def _fit(self, held: Variables, by: str | None, group: str | None) -> tuple[list[dict[str, Any]], list[Note]]:
        """The lines of one regression on both files."""
        try:
            reference = references(held)
        except NoCommonValueError as error:
            raise DataError(
                f"The two files have no value of {str(error)!r} in common among complete records."
            ) from None
        terms = [terms_of(held, i, reference)[0] for i in (0, 1)]
        for i, what in enumerate(("original", "release")):
            n, p = len(held.outcome[i]), len(terms[i])
            if p > _MOST_TERMS:
                raise ParameterError(f"on gives {p:,} coefficients, more than {_MOST_TERMS}: recode the categories.")
            if n <= p:
                raise DataError(f"The {what} has {n:,} complete records for {p:,} coefficients: too few.")
        first, second = (self._estimate(held, i, reference) for i in (0, 1))
        names = {x.name: x.levels[reference[x.name]] for x in held.categorical}
        lines = coefficient_lines(first, second, self.level, names, by, group)
        gone = [term for term in terms[0] if term not in terms[1]]
        new = [term for term in terms[1] if term not in terms[0]]
        text = "{column}: {value} is missing in the release, its coefficient has no counterpart"
        notes = [Note(text, {"column": c, "value": v}, internal=True) for c, v in gone]
        text = "{column}: {value} is missing in the original, its coefficient has no counterpart"
        return lines, notes + [Note(text, {"column": c, "value": v}) for c, v in new]

    def _estimate(self, held: Variables, which: Literal[0, 1], reference: dict[str, int]) -> Any:
        try:
            return estimate(held, which, reference)
        except CollinearDesignError as error:
            terms = terms_of(held, which, reference)[0]
            names = listed([_name(terms[j]) for j in error.places])
            where = ("original", "release")[which]
            raise DataError(
                f"on is collinear in the {where}: {names} depend on each other. Leave one of their columns out."
            ) from None


def _name(term: Term) -> str:
    column, level = term
    return "intercept" if not column else column if level is None else f"{column} = {level}"


def _counted(lines: list[dict[str, Any]], by_group: bool) -> dict[str, Any]:
    overall = figures_of(lines)
    out: dict[str, Any] = {}
    if by_group:
        groups = {(line["by"], line["group"]) for line in lines if line["by"] is not None}
        means = [figures_of(lines, *g)["overlap"] for g in groups]
        out["worst_group"] = Proportion(min(means)) if means else None
    return {**out, **{k: v for k, v in overall.items() if k != "overlap"}}


def _shown(by_group: bool) -> tuple[Shown, ...]:
    groups = (Shown("by", "by", "column"), Shown("group", "group", "value")) if by_group else ()
    return (
        *groups,
        Shown("column", "coefficient", "term"),
        Shown("original", "estimate, original", "number", "original"),
        Shown("se_original", "s.e., original", "number", "s.e."),
        Shown("released", "estimate, release", "number", "release"),
        Shown("se_released", "s.e., release", "number", "s.e."),
        Shown("overlap", "overlap", "share"),
    )
