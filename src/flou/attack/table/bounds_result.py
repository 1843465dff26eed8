"""What the attack on suppressed cells found: figures, one line a disclosed cell, and the bounds of every cell.

Bounds of suppressed cells follow from what is published, and anybody can compute them. Which of them are sensitive, how
far bounds must stay away, and the true figures are for those who protect, and so are the findings and the chart. Bounds
are computed on first use: that a table is safe is shown by fewer programs than the bounds of all cells take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.attack.table.bounds_chart import draw_intervals
from flou.describe.table.cells import Floats, Ints
from flou.describe.table.equations import Equations
from flou.describe.table.find import find_nodes, place_of
from flou.describe.table.subtables import Subtables
from flou.describe.table.suppression import Audit
from flou.describe.table.table import Table
from flou.engine import native
from flou.engine.charts import Look
from flou.engine.errors import DataError, LazyInputError, ParameterError
from flou.engine.result import Result
from flou.risk.table.bounds.audit import Singletons, audit
from flou.risk.table.bounds.intervals import Intervals, find_intervals
from flou.risk.table.bounds.sides import NEARLY, Side
from flou.risk.table.bounds.whole_table import WholeTable

if TYPE_CHECKING:
    import altair as alt

#: A bound may miss what is needed by this part of it, for what floats lose.
_CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class Case:
    """A table under attack: what is seen of it, what is sensitive, and who is alone in which cells."""

    #: The table with the margins that it does not list, which nobody shows and everybody can compute with.
    whole: WholeTable
    equations: Equations
    sides: Sequence[Side]
    lone: list[Ints]
    #: Cells that may have another figure, those among them that the table withholds, and those that are sensitive.
    hidden: NDArray[np.bool_]
    withheld: NDArray[np.bool_]
    primary: NDArray[np.bool_]
    known_truth: bool

    @property
    def table(self) -> Table:
        return self.whole.table

    @property
    def suppressed(self) -> Ints:
        """The cells that the table lists and does not show."""
        return np.flatnonzero(self.withheld)

    @property
    def in_units(self) -> list[Side]:
        """The sides in the units of the table."""
        return [side.in_units() for side in self.sides]

    def audited(self, singletons: Singletons) -> Audit:
        """What somebody can compute of the sensitive cells."""
        subtables = Subtables(self.table)
        return audit(
            self.table, self.equations, self.sides, self.lone, self.hidden, self.primary, subtables, singletons
        )

    def intervals(self, side: Side, *, still: Ints | None = None, workers: int | None = None) -> Intervals:
        """The bounds of every suppressed cell."""
        return find_intervals(side.view, self.hidden, cells=self.suppressed, still=still, workers=workers)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BoundsResult(Result):
    """Figures on what can be computed; `.findings` and `.bounds(reveal=True)` are for those who protect."""

    #: The table that was attacked.
    data: Any = field(repr=False)
    native_kind: native.Kind = "polars"
    case: Case | None = field(repr=False)
    audit: Audit = field(repr=False)

    def safe(self) -> bool:
        """Whether nobody can compute a sensitive cell."""
        return self.audit.n_disclosed == 0

    @property
    def findings(self) -> Any:
        """One line a disclosed cell and intruder: labels, `by`, `figure`, `kind`, bounds, and what was needed."""
        table = self._case.table
        found = self.audit.findings
        labels = table.labels()[found["cell"].to_list()]
        frame = pl.concat([labels, found.drop("cell")], how="horizontal")
        if not self._case.known_truth:
            frame = frame.drop("needed_low", "needed_high")
        return native.like(frame, self.native_kind)

    def bounds(
        self,
        *,
        known: Sequence[Mapping[str, object]] = (),
        reveal: bool = False,
        workers: int | None = None,
    ) -> Any:
        """One line a suppressed cell: its labels and the least and largest figure that it can have.

        `known` names suppressed cells that the intruder knows, by their labels; of a table as it was published
        `apriori` says what he knows of them. `reveal` adds, for those who protect, the true figure, what bounds are
        needed and what they come to: `exact`, `narrow`, `safe`, or nothing where the cell is not sensitive.
        """
        case = self._case
        if reveal and not case.known_truth:
            raise DataError("This is a table as it was published: its true figures are not known.")
        if len(known) and not case.known_truth:
            example = {**known[0], "action": "bounds", "first": 3, "second": 3}
            raise ParameterError(
                "known= takes the true figures of cells, and a table as it was published does not hold them. Give what "
                f"the intruder knows to the attack: CellBounds(apriori=[{example!r}])."
            )
        still = np.unique([self._place(labels) for labels in known]).astype(np.int64)
        frames = []
        for number, side in enumerate(case.in_units):
            if len(still):
                found = case.intervals(side, still=still, workers=workers)
            else:
                found = self._intervals(number, workers)
            columns = [pl.Series("low", found.low), pl.Series("high", found.high)]
            if side.view.whole and np.isfinite(found.high).all():
                columns = [column.cast(pl.Int64) for column in columns]
            if len(case.sides) > 1:
                columns.insert(0, pl.Series("figure", [side.figure] * len(found.cells), dtype=pl.String))
            if reveal:
                columns += self._judged(side, found)
            frames.append(pl.concat([case.table.labels()[found.cells], pl.DataFrame(columns)], how="horizontal"))
        return native.like(pl.concat(frames, how="vertical_relaxed"), self.native_kind)

    @property
    def _case(self) -> Case:
        if self.case is None:
            raise LazyInputError("A result that left its process takes no cells with it: run the attack again.")
        return self.case

    @cached_property
    def _computed(self) -> dict[int, Intervals]:
        return {}

    def _intervals(self, number: int, workers: int | None = None) -> Intervals:
        if number not in self._computed:
            case = self._case
            self._computed[number] = case.intervals(case.in_units[number], workers=workers)
        return self._computed[number]

    def _place(self, labels: Mapping[str, object]) -> int:
        case = self._case
        place = place_of(case.table, find_nodes(case.table, labels))
        if place is None or not case.hidden[place]:
            raise ParameterError(f"known names {dict(labels)!r}, which is no suppressed cell: all others are known.")
        return place

    def _judged(self, side: Side, found: Intervals) -> list[pl.Series]:
        needed_low, needed_high = needed_bounds(side)
        true = side.view.figures[found.cells]
        exact = found.width <= (0.5 if side.view.whole else NEARLY * np.maximum(np.abs(true), 1e-300))
        words = np.where(exact, "exact", np.where(_narrow(side, found), "narrow", "safe")).astype(object)
        asked = np.isin(found.cells, side.needs.cells)
        words[~asked] = ""
        return [
            pl.Series("truth", true),
            pl.Series("needed_low", needed_low[found.cells], nan_to_null=True),
            pl.Series("needed_high", needed_high[found.cells], nan_to_null=True),
            pl.Series("verdict", [str(word) for word in words], dtype=pl.String),
        ]

    @property
    def chart(self) -> Any:
        """How the result is drawn; a table as it was published has no levels to draw."""
        return draw_intervals if self.case is not None and self.case.known_truth else None

    def plot(self, language: str = "en", *, min_count: int = 1, top: float | None = None) -> alt.Chart:
        """The bounds of the sensitive cells beside those that are needed, the narrowest first."""
        if not self._case.known_truth:
            raise DataError("This is a table as it was published: without true figures no bounds are needed.")
        return draw_intervals(self, Look(language, min_count, top))

    def to_frame(self) -> Any:
        """The figures, one a line, in the user's frame type."""
        return native.like(super().to_frame(), self.native_kind)

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process takes the figures, not the table nor what is said of its cells."""
        held = {k: v for k, v in self.__dict__.items() if k != "_computed"}
        return {**held, "data": None, "case": None, "audit": _without_cells(self.audit)}


def needed_bounds(side: Side) -> tuple[Floats, Floats]:
    """Where the bounds of each cell must be at least; NaN where nothing is asked for."""
    low, high = np.full(side.view.n_cells, np.nan), np.full(side.view.n_cells, np.nan)
    needs = side.needs
    up = needs.directions > 0
    high[needs.cells[up]] = side.view.figures[needs.cells[up]] + needs.levels[up]
    low[needs.cells[~up]] = side.view.figures[needs.cells[~up]] - needs.levels[~up]
    return low, high


def _narrow(side: Side, found: Intervals) -> NDArray[np.bool_]:
    """Whether the bounds of each cell are closer than is needed."""
    needed_low, needed_high = needed_bounds(side)
    true = side.view.figures[found.cells]
    up = np.nan_to_num(needed_high[found.cells] - true)
    down = np.nan_to_num(true - needed_low[found.cells])
    if side.sliding:
        narrow: NDArray[np.bool_] = found.width < (up + down) * (1 - _CLOSE)
        return narrow
    return (found.high - true < up * (1 - _CLOSE)) | (true - found.low < down * (1 - _CLOSE))


def _without_cells(audit: Audit) -> Audit:
    """The counts of an audit."""
    return Audit(audit.n_primary, audit.n_exact, audit.n_narrow, audit.n_attackers, audit.n_programs,
                 audit.findings.clear())  # fmt: skip
