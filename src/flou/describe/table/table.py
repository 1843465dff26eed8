"""A table: counts and sums by dimensions, with its margins, and what may be seen of it.

    table = people.tabulate(["region>department", "sex"])
    table.to_frame()                     # dims, count, value, status

The object is frozen; a protection makes a new one, which shows what would be published and keeps the true figures for
those who protect (`to_frame(reveal=True)`). The mechanism travels with it: intruders know it, so attacks must.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.cells import Cells, Floats, Ints, Published
from flou.describe.table.dimension import Dimension
from flou.describe.table.seen import all_combinations, listed_cells, public_table, status_words, told_of, withheld
from flou.describe.table.unseen_cells import Unlisted
from flou.engine import native
from flou.engine.calls import methods_in_words
from flou.engine.content import content_of_fields
from flou.engine.data import DataKind, Kin, Marks
from flou.engine.errors import DataError
from flou.engine.release import Trail
from flou.engine.tabulation import Listing

if TYPE_CHECKING:
    from flou.describe.mechanism.mechanism import Mechanism
    from flou.describe.schema import Schema
    from flou.describe.table.derived import Estimate
    from flou.describe.table.flags import Flags
    from flou.describe.table.suppression import Suppression
    from flou.engine.output import Formulas


@methods_in_words
@dataclass(frozen=True, eq=False)
class Table:
    """Cells by dimensions. Made by `Microdata.tabulate` or `Table.from_frame`."""

    data_kind: ClassVar[DataKind] = "table"

    dims: tuple[Dimension, ...]
    cells: Cells = field(repr=False)
    #: What is counted up, if anything: the columns of amounts and of weights.
    value_name: str | None = None
    weight_name: str | None = None
    #: Which cells are listed: those that somebody is in, or all that the categories make.
    listed: Listing = "occupied"
    #: The level combinations that the table has, by depths, besides those of the listed cells.
    combinations: tuple[tuple[int, ...], ...] = ()
    #: What unlisted cells tell, and whether empty ones may be suppressed, if anybody says so: see `unseen_cells`.
    unlisted: Unlisted = "zero"
    zeros_withheld: bool | None = None
    #: How many further cells the categories make, in which nobody is.
    n_unlisted_zeros: int = 0
    #: What everybody knows of the columns: their values, hierarchies, and combinations that cannot exist.
    schema: Schema | None = field(default=None, repr=False)
    published: Published | None = field(default=None, repr=False)
    #: Which cells a suppression withholds and why: for those who protect, never part of what is published.
    suppression: Suppression | None = field(default=None, repr=False)
    #: What made the published figures, cell by cell; None where they are true, or where nothing cell by cell did.
    mechanism: Mechanism | None = None
    marks: Marks = field(default_factory=Marks)
    trail: Trail | None = field(default=None, repr=False)
    kin: Kin = field(default_factory=Kin, repr=False)
    native_kind: native.Kind = "polars"
    name: str = ""

    def __post_init__(self) -> None:
        if self.suppression is not None:
            object.__setattr__(self, "published", withheld(self.published, self.suppression, self.n_cells))

    @classmethod
    def from_frame(
        cls, frame: object, dims: Sequence[str] | str, *, count: str = "count", value: str | None = None, **more: Any
    ) -> Table:
        """A table that is already counted; see `flou.describe.table.from_frame`."""
        from flou.describe.table.from_frame import table_from_frame

        return table_from_frame(frame, dims, count=count, value=value, **more)

    @classmethod
    def from_published(cls, frame: object, dims: Sequence[str] | str, **more: Any) -> Table:
        """A table that others published, true figures unknown; see `flou.describe.table.from_published`."""
        from flou.describe.table.from_published import table_from_published

        return table_from_published(frame, dims, **more)

    @classmethod
    def read(cls, path: str | PathLike[str], dims: Sequence[str] | str, **more: Any) -> Table:
        """A table from a CSV, Parquet, Arrow or Excel file; see `from_frame` for the rest."""
        from flou.describe.table.table_files import read_table

        return read_table(path, dims, **more)

    def write(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        unprotected: bool = False,
        flags: Flags = "status",
        formulas: Formulas = "escaped",
    ) -> None:
        """Write what would be published to a CSV, Parquet, Arrow or Excel file, by its ending.

        True counts are written only where `unprotected` says so. `flags` are codes of a cell's status: sdmx, eurostat.
        """
        from flou.describe.table.table_files import write_table

        write_table(self, path, overwrite=overwrite, unprotected=unprotected, flags=flags, formulas=formulas)

    def with_changes(self, **changes: Any) -> Table:
        """A table that differs in some of what it holds."""
        return replace(self, **changes)

    @property
    def released(self) -> bool:
        return self.marks.released

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the dimensions."""
        return tuple(c for dim in self.dims for c in dim.columns)

    @property
    def n_cells(self) -> int:
        return self.cells.n

    @property
    def n_records(self) -> int:
        """The number of cells: what a table's records are."""
        return self.cells.n

    @property
    def has_keys(self) -> bool:
        return self.cells.key is not None

    @property
    def true_counts(self) -> Ints:
        """How many records are in each cell; for those who protect."""
        if self.cells.count is None:
            raise DataError("This is a table as it was published: its true counts are not known.")
        return self.cells.count

    @property
    def true_values(self) -> Floats:
        """The sum of the amounts in each cell; for those who protect."""
        if self.cells.value is None:
            raise DataError("The table has no sums of amounts, or they are not known: tabulate with value=.")
        return self.cells.value

    @property
    def published_counts(self) -> NDArray[Any]:
        """The counts that may be seen: whole numbers, estimates where the table is weighted, NaN where withheld."""
        if self.published is not None:
            return self.published.count
        return self.true_counts if self.cells.weighted is None else self.cells.weighted

    @property
    def published_values(self) -> Floats | None:
        """The sums that may be seen."""
        return self.cells.value if self.published is None else self.published.value

    def histogram(self) -> tuple[Ints, Ints]:
        """The true counts that occur and how many cells have each, empty cells included as far as they are known."""
        counted = self.true_counts if self.cells.possible is None else self.true_counts[self.cells.possible]
        counts, n = np.unique(counted, return_counts=True)
        if self.n_unlisted_zeros:
            if not len(counts) or counts[0] != 0:
                counts, n = np.concatenate([[0], counts]), np.concatenate([[0], n])
            n[0] += self.n_unlisted_zeros
        return counts.astype(np.int64), n.astype(np.int64)

    @property
    def status(self) -> pl.Series:
        """What may be said of each cell: `published`, `zero`, `structural` (nobody can be in it), `suppressed`.

        It goes by what is published: which of the zeros are true, and why a cell is withheld, is not told.
        """
        return pl.Series("status", status_words(self), dtype=pl.String)

    @property
    def level_combinations(self) -> tuple[tuple[int, ...], ...]:
        """The level combinations that the table has: depths, one a dimension, 0 for its total."""
        return all_combinations(self)

    def labels(self) -> pl.DataFrame:
        """The labels of each cell, one column for each shown column."""
        found = [
            dim.labels[column].gather(self.cells.codes[:, j].astype(np.uint32))
            for j, dim in enumerate(self.dims)
            for column in dim.columns
        ]
        return pl.DataFrame(found)

    def to_frame(self, *, reveal: bool = False) -> Any:
        """One line a cell: its labels, `count`, `value` and `status`, in the type of frame the records came in.

        They are those that would be published; `reveal` adds the true ones, and of a suppression states and reasons.
        """
        return native.like(self.shown_cells(reveal=reveal), self.native_kind)

    def shown_cells(self, *, reveal: bool = False) -> pl.DataFrame:
        """The cells that may be seen, as Polars; `reveal` shows all of them with their true figures."""
        return self.all_cells(reveal=True) if reveal else self._seen.all_cells()

    @property
    def _seen(self) -> Table:
        """The table as it may be seen: of a protected one what would be published."""
        return self if self.published is None else self.public()

    def only(self, place: int) -> Table:
        """The table of one of its cells."""
        chosen = np.array([place])
        published = None if self.published is None else self.published.take(chosen)
        return replace(self, cells=self.cells.take(chosen), published=published, suppression=None)

    def all_cells(self, *, reveal: bool = False) -> pl.DataFrame:
        """Every cell there is, with the figures that may be seen."""
        return listed_cells(self, reveal=reveal)

    def cell(self, **labels: object) -> dict[str, Any]:
        """One cell by the labels of its columns; columns that are not named are totals."""
        from flou.describe.table.find import find_cell

        return find_cell(self, labels)

    def ratio(
        self,
        of: Mapping[str, object],
        over: Mapping[str, object] | None = None,
        *,
        level: float = 0.95,
        mechanism: Mechanism | None = None,
    ) -> Estimate:
        """The ratio of two published cells, by default over the total, with the interval that the noise leaves."""
        from flou.describe.table.derived import estimate_ratio

        return estimate_ratio(self, of, over or {}, level=level, mechanism=mechanism)

    def ratios(self, dim: str, *, level: float = 0.95, mechanism: Mechanism | None = None) -> Any:
        """The share of each category of a dimension in the cell above it, with intervals: one line a cell."""
        from flou.describe.table.derived import ratios_within

        return ratios_within(self, dim, level=level, mechanism=mechanism)

    def mean(
        self,
        dim: str,
        scores: Mapping[Any, float] | None = None,
        *,
        level: float = 0.95,
        mechanism: Mechanism | None = None,
    ) -> Any:
        """The mean label, or score, over the finest categories of a dimension, with intervals: one line a cell."""
        from flou.describe.table.derived import means_over

        return means_over(self, dim, scores, level=level, mechanism=mechanism)

    def public(self) -> Table:
        """What would be published: without the true figures, keys and contributions.

        A table that lists the cells that somebody is in would tell by listing one that its zero is not true: cells
        shown as zero are left out of it, as empty ones are. Where all cells are listed, a category that is shown as
        zero everywhere is left out unless it was declared: that it occurs would be told by nothing else.
        """
        return public_table(self)

    @property
    def hides_zeros(self) -> bool:
        """Whether cells that are shown as zero are left out of what is published."""
        return self.published is not None and self.listed == "occupied"

    def marked(self, **marks: bool) -> Table:
        """The same table with marks added; a mark is never taken away."""
        return replace(self, marks=self.marks.add(**marks))

    def with_trail(self, trail: Trail) -> Table:
        return replace(self, trail=trail)

    @property
    def content_id(self) -> str:
        """What the table holds and publishes, by content."""
        return content_of_fields(self, without=("marks", "trail", "kin", "native_kind"))

    def with_kin(self, **kin: Any) -> Table:
        return replace(self, kin=replace(self.kin, **kin))

    def numbered(self) -> Table:
        """Cells are known by their labels: there is nothing to number."""
        return self

    def compacted(self) -> Table:
        return self

    def require_unchanged(self) -> None:
        """The cells are in memory: no file behind them can change."""

    def __len__(self) -> int:
        return self.n_cells

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process takes only what would be published."""
        shown = self.public() if self.released else self
        # the key of a cell with one person in it is that person's
        cells = shown.cells.with_changes(key=None)
        taken = {**shown.__dict__, "cells": cells, "suppression": None, "trail": None, "kin": Kin()}
        return {**taken, **told_of(shown)} if self.released else taken

    def __repr__(self) -> str:
        if self._seen is not self:
            return repr(self._seen)  # how many cells are left out is not told
        dims = " × ".join(f"{dim.name} ({dim.n_nodes - 1:,})" for dim in self.dims)
        what = "" if self.value_name is None else f", sums of {self.value_name}"
        state = "protected table" if self.released else "table"
        return f"{state.capitalize()} of {self.n_cells:,} cells: {dims}{what}"

    def to_html(
        self,
        language: str = "en",
        *,
        internal: bool = False,
        title: str | None = None,
        mark: str = "s",
        max_rows: int = 200,
        max_columns: int = 40,
    ) -> str:
        """The table as it is printed, a page of its own; `mark` stands in suppressed cells.

        `internal` draws it for those who protect: true figures, with the state of each cell and its reason.
        """
        from flou.describe.table.drawn import page

        return page(self, language=language, internal=internal, title=title, mark=mark, max_rows=max_rows,
                    max_columns=max_columns)  # fmt: skip

    def _repr_html_(self) -> str:
        from flou.describe.table.drawn import fragment

        return fragment(self, max_rows=30, max_columns=12)
