"""How much of a population another one holds: records alike, by existence and as multisets (Abado and Stefan 2024).

By existence a true record is found when the other population has one like it at all, as the paper counts; as multisets
each record of the other population answers for one true record, so that ten copies of a common record do not find ten
people. With a tolerance numbers may differ by so much (age by two years); then the most pairs that can be made at once
are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import maximum_flow

from flou.attack.table.rebuild.universe import Universe
from flou.describe.table.cells import Ints
from flou.engine.errors import DataError, did_you_mean, listed


@dataclass(frozen=True)
class Matches:
    """How many true records are found."""

    n: int
    exact: int
    exact_pairs: int
    near: int
    near_pairs: int

    def __add__(self, other: Matches) -> Matches:
        return Matches(
            self.n + other.n,
            self.exact + other.exact,
            self.exact_pairs + other.exact_pairs,
            self.near + other.near,
            self.near_pairs + other.near_pairs,
        )

    def share(self, found: int) -> float:
        return found / self.n if self.n else 0.0


NONE = Matches(0, 0, 0, 0, 0)


@dataclass(frozen=True, eq=False)
class Likeness:
    """Which cells of the product count as alike: equal, but for numbers that may differ a little."""

    universe: Universe
    #: How far each attribute may differ, as numbers; 0 for equality.
    reach: tuple[float, ...]

    @classmethod
    def of(cls, universe: Universe, tolerance: Mapping[str, float]) -> Likeness:
        """The likeness that a tolerance by attribute asks for."""
        unknown = sorted(set(tolerance) - {name for a in universe.attributes for name in (a.name, a.column)})
        if unknown:
            raise DataError(
                f"tolerance names {listed(unknown)}, which the tables do not speak of."
                f"{did_you_mean(unknown[0], universe.names)}"
            )
        reach = []
        for attribute in universe.attributes:
            by = float(tolerance.get(attribute.name, tolerance.get(attribute.column, 0)))
            if by > 0 and attribute.numbers is None:
                raise DataError(
                    f"tolerance = {by:g} for {attribute.name!r}, whose values are no numbers: leave it out, records "
                    "are then alike when they have the same category."
                )
            reach.append(by)
        return cls(universe, tuple(reach))

    @property
    def is_exact(self) -> bool:
        return not any(self.reach)

    def alike(self, some: Ints, others: Ints) -> NDArray[np.bool_]:
        """Whether each of some cells is like each of others."""
        out = np.ones((len(some), len(others)), dtype=np.bool_)
        for j, (attribute, by) in enumerate(zip(self.universe.attributes, self.reach, strict=True)):
            a, b = self.universe.codes[some, j], self.universe.codes[others, j]
            numbers = attribute.numbers if by > 0 else None
            if numbers is None:
                out &= a[:, None] == b[None, :]
            else:
                out &= np.abs(numbers[a][:, None] - numbers[b][None, :]) <= by + 1e-9
        return out


def match(likeness: Likeness, true: Ints, other: Ints) -> Matches:
    """How many of the true records (their cells, -1 outside of the product) another population holds."""
    n = len(true)
    inside, other = true[true >= 0], other[other >= 0]
    cells, counts = np.unique(inside, return_counts=True)
    held, copies = np.unique(other, return_counts=True)
    place = np.minimum(np.searchsorted(held, cells), max(len(held) - 1, 0))
    same = held[place] == cells if len(held) else np.zeros(len(cells), dtype=np.bool_)
    exact = int(counts[same].sum())
    pairs = int(np.minimum(counts[same], copies[place[same]]).sum())
    if likeness.is_exact or not len(held) or not len(cells):
        return Matches(n, exact, pairs, exact, pairs)
    alike = likeness.alike(cells, held)
    near = int(counts[alike.any(axis=1)].sum())
    return Matches(n, exact, pairs, near, _most_pairs(alike, counts, copies))


def _most_pairs(alike: NDArray[np.bool_], counts: Ints, copies: Ints) -> int:
    """The most pairs of like records that can be made at once: a flow from the ones to the others."""
    n, m = alike.shape
    left, right = np.nonzero(alike)
    source, sink = n + m, n + m + 1
    tails = np.concatenate([np.full(n, source), left, n + np.arange(m)])
    heads = np.concatenate([np.arange(n), n + right, np.full(m, sink)])
    room = np.concatenate([counts, np.minimum(counts[left], copies[right]), copies]).astype(np.int32)
    graph = sparse.csr_array((room, (tails, heads)), shape=(n + m + 2, n + m + 2))
    return int(maximum_flow(graph, source, sink).flow_value)
