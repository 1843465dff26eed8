"""What the protections of tables share: one table or a set of them, and the mechanism that travels with the result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.table.cells import Floats, Published
from flou.describe.table.seen import left_out_categories
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet, tables_of
from flou.engine.data import DataKind
from flou.engine.errors import DataError
from flou.engine.guarantee import Guarantee
from flou.engine.note import Note
from flou.engine.protection import Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome


class TableGuarantee(Guarantee):
    """A promise of every published table, proven on one or on a set. A subclass implements `wrong`."""

    @abstractmethod
    def wrong(self, table: Table) -> int:
        """How many cells of a table break the promise."""

    def violations(self, data: Table | TableSet) -> int:
        return sum(self.wrong(table) for table in tables_of(data))


class TableProtection(Protection):
    """A protection of tables. A subclass implements `_publish` and `_promises` and, where it has one, `mechanism`."""

    takes: ClassVar[tuple[DataKind, ...]] = ("table", "table set")

    @property
    def mechanism(self) -> Mechanism | None:
        """What it makes of a true count, for measures and attacks; None where that is not a matter of one cell."""
        return None

    def _mechanism_of(self, table: Table) -> Mechanism | None:
        """The mechanism that travels with a published table; None where its figures are not those of one."""
        return self.mechanism

    def _publish(self, table: Table, draw: Draws) -> Published:
        """What may be seen of a table."""
        raise NotImplementedError

    def _protected(self, table: Table, draw: Draws) -> Table:
        """The table with what may be seen of it; a suppression adds its reasons."""
        return table.with_changes(published=self._publish(table, draw), mechanism=self._mechanism_of(table))

    def _promises(self) -> Sequence[TableGuarantee]:
        """What is guaranteed of every published table."""
        return ()

    def _notes(self, tables: Sequence[Table]) -> Sequence[Note]:
        """What a user should know of the protected tables."""
        return ()

    def _protect(self, data: Any, draw: Draws) -> Outcome:
        tables = tables_of(data)
        require_unprotected(tables)
        return self._outcome(data, [self._protected(table, draw) for table in tables], self._promises())

    def _outcome(self, data: Any, done: Sequence[Table], promises: Sequence[TableGuarantee]) -> Outcome:
        """The protected tables with what was changed and what is promised of them."""
        moved = np.concatenate([_deviations(table) for table in done])
        seen = moved[~np.isnan(moved)]
        return Outcome(
            data=data.with_tables(done) if isinstance(data, TableSet) else done[0],
            guarantees=tuple(promises),
            changes=(Change("count", int((moved != 0).sum())),),  # a cell that is withheld is NaN, and changed
            figures={
                "n_cells": len(moved),
                "n_changed": int((moved != 0).sum()),
                "mean_deviation": float(np.abs(seen).mean()) if len(seen) else 0.0,
                "largest_deviation": float(np.abs(seen).max(initial=0.0)),
            },
            notes=(*self._notes(done), *_tell_of_categories(done)),
        )


def require_unprotected(tables: Sequence[Table]) -> None:
    """Refuse tables of which figures are published already."""
    for table in tables:
        if table.published is not None:
            raise DataError(
                f"The table{f' {table.name!r}' if table.name else ''} is protected already, and would be so a "
                "second time with less than both promise. Start from the table as it was made."
            )


def _deviations(table: Table) -> Floats:
    """By how much each figure was moved, that of the sums where no counts are published; NaN where it is withheld."""
    if table.published is not None and not table.published.counted:
        return table.published.figure - table.true_values
    true = table.true_counts if table.cells.weighted is None else table.cells.weighted
    moved: Floats = (table.published_counts - true).astype(np.float64)
    return moved


def _tell_of_categories(tables: Sequence[Table]) -> Sequence[Note]:
    """What is left out of tables of all cells: it would tell that a category occurs."""
    left_out, n_cells = set(), 0
    for table in tables:
        found, n = left_out_categories(table)
        left_out |= {(dim.columns, dim.labels.row(node)) for dim, node in found}
        n_cells += n
    if not left_out:
        return ()
    # categories of several levels cannot be declared
    of = sorted({columns[0] for columns, _ in left_out if len(columns) == 1})
    text = (
        "{n} categories that only zeros show are left out, with {cells} cells: declare them as modalities of {columns} "
        "if everybody knows that they exist"
        if of
        else "{n} categories that only zeros show are left out, with {cells} cells"
    )
    return (Note(text, {"n": len(left_out), "cells": n_cells, "columns": ", ".join(of)}, internal=True),)
