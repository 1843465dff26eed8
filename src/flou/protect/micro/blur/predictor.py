"""A fitted regression as plain values, which predicts records of this file and of the next one alike.

Effects are added column by column, so that the prediction of a record hangs on no other record, down to the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.engine.values import text_of
from flou.protect.micro.blur.design import Design, as_numbers

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Predictor:
    """x'γ by covariate."""

    covariates: tuple[str, ...]
    constant: float
    #: Of each number its mean and standard deviation at the fit, its slope, and the effect of a missing one.
    slopes: Mapping[str, tuple[float, float, float, float]]
    #: Of each category the effect of its levels, by their text; a level that the fit did not have is the reference.
    effects: Mapping[str, tuple[tuple[str | None, float], ...]]

    @classmethod
    def of(cls, covariates: pl.DataFrame, design: Design, coefficients: Floats) -> Predictor:
        """From the covariates that the design of a regression was built of."""
        n_numbers = design.numbers.shape[1]
        own = design.owners[:n_numbers]
        slopes, effects = {}, {}
        for name in dict.fromkeys(own):
            found = [float(c) for c, owner in zip(coefficients[1:], own, strict=False) if owner == name]
            values = as_numbers(covariates[name])
            known = values[~np.isnan(values)]
            slopes[name] = (float(known.mean()), float(known.std()), found[0], found[1] if len(found) > 1 else 0.0)
        start = 1 + n_numbers
        for place, name in enumerate(dict.fromkeys(design.owners[n_numbers:])):
            n = int(design.n_levels[place])
            by_code = np.append(coefficients[start : start + n], 0.0)  # code -1 takes the last: the reference
            levels = pl.DataFrame({"level": covariates[name], "code": design.codes[:, place]}).unique()
            pairs = [(_text(level), float(by_code[code])) for level, code in levels.iter_rows()]
            effects[name] = tuple(sorted(pairs, key=str))
            start += n
        return cls(tuple(covariates.columns), float(coefficients[0]), slopes, effects)

    def fits(self, covariates: pl.DataFrame) -> bool:
        """Whether the file has the covariates, numbers where they were numbers."""
        numeric = [c.name for c in covariates if c.dtype.is_numeric() or c.dtype.is_temporal()]
        return set(self.effects) <= set(covariates.columns) and set(self.slopes) <= set(numeric)

    def renamed(self, names: Mapping[str, str]) -> Predictor:
        """The same with covariates called otherwise."""
        slopes = {names.get(name, name): held for name, held in self.slopes.items()}
        effects = {names.get(name, name): held for name, held in self.effects.items()}
        return Predictor(tuple(names.get(name, name) for name in self.covariates), self.constant, slopes, effects)

    def predict(self, covariates: pl.DataFrame) -> Floats:
        """x'γ of each record."""
        found = np.full(covariates.height, self.constant)
        for name, (mean, spread, slope, missing) in self.slopes.items():
            values = as_numbers(covariates[name])
            found += np.where(np.isnan(values), missing, (values - mean) / spread * slope)
        for name, pairs in self.effects.items():
            by_text = dict(pairs)
            levels = covariates[name].unique()
            effects = pl.Series("effect", [by_text.get(_text(v), 0.0) for v in levels], dtype=pl.Float64)
            coded = covariates.select(name).join(
                pl.DataFrame([levels, effects]), on=name, how="left", nulls_equal=True, maintain_order="left"
            )
            found += coded["effect"].to_numpy()
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        slopes = {name: list(held) for name, held in self.slopes.items()}
        effects = {name: [list(pair) for pair in held] for name, held in self.effects.items()}
        return {"covariates": list(self.covariates), "constant": self.constant, "slopes": slopes, "effects": effects}

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> Predictor:
        """From plain values."""
        slopes = {name: tuple(own) for name, own in held["slopes"].items()}
        effects = {name: tuple((text, effect) for text, effect in own) for name, own in held["effects"].items()}
        return cls(tuple(held["covariates"]), held["constant"], slopes, effects)


def _text(level: object) -> str | None:
    return None if level is None else text_of(level)
