"""Cell suppression: sensitive cells of a table are withheld, and others with them, until nobody can compute them.

Rules find the sensitive (primary) cells; since margins are sums, others (secondary) must be withheld as well. The
problem and its exact solution are of Fischetti and Salazar (2001); here cheapest deviations are put together by linear
programs and pruned, or cells eliminated after Langsrud (2024), see `suppression.search`. Every pattern is audited on
the table as it would be published, whichever search found it: an intruder who knows the rules, the thresholds and all
that is published must not get bounds on a primary cell that are closer than its protection levels, nor must anybody
who is alone in a suppressed cell. A pattern that does not pass is not released.

Figures that are shown are the true ones. It does not protect tables against each other: cells that several tables share
must be suppressed alike, which one table after the other does not give. It does not protect from an intruder who knows
more than is stated: coalitions, the largest contributors of other cells beyond their being alone, or which of several
equally good patterns the method prefers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.table.apriori import Apriori
from flou.describe.table.cells import Published
from flou.describe.table.equations import table_equations
from flou.describe.table.subtables import Subtables
from flou.describe.table.suppression import Audit, State, Suppression
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet
from flou.engine.errors import DataError, Infeasible, listed
from flou.engine.note import Note
from flou.engine.places import located
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.engine.taxonomy import Answers
from flou.protect.table.protection import TableGuarantee, TableProtection
from flou.protect.table.suppression.costs import Cost, cell_costs
from flou.protect.table.suppression.search import MODULAR_CELLS, LimitReached, Pattern, Search, Task
from flou.protect.table.suppression.state import Unfinished, drop_state, fingerprint, load_state, save_state
from flou.risk.table.bounds.audit import Singletons, audit
from flou.risk.table.bounds.lone import lone_contributors
from flou.risk.table.bounds.sides import Intervals, Show, make_sides, shown_figures
from flou.risk.table.bounds.whole_table import WholeTable
from flou.risk.table.primary_rule import Sensitive
from flou.risk.table.sensitive_cells import PrimaryRules, may_be_empty, sensitive_cells
from flou.risk.table.statements import Statements, read_statements

_MOST_LISTED = 5


class CellSuppression(TableProtection):
    """Withhold sensitive cells, and others so that they cannot be computed: `CellSuppression([Threshold(5)])`.

    Reference: Fischetti and Salazar (2001); Langsrud (2024).
    """

    title: ClassVar[str] = "cell suppression"
    audience = "public"
    perturbative = False
    answers_by: ClassVar[Mapping[str, Answers]] = {
        "": {"amounts": "closes", "inference": "reduces", "differencing": "reduces", "reconstruction": "reduces"}
    }
    reference: ClassVar[str] = "fischetti2001"
    requires = ("one table",)
    reads: ClassVar[tuple[str, ...]] = ("apriori",)

    primary: PrimaryRules = Field((), description="rules that find sensitive cells; a cell is sensitive by any of them")
    apriori: Statements = Field(
        None,
        description="cells to protect, to keep or that cost more: a file, or a list of tables",
        json_schema_extra={"secret": True},  # it tells which cells are sensitive
    )
    search: Search = Field("auto", description='"modular" for few cells, "gauss" for very large tables')
    cost: Cost = Field("value", description="what counts as lost: value, count, rank, or the number of cells")
    intervals: Intervals = Field(
        "levels", description='bounds on either side, the width between them ("sliding"), or "exact" disclosure alone'
    )
    singletons: Singletons = Field(
        "levels", description="how well cells are protected from whoever is alone in another one: levels, exact, off"
    )
    show: Show = Field("auto", description="figures that are published: sums of a table of amounts, else counts; both")
    seconds: float | None = Field(None, gt=0, description="limit of the search; reached, it raises")
    state: str | None = Field(
        None,
        description="file that keeps what a search found when it reached its limit",
        json_schema_extra={"secret": True},  # a place on somebody's machine
    )

    def _protect(self, data: Any, draw: Draws) -> Outcome:
        if isinstance(data, TableSet):
            raise DataError(
                f"CellSuppression protects one table at a time, and this is a set of {len(data)}: cells that tables "
                "share must be suppressed alike in all of them. Make one table that holds the others as margins."
            )
        outcome = super()._protect(data, draw)
        held = outcome.data.suppression
        figures = {**outcome.figures, "n_suppressed": int(held.hidden.sum())}
        return replace(outcome, figures=figures, details={"audit": held.audit, **self._shares(outcome.data)})

    def _protected(self, table: Table, draw: Draws) -> Table:
        self._require_figures(table)
        apriori = read_statements(self.apriori, table)
        sensitive = self._sensitive(table, apriori)
        whole = WholeTable.of(table)
        task = self._task(whole, whole.spread_statements(apriori), whole.spread_sensitive(sensitive))
        how: Search = self.search
        if how == "auto":
            how = "modular" if table.n_cells <= MODULAR_CELLS else "gauss"
        pattern = self._searched(whole, task, how)
        found = audit(
            whole.table,
            task.equations,
            task.sides,
            task.lone,
            pattern.hidden,
            task.primary,
            task.subtables,
            self.singletons,
        )
        found = replace(found, findings=whole.back(found.findings), hidden=pattern.hidden[whole.places])
        if found.n_disclosed:
            raise Infeasible(
                f"The audit found {found.n_disclosed:,} of {found.n_primary:,} sensitive cells disclosed in the "
                "pattern that the search ended with, so nothing is released.",
                best=_first_findings(table, found),
                next_step="Coarsen the table, keep fewer cells, or try another search.",
            )
        return self._suppressed(table, whole, pattern, sensitive, apriori, found, how)

    def _task(self, whole: WholeTable, apriori: Apriori, sensitive: Sensitive) -> Task:
        table, equations = whole.table, table_equations(whole.table)
        counts = table.true_counts
        possible = np.ones(table.n_cells, dtype=np.bool_) if table.cells.possible is None else table.cells.possible
        hides_zeros = may_be_empty(self.primary, table, sensitive.cells)
        empty = (counts == 0) & ~possible if hides_zeros else counts == 0
        cost = cell_costs(table, self.cost, apriori)
        # a margin that is not listed is withheld anyway
        cost[~whole.is_listed] = 1e-9 * cost.min(initial=1.0)
        return Task(
            equations=equations,
            subtables=Subtables(table),
            sides=make_sides(
                table, equations, sensitive, apriori, show=self.show, intervals=self.intervals, hides_zeros=hides_zeros
            ),
            lone=lone_contributors(table, equations),
            primary=sensitive.cells,
            free=~empty & ~apriori.keep & ~sensitive.cells,
            empty=empty,
            unlisted=~whole.is_listed & ~empty,
            cost=cost,
            singletons=self.singletons,
        )

    def _require_figures(self, table: Table) -> None:
        beside = [dim.name for dim in table.dims if dim.n_zonings > 1]
        if beside:
            raise DataError(
                f"{listed(beside)} has zonings side by side: whoever knows which of their zones lie in which computes "
                "figures of what lies between them, and CellSuppression does not look at that. Make a table of one "
                "zoning."
            )
        if self.show in ("value", "both"):
            _ = table.true_values  # says how to get them
        if not self.primary and self.apriori is None:
            raise DataError(
                "CellSuppression has no rule and no list of cells: nothing says what is sensitive. Give "
                "primary=[flou.risk.Threshold(5)], or apriori=."
            )

    def _sensitive(self, table: Table, apriori: Apriori) -> Sensitive:
        """What the rules and the office hold sensitive."""
        found = sensitive_cells(self.primary, apriori, table, self.show)
        _refuse_kept(table, found.cells & apriori.keep)
        return found

    def _searched(self, whole: WholeTable, task: Task, how: Search) -> Pattern:
        table = whole.table
        start = np.zeros(table.n_cells, dtype=np.bool_)
        word = "" if self.state is None else fingerprint(task, how)
        if self.state is not None:
            start = load_state(str(located(self.state)), word, task.free)
        pattern = Pattern(task, start, self.seconds)
        try:
            pattern.search(how)
        except LimitReached:
            if self.state is not None:
                save_state(str(located(self.state)), word, pattern.hidden & ~task.primary & whole.is_listed)
            kept = (
                "name a file, state=, to go on from what was found"
                if self.state is None
                else (f"run again: it goes on from {self.state}")
            )
            n_secondary = int((pattern.hidden & ~task.primary & whole.is_listed).sum())
            raise Unfinished(
                f"The search reached its limit of {self.seconds:g} s and proved nothing, so nothing is released.",
                best=f"{n_secondary:,} secondary cells so far, not safe yet",
                next_step=f'Raise seconds=, or {kept}; search = "gauss" is faster.',
                hidden=pattern.hidden[whole.places],
            ) from None
        if self.state is not None:
            drop_state(str(located(self.state)))
        failed = sorted({cell for _, cell, _ in pattern.failed})
        if failed:
            raise Infeasible(
                f"Sensitive cells that cannot be protected whatever else is suppressed: {len(failed):,} of "
                f"{int(task.primary.sum()):,}, {_names(table, failed)}.",
                best=f"a pattern of {int((pattern.hidden & whole.is_listed).sum()):,} cells, not safe for these",
                next_step="Keep fewer cells, state wider bounds, let the rules ask for less, or coarsen the table.",
            )
        return pattern

    def _suppressed(
        self,
        table: Table,
        whole: WholeTable,
        pattern: Pattern,
        sensitive: Sensitive,
        apriori: Apriori,
        found: Audit,
        how: Search,
    ) -> Table:
        hidden = pattern.hidden[whole.places]
        states = np.full(table.n_cells, State.PUBLISHED, dtype=np.uint8)
        states[apriori.keep] = State.KEPT
        states[table.true_counts == 0] = State.ZERO
        states[hidden] = State.SECONDARY
        states[sensitive.cells] = State.PRIMARY
        figures = shown_figures(table, self.show)
        counts = table.true_counts if table.cells.weighted is None else table.cells.weighted
        return table.with_changes(
            published=Published(
                count=counts,
                value=table.cells.value if "value" in figures else None,
                suppressed=hidden,
                counted="count" in figures,
            ),
            mechanism=None,
            zeros_withheld=may_be_empty(self.primary, table, sensitive.cells),
            suppression=Suppression(
                states=states,
                reasons=sensitive.reasons,
                because=sensitive.because,
                protects=whole.numbers(pattern.protects[whole.places]),
                audit=found,
                figures={"search": how, "n_programs": pattern.n_programs},
            ),
        )

    def _shares(self, table: Table) -> dict[str, Any]:
        """How much of the whole is withheld: for the office, since it may tell the sum of the withheld cells."""
        assert table.suppression is not None
        value = table.cells.value if table.cells.value is not None else table.true_counts
        inner = Subtables(table).is_finest
        total = float(np.abs(value[inner]).sum())
        share = float(np.abs(value[inner & table.suppression.hidden]).sum()) / total if total else 0.0
        return {"suppressed_share": share}

    def _promises(self) -> Sequence[TableGuarantee]:
        return (NoneDisclosed(), TrueFigures())

    def _notes(self, tables: Sequence[Table]) -> Sequence[Note]:
        out = []
        for table in tables:
            assert table.suppression is not None
            if self.search == "auto":
                how, n = table.suppression.figures["search"], table.n_cells
                text = (
                    "search: modular, since the table has {n} cells, not more than {most}"
                    if how == "modular"
                    else "search: gauss, since the table has {n} cells, more than {most}"
                )
                # cells that are shown as zero may not be listed: the number of all tells how many these are
                out.append(Note(text, {"n": n, "most": MODULAR_CELLS}, internal=True))
            if not table.published.counted:  # type: ignore[union-attr]
                out.append(Note("the counts are not published: the sums alone are protected"))
        return out


def _refuse_kept(table: Table, cells: NDArray[np.bool_]) -> None:
    if cells.any():
        raise DataError(
            f"The list of cells keeps {int(cells.sum()):,} that the rules hold sensitive: "
            f"{_names(table, np.flatnonzero(cells).tolist())}. A cell cannot be shown and withheld: call it safe if "
            "the office answers for that, or take it off the list."
        )


def _names(table: Table, cells: Sequence[int]) -> str:
    labels = table.labels()
    chosen = sorted(set(cells))
    names = [" × ".join(map(str, labels.row(cell))) for cell in chosen[:_MOST_LISTED]]
    return "; ".join(names) + (f" and {len(chosen) - _MOST_LISTED:,} more" if len(chosen) > _MOST_LISTED else "")


def _first_findings(table: Table, found: Audit) -> str:
    return f"disclosed are {_names(table, found.findings['cell'].to_list())}"


class NoneDisclosed(TableGuarantee):
    """Count the primary cells that the audit of this pattern found to be disclosed."""

    text = "no sensitive cell can be computed from the figures shown more closely than its protection levels allow"

    def wrong(self, table: Table) -> int:
        held, published = table.suppression, table.published
        if held is None or held.audit is None or published is None:
            return table.n_cells
        if held.audit.hidden is None or not np.array_equal(held.audit.hidden, published.hidden):
            return table.n_cells  # an audit of another pattern proves nothing of this one
        return held.audit.n_disclosed


class TrueFigures(TableGuarantee):
    """What is shown is not changed."""

    text = "every figure that is shown is the true one"

    def wrong(self, table: Table) -> int:
        if table.published is None:
            return table.n_cells
        shown, wrong = ~table.published.hidden, 0
        if table.published.counted:
            true = table.true_counts if table.cells.weighted is None else table.cells.weighted
            wrong += int((table.published.count[shown] != true[shown]).sum())
        if table.published.value is not None:
            wrong += int((table.published.value[shown] != table.true_values[shown]).sum())
        return wrong
