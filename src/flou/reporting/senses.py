"""k-anonymity under all five ways of counting undetermined values, side by side."""

from __future__ import annotations

from dataclasses import dataclass

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, KeySpaceTooLargeError
from flou.engine.result import RiskResult
from flou.engine.sense import MISSING
from flou.risk.micro.k_anonymity import KAnonymity


@dataclass(frozen=True)
class Sense:
    """One way of counting: share of records below k and smallest frequency, before and after."""

    name: str
    before: float | None
    after: float | None
    k_before: int | None
    k_after: int | None


def five_senses(measure: KAnonymity, original: Microdata | None, released: Microdata | None) -> list[Sense]:
    """Measure both files in each sense; where a sense cannot be counted it gives None, said in the report."""
    out = []
    for missing in MISSING:
        variant = measure.model_copy(update={"missing": missing})
        before, after = _measured(variant, original), _measured(variant, released)
        out.append(
            Sense(
                missing,
                before.value if before else None,
                after.value if after else None,
                before.k if before else None,
                after.k if after else None,
            )
        )
    return out


def _measured(measure: KAnonymity, data: Microdata | None) -> RiskResult | None:
    if data is None or measure.k > data.n_records:
        return None
    try:
        return measure.measure(data)
    except (KeySpaceTooLargeError, DataError):
        return None
