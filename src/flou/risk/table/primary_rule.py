"""What the primary rules share: which cells of a table are sensitive, and how far an intruder's bounds must stay away.

A rule says of each cell whether it may be shown, and if not by how much an intruder's upper bound must exceed the true
figure and the lower one fall short of it (`Levels`), or how wide the interval between them must be (`sliding`).
Levels speak of the counts or of the sums of a table: a table that shows both must protect both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Floats
from flou.describe.table.table import Table
from flou.engine.data import DataKind
from flou.engine.method import RiskMeasure

#: The figures of a table that an intruder may compute.
Figure = Literal["count", "value"]


@dataclass(frozen=True, eq=False)
class Levels:
    """How far from the true figure an intruder's bounds must stay; 0 where nothing is asked for."""

    lower: Floats
    upper: Floats
    sliding: Floats

    @classmethod
    def none(cls, n_cells: int) -> Levels:
        """Levels that ask for nothing."""
        return cls(*(np.zeros(n_cells) for _ in range(3)))

    def joined(self, other: Levels) -> Levels:
        """What both ask for."""
        return Levels(
            np.maximum(self.lower, other.lower),
            np.maximum(self.upper, other.upper),
            np.maximum(self.sliding, other.sliding),
        )


@dataclass(frozen=True, eq=False)
class Sensitive:
    """Which cells are primary by one rule or several, and the levels of each figure that the rules speak of."""

    cells: NDArray[np.bool_]
    levels: Mapping[Figure, Levels]
    #: The rules by name, and which cells each of them holds sensitive.
    reasons: tuple[str, ...]
    because: NDArray[np.bool_]


class PrimaryRule(RiskMeasure):
    """A rule that finds sensitive cells. A subclass implements `sensitive`; `measure` counts what it finds."""

    takes: ClassVar[tuple[DataKind, ...]] = ("table",)

    @property
    def label(self) -> str:
        """The rule as people write it: `p% (10)`."""
        raise NotImplementedError

    def sensitive(self, table: Table) -> Sensitive:
        """Which cells are sensitive, and their levels."""
        raise NotImplementedError


def combine(rules: Sequence[PrimaryRule], table: Table) -> Sensitive:
    """Cells that are sensitive by any of the rules, with the largest levels that these ask for."""
    found = [rule.sensitive(table) for rule in rules]
    levels: dict[Figure, Levels] = {}
    for one in found:
        for figure, asked in one.levels.items():
            levels[figure] = levels[figure].joined(asked) if figure in levels else asked
    return Sensitive(
        cells=np.any([one.cells for one in found], axis=0) if found else np.zeros(table.n_cells, dtype=np.bool_),
        levels=levels,
        reasons=tuple(reason for one in found for reason in one.reasons),
        because=np.concatenate([one.because for one in found], axis=1)
        if found
        else np.zeros((table.n_cells, 0), dtype=np.bool_),
    )
