"""Cells that an attack computes, with their bounds: figures, one row per disclosed cell, the bounds of every cell.

Bounds follow from what is published, and anybody can compute them. Which cells are sensitive, how far bounds must stay
away, and the true figures are internal, and so are the findings and the chart. Bounds are computed on first use: that a
table is safe is shown by less work than the bounds of all cells take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from flou.attack.results.cells_chart import draw_intervals
from flou.describe.table.suppression import Audit
from flou.engine import native
from flou.engine.attack import AttackResult, kept
from flou.engine.charts import Look
from flou.engine.errors import DataError

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CellsResult(AttackResult):
    """Figures on what can be computed; `.findings` and `.bounds(reveal=True)` are internal."""

    #: The cells between what can be computed of them: their `table`, and `bounds` and `distances` as frames.
    case: Any = field(repr=False)
    audit: Audit = field(repr=False)
    internal: ClassVar[tuple[str, ...]] = ("data", "case")

    def safe(self) -> bool:
        """Whether nobody can compute a sensitive cell."""
        return self.audit.n_disclosed == 0

    @property
    def findings(self) -> Any:
        """One line a disclosed cell and intruder: labels, `by`, `figure`, `kind`, bounds, and what was needed."""
        case, found = kept(self.case, "cells"), self.audit.findings
        frame = pl.concat([case.table.labels()[found["cell"].to_list()], found.drop("cell")], how="horizontal")
        return native.like(frame if case.known_truth else frame.drop("needed_low", "needed_high"), self.native_kind)

    def bounds(
        self,
        *,
        known: Sequence[Mapping[str, object]] = (),
        reveal: bool = False,
        workers: int | None = None,
    ) -> Any:
        """One line a suppressed cell: its labels and the least and largest figure that it can have.

        `known` names suppressed cells that the intruder knows, by their labels; of a table as it was published
        `apriori` says what he knows of them. `reveal` adds what is internal: the true figure, what bounds are needed
        and what they come to: `exact`, `narrow`, `safe`, or nothing where the cell is not sensitive.
        """
        case = kept(self.case, "cells")
        if reveal and not case.known_truth:
            raise DataError("This is a table as it was published: its true figures are not known.")
        return native.like(case.bounds(known, reveal=reveal, workers=workers), self.native_kind)

    @property
    def chart(self) -> Any:
        """Function that draws the result; a published table without true figures has no protection levels to draw."""
        return self._draw if self.case is not None and self.case.known_truth else None

    def _draw(self, look: Look) -> alt.Chart:
        case = kept(self.case, "cells")
        if not case.known_truth:
            raise DataError("This is a table as it was published: without true figures no bounds are needed.")
        return draw_intervals(case.distances(), look)

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process takes no cell, nor what is said of one."""
        audit = replace(self.audit, findings=self.audit.findings.clear(), hidden=None)
        return {**super().__getstate__(), "audit": audit}
