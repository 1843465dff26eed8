"""Ladders: a key's hierarchy as integers, level by level.

A value of a key has a code; each level says to which code of that level it belongs and how many leaves of the
hierarchy that one stands for. At the root all are one, also null and the codes that are not applicable, which
keep a place of their own below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flou.describe.hierarchy import ROOT, Hierarchy
from flou.describe.microdata import Microdata
from flou.engine.errors import HierarchyError, listed
from flou.engine.keys import KeyTable
from flou.engine.values import text_of

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ladder:
    """One key: for each level the code of every value, the label and the number of leaves of every code."""

    column: str
    #: The values that the codes stand for; null, where it occurs, is the last.
    values: list[object]
    #: For each level from 0 to the root: value code → code at that level.
    up: tuple[Codes, ...]
    #: For each level: code at that level → what is shown.
    labels: tuple[list[object], ...]
    #: For each level: code at that level → leaves of the hierarchy below it.
    leaves: tuple[Ints, ...]
    #: The number of leaves of the whole hierarchy.
    domain: int

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.up) - 1

    def shown(self, level: int) -> Codes:
        """Value code → code at a level, -1 where null is shown."""
        if level == self.height or self.values[-1:] != [None]:
            return self.up[level]
        return np.append(self.up[level][:-1], np.int32(-1))

    def texts(self, level: int) -> list[str | None]:
        """What is shown at a level, as text."""
        return [None if v is None else text_of(v) for v in self.labels[level]]

    def leaves_of_values(self, level: int) -> Ints:
        """Value code → leaves that its ancestor at a level stands for."""
        return self.leaves[level][self.up[level]]


def ladders(data: Microdata, table: KeyTable, no_hierarchy: str = "refuse") -> tuple[tuple[Ladder, ...], Codes]:
    """The ladder of each key of a file, and the codes of its distinct keys: one row a key column."""
    bare = [c for c in table.columns if c not in data.schema.hierarchies]
    if bare and no_hierarchy == "refuse":
        raise HierarchyError(
            f"These keys have no hierarchy, so they cannot be generalised: {listed(bare)}. Declare one in the schema "
            f"(flou.Hierarchy.suggest(people, {bare[0]!r}) makes a first one), or have them shown or hidden as a whole "
            'with no_hierarchy = "suppress".'
        )
    codes = table.codes.T.copy()  # the table's own stay as they are
    made = []
    for j, column in enumerate(table.columns):
        known = table.categories[j]
        with_null = bool((codes[j] < 0).any())
        codes[j][codes[j] < 0] = len(known)
        made.append(_ladder(data, column, known, with_null))
    return tuple(made), codes


def _ladder(data: Microdata, column: str, known: list[object], with_null: bool) -> Ladder:
    hierarchy = data.schema.hierarchies.get(column)
    kept = {text_of(v) for v in data.schema.not_applicable.get(column, ())}
    domain = _domain(data, column, known, hierarchy)
    leaves_below = {text_of(v) for v in domain} | kept
    n_domain = len(leaves_below) + with_null
    values = [*known, None] if with_null else list(known)
    texts = [None if v is None else text_of(v) for v in values]
    # the leaves of the hierarchy and, should it miss any, values that occur or are declared: it will say so
    declared = data.declared_modalities.get(column, ())
    asked = list({text_of(v): v for v in (*domain, *declared, *known)}.values())
    up = [np.arange(len(values), dtype=np.int32)]
    labels: list[list[object]] = [values]
    leaves = [np.ones(len(values), dtype=np.int64)]
    for level in range(1, hierarchy.height if hierarchy is not None else 1):
        assert hierarchy is not None
        above = generalised(hierarchy, column, asked, level, kept)
        n_leaves: dict[str, int] = {}
        if clash := kept & {label for leaf, label in above.items() if leaf not in kept}:
            raise HierarchyError(
                f"The key {column!r}: {listed(sorted(clash))} is a code that is not applicable and also the name of a "
                "group: a reader could not tell them apart. Rename the group."
            )
        for leaf in leaves_below:
            label = above.get(leaf, leaf)
            n_leaves[label] = n_leaves.get(label, 0) + 1
        shown: dict[object, int] = {}
        code = [shown.setdefault(None if t is None else above[t], len(shown)) for t in texts]
        up.append(np.array(code, dtype=np.int32))
        labels.append(list(shown))
        leaves.append(np.array([1 if name is None else n_leaves.get(str(name), 1) for name in shown], dtype=np.int64))
    up.append(np.zeros(len(values), dtype=np.int32))
    labels.append([ROOT])
    leaves.append(np.array([n_domain], dtype=np.int64))
    return Ladder(column, values, tuple(up), tuple(labels), tuple(leaves), n_domain)


def _domain(data: Microdata, column: str, known: Sequence[object], hierarchy: Hierarchy | None) -> list[object]:
    """The leaves of a hierarchy: those of its table, else the values that are declared or occur."""
    if hierarchy is not None and hierarchy.table:
        return [leaf for leaf, _ in hierarchy.table]
    declared = {text_of(v): v for v in (*data.declared_modalities.get(column, ()), *known)}
    return list(declared.values())


def generalised(hierarchy: Hierarchy, column: str, values: list[object], level: int, kept: set[str]) -> dict[str, str]:
    """The text of each value → what it is at a level."""
    try:
        above = hierarchy.generalise(values, level, keep=kept)
    except HierarchyError as error:
        raise HierarchyError(f"The key {column!r}: {error}") from None
    return {text_of(value): text_of(label) for value, label in above.items()}
