"""Tables by plain loops over records, for comparison: every cell keeps the list of its records.

A dimension is given as functions that read a record's labels, zoning by zoning, coarse to fine; nothing of
Flou is used. A cell is the tuple of its labels, in the order of the shown columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Record = Mapping[str, Any]
Labels = tuple[str, ...]
TOTAL = "Total"


@dataclass(frozen=True)
class Dim:
    """A dimension: how it is written, the columns it needs, the columns it shows, and its zonings."""

    text: str
    needs: tuple[str, ...]
    shows: tuple[str, ...]
    zonings: tuple[tuple[Callable[[Record], str], ...], ...]

    def nodes(self, record: Record, *, margins: bool) -> set[Labels]:
        """The labels of every category that a record is in."""
        found = {(TOTAL,) * len(self.shows)} if margins else set()
        at = 0
        for path in self.zonings:
            full = [read(record) for read in path]
            for depth in range(1 if margins else len(path), len(path) + 1):
                labels = [TOTAL] * len(self.shows)
                labels[at : at + depth] = full[:depth]
                found.add(tuple(labels))
            at += len(path)
        return found


def column(name: str) -> Callable[[Record], str]:
    return lambda record: "?" if record[name] is None else str(record[name])


def band(name: str, width: int) -> Callable[[Record], str]:
    def read(record: Record) -> str:
        low = record[name] // width * width
        return f"{low}-{low + width - 1}"

    return read


#: Dimensions of the records of `test_tabulate_brute`.
DIMS = (
    Dim("sex", ("sex",), ("sex",), ((column("sex"),),)),
    Dim(
        "region>department",
        ("region", "department"),
        ("region", "department"),
        ((column("region"), column("department")),),
    ),
    Dim("department", ("department",), ("department",), ((column("department"),),)),
    Dim("commune|district", ("commune", "district"), ("commune", "district"), ((column("commune"),), (column("district"),))),
    Dim(
        "region>department|district",
        ("region", "department", "district"),
        ("region", "department", "district"),
        ((column("region"), column("department")), (column("district"),)),
    ),
    Dim("age", ("age",), ("age",), ((column("age"),),)),
    Dim("age@1", ("age",), ("age@1",), ((band("age", 5),),)),
    Dim("age@decade", ("age",), ("age@decade",), ((band("age", 10),),)),
    Dim("age@2>age@1>age", ("age",), ("age@2", "age@1", "age"), ((band("age", 10), band("age", 5), column("age")),)),
    Dim("age@*", ("age",), ("age@decade", "age@five", "age"), ((band("age", 10), band("age", 5), column("age")),)),
    Dim("age@2>age", ("age",), ("age@2", "age"), ((band("age", 10), column("age")),)),
    Dim("age@1|commune", ("age", "commune"), ("age@1", "commune"), ((band("age", 5),), (column("commune"),))),
)  # fmt: skip


def cells_by_hand(
    records: Iterable[Record], dims: Sequence[Dim], margins: Sequence[bool]
) -> dict[Labels, list[Record]]:
    """The records of each cell that somebody is in."""
    found: dict[Labels, list[Record]] = {}
    for record in records:
        nodes = [sorted(dim.nodes(record, margins=m)) for dim, m in zip(dims, margins, strict=True)]
        for chosen in itertools.product(*nodes):
            found.setdefault(tuple(label for node in chosen for label in node), []).append(record)
    return found


def possible_by_hand(
    records: Sequence[Record],
    dims: Sequence[Dim],
    margins: Sequence[bool],
    declared: Mapping[str, Sequence[Any]],
    incoherent: Sequence[Mapping[str, Any]],
) -> dict[Labels, bool]:
    """Every cell that the categories make, and whether somebody can be in it."""
    parts: list[list[Record]] = []
    for dim in dims:
        seen = {tuple(r[c] for c in dim.needs) for r in records}
        if len(dim.needs) == 1:
            seen |= {(v,) for v in declared.get(dim.needs[0], ())}
        parts.append([dict(zip(dim.needs, values, strict=True)) for values in seen])
    found: dict[Labels, bool] = {}
    for chosen in itertools.product(*parts):
        person = {k: v for part in chosen for k, v in part.items()}
        ruled_out = any(all(c in person and person[c] == v for c, v in rule.items()) for rule in incoherent)
        for cell in cells_by_hand([person], dims, margins):
            found[cell] = found.get(cell, False) or not ruled_out
    for cell in cells_by_hand(records, dims, margins):
        found[cell] = True
    return found


def exact(amounts: Iterable[float]) -> Fraction:
    return sum((Fraction(a) for a in amounts), Fraction(0))


def largest_by_hand(contributions: Iterable[tuple[float, ...]], most: int) -> list[tuple[float, ...]]:
    """The largest in absolute value; of equal ones the positive first, then those of larger weight."""
    return sorted(contributions, key=lambda c: (-abs(c[0]), *(-x for x in c)))[:most]
