"""A dimension of a table: its nodes, from the total to the finest categories of each zoning.

Node 0 is the total. The others stand in the order of a walk through the tree, each zoning after the
other, so that a table sorted by nodes reads as offices print it. A node is known by its labels, one for
each shown column: the department 59 is `region = "32", department = "59"`, its region has the total's
label for the department.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.engine import native
from flou.engine.errors import DataError, HierarchyError, listed

Codes = NDArray[np.int32]
#: What stands in the place of a category where a cell sums over all of them.
TOTAL = "Total"


@dataclass(frozen=True, eq=False)
class Dimension:
    """The categories of a dimension and how they nest."""

    name: str
    #: The columns that show it, coarse to fine, zoning after zoning.
    columns: tuple[str, ...]
    #: One line a node, one column each of `columns`.
    labels: pl.DataFrame
    #: The node above each node; -1 for the total.
    parents: Codes
    #: The number of the node's zoning; -1 for the total.
    zonings: Codes
    #: Steps below the total.
    depths: Codes
    #: How many levels each zoning has.
    levels: tuple[int, ...]
    total: str = TOTAL
    #: The one name of each column's level, however it was asked for; as they are shown where nothing else is known.
    names: tuple[str, ...] = ()
    #: The categories of coarser levels that are one value under its own name: (the level's name, label) and the column.
    values: Mapping[tuple[str, str], str] = field(default_factory=dict)
    #: Whether its categories are known to everybody, whoever is in the data.
    declared: bool = False

    @property
    def n_nodes(self) -> int:
        return len(self.parents)

    @cached_property
    def is_finest(self) -> NDArray[np.bool_]:
        """Whether a node has no other below it; branches may differ in depth."""
        finest = np.ones(self.n_nodes, dtype=np.bool_)
        finest[self.parents[1:]] = False
        finest[0] = False
        return finest

    @property
    def n_zonings(self) -> int:
        return len(self.levels)

    def up_to(self, depth: int) -> Codes:
        """The node of a depth at or above each node; nodes above that depth stay."""
        nodes = np.arange(self.n_nodes, dtype=np.int32)
        while (deeper := self.depths[nodes] > depth).any():
            nodes = np.where(deeper, self.parents[nodes], nodes).astype(np.int32)
        return nodes

    @cached_property
    def is_short_branch(self) -> NDArray[np.bool_]:
        """Which nodes are a single value, and stand above the last level of their zoning."""
        first, names = np.cumsum([0, *self.levels]), self.names or self.columns
        short = np.zeros(self.n_nodes, dtype=np.bool_)
        for node in np.flatnonzero(self.is_finest) if self.values else []:
            zoning, depth = self.zonings[node], self.depths[node]
            name = names[first[zoning] + depth - 1]
            short[node] = depth < self.levels[zoning] and (name, self.categories[node]) in self.values
        return short

    @cached_property
    def reaches(self) -> Codes:
        """The level down to which each node stands: the last one for a single value, its own depth for any other."""
        last = np.array([*self.levels, 0])[self.zonings]
        return np.where(self.is_short_branch, last, self.depths).astype(np.int32)

    def at_level(self, depth: int) -> NDArray[np.bool_]:
        """The nodes that are a category of a level, 0 for the total: those of a shorter branch are so on all levels."""
        return np.asarray((self.depths == depth) | (self.is_short_branch & (self.depths < depth)))

    @cached_property
    def full_labels(self) -> pl.DataFrame:
        """The labels of the nodes, where a short branch repeats its last one down to the last level."""
        repeated = pl.Series(self.categories, dtype=pl.String)
        ended = pl.Series(self.is_short_branch)
        own = [self.zonings == self.zoning_of(column) for column in self.columns]
        return self.labels.with_columns(
            pl.when(ended & pl.Series(held) & (pl.col(column) == self.total))
            .then(repeated)
            .otherwise(pl.col(column))
            .alias(column)
            for column, held in zip(self.columns, own, strict=True)
        )

    def zoning_of(self, column: str) -> int:
        """The number of the zoning that a column shows."""
        return int(np.repeat(np.arange(self.n_zonings), self.levels)[self.columns.index(column)])

    @cached_property
    def categories(self) -> NDArray[np.object_]:
        """Each node's own label: that of the finest column that is not a total."""
        own = [[label for label in row if label != self.total] for row in self.labels.rows()]
        return np.array([labels[-1] if labels else self.total for labels in own], dtype=object)

    def category(self, node: int) -> str:
        return str(self.categories[node])

    def pruned(self, used: Codes) -> tuple[Dimension, Codes]:
        """The dimension without categories that no cell has, and the nodes of the cells in it."""
        kept = np.zeros(self.n_nodes, dtype=np.bool_)
        kept[0] = True
        nodes = np.unique(used)
        while len(nodes):
            kept[nodes] = True
            nodes = np.unique(self.parents[nodes])
            nodes = nodes[(nodes >= 0) & ~kept[nodes]]
        place = np.cumsum(kept, dtype=np.int32) - 1
        parents = np.where(self.parents[kept] < 0, -1, place[self.parents[kept]]).astype(np.int32)
        labels = native.compact(nw.from_native(self.labels.filter(kept), eager_only=True)).to_native()
        made = replace(self, labels=labels, parents=parents, zonings=self.zonings[kept], depths=self.depths[kept])
        # that a category occurs is told by nothing else
        shown = set(made.categories)
        made = replace(made, values={held: column for held, column in self.values.items() if held[1] in shown})
        return made, place[used].astype(np.int32)

    def __repr__(self) -> str:
        return f"Dimension({self.name!r}, {self.n_nodes - 1:,} categories and the total)"


