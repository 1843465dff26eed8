"""The search for the best safe node of a lattice.

Nodes are taken by their floor, the least they can cost. From each that is not ruled out yet a path leads to the
top; bisecting it finds the boundary between unsafe and safe nodes in a few evaluations, and each evaluation rules
out every node below that must suppress too many records, or so many that it costs more than the best known. The
search ends when no floor is below the best: what it found is the optimum. With a budget it may end sooner; then
the lowest floor left says how much better the optimum could be.
Reference: Kohlmayer, Prasser, Eckert, Kemper & Kuhn (2012), *Flash*.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from flou.engine.progress import tell
from flou.protect.micro.lattice import kernels
from flou.protect.micro.lattice.ground import Dense, Ground, Ints, Sparse
from flou.protect.micro.lattice.ladder import Codes
from flou.protect.micro.lattice.problem import Classes, Levels, Problem
from flou.protect.micro.lattice.quality import Quality, Tally
from flou.protect.micro.lattice.requirement import Flags, Requirement

#: Lattices with more nodes are searched with a budget unless the user asks for the optimum.
MAX_OPTIMAL = 100_000
#: Nodes that may be looked at for each one that may be evaluated.
_LOOKS = 20
#: The share of a budget that goes into better nodes; the rest goes into the bound.
_DESCENT = 0.8


@dataclass(frozen=True)
class Evaluation:
    """A node that was looked at: what it suppresses and costs."""

    levels: Levels
    n_suppressed: int
    #: Records in classes that are too small whatever else is asked.
    n_low: int
    score: float
    safe: bool


@dataclass
class Found:
    """What a search ended with."""

    best: Evaluation | None
    second: Evaluation | None
    #: No safe node costs less than this.
    bound: float
    complete: bool
    evaluated: list[Evaluation] = field(default_factory=list)
    ground: Ground | None = None


class Evaluator:
    """Evaluates nodes of one problem against one requirement."""

    def __init__(
        self, problem: Problem, requirement: Requirement, quality: Quality, limit: int, keys: Codes | None = None
    ) -> None:
        self.problem, self.requirement, self.quality = problem, requirement, quality
        # a file that is suppressed whole is no release
        self.limit = min(limit, problem.n_records - 1)
        # a problem over some of the file's keys says which ones
        self._keys = keys

    def evaluate(self, levels: Levels) -> Evaluation:
        """What a node suppresses and costs."""
        if self.requirement.only_k:
            classes = self.problem.classes(levels)
            failing = classes.counts < self.requirement.min_size
        else:
            classes, place = self.problem.placed(levels)
            failing = self._failing(levels, classes, place)
        n_suppressed, n_classes, squares, shown = kernels.add_up(
            self.problem.codes, self.problem.leaves, self.problem.starts(levels), *classes, failing
        )
        n_low = n_suppressed
        if not self.prunes_by_all:
            n_low = classes.counts[classes.counts < self.requirement.min_size].sum()
        safe = bool(n_suppressed <= self.limit)
        tally = Tally(n_suppressed, n_classes, squares, shown, classes, failing)
        score = float(self.quality.score(levels, tally)) if safe else np.inf
        return Evaluation(levels, int(n_suppressed), int(n_low), score, safe)

    def kept(self, levels: Levels) -> Flags:
        """Which keys are in classes that meet the models at a node."""
        classes, place = self.problem.placed(levels)
        large = classes.counts >= self.requirement.min_size
        if large.any() and not self.requirement.only_k:
            large &= ~self._failing(levels, classes, place)
        return large[place]

    def _failing(self, levels: Levels, classes: Classes, place: Codes) -> Flags:
        return self.requirement.failing(classes.counts, self._in_file(place), lambda: self._shown(levels))

    @cached_property
    def prunes_by_all(self) -> bool:
        """Whether a node that is not safe rules out every node below it, whatever the reason."""
        return self.requirement.monotone(suppressing=self.limit > 0)

    def _in_file(self, place: Codes) -> Codes:
        if self._keys is None:
            return place
        whole = np.full(self.requirement.table.n_keys, -1, dtype=np.int32)
        whole[self._keys] = place
        return whole

    def _shown(self, levels: Levels) -> Codes:
        here = self.problem.shown_codes(levels)
        if self._keys is None:
            return here
        whole = np.full((len(levels), self.requirement.table.n_keys), -1, dtype=np.int32)
        whole[:, self._keys] = here
        return whole


class Search:
    """A search under way."""

    def __init__(self, evaluator: Evaluator, max_nodes: int | None = None) -> None:
        self.evaluator, self.max_nodes = evaluator, max_nodes
        self.ground: Ground = (Dense if evaluator.problem.n_nodes <= MAX_OPTIMAL else Sparse)(evaluator.quality)
        self.evaluated: list[Evaluation] = []
        self.best: Evaluation | None = None
        self.second: Evaluation | None = None
        self._n_looks = 0

    def run(self) -> Found:
        """The best safe node and the second best; with a budget the best that it allows."""
        if isinstance(self.ground, Sparse) and self.max_nodes is not None:
            self._descend()
        complete = True
        for chunk in self.ground.chunks():
            if self.ground.next_floor >= self._worst:
                break
            self._n_looks += len(chunk)
            self._explore(chunk)
            if self._spent:
                complete = False
                break
        self._settle_ties()
        best = np.inf if self.best is None else self.best.score
        bound = best if complete else min(best, self.ground.open_floor(self.evaluator.limit))
        return Found(self.best, self.second, bound, complete, self.evaluated, self.ground)

    @property
    def _worst(self) -> float:
        """What a node must cost less than to matter."""
        return np.inf if self.second is None else self.second.score

    @property
    def _spent(self) -> bool:
        if self.max_nodes is None:
            return False
        return len(self.evaluated) >= self.max_nodes or self._n_looks > _LOOKS * self.max_nodes

    def _open(self, nodes: Ints) -> Flags:
        """Nodes that could still be safe and cost less than the second best."""
        n_low = self.ground.n_low(nodes)
        cheap = self.evaluator.quality.floor(nodes, n_low) < self._worst
        return np.asarray(self.ground.fresh(nodes) & (n_low <= self.evaluator.limit) & cheap)

    def _explore(self, nodes: Ints) -> None:
        while len(nodes) and not self._spent:
            still = np.flatnonzero(self._open(nodes))
            if not len(still):
                return
            node = nodes[still[0]]
            if self._bisect(self.ground.path(node)) and not self._spent:
                self._look(node)
            nodes = nodes[still[0] + 1 :]

    def _settle_ties(self) -> None:
        """Go down from the best node as long as that costs nothing: a level that coarsens nothing is not worth it."""
        known = {e.levels: e for e in self.evaluated}
        while self.best is not None:
            node = np.array(self.best.levels)
            for lower in node - np.eye(len(node), dtype=np.int64)[node > 0]:
                levels: Levels = tuple(lower.tolist())
                if self.ground.n_low(lower[None])[0] > self.evaluator.limit:
                    continue
                if levels not in known:
                    known[levels] = self.evaluator.evaluate(levels)
                if known[levels].safe and known[levels].score <= self.best.score:
                    self.best = known[levels]
                    break
            else:
                return

    def _descend(self) -> None:
        """From the best safe nodes downwards, level by level: where a lattice is too large to come from below.

        Most of the budget goes here; what is left raises the bound.
        """
        self._bisect(self.ground.path(np.zeros(len(self.ground.heights), dtype=np.int64)))
        if self._open(self.ground.heights[None])[0]:
            self._look(self.ground.heights)
        heap = [(e.score, e.levels) for e in self.evaluated if e.safe]
        heapq.heapify(heap)
        budget = _DESCENT * (self.max_nodes or 0)
        while heap and len(self.evaluated) < budget:
            _, levels = heapq.heappop(heap)
            node = np.array(levels)
            below = node - np.eye(len(node), dtype=np.int64)[node > 0]
            if not len(below):
                continue
            # a node that costs more than the best may still lead to one that costs less
            possible = self.ground.fresh(below) & (self.ground.n_low(below) <= self.evaluator.limit)
            for lower in below[possible]:
                self._look(lower)
                seen = self.evaluated[-1]
                if seen.safe:
                    heapq.heappush(heap, (seen.score, seen.levels))
                if len(self.evaluated) >= budget:
                    break

    def _bisect(self, path: Ints) -> bool:
        """Look at nodes of a path around the boundary of what is safe or cheap enough; is its beginning still open?"""
        low, high = 0, len(path) - 1
        floors, still = self.ground.bare_floor(path), self._open(path)
        while low <= high and not self._spent:
            middle = (low + high) // 2
            if still[middle]:
                self._look(path[middle])
                still = self._open(path)
            # go down while the node is safe and what it says leaves the path's beginning open
            safe = self.ground.n_low(path[middle : middle + 1])[0] <= self.evaluator.limit
            if floors[middle] >= self._worst or (safe and still[0]):
                high = middle - 1
            else:
                low = middle + 1
        return bool(still[0])

    def _look(self, node: Ints) -> None:
        levels: Levels = tuple(node.tolist())
        seen = self.evaluator.evaluate(levels)
        self.ground.note(levels, seen.n_low)
        self.evaluated.append(seen)
        if seen.safe and (self.best is None or seen.score < self.best.score):
            self.best, self.second = seen, self.best
        elif seen.safe and seen.score < self._worst:
            self.second = seen
        if len(self.evaluated) % 64 == 0:
            tell("protect: search", len(self.evaluated), self.max_nodes or self.evaluator.problem.n_nodes)
