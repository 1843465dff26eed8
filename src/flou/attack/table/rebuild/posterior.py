"""What an intruder believes of each record after all that is published: the posterior, by several random walks.

`presence` is the chance that somebody is in a cell, given the tables, the mechanisms and the prior: a confidence that
is right as often as it says where the prior is the population's (Gelman et al. 2013 on simulation; Dobra 2003 on
tables given margins). The walks go on until they agree by R-hat, their work doubling each time and the first half
forgotten, or until the limit on steps; then `converged` is False and nothing should be read from small differences. A
uniform prior says that every combination of attributes is as common as any other, which is seldom so: confidences are
then those of an intruder who knows nothing.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from flou.attack.table.rebuild.anneal import seek
from flou.attack.table.rebuild.convergence import effective_size, split_rhat
from flou.attack.table.rebuild.ground import Ground, Int32s, lay_ground
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.walk import PENALTY, Walk, mix_seed
from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import Infeasible, ParameterError
from flou.engine.progress import tell

#: Cells whose presence is watched for agreement: those that are most in doubt.
_WATCHED = 20
_AGREED, _ENOUGH = 1.05, 100.0
#: The share of states that should be possible: less wastes steps, more leaves no way through impossible ones.
_FEW, _MANY = 0.2, 0.98
_MOST_ROUNDS_OF_TUNING = 4


@dataclass(frozen=True, eq=False)
class Posterior:
    """Beliefs on each cell, and a pool of possible lists of people."""

    #: The mean count of each cell, and the chance that somebody is in it.
    expected: Floats
    presence: Floats
    #: Possible lists of people, one line a list, the cells descending and -1 behind them; draws from the posterior.
    samples: Int32s
    #: R-hat and effective sample size of what was watched: the level, the number of people, cells in doubt.
    rhat: dict[str, float]
    effective: dict[str, float]
    converged: bool
    n_moves: int

    def solutions(self, most: int) -> Ints:
        """Distinct vectors of counts among the samples, one line each, so many at most."""
        distinct = np.unique(self.samples, axis=0)[:most]
        return np.stack([np.bincount(line[line >= 0], minlength=len(self.expected)) for line in distinct])

    def likeliest_people(self) -> tuple[Ints, Floats]:
        """As many people as are expected: the cell of each, the likeliest first, and the chance that so many are there.

        The j-th person of a cell is as likely as its count is j or more. Each is chosen for herself, so that more of
        them are true than in any one solution; together they need not be one.
        """
        lines, place = self.samples, np.arange(self.samples.shape[1])
        # people of one cell stand side by side: which of them each is
        begins = np.concatenate([np.ones((len(lines), 1), dtype=np.bool_), lines[:, 1:] != lines[:, :-1]], axis=1)
        copy = place - np.maximum.accumulate(np.where(begins, place, 0), axis=1)
        someone = lines >= 0
        n_cells = len(self.expected)
        packed, n = np.unique(copy[someone].astype(np.int64) * n_cells + lines[someone], return_counts=True)
        chances = n / len(lines)
        first = packed < n_cells
        chances[first] = self.presence[packed[first]]  # by every state, not the kept ones alone
        order = np.argsort(-chances, kind="stable")[: round(float(self.expected.sum()))]
        return packed[order] % n_cells, chances[order]


def sample_posterior(
    problem: Problem,
    codes: Ints,
    prior: Floats | None = None,
    start: Ints | None = None,
    *,
    seed: int,
    log_total: Floats | None = None,
    n_chains: int = 4,
    n_samples: int = 2_000,
    first_moves: int = 50_000,
    max_moves: int = 3_200_000,
    n_threads: int | None = None,
    ground: Ground | None = None,
) -> Posterior:
    """Walk from several starts until the walks agree, or until each has made `max_moves` steps."""
    if n_chains < 2:
        raise ParameterError(f"n_chains = {n_chains} must be 2 at least: walks are judged by their agreement.")
    ground = lay_ground(problem, codes) if ground is None else ground
    chains = [
        Walk(problem, codes, seed=mix_seed(seed, c), prior=prior, log_total=log_total, ground=ground)
        for c in range(n_chains)
    ]
    n_each, penalty, n_moves, done, share, tuned = -(-n_samples // n_chains), PENALTY, first_moves, 0, 0.5, 0
    with ThreadPoolExecutor(min(n_chains, n_threads or os.cpu_count() or 1)) as pool:
        list(pool.map(lambda chain: _find_start(chain, start, first_moves), chains))
        while True:
            for run in [pool.submit(c.run, n_moves, n_snapshots=n_each, share=share) for c in chains]:
                run.result()
            done += n_moves
            tell("walks over counts", min(done, max_moves), max_moves)
            share = min(chain.n_counted for chain in chains) / n_moves
            rhat, effective = _agreement(chains)
            tuning = tuned < _MOST_ROUNDS_OF_TUNING and not _FEW <= share <= _MANY
            agreed = max(rhat.values()) < _AGREED and min(effective.values()) >= _ENOUGH
            if (agreed and share >= _FEW) or done + n_moves > max_moves:
                break
            if tuning:
                tuned += 1
                penalty = float(np.clip(penalty * (1.4 if share < _FEW else 0.7), 0.5, 50.0))
                for chain in chains:
                    chain.weigh(penalty)
            if share >= _FEW or not tuning:
                n_moves *= 2
    averages = [chain.averages() for chain in chains]
    counted = np.array([chain.n_counted for chain in chains], dtype=np.float64)
    if not counted.any():
        raise Infeasible(
            "The walks met no possible counts.", best="none", next_step="Give a possible start, or raise max_moves."
        )
    weights = counted / counted.sum()
    expected, presence = (weights @ np.stack([a[k] for a in averages]) for k in (0, 1))
    samples = -np.sort(-np.concatenate([chain.snapshots for chain in chains]), axis=1)
    return Posterior(expected, presence, samples, rhat, effective, agreed, done * n_chains)


def _find_start(chain: Walk, start: Ints | None, n_moves: int) -> None:
    """Possible counts by a short cooling from nobody, so that walks begin apart; else those given."""
    found = None
    for attempt in range(4):
        found = seek(chain, n_moves << attempt, hot=0.5, cold=4.0)
        if found is not None or start is not None:
            break
    settled = start if found is None else found
    if settled is not None:  # else the walk may still get there, and says so if not
        chain.settle(settled)


def _agreement(chains: list[Walk]) -> tuple[dict[str, float], dict[str, float]]:
    """R-hat and effective size of the level, the number of people, and the presence of cells in doubt."""
    n = min(len(chain.snapshots) for chain in chains)
    if n < 10:
        return {"level": np.inf}, {"level": 0.0}
    presence = np.mean([chain.averages()[1] for chain in chains], axis=0)
    watched = np.argsort(-presence * (1 - presence), kind="stable")[:_WATCHED]
    draws = {
        # Rounded, or what sums leave in the last digits would look like walks that never meet.
        "level": np.stack([np.round(chain.heights[:n], 6) for chain in chains]),
        "people": np.stack([(chain.snapshots[:n] >= 0).sum(axis=1) for chain in chains]),
    }
    for cell in watched.tolist():
        draws[f"cell {cell}"] = np.stack([(chain.snapshots[:n] == cell).any(axis=1) for chain in chains])
    return {k: split_rhat(d) for k, d in draws.items()}, {k: effective_size(d) for k, d in draws.items()}
