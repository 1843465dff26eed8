"""Weights that meet given totals, or a refusal that names the totals that clash.

The calibration estimator of Deville & Särndal (1992): of all weights that meet the totals, those nearest to the design
weights. Nothing is released where the totals are not met, where a weight is not positive, or where raking leaves
some records next to nothing; the refusal says which totals contradict one another and how near weights can come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flou.engine.errors import Infeasible
from flou.protect.micro.calibration.clash import Clash, find_clash
from flou.protect.micro.calibration.distance import Distance, Floats
from flou.protect.micro.calibration.margins import Margin
from flou.protect.micro.calibration.newton import Solved, solve_dual
from flou.protect.micro.calibration.patterns import Patterns, group_patterns

#: A record whose weight would shrink to less than this share is not calibrated but removed.
MIN_RATIO = 1e-6


@dataclass(frozen=True, eq=False)
class Problem:
    """The margins, the numeric columns (name, total, values) and the design weights of a file."""

    margins: Sequence[Margin]
    amounts: Sequence[tuple[str, float, Floats]]
    weights: Floats

    @property
    def names(self) -> list[str]:
        """Each constraint as people say it."""
        categories = [f"{m.column} = {name}" for m in self.margins for name in m.names]
        return [*categories, *(f"the total of {name}" for name, _, _ in self.amounts)]

    @property
    def totals(self) -> Floats:
        return np.concatenate([*(m.totals for m in self.margins), [total for _, total, _ in self.amounts]])

    def patterns(self) -> Patterns:
        n = len(self.weights)
        codes = np.stack([m.codes for m in self.margins], axis=1) if self.margins else np.empty((n, 0), np.int64)
        numbers = np.stack([v for _, _, v in self.amounts], axis=1) if self.amounts else np.empty((n, 0))
        return group_patterns(codes, [len(m.names) for m in self.margins], numbers, self.weights)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """New weights, and the ratio of each to its design weight."""

    weights: Floats
    ratios: Floats
    n_iterations: int
    n_totals: int


def calibrate(problem: Problem, distance: Distance) -> Calibrated:
    """The weights nearest to the design weights that meet every total; raises Infeasible where there are none."""
    patterns, totals = problem.patterns(), problem.totals
    solved = solve_dual(patterns, totals, distance)
    least = float(solved.ratios.min(initial=1.0))
    if not solved.met or (distance.low == 0.0 and least < MIN_RATIO):
        clash = find_clash(patterns, totals, distance.low, distance.high)
        raise _not_met(solved, least) if clash is None else _clashing(problem, distance, clash)
    ratios = solved.ratios[patterns.place]
    if least <= 0.0:
        raise Infeasible(
            f"The linear distance gives {int((ratios <= 0).sum()):,} records a weight that is not positive.",
            best=f"a smallest ratio of new to design weight of {least:.4g}",
            next_step='Use distance = "raking", or "logit" with bounds.',
        )
    return Calibrated(problem.weights * ratios, ratios, solved.n_iterations, len(totals))


def _clashing(problem: Problem, distance: Distance, clash: Clash) -> Infeasible:
    names, totals = problem.names, problem.totals
    said = [f"{names[j]} ({totals[j]:,.12g})" for j in clash.rows]
    together = "; ".join(said)
    if clash.needs_zero:
        return Infeasible(
            f"These totals can be met together only if some records have no weight at all: {together}.",
            best="weights of zero for some records",
            next_step="Merge categories until these totals leave room for every record, or leave out one of them.",
        )
    if np.isfinite(distance.high):
        within = f"with ratios of new to design weight between {distance.low:g} and {distance.high:g}"
        remedy = "Widen the bounds, or leave out, or correct, one of these totals."
    else:
        within = "with weights that are not negative" if distance.low == 0.0 else "with any weights"
        remedy = "Leave out, or correct, one of these totals."
    size = np.maximum(np.abs(totals[list(clash.rows)]), 1e-300)
    off = [i for i, j in enumerate(clash.rows) if abs(clash.nearest[i] - totals[j]) > 1e-6 * size[i]]
    best = "; ".join(f"{clash.nearest[i]:,.6g} for {names[clash.rows[i]]}" for i in off)
    what = "This total cannot be met" if len(said) == 1 else "These totals cannot be met together"
    return Infeasible(f"{what} {within}: {together}.", best=best or "within the solver's tolerance", next_step=remedy)


def _not_met(solved: Solved, least: float) -> Infeasible:
    if solved.met:
        return Infeasible(
            f"Some records would keep less than {MIN_RATIO:g} of their design weight.",
            best=f"a smallest ratio of new to design weight of {least:.3g}",
            next_step='Merge categories, leave out a total, or use distance = "logit" with bounds.',
        )
    return Infeasible(
        "The calibration did not converge, though weights that meet the totals exist.",
        best=f"totals met within {solved.deviation:.2g} of their size",
        next_step="Use another distance, wider bounds, or fewer totals.",
    )


def round_weights(weights: Floats, digits: int) -> Floats:
    """Weights to so many significant digits, each the double nearest to its decimal."""
    places = digits - 1 - np.floor(np.log10(weights)).astype(np.int64)
    up, down = 10.0 ** np.clip(places, 0, 22), 10.0 ** np.clip(-places, 0, 22)
    return np.asarray(np.rint(weights * up / down) / up * down)
