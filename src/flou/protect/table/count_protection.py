"""What the protections that move counts share: no sums beside them, and margins that add up if asked.

Each count is moved by itself, so that tables do not add up. Cell keys and noise offer a repair (`additive = "repair"`):
the moved figures, and nothing else, are adjusted until they do (`additivity`): whoever has the published table could do
so too, so nothing more is disclosed. It has its price, which is reported: the bound of a single cell's deviation no
longer holds, a cell may be shown differently in two tables, and no mechanism of single cells describes the result.
Rounding offers none: all cells are rounded together instead (`controlled`).

Exact sums of amounts would tell by how much the counts beside them were moved: they are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.table.cells import Published
from flou.describe.table.coordinates import hash_coordinates
from flou.describe.table.table import Table
from flou.describe.table.table_set import tables_of
from flou.engine.errors import DataError
from flou.engine.note import Note
from flou.engine.randomness import Draws, keyed_hash
from flou.engine.release import Outcome
from flou.protect.table.additivity import count_open_margins, restore_additivity
from flou.protect.table.protection import TableGuarantee, TableProtection

#: Whether margins are made to add up.
Additive = Literal["no", "repair"]


class CountProtection(TableProtection):
    """A protection that moves each count by itself.

    A subclass implements `_moved` and `_cell_promises`, and `_allowed` where it offers a repair.
    """

    def _moved(self, table: Table, draw: Draws) -> NDArray[Any]:
        """The figures that each cell gets by itself."""
        raise NotImplementedError

    @property
    def _allowed(self) -> tuple[int, int]:
        """Which counts beside 0 may be shown: the least, and the step from one to the next."""
        raise NotImplementedError

    @property
    def _repairs(self) -> bool:
        """Whether margins are made to add up; a subclass has a parameter `additive`."""
        return getattr(self, "additive", "no") == "repair"

    def _cell_promises(self) -> Sequence[TableGuarantee]:
        """What is guaranteed of each cell by itself, which a repair would break."""
        raise NotImplementedError

    def _lasting_promises(self) -> Sequence[TableGuarantee]:
        """What is guaranteed of each cell, repaired or not."""
        return ()

    def _mechanism_of(self, table: Table) -> Mechanism | None:
        return None if self._repairs or table.cells.weighted is not None else self.mechanism

    def _publish(self, table: Table, draw: Draws) -> Published:
        moved = self._moved(table, draw)
        if not self._repairs:
            return Published(count=moved)
        if table.cells.weighted is not None:
            raise DataError(
                'additive = "repair" makes whole numbers add up, and the table shows weighted estimates. Tabulate '
                'without weight=, or set additive = "no".'
            )
        least, step = self._allowed
        return Published(count=restore_additivity(table, moved, least=least, step=step))

    def _promises(self) -> Sequence[TableGuarantee]:
        first = (AddsUp(),) if self._repairs else ()
        own = () if self._repairs else self._cell_promises()
        return (*first, *own, *self._lasting_promises(), ZerosStay(), NoSums())

    def _notes(self, tables: Sequence[Table]) -> Sequence[Note]:
        return (*tell_of_sums(tables), *self._own_notes())

    def _own_notes(self) -> Sequence[Note]:
        """What a method says of its parameters."""
        return ()

    def _protect(self, data: Any, draw: Draws) -> Outcome:
        weighted = {table.cells.weighted is not None for table in tables_of(data)}
        if len(weighted) > 1:
            raise DataError(
                "The set has weighted and unweighted tables: side by side they would tell each cell's mean weight, "
                "and with it the true number of contributors. Publish the ones or the others."
            )
        outcome = super()._protect(data, draw)
        return self._with_costs(outcome, draw) if self._repairs else outcome

    def _with_costs(self, outcome: Outcome, draw: Draws) -> Outcome:
        return with_costs(outcome, np.concatenate([self._moved(table, draw) for table in tables_of(outcome.data)]))


def with_costs(outcome: Outcome, before: NDArray[Any]) -> Outcome:
    """The outcome of a repair with what it changed, and what that did to the deviations from the true counts."""
    tables = tables_of(outcome.data)
    after = np.concatenate([table.published_counts for table in tables])
    true = np.concatenate([table.true_counts for table in tables])
    change = np.abs(after - before)
    figures = {
        "n_repaired": int((change > 0).sum()),
        "mean_repair": float(change.mean()),
        "largest_repair": int(change.max(initial=0)),
        "mean_deviation_before_repair": float(np.abs(before - true).mean()),
    }
    told = Note(
        "{n} of {cells} cells were changed to make margins add up, by {mean} on average over all cells and by "
        "{largest} at most; the same cell may be shown differently in another table",
        {
            "n": figures["n_repaired"],
            "cells": len(change),
            "mean": round(figures["mean_repair"], 3),
            "largest": figures["largest_repair"],
        },
        internal=True,  # beside the listed cells, the number of all tells how many somebody is in and show zero
    )
    notes = [*outcome.notes, told]
    if len(tables) > 1:
        figures["n_inconsistent"] = _count_inconsistent(tables)
        text = "{n} cells that stand in several of the tables are not shown alike in all of them"
        notes.append(Note(text, {"n": figures["n_inconsistent"]}))
    return replace(outcome, figures={**outcome.figures, **figures}, notes=tuple(notes))


class AddsUp(TableGuarantee):
    """What a repair promises."""

    text = "every margin is the sum of its parts"

    def wrong(self, table: Table) -> int:
        return count_open_margins(table)


class ZerosStay(TableGuarantee):
    """Empty cells are shown as such."""

    text = "a cell that nobody is in is shown as zero"

    def wrong(self, table: Table) -> int:
        return int(((table.true_counts == 0) & (table.published_counts != 0)).sum())


class NoSums(TableGuarantee):
    """Counts are shown alone."""

    text = "no sum of amounts is shown beside the counts"

    def wrong(self, table: Table) -> int:
        return 0 if table.published_values is None else table.n_cells


def tell_of_sums(tables: Sequence[Table]) -> Sequence[Note]:
    """What is left out of the tables, if anything."""
    text = "the sums of {columns} are not published: beside the counts they would tell how far these were moved"
    columns = sorted({t.value_name for t in tables if t.cells.value is not None and t.value_name})
    return (Note(text, {"columns": ", ".join(columns)}),) if columns else ()


def _count_inconsistent(tables: Sequence[Table]) -> int:
    """How many cells stand in several tables with different figures."""
    key = bytes(16)  # nothing is secret here: cells are only told apart
    names = np.concatenate([hash_coordinates(table, lambda texts: keyed_hash(texts, key)) for table in tables])
    shown = np.concatenate([table.published_counts for table in tables])
    places = np.unique(names, return_inverse=True)[1]
    low = np.full(places.max(initial=-1) + 1, np.iinfo(np.int64).max)
    high = np.full(len(low), -1, dtype=np.int64)
    np.minimum.at(low, places, shown)
    np.maximum.at(high, places, shown)
    return int((low != high).sum())
