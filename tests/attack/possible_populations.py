"""All populations that published tables leave possible, counted out one by one in plain Python.

Nothing of Flou is used but the tables as they are shown and the rows of its transition matrices: categories, cells,
sums, and what a mechanism can make of a count are written down here once more, from their definitions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import polars as pl

import flou

TOTAL = "Total"


@dataclass(frozen=True)
class World:
    """The values that each column can have, groups of the values of the first column, and impossible combinations."""

    values: dict[str, tuple[str, ...]]
    groups: dict[str, str] = field(default_factory=dict)
    rules: tuple[dict[str, str], ...] = ()
    #: The combinations that exist, where they do not follow from the values and rules.
    given: tuple[tuple[str, ...], ...] | None = None

    @cached_property
    def combos(self) -> list[tuple[str, ...]]:
        if self.given is not None:
            return list(self.given)
        columns = list(self.values)
        every = itertools.product(*self.values.values())
        return [c for c in every if not any(all(c[columns.index(k)] == v for k, v in r.items()) for r in self.rules)]

    def spoken_of(self, tables: list[list[str]]) -> World:
        """The world as far as tables speak of it: fewer columns, the first one by its groups if that is all they show."""
        dims = {dim for table in tables for dim in table}
        column = next(iter(self.values))
        finest = {dim.split(">")[-1] for dim in dims}
        kept = [c for c in self.values if c in finest or (c == column and f"{c}@big" in finest)]
        coarse = column in kept and column not in finest
        values = {c: self.values[c] for c in kept}
        if coarse:
            held = tuple(dict.fromkeys(self.groups[v] for v in values[column]))
            values = {f"{column}@big" if c == column else c: held if c == column else v for c, v in values.items()}
        return World(
            values, {} if coarse else self.groups, (), tuple(dict.fromkeys(self.seen(c, values) for c in self.combos))
        )

    def seen(self, combo: tuple[str, ...], values: Iterable[str]) -> tuple[str, ...]:
        """A combination as the columns `values` show it."""
        by_column = dict(zip(self.values, combo, strict=True))
        return tuple(self.groups[by_column[c[:-4]]] if c.endswith("@big") else by_column[c] for c in values)

    def microdata(self, people: list[tuple[str, ...]], *, keyed: bool = False, secret: int = 1) -> flou.Microdata:
        frame = {"pid": [f"p{i}" for i in range(len(people))]}
        frame |= {column: [p[j] for p in people] for j, column in enumerate(self.values)}
        more: dict[str, Any] = {}
        if self.groups:
            tree: dict[str, list[str]] = {}
            for value, group in self.groups.items():
                tree.setdefault(group, []).append(value)
            more["hierarchies"] = {next(iter(self.values)): flou.Hierarchy.tree(tree, names=["big"])}

        made = flou.Microdata(
            pl.DataFrame(frame), id="pid", keys=list(self.values), modalities=self.values,
            incoherent=list(self.rules), **more,
        )  # fmt: skip
        return flou.record_keys(made, secret=secret) if keyed else made


@dataclass(frozen=True)
class Cell:
    """A published cell: who is counted in it, its name wherever it stands, and what is shown (None: suppressed)."""

    inside: frozenset[int]
    name: tuple[tuple[str, str], ...]
    shown: int | None


def column_of(world: World, dim: str) -> str:
    return dim if dim in world.values else dim.split(">")[-1].split("@")[0]


def categories(world: World, dim: str, margins: bool) -> Iterator[tuple[tuple[str, ...], str, str, set[str]]]:
    """Labels of a dimension, the level and label that name them, and the values that they stand for."""
    column = column_of(world, dim)
    values = set(world.values[column])
    if margins:
        yield (TOTAL,) * (dim.count(">") + 1), "", "", values
    if ">" in dim:
        for group in sorted(set(world.groups.values())):
            held = {v for v, g in world.groups.items() if g == group}
            if margins:
                yield (group, TOTAL), f"{column}@", group, held
            for value in sorted(held):
                yield (group, value), column, value, {value}
    elif "@" in dim and dim != column:
        for group in sorted(set(world.groups.values())):
            yield (group,), f"{column}@", group, {v for v, g in world.groups.items() if g == group}
    else:
        for value in sorted(values):
            yield (value,), column, value, {value}


def published_cells(world: World, dims: list[str], margins: bool, table: flou.Table) -> list[Cell]:
    """Every cell of a table; those that are not listed are shown as zero."""
    frame = table.to_frame()
    n_labels = sum(d.count(">") + 1 for d in dims)
    shown = {row[:n_labels]: row[n_labels] for row in frame.rows()}
    columns = list(world.values)
    out = []
    for parts in itertools.product(*(list(categories(world, d, margins)) for d in dims)):
        labels = tuple(label for part in parts for label in part[0])
        inside = set(range(len(world.combos)))
        for dim, part in zip(dims, parts, strict=True):
            j = columns.index(column_of(world, dim))
            inside &= {i for i, combo in enumerate(world.combos) if combo[j] in part[3]}
        name = tuple(sorted((part[1], part[2]) for part in parts if part[1]))
        out.append(Cell(frozenset(inside), name, shown.pop(labels, 0)))
    assert not shown, f"cells that nobody expected: {shown}"
    return out


def shapes_listed(world: World, dims: list[str], margins: bool, table: flou.Table) -> bool:
    """Whether at least one cell of each combination of levels is listed, so that all of them are seen to be published."""
    n_labels = sum(d.count(">") + 1 for d in dims)
    listed = {tuple(label == TOTAL for label in row[:n_labels]) for row in table.to_frame().rows()}
    every = itertools.product(*(list(categories(world, d, margins)) for d in dims))
    return listed == {tuple(label == TOTAL for part in parts for label in part[0]) for parts in every}


@dataclass(frozen=True)
class Rule:
    """What a protection makes of a count: `kind` is none, nearest, random, keys (random by keys), cellkey, withheld."""

    kind: str
    base: int = 0
    matrix: tuple[int, float, int] = (0, 0.0, 0)

    def chance(self, true: int, shown: int | None) -> float:
        if self.kind == "withheld" and shown is None:
            return 1.0 if true >= 1 else 0.0
        assert shown is not None
        if self.kind in ("none", "withheld"):
            return float(true == shown)
        if self.kind == "nearest":
            return float((2 * true + self.base) // (2 * self.base) * self.base == shown)
        if self.kind in ("random", "keys"):
            low, rest = true - true % self.base, true % self.base
            return {low: 1 - rest / self.base, low + self.base: rest / self.base}.get(shown, 0.0)
        return matrix_row(self.matrix, true).get(shown, 0.0)

    @property
    def keyed(self) -> bool:
        return self.kind in ("keys", "cellkey")


@lru_cache(maxsize=4096)
def matrix_row(matrix: tuple[int, float, int], true: int) -> dict[int, float]:
    held = flou.TransitionMatrix(*matrix)
    return dict(zip(held.targets(true).tolist(), held.row(true).tolist(), strict=True))


@dataclass
class Possible:
    """The populations (counts of each combination) that fit, with the cells that they were compared with."""

    world: World
    cells: list[Cell]
    rule: Rule
    most: int
    populations: list[tuple[int, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        n = len(self.world.combos)
        allowed = [
            {t: c for t in range(self.most + 1) if (c := self.rule.chance(t, cell.shown)) > 0} for cell in self.cells
        ]
        tops = [max(held, default=-1) for held in allowed]
        touching = [[k for k, cell in enumerate(self.cells) if i in cell.inside] for i in range(n)]
        counts, sums = [0] * n, [0] * len(self.cells)

        def descend(i: int, left: int) -> None:
            if i == n:
                if all(s in held for s, held in zip(sums, allowed, strict=True)):
                    self.populations.append(tuple(counts))
                return
            for more in range(left + 1):
                if more and any(sums[k] + more > tops[k] for k in touching[i]):
                    break
                counts[i] = more
                for k in touching[i]:
                    sums[k] += more
                descend(i + 1, left - more)
                for k in touching[i]:
                    sums[k] -= more
            counts[i] = 0

        if min(tops, default=0) >= 0:
            descend(0, self.most)

    def alike(self, population: tuple[int, ...]) -> bool:
        """Whether cells of the same people show the same: what keys make sure of."""
        seen: dict[frozenset[int], int | None] = {}
        for cell in self.cells:
            who = frozenset(i for i in cell.inside if population[i])
            if seen.setdefault(who, cell.shown) != cell.shown:
                return False
        return True

    @cached_property
    def strict(self) -> list[tuple[int, ...]]:
        """Populations that also respect what keys make sure of."""
        return [p for p in self.populations if self.alike(p)] if self.rule.keyed else self.populations

    def log_likelihood(self, population: tuple[int, ...]) -> float:
        """Each cell counts once wherever it stands: by its name, or by keys by the people in it."""
        once: dict[Any, float] = {}
        for cell in self.cells:
            who: Any = cell.name
            if self.rule.keyed:
                who = frozenset(i for i in cell.inside if population[i])
            once[who] = self.rule.chance(sum(population[i] for i in cell.inside), cell.shown)
        return sum(math.log(c) if c else -math.inf for c in once.values())

    @staticmethod
    def least(populations: list[tuple[int, ...]]) -> list[int]:
        return [min(p[i] for p in populations) for i in range(len(populations[0]))]

    @staticmethod
    def ends(populations: list[tuple[int, ...]], inside: set[int]) -> tuple[int, int]:
        sums = [sum(p[i] for i in inside) for p in populations]
        return min(sums), max(sums)