def build_dimension(
    name: str,
    zonings: Sequence[tuple[tuple[str, ...], Codes, tuple[Sequence[str], ...]]],
    total: str = TOTAL,
    *,
    declared: bool = False,
) -> tuple[Dimension, list[Codes]]:
    """A dimension from its atoms, and for each zoning the finest node of each atom.

    A zoning is (shown columns, codes of the atoms by level, labels by level); atoms are the finest
    combinations of all its columns. A code of -1 ends a path: a category of which nothing below is known.
    """
    columns = tuple(c for shown, _, _ in zonings for c in shown)
    nodes = [np.full((1, len(columns)), -1, dtype=np.int64)]
    finest: list[Codes] = []
    zoning_of, depth_of, parent_of, n_nodes = [np.array([-1])], [np.array([0])], [np.array([-1])], 1
    at = 0
    for number, (shown, codes, labels) in enumerate(zonings):
        _require_nested(name, shown, codes, labels)
        paths, depths, parents, places = _walk(codes)
        wide = np.full((len(paths), len(columns)), -1, dtype=np.int64)
        wide[:, at : at + len(shown)] = paths
        nodes.append(wide)
        zoning_of.append(np.full(len(paths), number))
        depth_of.append(depths)
        parent_of.append(np.where(parents < 0, 0, parents + n_nodes))
        finest.append((places + n_nodes).astype(np.int32))
        n_nodes += len(paths)
        at += len(shown)
    stacked = np.concatenate(nodes)
    texts = [labels for _, _, by_level in zonings for labels in by_level]
    shown_labels = {column: _labelled(stacked[:, j], texts[j], column, total) for j, column in enumerate(columns)}
    dimension = Dimension(
        name=name,
        columns=columns,
        labels=pl.DataFrame(shown_labels),
        parents=np.concatenate(parent_of).astype(np.int32),
        zonings=np.concatenate(zoning_of).astype(np.int32),
        depths=np.concatenate(depth_of).astype(np.int32),
        levels=tuple(len(shown) for shown, _, _ in zonings),
        total=total,
        declared=declared,
    )
    return dimension, finest


def _labelled(codes: NDArray[np.int64], texts: Sequence[str], column: str, total: str) -> pl.Series:
    if total in texts:
        raise DataError(
            f'The column {column!r} has a category {total!r}, the label of totals. Give totals another: total="All".'
        )
    known = pl.Series(column, [*texts, total], dtype=pl.String)
    return known.gather(np.where(codes < 0, len(texts), codes))


def _require_nested(name: str, shown: tuple[str, ...], codes: Codes, labels: tuple[Sequence[str], ...]) -> None:
    """Each category lies in one of the level above."""
    for (j, coarse), (_, fine) in pairwise(enumerate(shown)):
        pairs = np.unique(codes[codes[:, j + 1] >= 0][:, [j + 1, j]], axis=0)
        children, n_parents = np.unique(pairs[:, 0], return_counts=True)
        torn = children[n_parents > 1]
        if len(torn):
            child = torn[0]
            parents = [labels[j][p] for p in pairs[pairs[:, 0] == child, 1]]
            raise HierarchyError(
                f"The dimension {name!r} is not nested: {fine} {labels[j + 1][child]!r} lies in several of {coarse}: "
                f"{listed(parents)} ({len(torn):,} of {len(children):,} are torn in this way). Each needs one parent; "
                f'zonings that do not nest stand side by side: "{coarse}|{fine}".'
            )


def _walk(codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """All nodes of a zoning in the order of a walk: paths, depths, parents, and the finest node of each atom."""
    n_levels = codes.shape[1]
    levels = []
    for depth in range(1, n_levels + 1):
        known = np.unique(codes[codes[:, depth - 1] >= 0, :depth], axis=0)
        padded = np.full((len(known), n_levels), -1, dtype=np.int64)
        padded[:, :depth] = known
        levels.append(padded)
    paths = np.concatenate(levels)
    depths = np.concatenate([np.full(len(p), d + 1) for d, p in enumerate(levels)])
    order = np.lexsort(paths.T[::-1])
    paths, depths = paths[order], depths[order]
    # in the order of a walk the parent is the last node before that is one step nearer to the total
    parents, nearer = np.full(len(paths), -1), np.full(len(paths), -1)
    for depth in range(1, n_levels + 1):
        here = depths == depth
        parents[here] = nearer[here]
        nearer = np.maximum.accumulate(np.where(here, np.arange(len(paths)), -1))
    return paths, depths, parents, _places(paths, depths, codes)


def _places(paths: NDArray[np.int64], depths: NDArray[np.int64], codes: Codes) -> NDArray[np.int64]:
    """The place of the path of each atom."""
    n_levels = codes.shape[1]
    leaves = np.flatnonzero(depths == n_levels)
    # nested, so the finest code alone tells the leaf
    by_code = np.zeros(int(codes[:, -1].max(initial=0)) + 1, dtype=np.int64)
    by_code[paths[leaves, -1]] = leaves
    places = by_code[codes[:, -1]]
    ended = np.flatnonzero(codes[:, -1] < 0)
    if len(ended):
        # paths are in order, so that the rank of one among those that end early tells its place
        short = np.flatnonzero(depths < n_levels)
        _, ranks = np.unique(np.concatenate([paths[short], codes[ended]]), axis=0, return_inverse=True)
        places[ended] = short[ranks.reshape(-1)[len(short) :]]
    return places
