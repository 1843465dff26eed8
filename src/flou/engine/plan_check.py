"""What a plan with tables must be: steps in an order that can be carried out, nothing that needs what is not there.

Found when the plan is read, before any file is opened: a step or measure that meets the wrong kind of data would stop
the work half-way, and records that a plan was not meant to publish must not leave by a forgotten section.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flou.engine.errors import PlanError, listed
from flou.engine.table_steps import require_order, works_on_tables

if TYPE_CHECKING:
    from flou.engine.plan import Plan

_NEXT = 'add [[tabulate]] with dims = ["region", "sex"], or leave it out'


def check_tables(plan: Plan) -> None:
    """Everything about tables that can be seen without data."""
    require_order(plan.steps)
    output = plan.output
    if not plan.tables:
        if plan.data is not None:
            require_tables(plan)
        if plan.record_keys is not None:
            raise PlanError(f"[record_keys] is for tables, but the plan makes none: {_NEXT}.")
        if output.format == "xlsx":
            raise PlanError('[output] format = "xlsx" is for tables; records are written as parquet, csv or arrow.')
        return
    if not any(works_on_tables(step) for step in plan.steps):
        raise PlanError(
            "No step protects the tables of the plan: it would publish true counts. Add [[protect]] with a method for "
            'tables, such as method = "cell_key", D = 10, V = 5, js = 2. To look at a table that nothing protects, use '
            "flou table."
        )
    _require_one_protection(plan)
    for word in ("rows_per_part", "database"):
        if getattr(output, word) is not None:
            raise PlanError(
                f"[output] {word} is for records, but the plan publishes tables, each in a file: leave it out."
            )
    _require_changed_records(plan)


def _require_one_protection(plan: Plan) -> None:
    """What protects a table starts from its true figures, which a second step would not have."""
    steps = [step for step in plan.steps if works_on_tables(step)]
    if len(steps) > 1:
        raise PlanError(
            f"[[protect]] {steps[1].name()} stands after {steps[0].name()}, but a table is protected once, from its "
            "true figures: the promises of one would not hold after the other. Leave one of them out, or make a plan "
            "of each."
        )
    if "one table" in steps[0].requires and len(plan.tables) > 1:
        raise PlanError(
            f"[[protect]] {steps[0].name()} protects one table at a time, and the plan makes "
            f"{listed([t.name for t in plan.tables])}: cells that tables share must be treated alike in all of them. "
            "Make one table that holds the others as margins, or a plan for each of them if they share no cells."
        )


def require_tables(plan: Plan) -> None:
    """Methods for tables need some."""
    for section, methods in (
        ("protect", plan.steps),
        ("measure", plan.measures),
        ("attack", plan.attacks),
        ("compare", plan.comparisons),
    ):
        for method in methods:
            if "microdata" not in method.takes:
                raise PlanError(f"[[{section}]] {method.name()} works on tables, but the plan makes none: {_NEXT}.")


def _require_changed_records(plan: Plan) -> None:
    """Two equal files compare as equal, which says nothing of the tables."""
    if any(not works_on_tables(s) for s in plan.steps):
        return
    for method in plan.comparisons:
        if not works_on_tables(method):
            raise PlanError(
                f"[[compare]] {method.name()} compares records before and after, but the plan has no step that changes "
                "records: compare the tables, such as by within_distance, or leave it out."
            )
