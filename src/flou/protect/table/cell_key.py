"""The cell key method (Fraser & Wooton 2005; Enderle, Giessing & Tent 2018; Jamme 2025): noise by contributors.

Each record has a lasting key; the sum of the keys of a cell's records decides, through a public transition
matrix, by how much the count is moved. A cell with the same people in it is therefore moved in the same way in
every table, at any time and on any engine, and asking again tells nothing more. Noise is unbiased and at most
D; zeros stay zero; counts from 1 to js are never shown.

Tables do not add up any more: each cell is moved by itself. It does not protect sums of amounts, which are left
out of what is published; nor against an intruder who has the record keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import Field

from flou.describe.mechanism.transition_matrix import TransitionMatrix
from flou.describe.table.cells import Published
from flou.describe.table.table import Table
from flou.engine.errors import DataError
from flou.engine.note import Note
from flou.engine.randomness import Draws
from flou.protect.table.protection import Promise, TableProtection


class CellKey(TableProtection):
    """Move each count by noise that its contributors' keys decide."""

    title: ClassVar[str] = "Cell key method"
    reference: ClassVar[str] = "fraser2005"

    D: int = Field(description="largest deviation of a count")
    V: float = Field(description="variance of the deviation, at most")
    js: int = Field(0, description="counts from 1 to js are never published")
    stack: tuple[int, float] | None = Field(None, description="deviation and variance of large counts, if others")

    @cached_property
    def mechanism(self) -> TransitionMatrix:
        """The transition matrix."""
        return TransitionMatrix(self.D, self.V, self.js, self.stack)

    def _publish(self, table: Table, draw: Draws) -> Published:
        if table.cells.key is None:
            raise DataError(
                "The table has no cell keys, so its noise would have to be drawn at each call and could be averaged "
                "away. Give each record a key first: keyed = flou.record_keys(people, secret=…); keyed.tabulate(…)."
            )
        moved = self.mechanism.deviations(table.true_counts, table.cells.key)
        return Published(count=table.true_counts + moved)

    def _promises(self) -> Sequence[Promise]:
        return (
            (Note("No count is moved by more than {D}", {"D": self.mechanism.reach}), self._too_far),
            (Note("A cell that nobody is in is shown as zero"), _zeros_moved),
        )

    def _too_far(self, table: Table) -> int:
        return int((np.abs(table.published_counts - table.true_counts) > self.mechanism.reach).sum())


def _zeros_moved(table: Table) -> int:
    return int(((table.true_counts == 0) & (table.published_counts != 0)).sum())
