"""Totals that no admissible weights can meet, and the few of them that contradict one another.

Where a linear program shows that weights within their bounds cannot meet the totals, its multipliers prove it: the
totals with a multiplier contradict one another already (Farkas). A deletion filter (Chinneck & Dravnieks 1991) then
leaves each of these out in turn, until every one that is left is needed for the contradiction. It says what
contradicts, not which of the figures is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from flou.protect.micro.calibration.distance import Floats
from flou.protect.micro.calibration.nearest import TOLERANCE, equations_of, find_nearest, solve_program
from flou.protect.micro.calibration.patterns import Patterns

#: A multiplier below this takes no part in the proof.
_MULTIPLIER = 1e-9


@dataclass(frozen=True, eq=False)
class Clash:
    """Constraints that no weights within the bounds meet together, though they can once any one of them is left out."""

    rows: tuple[int, ...]
    #: What the weights that come nearest give for each of them.
    nearest: Floats
    #: Whether the totals could be met if records were allowed a weight of zero.
    needs_zero: bool = False


def find_clash(patterns: Patterns, totals: Floats, low: float, high: float) -> Clash | None:
    """An irreducible set of totals that ratios in [low, high] cannot meet; None where all can be met.

    Totals that can be met only with ratios of zero, where `low` is zero and there is no upper bound, clash as well: no
    positive weights meet them.
    """
    everything = tuple(range(len(totals)))

    def multipliers(rows: Sequence[int]) -> Floats | None:
        found = find_nearest(*equations_of(patterns, totals, rows), low, high, exact=False)
        return found.multipliers if found.deviation > TOLERANCE else None

    proof = multipliers(everything)
    if proof is not None:
        rows = _irreducible(_support(proof), everything, lambda rows: multipliers(rows) is not None)
        nearest = find_nearest(*equations_of(patterns, totals, rows), low, high)
        sizes = patterns.sizes(totals)[list(rows)]
        return Clash(rows, totals[list(rows)] - nearest.missing * sizes)
    if low != 0.0 or np.isfinite(high):
        return None
    room, proof = _room(patterns, totals, everything)
    if room > TOLERANCE:
        return None
    rows = _irreducible(_support(proof), everything, lambda rows: _room(patterns, totals, rows)[0] <= TOLERANCE)
    return Clash(rows, totals[list(rows)], needs_zero=True)


def _support(multipliers: Floats) -> tuple[int, ...]:
    return tuple(np.flatnonzero(np.abs(multipliers) > _MULTIPLIER).tolist())


def _irreducible(
    proof: Sequence[int], everything: Sequence[int], clashes: Callable[[Sequence[int]], bool]
) -> tuple[int, ...]:
    """Leave out what the contradiction does not need, first in large pieces, at last one by one."""
    kept = list(proof if clashes(proof) else everything)
    piece = max(1, len(kept) // 2)
    while True:
        start = 0
        while start < len(kept):
            without = kept[:start] + kept[start + piece :]
            if without and clashes(without):
                kept = without
            else:
                start += piece
        if piece == 1:
            return tuple(kept)
        piece = max(1, piece // 2)


def _room(patterns: Patterns, totals: Floats, rows: Sequence[int]) -> tuple[float, Floats]:
    """The largest ratio, up to 1, that every record can have at least while the totals are met; and its proof."""
    equations, wanted = equations_of(patterns, totals, rows)
    n = equations.shape[1]
    # ratio = what all have at least + what a pattern has beyond it
    shared = csr_array(np.asarray(equations.sum(axis=1)).reshape(-1, 1))
    cost = np.concatenate([np.zeros(n), [-1.0]])
    bounds: list[tuple[float | None, float | None]] = [(0.0, None)] * n + [(0.0, 1.0)]
    found = solve_program(cost, csr_array(hstack([equations, shared])), wanted, bounds)
    return float(-found.fun), np.asarray(found.eqlin.marginals)
