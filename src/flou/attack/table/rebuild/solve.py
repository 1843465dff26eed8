"""One block solved: a population that fits what is published, and the records that every such population has.

Three attacks of growing strength. *Feasible* takes any population that the figures allow (Abado and Stefan 2024).
*Likelihood* takes the one that makes the figures likeliest, by what is known of the mechanism: proven to be so, but
where people share their noise, for which it is sought by annealing. *Posterior* weighs all of them and takes the
records that are likeliest to be there, each with its chance. Whatever the attack, a record is called certain only where
a proof says that no population without it fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flou.attack.table.rebuild.anneal import anneal_to_likeliest
from flou.attack.table.rebuild.certain import prove_minimum
from flou.attack.table.rebuild.feasible import find_counts
from flou.attack.table.rebuild.ground import Ground
from flou.attack.table.rebuild.likeliest import maximise_likelihood
from flou.attack.table.rebuild.posterior import sample_posterior
from flou.attack.table.rebuild.problem import Problem
from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import Infeasible

#: Solutions that a proof begins with.
_POOL = 200
#: The largest chance that is told of a record without a proof.
_NOT_PROVEN = 0.999

Mode = Literal["feasible", "likelihood", "posterior"]


@dataclass(frozen=True, eq=False)
class Solved:
    """What was found out about one block."""

    #: The cell of each rebuilt person, and the chance that so many are there; NaN where no chances were computed.
    cells: Ints
    confidence: Floats
    #: The least count of each cell over all populations that fit, as far as it is proven.
    least: Ints
    #: Whether the proof came to its end: what is not certain by it is uncertain for good.
    proven: bool
    log_likelihood: float
    #: Whether no population is likelier, by a proof.
    optimal: bool = False
    #: Whether the chances settled down; True where none were needed.
    converged: bool = True


def solve(
    problem: Problem,
    codes: Ints,
    *,
    mode: Mode,
    seed: int,
    chances: Floats | None = None,
    prove: bool = True,
    ground: Ground | None = None,
    n_threads: int | None = None,
) -> Solved:
    """Attack one block; `chances` are those of the prior, the same for all cells where None."""
    optimal, converged = False, True
    if mode == "likelihood":
        counts, optimal = _likeliest(problem, codes, seed)
    else:
        counts = find_counts(problem, seed=seed)
    pool = counts[None, :]
    cells = np.repeat(np.arange(problem.n_cells), counts)
    confidence = np.full(len(cells), np.nan)
    if mode == "posterior":
        found = sample_posterior(problem, codes, chances, counts, seed=seed, n_threads=n_threads, ground=ground)
        cells, confidence = found.likeliest_people()
        pool, converged = np.concatenate([pool, found.solutions(_POOL)]), found.converged
    least, proven = np.zeros(problem.n_cells, dtype=np.int64), False
    if prove:
        least, proven = prove_minimum(problem, pool, seed=seed)
    confidence = _as_sure_as_proven(cells, confidence, least)
    return Solved(cells, confidence, least, proven, problem.log_likelihood(counts), optimal, converged)


def _likeliest(problem: Problem, codes: Ints, seed: int) -> tuple[Ints, bool]:
    """The likeliest population that was found, and whether it is proven that none is likelier."""
    best = maximise_likelihood(problem, seed=seed)
    if problem.shared is None:
        return best.counts, best.optimal
    try:
        cooled = anneal_to_likeliest(problem, codes, best.counts, seed=seed, n_tries=2)
    except Infeasible:
        return best.counts, False
    return (cooled if cooled.log_likelihood >= best.log_likelihood else best).counts, False


def _as_sure_as_proven(cells: Ints, confidence: Floats, least: Ints) -> Floats:
    """Chances as they may be told: 1 for what is proven, and for nothing else, however often walks met it."""
    order = np.argsort(cells, kind="stable")
    first = np.searchsorted(cells[order], cells[order])
    copy = np.empty(len(cells), dtype=np.int64)
    copy[order] = np.arange(len(cells)) - first + 1
    known = ~np.isnan(confidence)
    told: Floats = np.where(known & (copy <= least[cells]), 1.0, np.minimum(confidence, _NOT_PROVEN))
    return told
