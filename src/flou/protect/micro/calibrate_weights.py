"""Calibration of weights on known totals (Deville & Särndal 1992; Deville, Särndal & Sautory 1993).

After sampling, dropping of records or non-response, weighted tables of a file differ from figures that are known
otherwise. Calibration changes the weights as little as it can so that the chosen totals are met exactly. It keeps
every record and every other column. It protects nobody by itself: the totals are published through the weights, so that
only totals of released columns that may be published belong here, and categories of the frame with few records are
refused.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, ParameterError, SchemaError
from flou.engine.figure import FigureValue
from flou.engine.keys import MAX_WEIGHT
from flou.engine.method import require_columns
from flou.engine.note import Note
from flou.engine.parameters import Names, Numbers, NumbersByColumn, as_tuple
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.protect.micro.calibration.calibrate import Calibrated, Problem, calibrate, round_weights
from flou.protect.micro.calibration.distance import DistanceName, Floats, distance_of
from flou.protect.micro.calibration.margins import (
    Margin,
    amounts_of,
    different_populations,
    frame_margin,
    frame_total,
    read_margin,
)
from flou.protect.micro.calibration.promise import TotalsMet
from flou.protect.micro.rows import Rows, read_rows
from flou.protect.micro.weight_column import weight_column


class CalibrateWeights(Protection):
    """Change the weights so that totals are met: `CalibrateWeights({"sex": {"F": 450_000, "M": 168_000}})`.

    `frame=["gir"]` takes the totals of a column from the file before it was sampled.
    """

    reference: ClassVar[str] = "deville1992"
    title: ClassVar[str] = "calibration of weights"
    audience = "public"
    perturbative = True
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns")

    margins: NumbersByColumn = Field((), description="totals of the categories of released columns, by column")
    totals: Numbers = Field((), description="totals of numeric released columns")
    frame: Names = Field((), description="columns whose categories have the totals of the file before it was sampled")
    frame_totals: Names = Field((), description="numeric columns whose total is that of the file before it was sampled")
    distance: DistanceName = Field("raking", description="how the distance to the design weights is measured")
    bounds: Annotated[tuple[float, float], BeforeValidator(as_tuple)] | None = Field(
        None, description="for logit: the smallest and the largest ratio of new to design weight"
    )
    min_count: int = Field(3, ge=1, description="fewest records of the frame behind a total that is taken from it")
    digits: int = Field(8, ge=4, le=12, description="significant digits of the released weights")
    weight: str | None = Field(None, description="the column of weights; default: the schema's, or else a new weight")

    @model_validator(mode="after")
    def _sensible(self) -> CalibrateWeights:
        named = self._named
        if not named:
            raise ParameterError(
                'give totals to calibrate on: margins = {sex = {F = 450_000, M = 168_000}}, or frame = ["sex"].'
            )
        doubled = sorted({c for c in named if named.count(c) > 1 or c == self.weight})
        if doubled:
            raise ParameterError(f"the column {doubled[0]!r} is named twice.")
        if (self.distance == "logit") != (self.bounds is not None):
            raise ParameterError(
                'distance = "logit" needs bounds, such as bounds = [0.5, 2.0]; the other distances have none.'
            )
        if self.bounds is not None and not 0.0 <= self.bounds[0] < 1.0 < self.bounds[1]:
            raise ParameterError(
                f"bounds = {list(self.bounds)} should be two ratios around 1, the first not negative: 0 <= L < 1 < U."
            )
        for column, pairs in self.margins:
            for name, total in pairs:
                if total < 0:
                    raise ParameterError(f"margins.{column}.{name} = {total}: a number of people is not negative.")
        apart = different_populations((column, math.fsum(t for _, t in pairs)) for column, pairs in self.margins)
        if apart is not None:
            raise ParameterError(str(apart))
        return self

    @property
    def _named(self) -> list[str]:
        return [*(c for c, _ in self.margins), *(c for c, _ in self.totals), *self.frame, *self.frame_totals]

    @property
    def touches(self) -> tuple[str, ...]:
        return () if self.weight is None else (self.weight,)

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        weight = weight_column(data, self.weight)
        self._require_released(data, weight)
        held = () if data.schema.weight is None else (weight,)
        rows = read_rows(data, (*self._named, *held), type(self).__name__)
        if not len(rows):
            raise DataError("The file has no records, so there are no weights to calibrate.")
        margins = self._margins(data, rows)
        amounts = [(c, total, amounts_of(data, rows.frame[c])) for c, total in self._amounts(data)]
        design = _design_weights(data, rows.frame[weight]) if held else _equal_weights(margins, len(rows))
        found = calibrate(Problem(margins, amounts, design), distance_of(self.distance, self.bounds))
        new = round_weights(found.weights, self.digits)
        if new.sum() >= MAX_WEIGHT:
            raise ParameterError(
                f"the totals ask for weights that add up to {new.sum():,.0f}, more than there are people."
            )
        types = {**data.schema.types, weight: "number"} if weight in data.schema.types else data.schema.types
        n_changed = int((new != rows.frame[weight].cast(pl.Float64).to_numpy()).sum()) if held else len(rows)
        promised = tuple((m.column, dict(zip(m.names, m.totals.tolist(), strict=True))) for m in margins)
        return Outcome(
            rows.put_back({weight: pl.Series(weight, new)}, data.schema.with_changes(weight=weight, types=types)),
            guarantees=(TotalsMet(weight, promised, tuple((c, t) for c, t, _ in amounts), self.digits),),
            changes=(Change(weight, n_changed),),
            figures=_figures(found, design, new),
            notes=_notes(found, new),
        )

    def _require_released(self, data: Microdata, weight: str) -> None:
        require_columns(data, tuple(self._named), type(self).__name__)
        for column in self._named:
            if column in data.schema.hidden:
                raise DataError(
                    f"{column!r} is never published, and its totals would be, through the weights: calibrate on "
                    "released columns."
                )
            if column == weight:
                raise DataError(f"{column!r} is the weight itself: it has no total to calibrate on.")

    def _frame(self, data: Microdata) -> Microdata:
        frame = data.kin.frame
        if frame is None:
            raise DataError(
                "frame and frame_totals take totals from the file before it was sampled, and no sample was drawn. Put "
                "a step sample before this one, or give the totals in margins and totals."
            )
        assert isinstance(frame, Microdata)
        require_columns(frame, (*self.frame, *self.frame_totals), "The frame of CalibrateWeights")
        return frame

    def _margins(self, data: Microdata, rows: Rows) -> list[Margin]:
        wanted = [(c, [(name, float(total)) for name, total in pairs]) for c, pairs in self.margins]
        if self.frame:
            frame = self._frame(data)
            wanted += [(c, frame_margin(frame, c, self.min_count)) for c in self.frame]
        margins = [read_margin(c, pairs, rows.frame[c]) for c, pairs in wanted]
        apart = different_populations((m.column, m.population) for m in margins)
        if apart is not None:
            raise apart
        return margins

    def _amounts(self, data: Microdata) -> list[tuple[str, float]]:
        amounts = [(c, float(total)) for c, total in self.totals]
        if self.frame_totals:
            frame = self._frame(data)
            amounts += [(c, frame_total(frame, c, self.min_count)) for c in self.frame_totals]
        return amounts


def _design_weights(data: Microdata, held: pl.Series) -> Floats:
    if data.lowest_weight() <= 0:
        raise SchemaError(
            f"The weight {held.name!r} is zero in some records, which no calibration can change: drop these records "
            "first."
        )
    return np.asarray(held.cast(pl.Float64).to_numpy())


def _equal_weights(margins: list[Margin], n: int) -> Floats:
    """Without weights every record stands for as many of the population, if its size is known."""
    return np.full(n, margins[0].population / n if margins else 1.0)


def _design_effect(weights: Floats) -> float:
    """1 + CV² (Kish 1965): by how much unequal weights raise the variance of a mean."""
    return float(1.0 + np.var(weights) / np.mean(weights) ** 2)


def _figures(found: Calibrated, design: Floats, new: Floats) -> dict[str, FigureValue]:
    ratios = new / design
    figures: dict[str, float] = {
        "smallest_ratio": float(ratios.min()),
        "largest_ratio": float(ratios.max()),
        "ratio_cv": float(np.std(ratios) / np.mean(ratios)),
        "design_effect_before": _design_effect(design),
        "design_effect": _design_effect(new),
    }
    return {
        "n_totals": found.n_totals,
        "n_iterations": found.n_iterations,
        **{name: float(f"{value:.6g}") for name, value in figures.items()},
    }


def _notes(found: Calibrated, new: Floats) -> tuple[Note, ...]:
    low, high = (float(f"{r:.4g}") for r in (found.ratios.min(), found.ratios.max()))
    effect = float(f"{_design_effect(new):.4g}")
    text = "the new weights are between {low} and {high} times the design weights"
    return (
        Note("weights are calibrated: {n} totals are met", {"n": found.n_totals}),
        Note(text, {"low": low, "high": high}, internal=True),
        Note("unequal weights multiply the variance of a mean by about {effect} (1 + CV²)", {"effect": effect}),
    )
