"""An intruder of its own making: bounds on withheld cells from the public frame, by SciPy, without any of Flou's code.

Unknown are the finest cells that the published categories make. A listed cell is the sum of those inside it: equal to
its figure where that is shown, at least 1 where a count is withheld in a table that shows its zeros. A cell that is not
listed is empty. Counts are whole numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

#: A dimension is a list of zonings, a zoning a list of columns from coarse to fine.
Dims = Sequence[Sequence[Sequence[str]]]
#: A cell: the labels of each dimension's columns.
Key = tuple[tuple[str, ...], ...]
TOTAL = "Total"


def text_of(dims: Dims) -> list[str]:
    """The dimensions as `tabulate` takes them."""
    return ["|".join(">".join(zoning) for zoning in dim) for dim in dims]


def key_of(line: Mapping[str, Any], dims: Dims) -> Key:
    """The cell of a line of a table's frame."""
    return tuple(tuple(str(line[c]) for zoning in dim for c in zoning) for dim in dims)


def cells_of(record: Mapping[str, str], dims: Dims) -> list[Key]:
    """All cells that a record is in, margins included."""
    return list(itertools.product(*[_nodes(record, dim) for dim in dims]))


def _nodes(record: Mapping[str, str], dim: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    columns = [c for zoning in dim for c in zoning]
    found = [tuple(TOTAL for _ in columns)]
    for zoning in dim:
        for depth in range(1, len(zoning) + 1):
            known = set(zoning[:depth])
            found.append(tuple(record[c] if c in known else TOTAL for c in columns))
    return found


def contributions(records: Iterable[Mapping[str, Any]], dims: Dims) -> dict[Key, list[Mapping[str, Any]]]:
    """The records of each cell."""
    found: dict[Key, list[Mapping[str, Any]]] = {}
    for record in records:
        for key in cells_of(record, dims):
            found.setdefault(key, []).append(record)
    return found


def lone_cells(inside: Mapping[Key, Sequence[Mapping[str, Any]]], withheld: Sequence[Key], who: str) -> list[set[Key]]:
    """The withheld cells that each contributor is alone in."""
    found: dict[Any, set[Key]] = {}
    for key in withheld:
        names = {record[who] for record in inside.get(key, ())}
        if len(names) == 1:
            found.setdefault(names.pop(), set()).add(key)
    return list(found.values())


def others_part(inside: Sequence[Mapping[str, Any]], own: set[Key], all_inside: Mapping[Key, Any], who: str) -> float:
    """What others give of a cell, where a contributor who knows `own` gives more than half of it; else 1."""
    if not own:
        return 1.0
    name = all_inside[next(iter(own))][0][who]
    total = sum(record["amount"] for record in inside)
    mine = sum(record["amount"] for record in inside if record[who] == name)
    return 1 - mine / total if 2 * mine > total else 1.0


class Intruder:
    """Who sees the lines of a public table, knows how its dimensions nest, and can compute."""

    def __init__(self, lines: Sequence[Mapping[str, Any]], dims: Dims, figure: str, *, least: float = 0.0) -> None:
        self.cells = {key_of(line, dims): line for line in lines}
        self._keys, self._figure, self._least = list(self.cells), figure, least
        self.withheld = [key for key, line in self.cells.items() if line["status"] == "suppressed"]
        levels = {_level(key) for key in self.cells}
        self._inside: dict[Key, list[int]] = {key: [] for key in self.cells}
        self._n_atoms = 0
        for record in self._atoms(dims):
            above = [key for key in cells_of(record, dims) if _level(key) in levels]
            if all(key in self.cells for key in above):
                for key in above:
                    self._inside[key].append(self._n_atoms)
                self._n_atoms += 1
        self._matrix = self._sums(self._keys)

    def _atoms(self, dims: Dims) -> Iterable[dict[str, str]]:
        parts = []
        for j, dim in enumerate(dims):
            at = 0
            for zoning in dim:
                held = slice(at, at + len(zoning))
                leaves = sorted({key[j][held] for key in self.cells if key[j][held][-1] != TOTAL})
                parts.append([dict(zip(zoning, leaf, strict=True)) for leaf in leaves])
                at += len(zoning)
        for chosen in itertools.product(*parts):
            yield {column: label for part in chosen for column, label in part.items()}

    def _sums(self, keys: Sequence[Key]) -> csr_array:
        rows = np.repeat(np.arange(len(keys)), [len(self._inside[key]) for key in keys])
        columns = np.array([atom for key in keys for atom in self._inside[key]], dtype=np.int64)
        return csr_array((np.ones(len(columns)), (rows, columns)), shape=(len(keys), self._n_atoms))

    def bounds(self, key: Key, known: Mapping[Key, float] | None = None) -> tuple[float, float]:
        """Between what a cell lies, for somebody who knows some withheld figures as well."""
        held = [self._known(k, known or {}) for k in self._keys]
        low, high = np.array(held, dtype=np.float64).T
        whole = self._figure == "count"
        scale = 1.0 if whole else max(float(low.max()), 1e-300)
        slack = 0.0 if whole else 1e-11
        cost = self._sums([key]).toarray()[0]
        found = []
        for sign in (1.0, -1.0):
            answer = milp(
                sign * cost,
                constraints=LinearConstraint(self._matrix, low / scale - slack, high / scale + slack),
                integrality=np.full(len(cost), int(whole)),
                bounds=Bounds(0, np.inf),
            )
            if answer.x is None:
                assert "unbounded" in answer.message.lower(), answer.message
                found.append(-sign * np.inf)
            else:
                found.append(sign * answer.fun * scale)
        return found[0], found[1]

    def _known(self, key: Key, known: Mapping[Key, float]) -> tuple[float, float]:
        if key in known:
            return known[key], known[key]
        line = self.cells[key]
        if line["status"] == "suppressed":
            return self._least, np.inf
        return line[self._figure], line[self._figure]


def _level(key: Key) -> tuple[tuple[bool, ...], ...]:
    return tuple(tuple(label != TOTAL for label in node) for node in key)
