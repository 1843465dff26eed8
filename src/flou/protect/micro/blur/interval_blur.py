"""Interval blur (Djiriguian, Missègue & Ricroch 2022): each value drawn anew within its class.

The values are cut into classes; a regression fitted on the classes alone (interval-censored maximum
likelihood) predicts each value from covariates; a residual drawn from the normal law, truncated so that the
value stays in its class, is added. Of the exact value nothing is used but its class and its share in the
mean of the class, so the blurred one says no more about it than these and the covariates do. Keeps the class of
every record, and so quantiles, the means of large files and the links to the covariates; weakens links to other columns
inside a class. It does not hide the class: narrow classes hide little, and an extreme value is hidden only by the open
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
from flou.engine.note import Note
from flou.engine.parameters import Names, Number, Share, as_tuple
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.engine.values import Proportion
from flou.protect.micro.blur.blurring import Blurring
from flou.protect.micro.blur.design import without_codes
from flou.protect.micro.blur.former import FormerBlur
from flou.protect.micro.blur.moved_mean import mean_deviation, moved_mean
from flou.protect.micro.blur.promises import blur_promises
from flou.protect.micro.replaced import schema_of_new_values
from flou.protect.micro.rows import Amounts, read_rows, stratum_names
from flou.protect.micro.shared_amounts import SharedAmounts

Floats = NDArray[np.float64]
_EQUAL = "{column}: {equal} of the drawn values equal the original to the unit, by chance"
_CLOSE = "{column}: {close} of the values lie within 1% of the original"
_ANEW = "{column}: the former release has no classes and regression that fit all these records; some were blurred anew"
Breaks = Annotated[tuple[Number | dt.date, ...], BeforeValidator(as_tuple)]


class IntervalBlur(Protection):
    """Draw each value anew within its class, given other columns: `IntervalBlur("apa_amount", given=["gir", "age"])`.

    It replaces its column. A later rule can still name the values of the plan's input, `original.apa_amount`.
    """

    reference: ClassVar[str] = "djiriguian2022"
    title: ClassVar[str] = "interval blur"
    audience = "public"
    perturbative = True
    answers_by = always(amounts="reduces")
    noises: ClassVar[bool] = True
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns")

    column: str = Field(description="the column of amounts, ages or dates to blur")
    given: Names = Field((), description="covariates; without any, those that go best with the column are chosen")
    by: Names = Field((), description="strata, each with classes and a regression of its own")
    classes: int = Field(20, ge=2, le=1000, description="number of classes of equal size, where no breaks are given")
    breaks: Breaks = Field((), description="bounds of the classes, each class with its lower bound")
    min_records: int = Field(10, ge=3, description="records that a class has at least")
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
        "keep",
        description="shift the draws of a class so that its mean stays, but for what is cut at the ends, or leave it",
    )
    max_covariates: int = Field(8, ge=1, le=50, description="how many covariates are chosen at most")
    max_collinearity: Share = Field(
        0.6, description="a covariate is not chosen when those before it explain more of its variance than this"
    )

    @model_validator(mode="after")
    def _coherent(self) -> IntervalBlur:
        if self.column in (*self.given, *self.by):
            raise ParameterError(f"given and by name other columns than {self.column!r}, the one that is blurred.")
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
        shared, others = SharedAmounts.of(data, [self.column]), self._candidates(data)
        rows = read_rows(data, (self.column, *self.by, *others, *shared.needed), type(self).__name__)
        held = rows.amounts(self.column)
        self._check(data, held)
        covariates = without_codes(data, rows.frame.drop(self.column, *self.by, *shared.needed))
        blurred, parts = np.full(len(rows), np.nan), []
        strata, names = rows.strata(self.by), stratum_names(rows.frame, self.by)
        former = (draw.former or {}).get("strata", {})
        now_called = {first: now for now, first in draw.names.items()}
        for number, name in enumerate(names):
            members = np.flatnonzero(strata == number)
            earlier = FormerBlur.from_dict(former[name]).renamed(now_called) if name in former else None
            part = Blurring.of(self, held.values[members], held.codes, earlier)
            beside = covariates[members] if self.by else covariates
            # of the original only its class enters: two values of one class are drawn alike
            own = draw.bound(self.column, part.bound_to.edges)
            uniform = own.uniform(shared.units(own, rows, [self.column], part.drawn_as, some=members))
            blurred[members] = part.draw(beside, held.values[members], uniform)
            parts.append(part)
        places = shared.places(rows, self.column, self.by)
        blurred = blurred if places is None else blurred[places]
        new = held.shown(blurred)
        before, after = held.values[held.known], blurred[held.known]
        moved = before != 0
        equal = float((np.abs(after - before) <= self.unit / 2).mean())
        close = float((np.abs(after - before) <= 0.01 * np.abs(before))[moved].mean()) if moved.any() else 1.0
        drift = mean_deviation(before, after)
        used = tuple(dict.fromkeys(name for part in parts for name in part.covariates))
        text = "{column} is drawn anew within classes, given {covariates}"
        if not used:
            text = "{column} is drawn anew within classes; no other column explains it"
        return Outcome(
            rows.put_back({self.column: new}, schema_of_new_values(data, self.column, new)),
            guarantees=blur_promises(self, rows, held, strata, parts, blurred),
            changes=(Change(self.column, int((before != after).sum())),),
            figures={
                "n_classes": sum(part.classes.n for part in parts),
                "n_covariates": len(used),
                "sigma": float(f"{max(part.sigma for part in parts):.6g}"),
                "mean_deviation": None if drift is None else float(f"{drift:.4g}"),
                "close": float(f"{close:.4g}"),
                "n_zeros": sum(int(part.zero.sum()) for part in parts),
                "n_saturated": sum(int(part.full.sum()) for part in parts),
            },
            notes=(
                Note(text, {"column": self.column, "covariates": ", ".join(used)}),
                Note(_EQUAL, {"column": self.column, "equal": Proportion(equal)}, internal=True),
                Note(_CLOSE, {"column": self.column, "close": Proportion(close)}, internal=True),
                *moved_mean(self, parts, before, after),
                *(
                    ()
                    if draw.former is None or all(p.as_before for p in parts)
                    else (Note(_ANEW, {"column": self.column}),)
                ),
                *shared.notes(),
            ),
            details={"covariates": used, "edges": tuple(tuple(part.classes.edges.tolist()) for part in parts)},
            reusable={
                "strata": {
                    name: part.kept().renamed(draw.names).to_dict() for name, part in zip(names, parts, strict=True)
                }
            },
        )

    def _candidates(self, data: Microdata) -> tuple[str, ...]:
        hidden = (*data.schema.hidden, data.schema.weight)
        for name in (*self.given, *self.by):
            if name in hidden:
                raise DataError(f"{name!r} is never published or is the weight: give other columns.")
        return self.given or tuple(c for c in data.columns if c not in (*hidden, self.column, *self.by))

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
        if held.whole and self.saturated is not None and not float(self.saturated).is_integer():
            raise ParameterError(
                f"{self.column!r} holds whole numbers, so saturated must be one; it is {self.saturated}."
            )
        negative = int((known < 0).sum())
        if self.scale == "log" and negative:
            raise DataError(
                f'{negative:,} values of {self.column!r} are negative and have no log: take scale = "identity", or '
                "bottom-code them first."
            )
        if self._zeros_kept and negative:
            raise DataError(
                f"{negative:,} values of {self.column!r} are negative, so zero is no end of them and cannot be kept "
                'apart: take zeros = "model".'
            )

    def _scaled(self, values: Floats) -> Floats:
        if self.scale == "identity":
            return values
        with np.errstate(divide="ignore"):
            return np.log(values)
