"""Interval-censored normal regression: maximum likelihood when only the class of each value is known.

In the parameters δ = γ/σ and τ = 1/σ of Olsen (1978) the log-likelihood Σ log(Φ(τu − x'δ) − Φ(τl − x'δ))
is concave (Burridge 1981), so Newton's method with step halving finds its one maximum. Gradient and
Hessian are analytic; one pass over the rows adds both up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flou.engine.compiled import njit
from flou.engine.errors import Infeasible

Floats = NDArray[np.float64]

_MAX_ROUNDS = 60
#: Newton's decrement, a record, at which the fit is as good as the data say.
_TOLERANCE = 1e-10
#: Records of the first, rough fit that full passes start from.
_ROUGH = 20_000


@dataclass(frozen=True)
class Fit:
    """Coefficients γ (the constant first) and the standard deviation σ of the residuals."""

    coefficients: Floats
    sigma: float
    n_rounds: int


@njit(cache=True)
def _mills(x: float) -> float:
    """(1 − Φ(x)) / φ(x) for x ≥ 0, without the underflow of either: erfc, then Laplace's continued fraction."""
    if x < 5.0:
        return 0.5 * math.erfc(x / math.sqrt(2.0)) * math.sqrt(2.0 * math.pi) * math.exp(0.5 * x * x)
    tail = x
    for k in range(60, 0, -1):
        tail = x + k / tail
    return 1.0 / tail


@njit(cache=True)
def _ratios(a: float, b: float) -> tuple[float, float, float]:
    """φ(a)/P, φ(b)/P and log P, where P = Φ(b) − Φ(a) and a < b, either perhaps infinite."""
    if b <= 0.0:
        right, left, log_p = _ratios(-b, -a)
        return left, right, log_p
    if a >= 0.0:
        # both in the upper tail: everything over φ(a)
        fall = 0.0 if b == np.inf else math.exp(-0.5 * (b - a) * (b + a))
        mass = _mills(a) - (fall * _mills(b) if fall > 0.0 else 0.0)
        if mass <= 0.0:
            mass = 1e-300
        return 1.0 / mass, fall / mass, math.log(mass) - 0.5 * a * a - 0.9189385332046727
    upper = 0.0 if b == np.inf else 0.5 * math.erfc(b / math.sqrt(2.0))
    lower = 0.0 if a == -np.inf else 0.5 * math.erfc(-a / math.sqrt(2.0))
    mass = 1.0 - upper - lower
    norm = 0.3989422804014327
    at_a = 0.0 if a == -np.inf else norm * math.exp(-0.5 * a * a)
    at_b = 0.0 if b == np.inf else norm * math.exp(-0.5 * b * b)
    return at_a / mass, at_b / mass, math.log(mass)


@njit(cache=True)
def _add_up(numbers, codes, places, low, high, step, theta, gradient, hessian):  # type: ignore[no-untyped-def]
    """Log-likelihood of every `step`-th record; fills gradient and (lower triangle of the) Hessian."""
    n_numbers, n_codes = numbers.shape[1], codes.shape[1]
    last = theta.size - 1
    tau = theta[last]
    where = np.zeros(1 + n_numbers + n_codes, dtype=np.int64)
    what = np.ones(1 + n_numbers + n_codes)
    gradient[:] = 0.0
    hessian[:] = 0.0
    total = 0.0
    for i in range(0, low.size, step):
        held = 1
        eta = theta[0]
        for j in range(n_numbers):
            where[held], what[held] = 1 + j, numbers[i, j]
            eta += theta[1 + j] * numbers[i, j]
            held += 1
        for j in range(n_codes):
            if codes[i, j] >= 0:  # the most frequent level is the reference and has no coefficient
                place = places[j] + codes[i, j]
                where[held], what[held] = place, 1.0
                eta += theta[place]
                held += 1
        lower, upper = low[i], high[i]
        a = lower if lower == -np.inf else tau * lower - eta
        b = upper if upper == np.inf else tau * upper - eta
        left, right, log_p = _ratios(a, b)
        total += log_p
        # terms of an open end are zero: φ falls faster than any power grows
        al = 0.0 if lower == -np.inf else a * left
        br = 0.0 if upper == np.inf else b * right
        l0 = 0.0 if lower == -np.inf else lower
        u0 = 0.0 if upper == np.inf else upper
        g = left - right
        g_tau = u0 * right - l0 * left
        h = al - br - g * g
        h_mixed = u0 * br - l0 * al - g * g_tau
        h_tau = l0 * l0 * al - u0 * u0 * br - g_tau * g_tau
        gradient[last] += g_tau
        hessian[last, last] += h_tau
        for p in range(held):
            wp = where[p]
            gradient[wp] += g * what[p]
            hessian[last, wp] += h_mixed * what[p]
            hp = h * what[p]
            for q in range(p + 1):
                hessian[wp, where[q]] += hp * what[q]
    return total


