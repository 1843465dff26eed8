"""How near weights within bounds come to totals: a linear program, its columns made as they are needed.

A deviation is counted relative to the size of its total, and the sum of deviations is minimised. The multipliers of
the program prove the sum (Farkas): no weights within the bounds come nearer. With hundreds of thousands of patterns the
program works on a few of them, or on a few extreme mixtures where the ratios have two bounds, and asks all patterns
for a better one until there is none (column generation; Dantzig & Wolfe 1960).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack

from flou.engine.errors import NotConvergedError
from flou.protect.micro.calibration.distance import Floats
from flou.protect.micro.calibration.patterns import Patterns

#: Relative deviations up to this are the solver's own.
TOLERANCE = 1e-7
#: Up to so many patterns the program is solved as it stands.
_MAX_COLUMNS = 10_000
_MAX_ROUNDS, _PER_ROUND = 2_000, 200
_GAP = 1e-6


@dataclass(frozen=True, eq=False)
class Nearest:
    """`deviation` is the least sum of relative deviations; `missing` and `multipliers` are one a total."""

    deviation: float
    #: What the nearest weights lack of each total, relative to its size; negative where they give too much.
    missing: Floats
    multipliers: Floats


def equations_of(patterns: Patterns, totals: Floats, rows: Sequence[int]) -> tuple[csr_array, Floats]:
    """The constraints of some rows as equations in the ratios of distinct patterns, scaled by each total."""
    sizes = patterns.sizes(totals)[list(rows)]
    part = patterns if len(rows) == len(totals) else patterns.restricted(rows)
    return csr_array(diags_array(1.0 / sizes) @ part.matrix.T @ diags_array(part.mass)), totals[list(rows)] / sizes


def find_nearest(equations: csr_array, wanted: Floats, low: float, high: float, *, exact: bool = True) -> Nearest:
    """The nearest totals of ratios in [low, high]; unless `exact`, whether all can be met is enough.

    Admissible bounds are those of the three distances: none, zero and no upper one, or two finite ones.
    """
    if equations.shape[1] <= _MAX_COLUMNS:
        bounds = (None if low == -math.inf else low, None if high == math.inf else high)
        return _master(equations, wanted, bounds, mixture=False)
    if math.isfinite(high):
        return _mix_extremes(equations, wanted, low, high, exact)
    return _add_patterns(equations, wanted, free=low < 0)


def _mix_extremes(equations: csr_array, wanted: Floats, low: float, high: float, exact: bool) -> Nearest:
    """Two finite bounds: every attainable set of totals is a mixture of extreme ones."""
    by_pattern = csr_array(equations.T)

    def extreme(direction: Floats) -> Floats:
        return np.asarray(equations @ np.where(by_pattern @ direction > 0, high, low))

    directions = np.eye(len(wanted))
    points = [extreme(sign * axis) for axis in directions for sign in (1.0, -1.0)]
    bound = -math.inf
    for _ in range(_MAX_ROUNDS):
        found = _master(csr_array(np.array(points).T), wanted, (0.0, None), mixture=True)
        further = extreme(found.multipliers)
        bound = max(bound, float(found.multipliers @ (wanted - further)))
        decided = found.deviation <= TOLERANCE or (bound > TOLERANCE and not exact)
        if decided or found.deviation - bound <= _GAP:
            return found
        points.append(further)
    raise NotConvergedError(f"How near the weights come to the totals stayed open after {_MAX_ROUNDS:,} rounds.")


def _add_patterns(equations: csr_array, wanted: Floats, free: bool) -> Nearest:
    """No upper bound: a few patterns carry all the weight."""
    by_pattern = csr_array(equations.T)
    sizes = np.maximum(abs(by_pattern).max(axis=1).toarray().ravel(), 1e-300)
    by_pattern = csr_array(diags_array(1.0 / sizes) @ by_pattern)
    used = np.unique(np.linspace(0, len(sizes) - 1, _PER_ROUND).astype(np.int64))
    for _ in range(_MAX_ROUNDS):
        found = _master(csr_array(by_pattern[used].T), wanted, (None if free else 0.0, None), mixture=False)
        gain = by_pattern @ found.multipliers
        gain = np.abs(gain) if free else gain
        best = np.argsort(-gain, kind="stable")[:_PER_ROUND]
        best = best[gain[best] > 1e-9]
        if found.deviation <= TOLERANCE or len(best) == 0:
            return found
        used = np.union1d(used, best)
    raise NotConvergedError(f"How near the weights come to the totals stayed open after {_MAX_ROUNDS:,} rounds.")


def _master(columns: csr_array, wanted: Floats, bounds: tuple[float | None, float | None], *, mixture: bool) -> Nearest:
    """The nearest combination of some columns; of a `mixture` the shares add up to one."""
    m, n = columns.shape
    left = hstack([columns, eye_array(m), -eye_array(m)], format="csr")
    if mixture:
        left = vstack([left, csr_array(np.concatenate([np.ones(n), np.zeros(2 * m)]).reshape(1, -1))], format="csr")
    right = np.append(wanted, 1.0) if mixture else wanted
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    found = solve_program(cost, left, right, [bounds] * n + [(0.0, None)] * (2 * m))
    missing = found.x[n : n + m] - found.x[n + m :]
    return Nearest(float(found.fun), missing, np.asarray(found.eqlin.marginals)[:m])


def solve_program(
    cost: Floats, equations: csr_array, wanted: Floats, bounds: list[tuple[float | None, float | None]]
) -> OptimizeResult:
    """A linear program that has a solution by its making."""
    found = linprog(cost, A_eq=equations, b_eq=wanted, bounds=bounds, method="highs")
    if found.x is None:
        raise NotConvergedError(f"The linear program behind the totals was not solved: {found.message}")
    return found
