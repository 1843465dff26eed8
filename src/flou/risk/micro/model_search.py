"""Is a log-linear model good enough for the risks read off it, and which interactions does it need?

Fit is judged where it matters. For a risk measure that sums h(λ) over the sample uniques, the expected value
under the truth λ of what is estimated with λ̂, less what is sought, is

    g(λ) = π λ exp(-π λ) (h(λ̂) - h(λ)),

expanded to second order about λ̂. The terms λ - λ̂ and (λ - λ̂)² have the unbiased estimates (f - π λ̂) / π and
((f - π λ̂)² - f) / π², and under the model their variances are λ̂ / π and 2 λ̂² / π², uncorrelated. The estimate of
the bias over its standard error is the test statistic. This is the criterion of Skinner & Shlomo (2008), worked
out here to the full second order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from flou.engine.errors import NotConvergedError
from flou.engine.progress import tell
from flou.risk.micro.log_linear import Fit, Table, Term, fit, largest

#: A statistic farther from 0 than this speaks against the model: 5%.
CRITICAL = 1.959963984540054


@dataclass(frozen=True)
class Tests:
    """The test statistics for τ1 and τ2; None where nothing is estimated."""

    first: float | None
    second: float | None


def judge_fit(table: Table, means: Table, fraction: float) -> Tests:
    """Estimated bias of τ1 and τ2 over its standard error, from all cells that somebody could be in."""
    if fraction >= 1:
        return Tests(None, None)
    room = means > 0
    f, mu = table[room].astype(np.float64), means[room]
    lam, pi = mu / fraction, fraction
    seen, whole = np.exp(-mu), np.exp(-lam)
    unseen = (1 - pi) * lam
    share = -np.expm1(-unseen) / unseen
    slope, bend = pi * (1 - mu) * seen, -(pi**2) * (2 - mu) * seen
    first = (pi * lam * (1 - pi) * whole, pi * whole * (2 * (1 - pi) - lam * (1 - pi**2)))
    second = (
        slope * share - pi / (1 - pi) * (whole - pi * seen),
        bend * share - pi / (1 - pi) * (pi**2 * seen - whole),
    )
    return Tests(*(_statistic(f, mu, g / pi, gg / (2 * pi**2)) for g, gg in (first, second)))


def _statistic(f: Table, mu: Table, linear: Table, square: Table) -> float | None:
    bias = linear * (f - mu) + square * ((f - mu) ** 2 - f)
    variance = float((linear**2 * mu + 2 * square**2 * mu**2).sum())
    return float(bias.sum()) / math.sqrt(variance) if variance > 0 else None


def search(table: Table, fraction: float, possible: Table | None) -> Fit:
    """Main effects, then two-way interactions one at a time while the test of τ2 speaks against the model."""
    held = fit(table, tuple((j,) for j in range(table.ndim)), possible)
    left = set(combinations(range(table.ndim), 2))
    while left and _strain(table, held, fraction) > CRITICAL:
        best: tuple[float, Term, Fit] | None = None
        for number, pair in enumerate(sorted(left)):
            tell(f"search the model: {len(held.terms)} terms", number, len(left))
            try:
                tried = fit(table, largest((*held.terms, pair)), start=held.means, possible=possible)
            except NotConvergedError:
                continue
            strain = _strain(table, tried, fraction)
            if best is None or strain < best[0]:
                best = (strain, pair, tried)
        if best is None or best[0] >= _strain(table, held, fraction):
            break
        held = best[2]
        left.discard(best[1])
    return held


def _strain(table: Table, fitted: Fit, fraction: float) -> float:
    return abs(judge_fit(table, fitted.means, fraction).second or 0.0)
