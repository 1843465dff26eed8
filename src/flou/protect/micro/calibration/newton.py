"""The calibration equations solved by Newton's method on the dual (Deville, Särndal & Sautory 1993).

The multipliers λ minimise Σ d·Φ(x'λ) - t'λ, where Φ is the integral of F; its gradient is Σ d·F(x'λ)·x - t, so that at
the minimum the totals are met. The function is convex: a step that goes too far is halved. Margins repeat one another
(each adds up to the population), which makes the equations singular; they are solved in the directions that tell
records apart, found by the eigenvalues of the scaled X'DX.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array

from flou.protect.micro.calibration.distance import Distance, Floats
from flou.protect.micro.calibration.patterns import Patterns

#: Relative deviation from the totals at which to stop, and the largest that counts as met.
TARGET, MET = 1e-13, 1e-10
MAX_ITERATIONS, MAX_HALVINGS = 100, 40
#: Directions in which the scaled variables vary less than this are redundant.
_SINGULAR = 1e-12


@dataclass(frozen=True, eq=False)
class Solved:
    """The ratio of new to design weight of each pattern, and how far it leaves the totals."""

    ratios: Floats
    n_iterations: int
    #: Deviation from each total, relative to its size.
    deviations: Floats

    @property
    def deviation(self) -> float:
        """The largest of the deviations."""
        return float(np.abs(self.deviations).max(initial=0.0))

    @property
    def met(self) -> bool:
        return self.deviation <= MET


def solve_dual(patterns: Patterns, totals: Floats, distance: Distance) -> Solved:
    """Ratios F(x'λ) by which the design weights meet the totals; whether they do stands in the result."""
    sizes = patterns.sizes(totals)
    matrix, mass, wanted = patterns.matrix @ diags_array(1.0 / sizes), patterns.mass, totals / sizes
    free = _free_directions(matrix, mass)
    multipliers = np.zeros(len(totals))
    u = np.zeros(len(mass))
    best = Solved(distance.ratio(u), 0, matrix.T @ (mass * distance.ratio(u)) - wanted)
    gradient, value = best.deviations, float(mass @ distance.integral(u))
    for iteration in range(1, MAX_ITERATIONS + 1):
        if best.deviation <= TARGET or np.abs(free.T @ gradient).max(initial=0.0) <= TARGET:
            break
        curvature = free.T @ _weighted_squares(matrix, mass * distance.slope(u)) @ free
        step = -free @ _solve(curvature, free.T @ gradient)
        if not np.isfinite(step).all():
            break  # the ratios have run to their bounds, where nothing changes any more
        towards, fall = matrix @ step, float(gradient @ step)
        length = 1.0
        for _ in range(MAX_HALVINGS):
            with np.errstate(over="ignore", invalid="ignore"):
                tried = u + length * towards
                ratios = distance.ratio(tried)
                found = matrix.T @ (mass * ratios) - wanted
                new = float(mass @ distance.integral(tried)) - float(wanted @ (multipliers + length * step))
            # near the minimum the function is flat to the last digit, and the gradient alone still speaks
            if np.isfinite(new) and (new <= value + 1e-4 * length * fall or _half(found, gradient)):
                break
            length /= 2.0
        else:
            break
        u, value, gradient = tried, new, found
        multipliers = multipliers + length * step
        if not _better(found, best.deviations):
            if best.met:
                break  # rounding errors are all that is left
            continue
        best = Solved(ratios, iteration, found)
    return best


def _half(found: Floats, before: Floats) -> bool:
    return bool(np.abs(found).max() <= 0.5 * np.abs(before).max())


def _better(found: Floats, before: Floats) -> bool:
    return bool(np.abs(found).max() < np.abs(before).max())


def _weighted_squares(matrix: csr_array, weights: Floats) -> Floats:
    """X'·diag(weights)·X."""
    return np.asarray((matrix.T @ (diags_array(weights) @ matrix)).toarray())


def _free_directions(matrix: csr_array, mass: Floats) -> Floats:
    """An orthonormal basis of the combinations of constraints that are not the same for every record."""
    squares = _weighted_squares(matrix, mass)
    scale = np.sqrt(np.maximum(np.diag(squares), 1e-300))
    roots, vectors = np.linalg.eigh(squares / np.outer(scale, scale))
    kept = roots > _SINGULAR * max(float(roots.max(initial=0.0)), 1e-300)
    return np.asarray(np.linalg.qr(vectors[:, kept] / scale[:, None])[0])


def _solve(curvature: Floats, gradient: Floats) -> Floats:
    """The Newton step; where rounding makes the matrix indefinite, a little is added to its diagonal."""
    largest = float(np.diag(curvature).max(initial=0.0))
    scale = np.sqrt(np.maximum(np.diag(curvature), 1e-30 * largest + 1e-200))
    scaled = curvature / np.outer(scale, scale)
    for damping in (0.0, 1e-14, 1e-12, 1e-9, 1e-6, 1e-3):
        with suppress(LinAlgError):
            solved = cho_solve(cho_factor(scaled + damping * np.eye(len(scale))), gradient / scale)
            return np.asarray(solved / scale)
    return np.asarray(gradient / scale**2)
