"""Bounds of suppressed cells (Fischetti and Salazar 2001): what an intruder computes from the cells that are shown.

The intruder knows that margins are sums, that counts are whole and figures not negative, which cells are suppressed,
the rules and the thresholds. Whoever is alone in a suppressed cell knows that one too. For each of them the attack asks
whether a sensitive cell can be computed exactly, or more closely than its protection levels allow; `bounds()` gives the
least and the largest figure that each suppressed cell can have. Both are proofs, not guesses: a cell that is called
safe comes with tables that agree with everything published and differ far enough, and bounds are reached.

It works on any pattern, whoever made it, and without true figures on a table as it was published: then it says what can
be computed exactly. It does not see other tables of the same people, coalitions of contributors, nor what an intruder
knows of single cells, unless that is stated (`apriori`). Tables whose shown figures were moved are refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.attack.results.cells import CellsResult
from flou.attack.table.bounds_case import Case, Seen
from flou.describe.table.apriori import Apriori
from flou.describe.table.equations import table_equations
from flou.describe.table.suppression import State
from flou.describe.table.table import Table
from flou.describe.table.table_set import tables_of
from flou.describe.table.unseen_cells import assumed_values, leaves_zeros_open, may_hide_zeros
from flou.engine.attack import Deduction, Judge
from flou.engine.data import DataKind
from flou.engine.errors import DataError, listed
from flou.engine.figure import Figure
from flou.engine.note import Note
from flou.engine.risk_figure import SHARE, count_of
from flou.engine.taxonomy import always
from flou.risk.table.bounds.audit import Singletons
from flou.risk.table.bounds.lone import lone_contributors
from flou.risk.table.bounds.seen_side import laid_out, seen_sides, seen_table, uncertain
from flou.risk.table.bounds.sides import Intervals, Show, make_sides
from flou.risk.table.bounds.whole_table import WholeTable
from flou.risk.table.primary_rule import Sensitive
from flou.risk.table.sensitive_cells import PrimaryRules, may_be_empty, sensitive_cells
from flou.risk.table.statements import Statements, read_statements


class CellBounds(Deduction):
    """What can be computed of suppressed cells: `CellBounds([Threshold(5)]).run(release)`.

    Reference: Fischetti and Salazar (2001).
    Result: `.value` the share of sensitive cells that somebody can compute, `.n_exact`, `.n_narrow`, `.n_attackers`,
    `.n_programs`, `.safe()`, `.findings` one line a disclosed cell and intruder, `.bounds()` one a suppressed cell.
    """

    takes: ClassVar[tuple[DataKind, ...]] = ("table", "table set")
    title: ClassVar[str] = "bounds of suppressed cells"
    audience = "public"
    requires = ("one table",)
    answers_by = always(amounts="measures", differencing="measures")
    headline: ClassVar[Figure] = Figure("value", "share of sensitive cells that somebody can compute", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("n_sensitive", "sensitive cells", "count"),
        Figure("n_exact", "sensitive cells known exactly", "count", count_of("n_sensitive")),
        Figure("n_narrow", "sensitive cells known more closely than allowed", "count", count_of("n_sensitive")),
        Figure("n_suppressed", "suppressed cells", "count"),
        Figure("n_attackers", "intruders that were tried", "count"),
        Figure("n_programs", "linear programs", "count"),
    )
    reference: ClassVar[str] = "fischetti2001"
    reads: ClassVar[tuple[str, ...]] = ("apriori",)

    primary: PrimaryRules = Field(
        (), description="rules that find sensitive cells; without any, primary cells must not be known exactly"
    )
    apriori: Statements = Field(
        None,
        description="what is said of single cells, and known of them beforehand: a file, or a list of tables",
        json_schema_extra={"secret": True},  # it tells which cells are sensitive
    )
    intervals: Intervals = Field(
        "levels", description='bounds on either side, the width between them ("sliding"), or "exact" disclosure alone'
    )
    singletons: Singletons = Field(
        "levels", description="how well cells are protected from whoever is alone in another one: levels, exact, off"
    )
    show: Show = Field("auto", description="figures that are published: as the table says; else sums, counts or both")

    def _judge(self, released: Any, truth: Any, control: Any) -> Judge:
        if self.primary and tables_of(released)[0].cells.count is None:
            raise DataError(
                "The rules go by true figures, which a table as it was published does not hold. Leave primary out: the "
                "bounds of its cells, and which of them are known exactly, follow from what is published."
            )
        return super()._judge(released, truth, control)

    def _public(self, released: Any) -> Table:
        """The published table. Refuse one that shows perturbed figures, where the true ones are at hand."""
        tables = tables_of(released)
        if len(tables) != 1:
            raise DataError(
                f"CellBounds attacks one table at a time, and this is a set of {len(tables)}: cells that tables share "
                "tell more together than each table by itself. Make one table that holds the others as margins."
            )
        table = tables[0]
        _require_nested(table)
        if table.cells.count is None:
            return table
        _require_true(table, self._shown(table))
        seen = table.public()
        if table.published is None:
            return seen
        # cells that are shown as empty keep their places, which tells nobody more, so that what is found fits the truth
        cells = table.cells.shapes_alone()
        return seen.with_changes(dims=table.dims, cells=cells, published=table.published, mechanism=None)

    def _find(self, public: Table, known: Any, draw: Any) -> Seen:
        """Deduce which cells are tied together: bounds follow, and are computed when they are asked for."""
        table = laid_out(public)
        assert table.published is not None  # a table without true figures has published ones
        whole = seen_table(table)
        hidden = whole.unseen(table.published.hidden | uncertain(table))
        withheld = np.zeros(whole.table.n_cells, dtype=np.bool_)
        withheld[whole.places] = table.published.hidden
        return Seen(table, whole, table_equations(whole.table), hidden, withheld)

    def _score(self, found: Seen, judge: Judge, draw: Any) -> CellsResult:
        table = tables_of(judge.released)[0]
        as_held = table.cells.count is not None
        case, notes = self._as_held(table, found) if as_held else self._as_seen(found)
        audit = case.audited(self.singletons)
        n = audit.n_primary
        if not as_held and leaves_zeros_open(table):
            notes += self._if_zeros_are_shown(table, audit.n_exact)
        return self._result(
            CellsResult,
            judge,
            value=audit.n_disclosed / n if n else 0.0,
            no_interval="what can be computed is proven: nothing is estimated",
            figures={
                "n_sensitive": n,
                "n_exact": audit.n_exact,
                "n_narrow": audit.n_narrow,
                "n_suppressed": len(case.suppressed),
                "n_attackers": audit.n_attackers,
                "n_programs": audit.n_programs,
            },
            notes=notes,
            case=case,
            audit=audit,
        )

    def _as_held(self, table: Table, found: Seen) -> tuple[Case, tuple[Note, ...]]:
        """What is asked where the true figures are known."""
        show, apriori = self._shown(table), read_statements(self.apriori, table)
        sensitive, intervals = sensitive_cells(self.primary, apriori, table, show), self.intervals
        notes: tuple[Note, ...] = ()
        hidden = np.zeros(table.n_cells, dtype=np.bool_) if table.published is None else table.published.hidden
        if not self.primary and not apriori.protect.any():
            sensitive, notes = self._withheld(table, hidden, sensitive, apriori)
            intervals = "exact"
        hides_zeros = may_hide_zeros(table) or may_be_empty(self.primary, table, hidden | sensitive.cells)
        whole = WholeTable.of(table)
        sensitive = whole.spread_sensitive(sensitive)
        sides = make_sides(
            whole.table,
            found.equations,
            sensitive,
            whole.spread_statements(apriori),
            show=show,
            intervals=intervals,
            hides_zeros=hides_zeros,
        )
        lone = lone_contributors(whole.table, found.equations)
        return Case(found, sides, sensitive.cells, lone, known_truth=True), notes

    def _withheld(
        self, table: Table, hidden: NDArray[np.bool_], nothing: Sensitive, apriori: Apriori
    ) -> tuple[Sensitive, tuple[Note, ...]]:
        """Without rules: the cells that the suppression calls primary, or all that are withheld."""
        if table.suppression is not None:
            cells = table.suppression.states == State.PRIMARY
            note = Note("without rules it is asked of primary cells alone that nobody knows them exactly")
        else:
            cells = hidden
            note = Note("without rules it is asked of every suppressed cell that nobody knows it exactly")
        return replace(nothing, cells=cells & ~apriori.safe), (note,)

    def _as_seen(self, found: Seen) -> tuple[Case, tuple[Note, ...]]:
        """What is asked of a table as it was published: that no suppressed cell is known exactly."""
        table, whole = found.published, found.whole
        sides = seen_sides(table, whole, found.equations, whole.spread_statements(read_statements(self.apriori, table)))
        notes: tuple[Note, ...] = (
            Note("the true figures are not known: a cell that can be computed exactly counts, and nothing else"),
        )
        assumed = [dim.name for dim in table.dims if not dim.declared] if table.unlisted == "unknown" else []
        notes += assumed_values(assumed)
        if table.mechanism is not None:
            text = "a published count stands for all true counts that are published so by {mechanism}"
            notes += (Note(text, {"mechanism": table.mechanism.name}),)
        return Case(found, sides, found.withheld, [], known_truth=False), notes

    def _if_zeros_are_shown(self, table: Table, n_exact: int) -> tuple[Note, ...]:
        """How many cells would be known exactly if no suppressed cell were empty."""
        try:
            case, _ = self._as_seen(self._find(table.with_changes(zeros_withheld=False), None, None))
        except DataError:  # with empty cells the same figures agreed
            return (Note("a suppressed cell is empty for certain: otherwise the figures would contradict each other"),)
        found = case.audited(self.singletons).n_exact
        text = "suppressed cells may be empty here; if none were, {n} cells would be known exactly"
        if found == n_exact:
            text = "suppressed cells may be empty here; if none were, no further cell would be known exactly"
        return (Note(text, {"n": found}),)

    def _shown(self, table: Table) -> Show:
        """The figures that are published."""
        if self.show != "auto" or table.published is None:
            return self.show
        if table.published.value is None:
            return "count"
        return "both" if table.published.counted else "value"


def _require_nested(table: Table) -> None:
    beside = [dim.name for dim in table.dims if dim.n_zonings > 1]
    if beside:
        raise DataError(
            f"{listed(beside)} has zonings side by side: whoever knows which of their zones lie in which computes "
            "figures of what lies between them, and CellBounds does not look at that. Make a table of one zoning."
        )


def _require_true(table: Table, show: Show) -> None:
    """Bounds follow from figures that are true; those that were moved say something else."""
    published, wrong = table.published, 0
    if published is None:
        return
    shown = ~published.hidden
    if show != "value" and published.counted:
        true = table.true_counts if table.cells.weighted is None else table.cells.weighted
        wrong += int((published.count[shown] != true[shown]).sum())
    if show != "count" and published.value is not None:
        wrong += int((published.value[shown] != table.true_values[shown]).sum())
    if wrong:
        raise DataError(
            f"{wrong:,} of the figures that the table shows are not the true ones, so that its equations say nothing "
            "exact of the suppressed cells. CellBounds attacks suppression; for noise and rounding, additive = "
            '"no", use CountInference and DifferenceInference.'
        )
