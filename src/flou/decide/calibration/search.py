"""Try parameters of a table protection and weigh the risk that each leaves against the utility that it keeps.

The five steps of Jamme (2025, 2.5): a domain of parameters, tables, a risk, a utility, and the plane of both, in which
a limit on the risk makes the choice nearly evident. Nothing is published and nothing drawn: both sides follow from each
point's mechanism and the true counts. Points that cannot be built stay in the result with their reason. The limit is
the office's to set; a point under it is safe only against the inference that was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from typing import Any

from flou.decide.calibration.calibration import Calibration, Point
from flou.describe.count_frequencies import CountFrequencies
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.table.table_set import tables_of
from flou.engine.calls import in_words
from flou.engine.data import data_kind
from flou.engine.errors import Infeasible, ParameterError
from flou.engine.measure import RiskMeasure
from flou.engine.progress import Progress, listening, tell
from flou.engine.release import Release
from flou.risk.table.expected_children import Children
from flou.risk.table.inference_result import InferenceMeasure
from flou.risk.table.setting import counted_cells
from flou.utility.table.count_utility import CountUtility


@in_words("flou.calibrate")
def calibrate(
    protection: Callable[..., Any],
    *,
    on: Any,
    over: Mapping[str, Sequence[Any]],
    risk: InferenceMeasure,
    utility: CountUtility,
    limit: float | None = None,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> Calibration:
    """Measure risk and utility at every point of a grid of parameters.

    found = flou.calibrate(flou.protect.CellKey, on=table, over={"D": [5, 10], "V": [2.5, 5, 10], "js": [0, 2, 4]},
                           risk=flou.risk.CountInference(s=5), utility=flou.utility.WithinDistance(2), limit=0.8)

    `protection` is a class whose objects have a `.mechanism`, or a mechanism such as flou.TransitionMatrix; `on` the
    table or tables that it is to protect, or a frame of counts (i, N); `over` the values to try of each parameter;
    `limit` the largest risk that the chosen point may have. `n_jobs` threads: a point takes some
    milliseconds, so they seldom pay.
    """
    _check(risk, utility, limit, progress, n_jobs)
    names, points = _grid(over)
    frequencies, children = read_counts(on), _children(on)
    task = partial(_point, protection, names, risk, utility, frequencies, children)
    with listening(progress):
        found = list(_carried_out(task, points, min(n_jobs or 1, len(points))))
    failures = [p.error for p in found if p.error is not None]
    if len(failures) == len(found) and not any(isinstance(e, Infeasible) for e in failures):
        raise failures[0]
    return Calibration(
        names=names,
        points=tuple(found),
        risk=risk,
        utility=utility,
        limit=limit,
        n_cells=frequencies.n_cells,
    )


def read_counts(on: Any) -> CountFrequencies:
    """The true counts of a table, of a set of tables (pooled), or of a frame."""
    inner = on.data if isinstance(on, Release) else on
    if data_kind(inner) not in ("table", "table set"):
        if data_kind(inner) is not None:
            raise ParameterError(f"on= takes a table, a set of tables or a frame of counts, not {type(on).__name__}.")
        return CountFrequencies.of_frame(inner)
    for table in tables_of(inner):
        counted_cells(table)  # refuses weighted tables
    return CountFrequencies.of([t.histogram() for t in tables_of(inner)])


def _children(on: Any) -> Children | None:
    """The cells of tables beside those that they are parts of; a frame of counts tells of none."""
    inner = on.data if isinstance(on, Release) else on
    return Children.of(tables_of(inner)) if data_kind(inner) in ("table", "table set") else None


def _check(risk: object, utility: object, limit: object, progress: object, n_jobs: object) -> None:
    if not isinstance(risk, RiskMeasure) or "mechanism" not in risk.takes:
        raise ParameterError(
            f"risk = {risk!r} should be a measure of mechanisms, such as flou.risk.CountInference(s=5)."
        )
    if not isinstance(utility, CountUtility):
        raise ParameterError(
            f"utility = {utility!r} should be a comparison of counts, such as flou.utility.WithinDistance(2)."
        )
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= 1):
        raise ParameterError(f"limit = {limit!r} should be a probability: the largest risk that is accepted.")
    if progress is not None and not callable(progress):
        raise ParameterError(f"progress = {progress!r} should be a function of (stage, done, total).")
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < 1):
        raise ParameterError(f"n_jobs = {n_jobs!r} should be a whole number from 1 on.")


def _grid(over: object) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The names of the parameters, and every combination of their values in the order given."""
    if not isinstance(over, Mapping) or not over or not all(isinstance(n, str) for n in over):
        raise ParameterError(f'over = {over!r} should name parameters and values to try: {{"D": [5, 10], "V": [5]}}.')
    held: list[list[Any]] = []
    for name, values in over.items():
        held.append([] if isinstance(values, str) or not isinstance(values, Iterable) else list(values))
        if not held[-1]:
            raise ParameterError(f"over: {name} = {values!r} should be a list of values to try, one at least.")
    return tuple(over), list(product(*held))


def _carried_out(
    task: Callable[[tuple[Any, ...]], Point], points: list[tuple[Any, ...]], n_threads: int
) -> Iterable[Point]:
    """The points in their order, however many threads work; the listener is told in this thread and may cancel."""
    if n_threads == 1:
        for done, values in enumerate(points, start=1):
            yield task(values)
            tell("calibrate", done, len(points))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        waiting = [pool.submit(task, values) for values in points]
        try:
            for done, future in enumerate(waiting, start=1):
                yield future.result()
                tell("calibrate", done, len(points))
        finally:
            for future in waiting:
                future.cancel()


def _point(
    protection: Callable[..., Any],
    names: tuple[str, ...],
    risk: InferenceMeasure,
    utility: CountUtility,
    frequencies: CountFrequencies,
    children: Children | None,
    values: tuple[Any, ...],
) -> Point:
    parameters = dict(zip(names, values, strict=True))
    try:
        made = protection(**parameters)
        mechanism = made if isinstance(made, Mechanism) else made.mechanism
    except (Infeasible, ParameterError) as error:
        return Point(parameters, error=error)
    except AttributeError as error:
        raise ParameterError(f"{protection!r} makes no object with a .mechanism: nothing can be measured.") from error
    except TypeError as error:
        raise ParameterError(f"{protection!r} cannot be made with {', '.join(names)}: {error}.") from error
    if getattr(made, "additive", "no") != "no":
        raise ParameterError(
            f"{made!r} makes margins add up, which no mechanism of single cells describes: calibrate with "
            'additive = "no".'
        )
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(f"{made!r} has no mechanism of counts to calibrate: its .mechanism is {mechanism!r}.")
    measured = risk.measure(mechanism, counts=frequencies)
    ignorant = None
    if "prior" in type(risk).model_fields:
        ignorant = risk.model_copy(update={"prior": "uniform"}).measure(mechanism, counts=frequencies).value
    worst = measured.figures.get("worst")
    told, empty = (None, None) if children is None else children.expect(mechanism)
    return Point(
        parameters,
        made=made,
        mechanism=mechanism,
        risk=measured.value,
        risk_uniform=ignorant,
        worst=float(worst) if isinstance(worst, int | float) else None,
        utility=utility.expect(mechanism, counts=frequencies).value,
        told=told,
        empty=empty,
    )
