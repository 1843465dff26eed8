"""What a cell and its only shown child tell of the other children, which are shown as zero.

A cell B has children of which one, A, is shown with people in it, and r others are shown as zero. Where the noise goes
by the units, cells of the same people are moved alike. So A and B published unlike prove that one of the zeros is
false, and published alike they say with some probability that all of them are true. With a prior π on the counts and
the chances p of the mechanism, m units behind the zeros weigh

    c_m = the sum, over r counts that add up to m, of their products of π_i p(0 | i),
    m = 0   c_0 Σ_a π_a p(x'_A | a)                   where x'_A = x'_B, else 0,
    m ≥ 1   c_m Σ_a π_a p(x'_A | a) p(x'_B | a + m)

if the noise of A, of the zeros and of B were independent. It is not: the key of B is the sum of the others. A zero that
hides people has a small key, and then B and A are published alike less often than that. So the chances are those of
the three keys together, which a reader can work out as well. Where each cell is moved for itself they are independent,
and m = 0 weighs as any other m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.describe.count_frequencies import CountFrequencies
from flou.describe.mechanism.mechanism import Mechanism
from flou.engine.figure import Figure, FigureValue
from flou.risk.table.groups import Groups
from flou.risk.table.key_circle import KeyCircle
from flou.risk.table.prior import PriorKind, prior_on

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FIGURES = (
    Figure("n_pairs", "cells with one child that is shown with people in it, all others as zero", "count"),
    Figure("n_told", "of these, cells that prove that a zero is false", "count", "low"),
    Figure("n_alike", "of these, cells published like their only child", "count"),
    Figure("empty", "probability that their zeros are true", "share", "low"),
    Figure("worst_empty", "the same for the cell that tells most", "share", "low"),
    Figure("true_empty", "share of them whose zeros are true", "share", "low"),
)


@dataclass(frozen=True, eq=False)
class LoneChildren:
    """Pairs of a cell and its only shown child: what is published of both, and what is true."""

    parent_shown: Integers
    child_shown: Integers
    n_zeros: Integers
    #: Whether nobody is behind the zeros.
    empty: NDArray[np.bool_]

    @classmethod
    def of(cls, tables: Sequence[Any], groups: Sequence[Groups]) -> LoneChildren:
        """The groups of some tables whose total is listed and published."""
        parts = []
        for table, found in zip(tables, groups, strict=True):
            shown, true = np.asarray(table.published_counts, dtype=np.float64), np.asarray(table.true_counts)
            both = (found.parent >= 0) & ~np.isnan(shown[found.child]) & ~np.isnan(shown[found.parent])
            parent, child = found.parent[both], found.child[both]
            parts.append((shown[parent], shown[child], found.n_zeros[both], true[parent] == true[child]))
        outer, inner, n_zeros, empty = (np.concatenate(held) for held in zip(*parts, strict=True))
        return cls(outer.astype(np.int64), inner.astype(np.int64), n_zeros, empty)

    def figures(self, mechanism: Mechanism, kind: PriorKind, counts: CountFrequencies | None) -> dict[str, FigureValue]:
        """How often zeros are proven false, and how sure an intruder is of those that seem true."""
        alike = self.parent_shown == self.child_shown
        chances = self._chances_of_empty(mechanism, kind, counts)
        found: dict[str, FigureValue] = {
            "n_pairs": len(alike),
            "n_told": int((chances == 0).sum()) if mechanism.bounded else 0,
            "n_alike": int(alike.sum()),
        }
        if alike.any():
            found["empty"] = float(chances[alike].mean())
            found["worst_empty"] = float(chances[alike].max())
            found["true_empty"] = float(self.empty[alike].mean())
        return found

    def _chances_of_empty(self, mechanism: Mechanism, kind: PriorKind, counts: CountFrequencies | None) -> Floats:
        """For each pair the probability that nobody is behind the zeros."""
        chances = np.zeros(len(self.empty))
        if not len(chances):
            return chances
        reach = mechanism.reach
        top = int(self.child_shown.max()) + reach
        prior = prior_on(kind, np.arange(top + 1), counts, top).weights
        behind_one = prior_on(kind, np.arange(reach + 1), counts, 2 * reach).weights
        most = max(int((self.parent_shown - self.child_shown).max()) + 2 * reach, 0)
        weigh = _by_keys if mechanism.shared_by == "contributors" else _by_cells
        for r in np.unique(self.n_zeros):
            those = np.flatnonzero(self.n_zeros == r)
            shown = np.stack([self.parent_shown[those], self.child_shown[those]])
            pairs, place = np.unique(shown, axis=1, return_inverse=True)
            chances[those] = weigh(mechanism, prior, behind_one, int(r), most, pairs)[place.ravel()]
        return chances


def _by_cells(mechanism: Mechanism, prior: Floats, behind_one: Floats, r: int, most: int, pairs: Integers) -> Floats:
    """Where each cell is moved for itself: nobody behind the zeros weighs as any other number."""
    zero = behind_one * mechanism.probability([0], np.arange(len(behind_one)))
    behind = _multiplied(zero[:, None], r, most)[:, 0]
    found = np.zeros(pairs.shape[1])
    for i, (parent, child) in enumerate(pairs.T.tolist()):
        counted = np.arange(max(child - mechanism.reach, 0), child + mechanism.reach + 1)
        inner = prior[counted] * mechanism.probability([child], counted)
        totals = np.convolve(inner, behind)
        everything = totals @ mechanism.probability([parent], counted[0] + np.arange(len(totals)))
        nobody = behind[0] * (inner @ mechanism.probability([parent], counted))
        found[i] = nobody / everything if nobody > 0 else 0.0
    return found


def _by_keys(mechanism: Mechanism, prior: Floats, behind_one: Floats, r: int, most: int, pairs: Integers) -> Floats:
    """Where the same people have the same noise."""
    circle = KeyCircle(mechanism)
    zero = behind_one[:, None] * circle.hidden
    behind = _multiplied(zero, r, most)
    alike = np.flatnonzero(pairs[0] == pairs[1])
    found = np.zeros(pairs.shape[1])
    m = np.arange(1, len(behind))
    for i in alike:
        shown = pairs[1, i]
        counted = np.arange(max(shown - mechanism.reach, 0), shown + mechanism.reach + 1)
        a, between = (grid.ravel() for grid in np.meshgrid(counted, m, indexing="ij"))
        can = (mechanism.probability(shown, a) > 0) & (mechanism.probability(shown, a + between) > 0)
        a, between = a[can], between[can]
        published = np.full(len(a), shown)
        somebody = circle.joint((a, published), behind, between, (a + between, published)) @ prior[a]
        nobody = behind[0, 0].real * (prior[counted] @ mechanism.probability(shown, counted))
        found[i] = nobody / (nobody + somebody) if nobody > 0 else 0.0
    return found


def _multiplied(one: NDArray[Any], n: int, most: int) -> NDArray[Any]:
    """The weights of a sum of `n` counts, up to `most`: one line a count, multiplied column by column."""
    out, power = np.ones((1, one.shape[1]), dtype=one.dtype), one[: most + 1]
    while n:
        if n % 2:
            out = _convolved(out, power)[: most + 1]
        power, n = _convolved(power, power)[: most + 1], n // 2
    return out


def _convolved(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    out = np.zeros((len(a) + len(b) - 1, a.shape[1]), dtype=a.dtype)
    for i, line in enumerate(a):
        out[i : i + len(b)] += line * b
    return out
