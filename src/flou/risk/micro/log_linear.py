"""Log-linear models of a contingency table, fitted by maximum likelihood on all of its cells.

A formula names margins: `sex + age`, `sex * age`, `sex:age + region`. A Poisson model whose covariates are
categories is fitted when the margins of the fit equal those of the table (Birch 1963), so iterative
proportional fitting reaches the estimate with one array of the size of the table: 10^6 cells take tens of
milliseconds a cycle, where a design matrix would have 10^6 rows. Structural zeros start, and stay, at zero; where they
make the fit creep, Newton's method takes over (`newton`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import NotConvergedError, ParameterError, did_you_mean
from flou.risk.micro import newton

Table = NDArray[Any]
#: A margin of a model: positions of columns, in order.
Term = tuple[int, ...]

#: Cycles of the fit, and how far the fitted margins may be from those of the table at the end (as a share of n).
MAX_CYCLES = 500
_TOLERANCE = 1e-10
#: Cycles after which a model that creeps is handed to Newton's method.
_PATIENCE = 25


@dataclass(frozen=True, eq=False)
class Fit:
    """Fitted means of every cell, and how the fit went."""

    means: Table
    terms: tuple[Term, ...]
    deviance: float
    pearson: float
    n_parameters: int
    n_cells: int
    n_cycles: int

    @property
    def degrees(self) -> int:
        """Cells less parameters."""
        return self.n_cells - self.n_parameters


def parse(formula: str, columns: Sequence[str]) -> tuple[Term, ...]:
    """The largest margins of a formula; `main` and `two-way` stand for all of their kind."""
    everyone = range(len(columns))
    if formula == "main":
        return tuple((j,) for j in everyone)
    if formula == "two-way":
        return tuple(combinations(everyone, 2)) if len(columns) > 1 else ((0,),)
    found: list[Term] = []
    for part in re.split(r"\+", formula.partition("~")[2] or formula):
        names = [n.strip() for n in re.split(r"[*:]", part)]
        if not all(names):
            raise ParameterError(f"The formula {formula!r} has an empty term. Write it like sex + age * region.")
        for name in names:
            if name not in columns:
                raise ParameterError(f"The formula names {name!r}, which is not a key.{did_you_mean(name, columns)}")
        found.append(tuple(sorted({columns.index(n) for n in names})))
    return largest(found)


def largest(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Terms that are part of no other: a model with a : b has a and b as well."""
    distinct = sorted(set(terms), key=lambda t: (-len(t), t))
    kept: list[Term] = []
    for term in distinct:
        if not any(set(term) <= set(other) for other in kept):
            kept.append(term)
    return tuple(sorted(kept))


def describe(terms: Sequence[Term], columns: Sequence[str]) -> str:
    """A formula for people."""
    return " + ".join(" * ".join(columns[j] for j in term) for term in terms)


def fit(table: Table, terms: Sequence[Term], possible: Table | None = None, start: Table | None = None) -> Fit:
    """Fit a model whose margins are `terms`; `possible` is false where a cell cannot have anybody."""
    axes = [tuple(j for j in range(table.ndim) if j not in term) for term in terms]
    observed = [table.sum(axis=a, keepdims=True) for a in axes]
    n = float(table.sum())
    if start is not None:
        means = start.astype(np.float64)
    else:
        means = np.ones(table.shape) if possible is None else possible.astype(np.float64)
    tolerance, far = _TOLERANCE * n, np.inf
    for cycle in range(1, MAX_CYCLES + 1):
        far = 0.0
        for axis, wanted in zip(axes, observed, strict=True):
            held = means.sum(axis=axis, keepdims=True)
            far = max(far, float(np.abs(held - wanted).max()))
            means *= np.divide(wanted, held, out=np.zeros_like(held), where=held > 0)
        if far <= tolerance and cycle > 1:
            break
        if cycle == _PATIENCE and _suits_newton(table, terms):
            means, far = newton.improve(table, means, terms, 1e-7 * n)
            tolerance = 1e-6 * n
            break
    if not far <= tolerance:
        raise NotConvergedError(
            f"The log-linear model did not converge: after {cycle} cycles a margin is still {far:,.3g} records off, "
            f"and the deviance is {_distance(table, means)[0]:,.4g}. There is no estimate; take a simpler formula, "
            "coarser keys, or fewer incoherent combinations."
        )
    return Fit(means, tuple(terms), *_distance(table, means), *_size(terms, table, possible), cycle)


def _suits_newton(table: Table, terms: Sequence[Term]) -> bool:
    """Whether the margins of every two terms fit in memory, and all of them at each cell."""
    n_parameters = sum(int(np.prod([table.shape[j] for j in term])) for term in terms)
    return n_parameters <= newton.MAX_PARAMETERS and table.size * len(terms) <= newton.MAX_ENTRIES


def _distance(table: Table, means: Table) -> tuple[float, float]:
    """Deviance and Pearson's statistic."""
    held = table > 0
    deviance = 2.0 * (float((table[held] * np.log(table[held] / means[held])).sum()) - float(table.sum() - means.sum()))
    room = means > 0
    pearson = float(((table[room] - means[room]) ** 2 / means[room]).sum())
    return deviance, pearson


def _size(terms: Sequence[Term], table: Table, possible: Table | None) -> tuple[int, int]:
    """Parameters (one for each effect of the model's terms and their parts) and cells."""
    parts = {part for term in terms for size in range(len(term) + 1) for part in combinations(term, size)}
    n_parameters = sum(int(np.prod([table.shape[j] - 1 for j in part])) for part in parts)
    n_cells = table.size if possible is None else int(possible.sum())
    return min(n_parameters, n_cells), n_cells
