"""Choosing covariates: by correlation with the blurred column, without those that say the same twice."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.protect.micro.blur.design import determined, explained, is_category

#: Records on which candidates are compared; more would change no choice.
_LOOKED_AT = 20_000
#: Below this share of variance a covariate adds nothing to the fit.
_MIN_EXPLAINED = 0.005
_MAX_LEVELS = 100


def choose_covariates(
    target: NDArray[np.float64], candidates: pl.DataFrame, n_wanted: int, max_collinearity: float
) -> list[str]:
    """Names of the columns that explain the target best, each not determined by those before it.

    A group of dependency and the activities that it is computed from do not both enter (Djiriguian et al.
    2022): a candidate of which the chosen ones explain more than `max_collinearity` is passed over.
    """
    every = max(1, len(target) // _LOOKED_AT)
    target, candidates = target[::every], candidates.gather_every(every)
    usable = [c for c in candidates if _can_enter(c)]
    strength = {c.name: explained(target, c) for c in usable}
    ordered = sorted(usable, key=lambda c: (-strength[c.name], c.name))
    chosen: list[pl.Series] = []
    for candidate in ordered:
        if len(chosen) == n_wanted or strength[candidate.name] < _MIN_EXPLAINED:
            break
        if determined(candidate, chosen) <= max_collinearity:
            chosen.append(candidate)
    return [c.name for c in chosen]


def _can_enter(column: pl.Series) -> bool:
    """Whether a column can be a covariate: a category of few levels, or finite numbers or dates that differ."""
    if column.dtype in (pl.Time, pl.Duration) or column.n_unique() < 2:
        return False
    if is_category(column):
        return column.n_unique() <= _MAX_LEVELS
    return not (column.dtype.is_float() and column.is_infinite().any())
