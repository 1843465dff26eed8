"""What the primary rules share: which cells of a table are sensitive, and how far an intruder's bounds must stay away.

A rule says of each cell whether it may be shown, and if not by how much an intruder's upper bound must exceed the true
figure and the lower one fall short of it (`Levels`), or how wide the interval between them must be (`sliding`).
Levels speak of the counts or of the sums of a table: a table that shows both must protect both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Floats
from flou.describe.table.table import Table
from flou.describe.table.table_set import tables_of
from flou.engine.data import DataKind
from flou.engine.figure import Figure
from flou.engine.measure import RiskMeasure
from flou.engine.risk_figure import SHARE, count_of
from flou.risk.table.rule_result import RuleResult, Verdicts, figures_of, rule_notes

#: The figures of a table that an intruder may compute.
TableFigure = Literal["count", "value"]


@dataclass(frozen=True, eq=False)
class Levels:
    """How far from the true figure an intruder's bounds must stay; 0 where nothing is asked for."""

    lower: Floats
    upper: Floats
    sliding: Floats

    @classmethod
    def none(cls, n_cells: int) -> Levels:
        """Levels that ask for nothing."""
        return cls(*(np.zeros(n_cells) for _ in range(3)))

    def joined(self, other: Levels) -> Levels:
        """What both ask for."""
        return Levels(
            np.maximum(self.lower, other.lower),
            np.maximum(self.upper, other.upper),
            np.maximum(self.sliding, other.sliding),
        )


@dataclass(frozen=True, eq=False)
class Sensitive:
    """Which cells are primary by one rule or several, and the levels of each figure that the rules speak of."""

    cells: NDArray[np.bool_]
    levels: Mapping[TableFigure, Levels]
    #: The rules by name, and which cells each of them holds sensitive.
    reasons: tuple[str, ...]
    because: NDArray[np.bool_]


class PrimaryRule(RiskMeasure):
    """A rule that finds sensitive cells. A subclass implements `sensitive`; `measure` counts what it finds."""

    takes: ClassVar[tuple[DataKind, ...]] = ("table", "table set")
    parameter_audience = "policy"
    headline: ClassVar[Figure] = Figure(
        "value", "share of cells that are sensitive and shown", "share", SHARE, "public"
    )
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("n_sensitive", "sensitive cells", "count"),
        Figure("n_shown", "sensitive cells that are shown", "count", count_of("n_sensitive")),
        Figure("n_cells", "cells that are not empty, or sensitive", "count"),
        Figure("value_share", "share of the amounts that is in sensitive cells, margins left out", "share"),
    )

    @property
    def holds_zeros(self) -> bool:
        """Whether the rule can find an empty cell sensitive, so that a suppressed one may be empty."""
        return False

    @property
    def label(self) -> str:
        """The rule as people write it: `p% (10)`."""
        raise NotImplementedError

    def sensitive(self, table: Table) -> Sensitive:
        """Which cells are sensitive, and their levels."""
        raise NotImplementedError

    def measure(self, data: Any, *, against: Any = None, counts: Any = None) -> RuleResult:  # type: ignore[override]
        """Which cells of a table, or of a set of tables, are sensitive; of a protected one, which are shown still."""
        result: Any = super().measure(data, against=against, counts=counts)
        assert isinstance(result, RuleResult)
        return result

    @property
    def no_drop(self) -> str:
        """It speaks of cells, not of records."""
        return "it measures tables, which have no records to drop"

    def _measure(self, data: Any, against: Any, counts: Any) -> RuleResult:  # type: ignore[override]
        found = []
        for table in tables_of(data):
            held = self.sensitive(table)
            bounds: dict[str, tuple[Floats, Floats]] = {n: (v.lower, v.upper) for n, v in held.levels.items()}
            found.append(Verdicts.of(table, held.cells, bounds))
        value, figures = figures_of(found)
        return RuleResult(
            method=self.name(),
            title=self.title,
            settings=self.shown_settings(),
            **self.described({"value": value, "figures": figures}),
            no_interval="the rule is applied to every cell: nothing is estimated",
            notes=rule_notes(tables_of(data)),
            measured_on="frame" if data.marks.frame else "release" if data.released else "original",
            test_only=data.marks.test_only,
            data=data,
            verdicts=tuple(found),
            native_kind=data.native_kind,
        )


def one_rule(label: str, cells: NDArray[np.bool_], levels: Mapping[TableFigure, Levels]) -> Sensitive:
    """What one rule found."""
    return Sensitive(cells=cells, levels=levels, reasons=(label,), because=cells[:, None])


def symmetric(table: Table, cells: NDArray[np.bool_], asked: Floats) -> Levels:
    """The same level above and below, on sums; below no further than to 0 where nothing in the table is negative.

    Everybody knows then that the figure is not negative, so no bound of an intruder could be lower.
    """
    upper = np.where(cells, asked, 0.0)
    lower = upper if has_negatives(table) else np.minimum(upper, np.maximum(table.true_values, 0.0))
    return Levels(lower, upper, np.zeros(len(cells)))


def has_negatives(table: Table) -> bool:
    """Whether something in a table of amounts is below 0, as far as that is known."""
    largest = table.cells.largest
    return bool((table.true_values < 0).any()) or (largest is not None and bool((largest < 0).any()))


def combine(rules: Sequence[PrimaryRule], table: Table) -> Sensitive:
    """Cells that are sensitive by any of the rules, with the largest levels that these ask for."""
    found = [rule.sensitive(table) for rule in rules]
    levels: dict[TableFigure, Levels] = {}
    for one in found:
        for figure, asked in one.levels.items():
            levels[figure] = levels[figure].joined(asked) if figure in levels else asked
    return Sensitive(
        cells=np.any([one.cells for one in found], axis=0) if found else np.zeros(table.n_cells, dtype=np.bool_),
        levels=levels,
        reasons=tuple(reason for one in found for reason in one.reasons),
        because=np.concatenate([one.because for one in found], axis=1)
        if found
        else np.zeros((table.n_cells, 0), dtype=np.bool_),
    )
