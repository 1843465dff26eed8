"""The promise that a measure flags nobody in the release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flou.describe.microdata import Microdata
from flou.engine.guarantee import Guarantee
from flou.engine.method import RiskMeasure
from flou.engine.note import Note


def flags_nobody(measure: RiskMeasure, against: Microdata | None = None) -> Guarantee:
    """Measured on the output; `against` is the step's input where the measure compares with an original."""
    # a mapping lists values of the original, which a promise to the public does not name
    shown = measure.resolved("release").shown_settings()
    settings = {k: "…" if isinstance(v, Mapping) else v for k, v in shown.items()}
    values: dict[str, object] = {"method": measure.title, "settings": settings}
    promise = Note("no record is flagged by {method} ({settings})", values, method=measure.name())
    held = against if measure.compares_with == "original" else None

    def violations(after: Any) -> int:
        return measure.measure(after, against=held).n_flagged

    return Guarantee(promise, violations)
