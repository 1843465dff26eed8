"""What bounds of suppressed cells are computed from: what anybody sees, and what whoever holds the truth asks of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.cells import Floats, Ints
from flou.describe.table.equations import Equations
from flou.describe.table.find import find_nodes, place_of
from flou.describe.table.seen import cell_name
from flou.describe.table.subtables import Subtables
from flou.describe.table.suppression import Audit
from flou.describe.table.table import Table
from flou.engine.errors import ParameterError
from flou.risk.table.bounds.audit import Singletons, audit
from flou.risk.table.bounds.intervals import Intervals, find_intervals
from flou.risk.table.bounds.sides import NEARLY, Side
from flou.risk.table.bounds.whole_table import WholeTable

#: A bound may miss what is needed by this part of it, for what floats lose.
_CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class Seen:
    """What anybody computes with: cells tied together by equations, and which of them nobody shows."""

    #: The table as it was published, and with the margins that it does not list, which everybody can compute with.
    published: Table
    whole: WholeTable
    equations: Equations
    #: Cells that may have another figure, and those among them that the table withholds.
    hidden: NDArray[np.bool_]
    withheld: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Case:
    """What is asked of a table that is seen so: of which cells, how far bounds must be, and who is alone in which.

    Its figures agree with everything published, so that bounds can be computed from them: the true ones where they are
    known, else any.
    """

    seen: Seen
    sides: Sequence[Side]
    primary: NDArray[np.bool_]
    lone: Sequence[Ints]
    known_truth: bool

    @property
    def table(self) -> Table:
        return self.seen.whole.table

    @cached_property
    def suppressed(self) -> Ints:
        """The cells that the table lists and does not show."""
        return np.flatnonzero(self.seen.withheld)

    def audited(self, singletons: Singletons) -> Audit:
        """What somebody can compute of the sensitive cells."""
        seen, subtables = self.seen, Subtables(self.table)
        return audit(
            self.table, seen.equations, self.sides, self.lone, seen.hidden, self.primary, subtables, singletons
        )

    def bounds(self, known: Sequence[Mapping[str, object]], *, reveal: bool, workers: int | None) -> pl.DataFrame:
        """One row per suppressed cell: its labels and its bounds; `reveal` adds what they are judged by."""
        if len(known) and not self.known_truth:
            example = {**known[0], "action": "bounds", "first": 3, "second": 3}
            raise ParameterError(
                "known= takes the true figures of cells, and a table as it was published does not hold them. Give what "
                f"the intruder knows to the attack: CellBounds(apriori=[{example!r}])."
            )
        still = frozenset(self._place(labels) for labels in known)
        frames = []
        for number, side in enumerate(self._in_units):
            found = self._intervals(number, still, workers)
            columns = [pl.Series("low", found.low), pl.Series("high", found.high)]
            if side.view.whole and np.isfinite(found.high).all():
                columns = [column.cast(pl.Int64) for column in columns]
            if len(self.sides) > 1:
                columns.insert(0, pl.Series("figure", [side.figure] * len(found.cells), dtype=pl.String))
            if reveal:
                columns += _judged(side, found)
            frames.append(pl.concat([self.table.labels()[found.cells], pl.DataFrame(columns)], how="horizontal"))
        return pl.concat(frames, how="vertical_relaxed")

    def distances(self) -> pl.DataFrame:
        """How far the bounds of each sensitive cell lie from the true figure, in units of the larger level."""
        parts = []
        for number, side in enumerate(self._in_units):
            found = self._intervals(number)
            at = np.isin(found.cells, side.needs.cells)
            cells, true = found.cells[at], side.view.figures[found.cells[at]]
            needed_low, needed_high = _needed_bounds(side)
            down, up = true - needed_low[cells], needed_high[cells] - true
            unit = np.fmax(down, up)
            low, high = (found.low[at] - true) / unit, (found.high[at] - true) / unit
            names = [cell_name(self.table, cell) for cell in cells.tolist()]
            shown = np.full(len(cells), np.nan)
            parts.append(
                pl.DataFrame(
                    {
                        "cell": names if len(self.sides) == 1 else [f"{name} ({side.figure})" for name in names],
                        "width": high - low,
                        "low": low,
                        "high": high,
                        "needed_low": shown if side.sliding else -down / unit,
                        "needed_high": shown if side.sliding else up / unit,
                        "flag": _narrow(side, found)[at],
                    },
                    schema_overrides={"cell": pl.String},
                )
            )
        return pl.concat(parts).with_columns(pl.col("needed_low", "needed_high").fill_nan(None))

    @cached_property
    def _in_units(self) -> list[Side]:
        """The sides in the units of the table."""
        return [side.in_units() for side in self.sides]

    @cached_property
    def _computed(self) -> dict[tuple[int, frozenset[int]], Intervals]:
        return {}

    def _intervals(self, number: int, known: frozenset[int] = frozenset(), workers: int | None = None) -> Intervals:
        """The bounds of every suppressed cell before somebody who knows some of them."""
        if (number, known) not in self._computed:
            view, still = self._in_units[number].view, np.array(sorted(known), dtype=np.int64) if known else None
            self._computed[number, known] = find_intervals(
                view, self.seen.hidden, cells=self.suppressed, still=still, workers=workers
            )
        return self._computed[number, known]

    def _place(self, labels: Mapping[str, object]) -> int:
        place = place_of(self.table, find_nodes(self.table, labels))
        if place is None or not self.seen.hidden[place]:
            raise ParameterError(f"known names {dict(labels)!r}, which is no suppressed cell: all others are known.")
        return place


def _judged(side: Side, found: Intervals) -> list[pl.Series]:
    """The true figures, the bounds that are needed, and what the bounds come to."""
    needed_low, needed_high = _needed_bounds(side)
    true = side.view.figures[found.cells]
    exact = found.width <= (0.5 if side.view.whole else NEARLY * np.maximum(np.abs(true), 1e-300))
    words = np.where(exact, "exact", np.where(_narrow(side, found), "narrow", "safe")).astype(object)
    words[~np.isin(found.cells, side.needs.cells)] = ""
    return [
        pl.Series("truth", true),
        pl.Series("needed_low", needed_low[found.cells], nan_to_null=True),
        pl.Series("needed_high", needed_high[found.cells], nan_to_null=True),
        pl.Series("verdict", [str(word) for word in words], dtype=pl.String),
    ]


def _needed_bounds(side: Side) -> tuple[Floats, Floats]:
    """Where the bounds of each cell must be at least; NaN where nothing is asked for."""
    low, high = np.full(side.view.n_cells, np.nan), np.full(side.view.n_cells, np.nan)
    needs = side.needs
    up = needs.directions > 0
    high[needs.cells[up]] = side.view.figures[needs.cells[up]] + needs.levels[up]
    low[needs.cells[~up]] = side.view.figures[needs.cells[~up]] - needs.levels[~up]
    return low, high


def _narrow(side: Side, found: Intervals) -> NDArray[np.bool_]:
    """Whether the bounds of each cell are closer than is needed."""
    needed_low, needed_high = _needed_bounds(side)
    true = side.view.figures[found.cells]
    up = np.nan_to_num(needed_high[found.cells] - true)
    down = np.nan_to_num(true - needed_low[found.cells])
    if side.sliding:
        narrow: NDArray[np.bool_] = found.width < (up + down) * (1 - _CLOSE)
        return narrow
    return (found.high - true < up * (1 - _CLOSE)) | (true - found.low < down * (1 - _CLOSE))
