"""How much a random step must have changed a file at least: the bound behind the proof of a perturbation.

A sum of independent amounts (squared noise, values that were changed) falls below c with a chance of at most
exp(λc) · Π E[exp(-λX)] for any λ > 0 (Chernoff 1952). The largest c for which that is one in a thousand
million is what a right release must show; for few records it is small or nothing, so that no right release is
refused by chance. Only too little counts: what later steps add is theirs. Once a later step changed a column
on purpose, half of the bound must still be there.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from flou.describe.microdata import Microdata
from flou.engine.guarantee import Guarantee
from flou.protect.micro.kept_input import Compared, KeptInput

Floats = NDArray[np.float64]

#: The chance with which a right release would be refused.
LEVEL = 1e-9
_RATES = np.geomspace(1e-5, 1e4, 400)


def least_total(log_moments: Floats) -> float:
    """What a sum is at least, but for a chance of 1e-9; `log_moments` is Σ log E[exp(-λX)] at each rate λ."""
    return max(0.0, float(((np.log(LEVEL) - log_moments) / _RATES).max()))


def least_noise(n: int, coarseness: float = 0.0) -> float:
    """What n squared standard normal draws add up to at least.

    `coarseness` is the unit that noise was rounded to, in standard deviations: rounding makes small noise
    nil, most of all where the true values are multiples of the unit themselves.
    """
    moments = -0.5 * np.log1p(2.0 * _RATES)
    if coarseness > 0.0:
        width = max(coarseness, 0.01)
        steps = np.arange(int(np.ceil(9.0 / width)) + 1)
        chances = ndtr((steps + 0.5) * width) - ndtr((steps - 0.5) * width)
        chances[1:] *= 2.0
        rounded = np.log(np.exp(-np.outer(_RATES, (steps * width) ** 2)) @ chances)
        moments = np.maximum(moments, rounded)
    return least_total(n * moments)


def least_changed(chances: Floats, counts: NDArray[np.int64]) -> float:
    """How many of some records change at least, where `counts` of them change with each of these chances."""
    with np.errstate(divide="ignore"):
        stays, changes = np.log1p(-chances), np.log(chances)
    moments: Floats = np.logaddexp(stays[None, :], changes[None, :] - _RATES[:, None]) @ counts
    return least_total(moments)


@dataclass(frozen=True, eq=False)
class ChangedEnough(Guarantee):
    """Columns were changed. A subclass says what was changed of one, and what must have been."""

    columns: tuple[str, ...]
    kept: KeptInput = field(repr=False)

    @property
    def column(self) -> str:
        """The column, where there is one."""
        return ", ".join(self.columns)

    @abstractmethod
    def total_and_least(self, compared: Compared) -> tuple[float, float]:
        """How much of a column was changed, and how much a right step changes at least."""

    def violations(self, data: Microdata) -> int:
        return sum(self._changed_too_little(self.kept.compared(data, column)) for column in self.columns)

    def _changed_too_little(self, compared: Compared | None) -> bool:
        if compared is None:
            return False  # dropped or recoded since: its values are no longer shown
        total, least = self.total_and_least(compared)
        return not total >= least and (compared.untouched or total < 0.5 * least)
