"""The promise that a measure flags nobody in the release, and what to do where it and others exclude each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flou.describe.microdata import Microdata
from flou.engine.guarantee import Guarantee
from flou.engine.method import RiskMeasure
from flou.engine.note import Note

#: The promise where a person may have several rows.
_BY_PERSON = (
    "no record is flagged by {method} ({settings}), which counts persons; that somebody knows several rows of one "
    "person is not covered"
)

#: What works where a step needs enough records that show a value, and another one drops records or nulls keys.
LARGER_CLASSES = (
    "recode keys in a step before both, to classes so large that few records are dropped and few keys nulled, and let "
    "the step that drops or nulls come last"
)


def flags_nobody(measure: RiskMeasure, against: Microdata | None = None, *, several: bool = False) -> Guarantee:
    """Measured on the output; `against` is the step's input where the measure compares with an original.

    `several` says that a person may have several rows: the measure counts persons then.
    """
    # a mapping lists values of the original, which a promise to the public does not name
    shown = measure.resolved("release").shown_settings()
    settings = {k: "…" if isinstance(v, Mapping) else v for k, v in shown.items()}
    values: dict[str, object] = {"method": measure.title, "settings": settings}
    held = against if measure.compares_with == "original" else None

    text = "no record is flagged by {method} ({settings})"
    promise = Note(_BY_PERSON if several else text, values, method=measure.name())

    def violations(after: Any) -> int:
        return measure.measure(after, against=held).n_flagged

    return Guarantee(promise, violations)
