"""What a report is about: a file, what was made of it, what was measured, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flou.decide.verdict import Verdict
from flou.describe.microdata import Microdata
from flou.describe.overview import Overview
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet
from flou.engine.data import data_kind
from flou.engine.note import Note
from flou.engine.release import Release
from flou.engine.result import Result

#: Of fewer cells a percentage with one decimal would count them: one who knows all but one could tell the last. What
#: is measured speaks of small counts and of zeros, so there must be as many of these.
_ENOUGH_CELLS, _SMALL = 1000, 10


@dataclass(frozen=True, eq=False)
class Subject:
    """All that a report shows, whoever reads it."""

    original: Microdata
    release: Release
    results: tuple[Result, ...]
    verdict: Verdict | None
    title: Mapping[str, str]
    #: What is different from a former file; None where none was named.
    changed: Sequence[Note] | None
    #: How the files were written.
    written: Sequence[Note]
    #: The original, and the released file as anybody sees it; of tables there is none.
    original_overview: Overview
    released_overview: Overview | None

    @cached_property
    def records(self) -> Microdata:
        """The protected records: the release, or those that its tables were made of, as far as it is known."""
        data = self.release.data
        return data if isinstance(data, Microdata) else data.kin.records or self.original

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The released tables; none where the release is a file of records."""
        data = self.release.data
        return data.tables if isinstance(data, TableSet) else (data,) if isinstance(data, Table) else ()

    @cached_property
    def published_tables(self) -> tuple[Table, ...]:
        """The same as the public gets them."""
        return tuple(table.public() for table in self.tables)

    @property
    def is_sample(self) -> bool:
        """Whether the release is a sample, whose frame protects it."""
        return not self.tables and self.release.data.kin.frame is not None

    @property
    def is_suppressed(self) -> bool:
        """Whether a suppression protects the tables, all of them."""
        return bool(self.tables) and all(table.suppression is not None for table in self.tables)

    @cached_property
    def withholds(self) -> bool:
        """Whether some cells are listed without a figure."""
        return any((table.status == "suppressed").any() for table in self.published_tables)

    @cached_property
    def has_few_cells(self) -> bool:
        """Whether figures that were computed from the true counts would tell of single cells."""
        if not self.tables:
            return False
        counts = np.concatenate([table.published_counts for table in self.published_tables])
        n_small, n_zeros = int(((counts > 0) & (counts <= _SMALL)).sum()), int((counts == 0).sum())
        return n_small < _ENOUGH_CELLS or 0 < n_zeros < _ENOUGH_CELLS

    @property
    def is_keyed(self) -> bool:
        """Whether keys of records decided the noise: nothing was drawn, and yet nobody without them can repeat it."""
        return any("cell keys" in step.method.requires for step in self.release.steps)

    def publishes(self, column: str) -> bool:
        """Whether a column is in the published file, or a dimension of a table."""
        data = self.release.data
        if not self.tables:
            return column in data.columns and column not in data.schema.hidden
        dims = {shown for table in self.tables for shown in table.columns}
        return any(shown in (column, f"{column}@{shown.rpartition('@')[2]}") for shown in dims)

    @cached_property
    def closed(self) -> frozenset[str | None]:
        """Columns that are not published; what tables add up is published with them."""
        added_up = {table.weight_name for table in self.tables}
        added_up |= {table.value_name for table in self.published_tables if table.published_values is not None}
        known = {*self.original.columns, *self.records.columns}
        return frozenset({column for column in known if not self.publishes(column)} - added_up)

    def lies_behind(self, result: Result) -> bool:
        """Whether a result speaks of the records behind tables."""
        return bool(self.tables) and not speaks_of_tables(result)


def speaks_of_tables(result: Result) -> bool:
    """Whether a result was measured on tables."""
    return data_kind(getattr(result, "data", None)) in ("table", "table set")
