"""How far calibrated weights may stand from design weights (Deville & Särndal 1992, cases 1, 2 and 6).

A distance G(w/d) has one function of use: F, the inverse of its derivative, which gives the ratio of the new weight to
the design weight, w = d·F(x'λ), with F(0) = 1 and F'(0) = 1. `linear` is the regression estimator and may give negative
weights; `raking` is the multiplicative one and never does; `logit` keeps the ratio between two bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]
DistanceName = Literal["linear", "raking", "logit"]


class Distance(Protocol):
    """F, its derivative and its integral from any fixed point; the ratios lie between `low` and `high`."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    def ratio(self, u: Floats) -> Floats: ...
    def slope(self, u: Floats) -> Floats: ...
    def integral(self, u: Floats) -> Floats: ...


@dataclass(frozen=True)
class Linear:
    """Case 1: G(r) = (r - 1)²/2, F(u) = 1 + u."""

    low: float = -math.inf
    high: float = math.inf

    def ratio(self, u: Floats) -> Floats:
        return 1.0 + u

    def slope(self, u: Floats) -> Floats:
        return np.ones_like(u)

    def integral(self, u: Floats) -> Floats:
        return u + u * u / 2.0


@dataclass(frozen=True)
class Raking:
    """Case 2: G(r) = r·log r - r + 1, F(u) = exp(u)."""

    low: float = 0.0
    high: float = math.inf

    def ratio(self, u: Floats) -> Floats:
        return np.exp(u)

    def slope(self, u: Floats) -> Floats:
        return np.exp(u)

    def integral(self, u: Floats) -> Floats:
        return np.exp(u)


@dataclass(frozen=True)
class Logit:
    """Case 6: F(u) = [L(U-1) + U(1-L)·exp(Au)] / [(U-1) + (1-L)·exp(Au)], A = (U-L)/[(1-L)(U-1)].

    It is L + (U-L) times the logistic function of Au + b with b = log[(1-L)/(U-1)], which no u makes overflow.
    """

    low: float
    high: float

    def _logits(self, u: Floats) -> Floats:
        below, above = 1.0 - self.low, self.high - 1.0
        return (self.high - self.low) / (below * above) * u + math.log(below / above)

    def ratio(self, u: Floats) -> Floats:
        return np.asarray(self.low + (self.high - self.low) * expit(self._logits(u)))

    def slope(self, u: Floats) -> Floats:
        below, above = 1.0 - self.low, self.high - 1.0
        v = self._logits(u)
        return np.asarray((self.high - self.low) ** 2 / (below * above) * expit(v) * expit(-v))

    def integral(self, u: Floats) -> Floats:
        return self.low * u + (1.0 - self.low) * (self.high - 1.0) * np.logaddexp(0.0, self._logits(u))


def distance_of(name: DistanceName, bounds: tuple[float, float] | None = None) -> Distance:
    """The distance of a name; `bounds` (L, U) with 0 <= L < 1 < U belong to `logit` alone."""
    if name == "logit":
        assert bounds is not None
        return Logit(*bounds)
    return Linear() if name == "linear" else Raking()
