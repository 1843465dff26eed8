"""The tables of a plan in a run: what is measured on them, and what on the records behind them.

Methods for tables meet the tables: measures before (as they were made of the protected records) and after the table
steps, comparisons the one with the other. Methods for records meet the records before and after the steps on records;
they describe what lies behind the tables, and are not measured after where no step changed the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from flou.describe.microdata import Microdata
from flou.describe.table.table_files import file_name
from flou.engine.attack import Attack
from flou.engine.errors import PlanError, listed
from flou.engine.method import Method
from flou.engine.plan import Plan
from flou.engine.progress import tell
from flou.engine.release import Release
from flou.engine.result import Result
from flou.engine.table_steps import works_on_tables
from flou.job.store.keeper import Keeper


@dataclass(frozen=True)
class Stages:
    """The records and the tables of a run, before and after protection."""

    original: Microdata
    #: The protected records: the release itself, or those behind its tables; None where no step changed them.
    records: Any
    #: The tables as they were made, and the release of them; None where the plan makes none.
    made: Any = None
    tables: Release | None = None
    #: The records that the tables were made of.
    counted: Any = None

    @classmethod
    def of(cls, plan: Plan, original: Microdata, release: Release) -> Stages:
        if not plan.tables:
            return cls(original, release)
        kin = release.data.kin
        return cls(original, kin.records if kin.records.released else None, kin.original, release, kin.records)

    @property
    def frame(self) -> Any:
        """The file that a sample was drawn from, if one was."""
        held = self.records.data if isinstance(self.records, Release) else self.records
        return None if held is None else held.kin.frame

    def of_method(self, method: Method) -> Iterator[tuple[Any, Any]]:
        """Before and after, of the kind that the method works on."""
        if self.tables is not None and works_on_tables(method):
            by_records = isinstance(method, Attack) and method.scored_by == "records"
            yield self.counted if by_records else self.made, self.tables
        elif self.records is not None:
            yield self.original, self.records


def measure_tables(plan: Plan, stages: Stages, keeper: Keeper) -> list[Result]:
    """The measures of tables, before and after."""
    planned = [m for m in plan.measures if works_on_tables(m)] if stages.tables is not None else []
    found: list[Result] = []
    for when, data in (("before", stages.made), ("after", stages.tables)):
        for i, measure in enumerate(planned):
            tell(f"measure tables {when}: {measure.name()}", i, len(planned))
            found.append(keeper.result(f"tables {when}", measure, partial(measure.measure, data)))
    return found


def require_file_names(plan: Plan) -> None:
    """Two tables in one file would be found out after all the work: look before it."""
    files = [file_name(table.name).casefold() for table in plan.tables]
    alike = [t.name for t, name in zip(plan.tables, files, strict=True) if files.count(name) > 1]
    if alike:
        raise PlanError(
            f"[[tabulate]]: the tables {listed(alike)} would be written to one file: give them names that differ in "
            "letters and digits."
        )
