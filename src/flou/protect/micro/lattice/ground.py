"""What is known of a lattice's nodes while it is searched: those evaluated, and what follows for the others.

A node that suppresses s records tells that every node below it suppresses at least the records whose classes are
too small already (predictive tagging; Kohlmayer et al. 2012). `Dense` keeps an entry for every node; `Sparse` is
for lattices too large for that and makes nodes as they come, the cheapest first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray

from flou.protect.micro.lattice.problem import Levels
from flou.protect.micro.lattice.quality import Quality

Ints = NDArray[np.int64]
#: Nodes that are looked at together.
CHUNK = 256
#: Evaluated nodes that a sparse ground rules others out by.
_REMEMBERED = 1_000


class Ground:
    """Nodes as rows of levels, cheapest floor first."""

    def __init__(self, quality: Quality) -> None:
        self.quality = quality
        self.heights = np.array(quality.problem.heights, dtype=np.int64)
        #: The floor of the nodes that have not been handed out yet.
        self.next_floor = -np.inf
        self.known: dict[Levels, int] = {}

    def chunks(self) -> Iterator[Ints]:
        """Every node once, some at a time, by rising floor."""
        raise NotImplementedError

    def note(self, levels: Levels, n_low: int) -> None:
        """At a node so many records are in classes that are too small."""
        raise NotImplementedError

    def n_low(self, nodes: Ints) -> Ints:
        """The least number of records that nodes suppress, by what is known above them."""
        raise NotImplementedError

    def open_floor(self, limit: int) -> float:
        """The least that a node can cost which was not evaluated and may be safe."""
        raise NotImplementedError

    def _least_open(self, nodes: Ints, limit: int) -> float:
        n_low = self.n_low(nodes)
        still = self.fresh(nodes) & (n_low <= limit)
        return float(self.quality.floor(nodes[still], n_low[still]).min(initial=np.inf))

    def fresh(self, nodes: Ints) -> NDArray[np.bool_]:
        """Nodes that were not evaluated yet."""
        return np.array([tuple(node) not in self.known for node in nodes.tolist()])

    def bare_floor(self, nodes: Ints) -> NDArray[np.float64]:
        """What nodes cost if they suppress nothing."""
        return self.quality.floor(nodes, np.zeros(len(nodes), dtype=np.int64))

    def path(self, node: Ints) -> Ints:
        """From a node up to the top, each time to the cheapest node above."""
        found, steps = [node], np.eye(len(node), dtype=np.int64)
        for _ in range(int((self.heights - node).sum())):
            above = found[-1] + steps[found[-1] < self.heights]
            found.append(above[self.bare_floor(above).argmin()])
        return np.array(found)


class Dense(Ground):
    """One entry a node."""

    def __init__(self, quality: Quality) -> None:
        super().__init__(quality)
        shape = tuple(int(h) + 1 for h in self.heights)
        self.nodes = np.indices(shape).reshape(len(shape), prod(shape)).T.astype(np.int64)
        self._strides = np.array([prod(shape[j + 1 :]) for j in range(len(shape))], dtype=np.int64)
        self.floors = self.bare_floor(self.nodes)
        self._low = np.zeros(shape, dtype=np.int64)
        self._fresh = np.ones(prod(shape), dtype=np.bool_)

    def chunks(self) -> Iterator[Ints]:
        order = np.argsort(self.floors, kind="stable")
        for start in range(0, len(order), CHUNK):
            self.next_floor = float(self.floors[order[start]])
            yield self.nodes[order[start : start + CHUNK]]
        self.next_floor = np.inf

    def open_floor(self, limit: int) -> float:
        return self._least_open(self.nodes, limit)

    def fresh(self, nodes: Ints) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self._fresh[nodes @ self._strides]
        return found

    def note(self, levels: Levels, n_low: int) -> None:
        self.known[levels] = n_low
        self._fresh[np.array(levels) @ self._strides] = False
        below = self._low[tuple(slice(0, v + 1) for v in levels)]
        np.maximum(below, n_low, out=below)

    def n_low(self, nodes: Ints) -> Ints:
        found: Ints = self._low.reshape(-1)[nodes @ self._strides]
        return found

    def bare_floor(self, nodes: Ints) -> NDArray[np.float64]:
        return self.floors[nodes @ self._strides] if hasattr(self, "floors") else super().bare_floor(nodes)


class Sparse(Ground):
    """Only the nodes that came up."""

    def __init__(self, quality: Quality) -> None:
        super().__init__(quality)
        self._levels = np.zeros((0, len(self.heights)), dtype=np.int64)
        self._low = np.zeros(0, dtype=np.int64)
        bottom = (0,) * len(self.heights)
        self._heap: list[tuple[float, Levels]] = [(float(self.bare_floor(np.array([bottom]))[0]), bottom)]
        self._chunk = np.zeros((0, len(self.heights)), dtype=np.int64)

    def open_floor(self, limit: int) -> float:
        # nodes above those in the heap cost no less than they do
        left = self._heap[0][0] if self._heap else np.inf
        return min(left, self._least_open(self._chunk, limit))

    def chunks(self) -> Iterator[Ints]:
        heap = self._heap
        seen = {heap[0][1]}
        while heap:
            self.next_floor = heap[0][0]
            taken: list[Levels] = []
            while heap and len(taken) < CHUNK:
                taken.append(heapq.heappop(heap)[1])
                above = [up for up in self._above(taken[-1]) if up not in seen]
                if above:
                    seen.update(above)
                    floors = self.bare_floor(np.array(above))
                    for floor, up in zip(floors.tolist(), above, strict=True):
                        heapq.heappush(heap, (floor, up))
            self._chunk = np.array(taken)
            yield self._chunk
        self.next_floor = np.inf

    def _above(self, node: Levels) -> list[Levels]:
        return [(*node[:j], v + 1, *node[j + 1 :]) for j, v in enumerate(node) if v < self.heights[j]]

    def note(self, levels: Levels, n_low: int) -> None:
        self.known[levels] = n_low
        if not n_low:
            return
        # this node says all that nodes below it say that suppress no more; the oldest are forgotten, so that looking
        # nodes up stays quick
        stays = ~((self._levels <= levels).all(axis=1) & (self._low <= n_low))
        self._levels = np.concatenate([self._levels[stays], [levels]])[-_REMEMBERED:]
        self._low = np.concatenate([self._low[stays], [n_low]])[-_REMEMBERED:]

    def n_low(self, nodes: Ints) -> Ints:
        found = np.zeros(len(nodes), dtype=np.int64)
        for i, node in enumerate(nodes):
            found[i] = self._low[(self._levels >= node).all(axis=1)].max(initial=0)
        return found
