"""k-anonymity under each of the five ways of counting undetermined values, as the report shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, KeySpaceTooLargeError
from flou.engine.figure import Figure, Figures
from flou.engine.method import measured_on
from flou.engine.release import Release
from flou.engine.result import Result, RiskResult
from flou.engine.sense import MISSING, Missing
from flou.risk.micro.k_anonymity import KAnonymity

_WORST = Figure("value", "largest share of records below k, over all ways of counting", "share", None)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SensesResult(Result):
    """What k-anonymity found in each way; a way that cannot be counted is left out. No rule fits it."""

    data: Microdata | None = field(repr=False)
    ways: Mapping[Missing, RiskResult] = field(repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the figures without the file."""
        return {**self.__dict__, "data": None, "ways": {}}


def count_ways(results: Sequence[Result], original: Microdata, release: Release) -> tuple[SensesResult, ...]:
    """The ways that are missing among the results: of the first k-anonymity, and of the first of what is released."""
    found = [r for r in results if isinstance(r, RiskResult) and r.method == KAnonymity.name()]
    shown = found[:1] + [result for result in found if result.measured_on != "original"][:1]
    data = release.data
    records = data if isinstance(data, Microdata) else data.kin.records
    files = (original, records) if records is not None and records.released else (original,)
    made: list[SensesResult] = []
    for settings in (result.settings for result in shown):
        for data in files:
            if find_ways((*results, *made), settings, released=data.released) is None:
                made.append(_counted(KAnonymity(**settings), data))
    return tuple(made)


def find_ways(results: Iterable[Result], settings: Mapping[str, Any], *, released: bool) -> SensesResult | None:
    """The ways of a file that belong to the k-anonymity with these settings, whichever way it took itself."""
    asked = {name: value for name, value in settings.items() if name != "missing"}
    held = (r for r in results if isinstance(r, SensesResult) and (r.measured_on != "original") == released)
    return next((result for result in held if result.settings == asked), None)


def _counted(measure: KAnonymity, data: Microdata) -> SensesResult:
    ways = {way: result for way in MISSING if (result := _measured(measure, way, data)) is not None}
    shares = [Figure(way, way, "share", None, value=result.value) for way, result in ways.items()]
    return SensesResult(
        method="five_senses",
        title="What undetermined values may stand for",
        settings=measure.model_copy(update={"missing": None}).shown_settings(),
        headline=_WORST.with_value(max((result.value for result in ways.values()), default=None)),
        figures=Figures(tuple(shares)),
        measured_on=measured_on(data),
        data=data,
        ways=ways,
    )


def _measured(measure: KAnonymity, way: Missing, data: Microdata) -> RiskResult | None:
    """None where the file has fewer than k records, or its keys are too many to be counted in this way."""
    if measure.k > data.n_records:
        return None
    try:
        return measure.model_copy(update={"missing": way}).measure(data)
    except (KeySpaceTooLargeError, DataError):
        return None
