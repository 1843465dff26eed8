"""Small populations in tables with noise by keys, and the chance of what is shown by sets of people, in plain Python."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import polars as pl

import flou
from flou.attack.table.rebuild.case import Case, read_case
from flou.describe.table.table_set import TableSet

VALUES = {"u": ["a", "b", "c"], "v": ["x", "y"], "w": ["k", "l"]}
_TOTAL = "Total"


def publish(
    people: list[dict[str, str]],
    dims: list[list[str]],
    protection: Any,
    seed: int,
    values: dict[str, list[str]] = VALUES,
) -> TableSet:
    """Tables of these people with margins, protected by the keys of their records; cells that nobody is in as well."""
    names = [name for name in values if any(name in d for d in dims)]
    frame = pl.DataFrame({"pid": np.arange(len(people)) + 1, **{n: [p[n] for p in people] for n in names}})
    data = flou.Microdata(frame, id="pid", keys=names, modalities={n: values[n] for n in names})
    tables = flou.tabulate_many(flou.record_keys(data, secret=seed), dims, cells="all")
    return protection.protect(tables, secret=seed).data


def figures_of(tables: TableSet) -> list[tuple[Any, dict[str, str], int]]:
    """What is shown: the mechanism, the values that a cell fixes, and the figure."""
    found = []
    for table in tables:
        frame = table.public().to_frame()
        labels = [c for c in frame.columns if c not in ("count", "status")]
        for line in frame.select(*labels, "count").rows():
            fixed = {c: v for c, v in zip(labels, line[:-1], strict=True) if v != _TOTAL}
            found.append((table.mechanism, fixed, line[-1]))
    return found


def log_chance(figures: list[tuple[Any, dict[str, str], int]], people: list[dict[str, str]]) -> float:
    """The log chance of all figures if these are the people: one draw a set of people, sets being sets of persons."""
    drawn: dict[tuple[str, frozenset[int]], tuple[int, Any]] = {}
    for mechanism, fixed, shown in figures:
        inside = frozenset(i for i, p in enumerate(people) if all(p[k] == v for k, v in fixed.items()))
        if drawn.setdefault((mechanism.name, inside), (shown, mechanism))[0] != shown:
            return -math.inf
    total = 0.0
    for (_, inside), (shown, mechanism) in drawn.items():
        chance = dict(zip(mechanism.targets(len(inside)).tolist(), mechanism.row(len(inside)).tolist(), strict=True))
        if chance.get(shown, 0.0) <= 0.0:
            return -math.inf
        total += math.log(chance[shown])
    return total


def combinations_of(case: Case) -> list[dict[str, str]]:
    """The values of each cell of the attribute product."""
    return case.universe.frame(np.arange(case.universe.n_cells)).to_dicts()


def every_population(n_cells: int, n_most: int) -> list[tuple[int, ...]]:
    """The cells of the people of every population of up to so many."""
    return [who for n in range(n_most + 1) for who in combinations_with_replacement(range(n_cells), n)]


def exact_presence(tables: TableSet, prior: np.ndarray, n_most: int) -> np.ndarray:
    """The chance that somebody is in each cell, over all populations; numbers of people are equally likely."""
    case = read_case(tables)
    combos, figures = combinations_of(case), figures_of(tables)
    presence, whole = np.zeros(len(combos)), 0.0
    for who in every_population(len(combos), n_most):
        log = log_chance(figures, [combos[c] for c in who])
        if log == -math.inf:
            continue
        counts = np.bincount(np.array(who, dtype=np.int64), minlength=len(combos))
        log += math.lgamma(len(who) + 1) + float((counts * np.log(prior)).sum())
        log -= sum(math.lgamma(c + 1) for c in counts.tolist())
        presence += math.exp(log) * (counts > 0)
        whole += math.exp(log)
    return presence / whole


def draw_people(seed: int, n: int, names: list[str], values: dict[str, list[str]] = VALUES) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    combos = [dict(zip(names, line, strict=True)) for line in product(*[values[n] for n in names])]
    return [combos[i] for i in rng.choice(len(combos), n, p=rng.dirichlet(np.ones(len(combos))))]
