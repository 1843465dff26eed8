"""How many cells with one shown child there will be, and what they will tell, before anything is published.

The office knows the true counts, so the chances of a mechanism give what is expected over its draws: of each family of
children the chance that one alone is shown with people in it, and that its parent is then published like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flou.describe.mechanism.mechanism import Mechanism
from flou.risk.table.families import group_cells
from flou.risk.table.key_circle import KeyCircle

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Chances below this count as none.
_NEVER = 1e-9
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@dataclass(frozen=True, eq=False)
class Children:
    """Children that may be the only one that is shown, and those beside them."""

    count: Integers
    #: The true count of the parent.
    parent: Integers
    family: Integers
    #: Children that the table does not list, and nobody is in.
    n_unlisted: Integers

    @classmethod
    def of(cls, tables: Sequence[Any]) -> Children:
        """The children of each cell that is listed, along every dimension, where they are two and more."""
        parts, n_families = [], 0
        for table in tables:
            true = np.asarray(table.true_counts, dtype=np.int64)
            for along in range(len(table.dims)):
                families = group_cells(table, along)
                group = families.group
                held = (group >= 0) & families.possible
                held &= (families.n_possible[group] >= 2) & (families.total[group] >= 0)
                n_unlisted = families.n_possible - np.bincount(group[held], minlength=len(families.n_possible))
                which = group[held]
                parts.append((true[held], true[families.total[which]], which + n_families, n_unlisted[which]))
                n_families += len(families.n_possible)
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def expect(self, mechanism: Mechanism) -> tuple[float, float | None]:
        """Cells that prove a zero false, and the chance that zeros are true where parent and child are alike.

        None where no such cell is expected.
        """
        shared = mechanism.shared_by == "contributors"
        alone = self._chances_alone(mechanism)
        some = np.flatnonzero(alone > _NEVER)
        between = self.parent[some] - self.count[some]
        shown = 1 - mechanism.probability([0], self.count[some])
        if shared:
            alike = alone[some] * shown
            alike[between > 0] = self._alike_by_keys(mechanism, some[between > 0])
        else:
            alike = alone[some] * _alike_by_cells(mechanism, self.count[some], between)
        told = float((alone[some] * shown - alike)[between > 0].sum()) if shared else 0.0
        return told, float(alike[between == 0].sum() / alike.sum()) if alike.sum() > 0 else None

    def _chances_alone(self, mechanism: Mechanism) -> Floats:
        """For each child the chance that all others are shown as zero."""
        hidden = mechanism.probability([0], self.count)
        n = int(self.family.max(initial=-1)) + 1
        n_shown = np.bincount(self.family, hidden == 0, n)[self.family] - (hidden == 0)
        logs = np.log(np.where(hidden > 0, hidden, 1.0))
        zero = float(np.log(max(mechanism.probability([0], [0])[0], _NEVER)))
        others = np.bincount(self.family, logs, n)[self.family] - logs + self.n_unlisted * zero
        return np.where(n_shown == 0, np.exp(others), 0.0)

    def _alike_by_keys(self, mechanism: Mechanism, those: Integers) -> Floats:
        """The chance that the others are shown as zero, and parent and child alike and not as zero."""
        circle, count = KeyCircle(mechanism), self.count[those]
        rest = self._fingerprints[self.family[those]] - _fingerprint(count)
        rows = [mechanism.row_of(count), mechanism.row_of(self.parent[those])]
        # beyond the noise counts of one row differ in nothing
        kinds = np.stack([rest.view(np.int64), *rows, np.minimum(count, mechanism.reach + 1)])
        _, first, place = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
        order = np.argsort(self.family, kind="stable")
        starts, ends = (np.searchsorted(self.family[order], self.family[those[first]], side) for side in _SIDES)
        found = np.empty(len(first))
        for i, (child, start, end) in enumerate(
            zip(those[first].tolist(), starts.tolist(), ends.tolist(), strict=True)
        ):
            others = order[start:end]
            found[i] = _alike(circle, mechanism, int(self.count[child]), self.count[others[others != child]])
        return found[place.ravel()]

    @cached_property
    def _fingerprints(self) -> NDArray[np.uint64]:
        """For each family a number that is the same for families of the same counts."""
        out = np.zeros(int(self.family.max(initial=-1)) + 1, dtype=np.uint64)
        np.add.at(out, self.family, _fingerprint(self.count))
        return out


def _fingerprint(count: Integers) -> NDArray[np.uint64]:
    """Numbers whose sums tell apart different counts; nobody counts nothing."""
    mixed = count.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _alike(circle: KeyCircle, mechanism: Mechanism, a: int, others: Integers) -> float:
    """The same for one child and those beside it."""
    published = np.arange(max(1, a - mechanism.reach), a + mechanism.reach + 1)
    part, whole = np.full(len(published), a), np.full(len(published), a + int(others.sum()))
    can = (mechanism.probability(published, part) > 0) & (mechanism.probability(published, whole) > 0)
    rest = np.prod(circle.hidden[others], axis=0)[None, :]
    which = np.zeros(can.sum(), dtype=np.int64)
    return float(circle.joint((part[can], published[can]), rest, which, (whole[can], published[can])).sum())


def _alike_by_cells(mechanism: Mechanism, count: Integers, between: Integers) -> Floats:
    """The chance that a cell and its parent are published alike and not as zero, each being moved for itself."""
    pairs, place = np.unique(np.stack([count, between]), axis=1, return_inverse=True)
    found = np.empty(pairs.shape[1])
    for i, (a, m) in enumerate(pairs.T.tolist()):
        published = np.arange(max(1, a - mechanism.reach), a + mechanism.reach + 1)
        found[i] = mechanism.probability(published, a) @ mechanism.probability(published, a + m)
    return found[place.ravel()]
