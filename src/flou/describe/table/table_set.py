"""Tables that belong together: made of the same records, protected and published together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from flou.describe.table.table import Table
from flou.engine import native
from flou.engine.content import content_of
from flou.engine.data import DataKind, Kin, Marks
from flou.engine.errors import ParameterError, did_you_mean, listed
from flou.engine.release import Trail

if TYPE_CHECKING:
    from flou.describe.mechanism.mechanism import Mechanism
    from flou.describe.table.cells import Ints
    from flou.describe.table.flags import Flags
    from flou.engine.output import Formulas


@dataclass(frozen=True, eq=False, repr=False)
class TableSet:
    """Several tables, by name and in order."""

    data_kind: ClassVar[DataKind] = "table set"

    tables: tuple[Table, ...]
    marks: Marks = field(default_factory=Marks)
    trail: Trail | None = None
    kin: Kin = field(default_factory=Kin)

    @classmethod
    def of(cls, tables: Sequence[Table]) -> TableSet:
        """A set of tables; those without a name get a number."""
        if not tables or not all(isinstance(t, Table) for t in tables):
            raise ParameterError("A TableSet needs a list of at least one flou.Table.")
        named = [t if t.name else t.with_changes(name=f"table {i + 1}") for i, t in enumerate(tables)]
        names = [t.name for t in named]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ParameterError(f"Two tables of the set are called {listed(twice)}: each needs a name of its own.")
        marks = Marks(
            released=any(t.marks.released for t in named),
            test_only=any(t.marks.test_only for t in named),
            synthetic=all(t.marks.synthetic for t in named),
        )
        return cls(tuple(named), marks)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(t.name for t in self.tables)

    def __getitem__(self, which: str | int) -> Table:
        if isinstance(which, int):
            return self.tables[which]
        if which not in self.names:
            raise KeyError(f"The set has no table {which!r}.{did_you_mean(which, self.names)}")
        return self.tables[self.names.index(which)]

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def released(self) -> bool:
        return self.marks.released

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c for t in self.tables for c in t.columns))

    @property
    def n_records(self) -> int:
        """The number of cells: what the records of tables are."""
        return sum(t.n_cells for t in self.tables)

    @property
    def n_cells(self) -> int:
        return self.n_records

    @property
    def native_kind(self) -> native.Kind:
        return self.tables[0].native_kind

    @property
    def mechanism(self) -> Mechanism | None:
        """What produced the published figures; None where they are the true ones."""
        return self.tables[0].mechanism

    def histogram(self) -> tuple[Ints, Ints]:
        """The true counts of all tables together, as `Table.histogram` gives them for one."""
        parts = [t.histogram() for t in self.tables]
        counts, place = np.unique(np.concatenate([c for c, _ in parts]), return_inverse=True)
        n = np.zeros(len(counts), dtype=np.int64)
        np.add.at(n, place, np.concatenate([n for _, n in parts]))
        return counts, n

    def with_tables(self, tables: Sequence[Table]) -> TableSet:
        """The same set after a protection changed its tables."""
        return replace(self, tables=tuple(tables))

    def to_frame(self, *, reveal: bool = False) -> dict[str, Any]:
        """The frame of each table, by name."""
        return {t.name: t.to_frame(reveal=reveal) for t in self.tables}

    def write(
        self,
        folder: str | PathLike[str],
        *,
        kind: str = "csv",
        overwrite: bool = False,
        unprotected: bool = False,
        flags: Flags = "status",
        formulas: Formulas = "escaped",
    ) -> None:
        """Write what would be published: a file for each table, or one workbook (`.xlsx`) with a sheet each."""
        from flou.describe.table.table_files import write_tables

        write_tables(
            self, folder, kind=kind, overwrite=overwrite, unprotected=unprotected, flags=flags, formulas=formulas
        )

    def public(self) -> TableSet:
        return replace(self, tables=tuple(t.public() for t in self.tables), kin=Kin())

    def marked(self, **marks: bool) -> TableSet:
        return replace(self, marks=self.marks.add(**marks), tables=tuple(t.marked(**marks) for t in self.tables))

    def with_trail(self, trail: Trail) -> TableSet:
        return replace(self, trail=trail)

    @property
    def content_id(self) -> str:
        """What the tables hold and publish, by content."""
        return content_of({"tables": [table.content_id for table in self.tables]})

    def with_kin(self, **kin: Any) -> TableSet:
        return replace(self, kin=replace(self.kin, **kin))

    def numbered(self) -> TableSet:
        return self

    def compacted(self) -> TableSet:
        return self

    def require_unchanged(self) -> None:
        """The cells are in memory: no file behind them can change."""

    def __getstate__(self) -> dict[str, Any]:
        return {**(self.public() if self.released else self).__dict__, "trail": None, "kin": Kin()}

    def __repr__(self) -> str:
        n_shown = sum(t.public().n_cells if t.hides_zeros else t.n_cells for t in self.tables)
        lines = [f"{len(self.tables)} tables, {n_shown:,} cells"]  # how many cells are left out is not told
        return "\n".join([*lines, *(f"  {t.name}: {t!r}" for t in self.tables)])


def tables_of(data: Table | TableSet) -> tuple[Table, ...]:
    """One table, or those of a set."""
    return data.tables if isinstance(data, TableSet) else (data,)