def fit_intervals(
    numbers: Floats, codes: NDArray[np.int32], n_levels: NDArray[np.int64], low: Floats, high: Floats
) -> Fit:
    """Fit the values' classes [low, high) on covariates; bounds may be infinite.

    `numbers` are numeric covariates (standardised), `codes` categorical ones, -1 for the reference level and
    0 … n_levels - 1 for the others.
    """
    starts = 1 + numbers.shape[1] + np.concatenate([[0], np.cumsum(n_levels)]).astype(np.int64)
    theta = np.zeros(int(starts[-1]) + 1)
    middle = np.where(np.isfinite(low), np.where(np.isfinite(high), (low + high) / 2, low), high)
    spread = float(middle.std()) or 1.0
    theta[0], theta[-1] = float(middle.mean()) / spread, 1.0 / spread
    places, n_rounds = starts[:-1], 0
    rough = max(1, len(low) // _ROUGH)
    for step in (rough, 1) if rough > 1 else (1,):
        theta, rounds = _newton(numbers, codes, places, low, high, step, theta)
        n_rounds += rounds
    return Fit(theta[:-1] / theta[-1], float(1.0 / theta[-1]), n_rounds)


def _newton(
    numbers: Floats,
    codes: NDArray[np.int32],
    places: NDArray[np.int64],
    low: Floats,
    high: Floats,
    step: int,
    theta: Floats,
) -> tuple[Floats, int]:
    """The maximum on every `step`-th record, and how many rounds it took."""
    n = -(-len(low) // step)
    gradient, hessian = np.zeros(theta.size), np.zeros((theta.size, theta.size))
    value = _add_up(numbers, codes, places, low, high, step, theta, gradient, hessian)
    for rounds in range(1, _MAX_ROUNDS + 1):
        minus = -(np.tril(hessian) + np.tril(hessian, -1).T)
        # a level that no record of a rough fit has leaves its coefficient where it is
        minus[np.diag_indices_from(minus)] += 1e-9 * n / max(theta.size, 1)
        move = np.linalg.solve(minus, gradient)
        decrement = float(gradient @ move)
        if decrement <= _TOLERANCE * n:
            return theta + move if theta[-1] + move[-1] > 0 else theta, rounds
        size = 1.0
        while True:
            tried = theta + size * move
            if tried[-1] > 0:
                found = _add_up(numbers, codes, places, low, high, step, tried, gradient, hessian)
                if found >= value + 1e-4 * size * decrement or (size < 1e-3 and found >= value):
                    break
            size /= 2
            if size < 1e-10:
                raise _no_fit(rounds)
        theta, value = tried, found
    raise _no_fit(_MAX_ROUNDS)


def _no_fit(rounds: int) -> Infeasible:
    return Infeasible(
        "The interval regression found no maximum: the covariates may predict the class without error.",
        best=f"{rounds} rounds of Newton's method",
        next_step="Give fewer covariates, or wider classes.",
    )
