"""What a run finds out, or takes where it is kept: measures of records, attacks, comparisons, what can be inferred."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flou.decide.inferred import largest_k
from flou.decide.published import released_records
from flou.decide.rule import Rule
from flou.describe.microdata import Microdata
from flou.engine.plan import Plan
from flou.engine.progress import tell
from flou.engine.release import Release
from flou.engine.result import Result
from flou.engine.secret import Secret
from flou.engine.table_steps import works_on_tables
from flou.job.store.keeper import Keeper
from flou.job.tables import Stages
from flou.risk.micro.inferable.inferable import inferable, remember


def measure(
    plan: Plan,
    data: Microdata | Release | None,
    original: Microdata | None,
    population: Microdata | None,
    when: str,
    keeper: Keeper,
) -> list[Result]:
    """What the plan measures on records, each against what it compares with; the original has nothing to compare."""
    out: list[Result] = []
    planned = [m for m in plan.measures if data is not None and not (plan.tables and works_on_tables(m))]
    for i, method in enumerate(planned):
        tell(f"measure {when}: {method.name()}", i, len(planned))
        against = {"original": original, "population": population, None: None}[method.compares_with]
        if against is None and method.needs_against and method.compares_with == "original":
            continue
        # what is compared before and after counts nulls in the same sense
        found = partial(method.measure, data, against=against, as_release=True)
        out.append(keeper.result(when, method, found))
    return out


def attack(plan: Plan, stages: Stages, secret: Secret, keeper: Keeper) -> list[Result]:
    """What intruders achieve."""
    return [
        keeper.result("attack", method, partial(method.run, after, truth=truth, secret=secret))
        for method in plan.attacks
        for truth, after in stages.of_method(method)
    ]


def compare(plan: Plan, stages: Stages, keeper: Keeper) -> list[Result]:
    """What analysts lose."""
    return [
        keeper.result("compare", method, partial(method.compare, *pair))
        for method in plan.comparisons
        for pair in stages.of_method(method)
    ]


def look_for_inferable(rules: Sequence[Rule], results: Sequence[Result | Release], keeper: Keeper) -> None:
    """Find what can be read off the release, which the verdict and the report ask for."""
    for place, data in enumerate(released_records(results)):
        k = largest_k(rules, results, data)
        found = keeper.value("inferable", {"k": k, "place": place}, partial(inferable, data, k))
        remember(data, k, found)
