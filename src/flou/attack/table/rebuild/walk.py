"""A random walk over the vectors of counts that fit what is published, each as often as its chance says.

The chance of a vector is its prior (the number of people as `log_total` has it, each of them in a cell with the given
chance, independently) times the chance of everything published: Metropolis and Hastings, on lists of people, with
impossible vectors passed through at a price and never counted. What is left out of the published rows is left to the
prior. Nothing here is random by itself: a seed of 64 bits, drawn by the caller, decides the whole walk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flou.attack.table.rebuild.ground import Ground, Rules, lay_ground, most_people, rules_of
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.shared_noise_kernel import lay_sharing, no_people
from flou.attack.table.rebuild.step_kernel import relax
from flou.attack.table.rebuild.walk_kernel import (
    CLOCK,
    HELD,
    VIOLATION,
    Chances,
    N,
    Pace,
    Relaxed,
    State,
    recount,
    walk,
)
from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import DataError, Infeasible, ParameterError

__all__ = ["Walk", "alias_of", "mix_seed"]

#: How often each kind of step is tried: one attribute of one person, one person anywhere, one more or less, an exchange
#: of attributes between two, one attribute of each of two.
_KINDS = (0.35, 0.15, 0.1, 0.35, 0.05)
#: What a unit outside of the allowed totals costs, in log likelihood, unless a share of possible states asks otherwise.
PENALTY = 6.0
#: The share of the log chances of figures that share their noise in the first look at a step: the rest is left to the
#: second look, at sets of people. Any share gives the same posterior; this one loses the fewest steps.
TEMPERED = 0.5


class Walk:
    """One chain: `run` walks on; what it counts and where it is can be read in between."""

    def __init__(
        self,
        problem: Problem,
        codes: Ints,
        *,
        seed: int,
        prior: Floats | None = None,
        log_total: Floats | None = None,
        start: Ints | None = None,
        penalty: float = PENALTY,
        proposal: Floats | None = None,
        ground: Ground | None = None,
    ) -> None:
        self.problem = problem
        n_most = most_people(problem) if log_total is None else len(log_total) - 1
        self.ground = lay_ground(problem, codes) if ground is None else ground
        self.rules = rules_of(problem, max(n_most, 1), TEMPERED)
        self.relaxed = relaxed(self.rules, penalty)
        self.chances = chances_of(problem, prior, np.zeros(n_most + 1) if log_total is None else log_total, proposal)
        n_rows = len(self.rules.low)
        self.sharing = lay_sharing(problem.shared, self.ground.rows, n_rows, TEMPERED)
        self.state, self.sets = (
            empty_state(problem.n_cells, n_rows, n_most, seed),
            no_people(self.sharing, n_rows, n_most),
        )
        self.settle(np.zeros(problem.n_cells, dtype=np.int64) if start is None else start)
        self.snapshots = np.empty((0, n_most), dtype=np.int32)
        self.heights = np.empty(0)

    def settle(self, counts: Ints) -> None:
        """Go to these counts, less people in cells that cannot hold any, and count from there."""
        possible = np.where(self.chances.log_prior > -np.inf, counts, 0)
        people = np.repeat(np.arange(len(possible)), possible)[: len(self.state.people)]
        state = self.state
        state.people[: len(people)] = people
        state.figures[N] = len(people)
        recount(self.ground, self.relaxed, self.chances, self.sharing, state, self.sets)
        self.forget()

    def weigh(self, penalty: float) -> None:
        """Change the price of what is impossible."""
        self.relaxed = relaxed(self.rules, penalty)

    def forget(self) -> None:
        """Begin to count anew."""
        state = self.state
        state.figures[[CLOCK, HELD]] = 0
        for sums in (state.sums, state.present, state.last):
            sums[:] = 0

    def run(self, n_moves: int, *, n_snapshots: int = 0, share: float = 1.0) -> None:
        """Walk on, keeping up to `n_snapshots` possible lists at even distances; counts begin anew.

        `share` is about how many states will be possible, so that the lists kept spread over all of the way.
        """
        recount(self.ground, self.relaxed, self.chances, self.sharing, self.state, self.sets)
        self.forget()
        self.snapshots = np.full((n_snapshots, len(self.state.people)), -1, dtype=np.int32)
        self.heights = np.zeros(n_snapshots)
        thin = max(int(n_moves * share) // max(n_snapshots, 1), 1)
        pace = Pace(np.cumsum(_KINDS) / np.sum(_KINDS) + np.array([0, 0, 0, 0, 1.0]), 1.0, 1.0, 1.0, False)
        walk(
            self.ground, self.relaxed, self.chances, self.sharing, pace, self.state, self.sets, n_moves, thin,
            self.snapshots, self.heights,
        )  # fmt: skip
        held = int(self.state.figures[HELD])
        self.snapshots, self.heights = self.snapshots[:held], self.heights[:held]

    @property
    def n_counted(self) -> int:
        """The number of possible states since the count began."""
        return int(self.state.figures[CLOCK])

    @property
    def counts(self) -> Ints:
        """Where the walk is."""
        return self.state.counts.astype(np.int64)

    @property
    def is_possible(self) -> bool:
        """Whether no row rules out where it is."""
        return bool(self.state.figures[VIOLATION] == 0)

    def averages(self) -> tuple[Floats, Floats]:
        """The mean count of each cell and the share of states with somebody in it."""
        state, clock = self.state, self.n_counted
        since = clock - state.last
        present = state.present + np.where(state.counts > 0, since, 0)
        return (state.sums + state.counts * since) / max(clock, 1), present / max(clock, 1)


def relaxed(rules: Rules, penalty: float) -> Relaxed:
    """The rules with a price of `penalty` a unit outside of what they allow."""
    if not penalty > 0:
        raise ParameterError(f"penalty = {penalty} must be above 0: it is what keeps a walk near what is possible.")
    scores = np.empty(len(rules.log_chances))
    violations = np.empty(len(rules.log_chances), dtype=np.int32)
    if not relax(rules, penalty, scores, violations):
        raise Infeasible(
            "A published figure allows no total at all.",
            best="none",
            next_step="Check the mechanism that the table says it was made by.",
        )
    return Relaxed(rules.low, rules.high, rules.offsets, scores, violations, float(penalty))


def chances_of(problem: Problem, prior: Floats | None, log_total: Floats, proposal: Floats | None) -> Chances:
    """The prior of cells that can hold somebody, the number of people, and what is proposed."""
    chances = np.ones(problem.n_cells) if prior is None else np.asarray(prior, dtype=np.float64)
    if chances.shape != (problem.n_cells,) or not np.isfinite(chances).all() or (chances < 0).any():
        raise DataError(f"prior: a chance of at least 0 is needed for each of the {problem.n_cells} cells.")
    chances = np.where(problem.most == 0, 0.0, chances)
    if not chances.any():
        chances = np.where(problem.most == 0, 0.0, 1.0)
    proposed = np.where(chances > 0, 1.0 if proposal is None else np.maximum(proposal, 1e-12), 0.0)
    if not proposed.any():
        proposed = np.ones(problem.n_cells)  # nobody can be anywhere: the walk has one state, and proposes in vain
    share, alias = alias_of(proposed)
    whole = 1.0 if prior is None else float(np.sum(prior)) or 1.0
    with np.errstate(divide="ignore"):
        return Chances(
            np.log(chances / (problem.n_cells if prior is None else whole)),
            np.ascontiguousarray(log_total, dtype=np.float64),
            np.log(proposed / proposed.sum()),
            share,
            alias,
        )


def alias_of(weights: Floats) -> tuple[Floats, Any]:
    """Tables that draw a place by its weight in one look (alias method, Walker 1977, as Vose 1991 fills them)."""
    scaled = weights / weights.sum() * len(weights)
    alias = np.arange(len(weights), dtype=np.int32)
    share = np.ones(len(weights))
    small, large = np.flatnonzero(scaled < 1).tolist(), np.flatnonzero(scaled >= 1).tolist()
    while small and large:
        less, more = small.pop(), large[-1]
        share[less], alias[less] = scaled[less], more
        scaled[more] -= 1.0 - scaled[less]
        if scaled[more] < 1:
            small.append(large.pop())
    return share, alias


def empty_state(n_cells: int, n_rows: int, n_most: int, seed: int) -> State:
    """A list of nobody."""
    ints, wide = np.zeros, np.int64
    return State(
        people=ints(n_most, dtype=np.int32),
        counts=ints(n_cells, dtype=np.int32),
        totals=ints(n_rows, dtype=np.int32),
        gains=ints((4, n_rows + 1)),
        figures=np.array([0, 0, 0, 0, -1], dtype=wide),
        levels=np.array([0.0, 0.0, -np.inf]),
        random=np.array([seed], dtype=np.uint64),
        best=ints(n_most, dtype=np.int32),
        sums=ints(n_cells, dtype=wide),
        present=ints(n_cells, dtype=wide),
        last=ints(n_cells, dtype=wide),
    )


def mix_seed(seed: int, number: int) -> int:
    """The seed of the chain or block of this number, far from those of its neighbours."""
    mixed, mask = (seed ^ ((number + 1) * 0xD1342543DE82EF95)) & (2**64 - 1), 2**64 - 1
    mixed = ((mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93) & mask
    mixed = ((mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93) & mask
    return mixed ^ (mixed >> 32)
