"""What a suppression says of each cell, for those who protect: its state, why, and what the audit of the table found.

None of it is for the public, which is told only that a cell is suppressed: which cells are primary tells an intruder
that their figures are small or dominated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.cells import Ints


class State(IntEnum):
    """What is done with a cell: shown; shown since the office said so; empty; withheld; withheld to protect others."""

    PUBLISHED = 0
    KEPT = 1
    ZERO = 2
    PRIMARY = 3
    SECONDARY = 4

    @property
    def word(self) -> str:
        """The name that tables show."""
        return self.name.lower()


@dataclass(frozen=True, eq=False)
class Audit:
    """What an intruder can compute of a table with suppressed cells, as far as it was looked at."""

    #: How many primary cells were looked at, and how many of them somebody can compute exactly or too narrowly.
    n_primary: int
    n_exact: int
    n_narrow: int
    #: The intruders that were tried: an outsider, and everyone who is alone in a cell.
    n_attackers: int
    n_programs: int
    #: One line a disclosed cell: `cell`, `by`, `figure`, `kind` (exact or narrow), `low`, `high`, `needed_low`,
    #: `needed_high`.
    findings: pl.DataFrame = field(repr=False)
    #: The cells that were withheld when it was made; it says nothing of another pattern.
    hidden: NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def n_disclosed(self) -> int:
        return self.n_exact + self.n_narrow


@dataclass(frozen=True, eq=False)
class Suppression:
    """The pattern of a protected table with its reasons."""

    #: A `State` for each cell.
    states: NDArray[np.uint8]
    #: Why cells are primary: one text a rule, and for each cell which of them hold.
    reasons: tuple[str, ...] = ()
    because: NDArray[np.bool_] | None = None
    #: For each secondary cell the primary one for which it was suppressed first; -1 elsewhere.
    protects: Ints | None = None
    audit: Audit | None = None
    #: Which search found the pattern and what it was asked for, as plain figures.
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Which cells are withheld."""
        return self.states >= State.PRIMARY

    def words(self) -> pl.Series:
        """The state of each cell by name."""
        names = np.array([state.word for state in State], dtype=object)
        return pl.Series("status", names[self.states].tolist(), dtype=pl.String)

    def counted(self) -> dict[str, int]:
        """How many cells are in each state."""
        n = np.bincount(self.states, minlength=len(State))
        return {state.word: int(n[state]) for state in State}
