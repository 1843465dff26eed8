"""The promise that a measure flags nobody in the release, and what to do where it and others exclude each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flou.describe.microdata import Microdata
from flou.engine.guarantee import Guarantee
from flou.engine.measure import RiskMeasure
from flou.engine.note import Note


@dataclass(frozen=True, eq=False)
class FlagsNobody(Guarantee):
    """A measure flags no record; measured on the output, against the step's input where it compares with one."""

    measure: RiskMeasure
    #: The step's input, where the measure compares with an original.
    against: Microdata | None = field(default=None, repr=False)
    #: Whether a person may have several rows: the measure counts persons then.
    several: bool = False

    @property
    def promise(self) -> Note:
        # a mapping lists values of the original, which a promise to the public does not name
        shown = self.measure.resolved("release").shown_settings()
        settings = {k: "…" if isinstance(v, Mapping) else v for k, v in shown.items()}
        text = "no record is flagged by {method} ({settings})"
        if self.several:
            text = (
                "no record is flagged by {method} ({settings}), which counts persons; that somebody knows several rows "
                "of one person is not covered"
            )
        return Note(text, {"method": self.measure.title, "settings": settings}, method=self.measure.name())

    def violations(self, data: Microdata) -> int:
        return self.measure.measure(data, against=self.against).n_flagged


#: What works where a step needs enough records that show a value, and another one drops records or nulls keys.
LARGER_CLASSES = (
    "recode keys in a step before both, to classes so large that few records are dropped and few keys nulled, and let "
    "the step that drops or nulls come last"
)


def flags_nobody(measure: RiskMeasure, against: Microdata | None = None, *, several: bool = False) -> FlagsNobody:
    """The promise of a step with this input, which is kept only where the measure compares with it."""
    return FlagsNobody(measure, against if measure.compares_with == "original" else None, several)
