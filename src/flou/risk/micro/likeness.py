"""δ-disclosure privacy and β-likeness: no sensitive value is much more likely in a class than in the whole file.

With p the share of a value in a class and q its share in the whole input:

- `DisclosureDelta` (Brickell & Shmatikov 2008): |log2(p / q)| < δ for every value that the class has;
- `BetaLikeness` (Cao & Karras 2012): the gain (p - q) / q is at most β for every value, or, enhanced, at most
  min(β, -ln q), which keeps frequent values from becoming certain.

Both speak of relative gains, so a rare illness counts as much as a frequent one: t-closeness lets a value of
one in a thousand rise a hundredfold. Values that a class lacks are not looked at; what an intruder learns
from an absence is left open.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.figure import Figure
from flou.engine.parameters import Columns, Number
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, RiskFigure, Vacuous, count_of
from flou.engine.taxonomy import always
from flou.risk.micro.closeness import ROUNDING
from flou.risk.micro.diversity import beside
from flou.risk.micro.histogram import Chart, around, class_chart
from flou.risk.micro.reference_distribution import classes_and_reference
from flou.risk.micro.sensitive import ClassMeasure, Floats, Ints, Part, SensitiveClasses, notes_of
from flou.risk.micro.setting import sensitive_columns


class _RelativeGain(ClassMeasure):
    """What the two measures share: a figure and a flag for each class, the worst of several sensitive columns."""

    compares_with: ClassVar[Literal["original", "population"] | None] = "original"

    if TYPE_CHECKING:
        sensitive: Columns | None

    def _judge(self, classes: SensitiveClasses, totals: Ints) -> tuple[Floats, Any]:
        """The figure of each class and whether it is at risk."""
        raise NotImplementedError

    def classes_of(self, data: Microdata, against: Microdata | None) -> list[Part]:
        return [classes_and_reference(data, against, c) for c in sensitive_columns(data, self.sensitive)]

    def judge(self, data: Microdata, parts: list[Part]) -> tuple[list[Floats], NDArray[np.bool_]]:
        judged = [self._judge(part.classes, part.totals) for part in parts]
        return [figures for figures, _ in judged], np.logical_or.reduce([flags for _, flags in judged])

    def _found(
        self,
        data: Microdata,
        against: Microdata | None,
        *,
        unit_label: str,
        chart: Chart,
    ) -> RiskResult:
        parts = self.classes_of(data, against)
        columns, keys = tuple(part.classes.column for part in parts), parts[0].classes.keys
        found, at_risk = self.judge(data, parts)
        worst = np.maximum.reduce(found)
        n_at_risk = int(keys.counts[at_risk].sum())
        return self._result(
            data,
            value=n_at_risk / keys.n_records,
            no_interval="the file is measured as it is: nothing is estimated",
            figures={
                self.figures[0].name: float(worst.max()),
                "n_at_risk": n_at_risk,
                "n_keys_at_risk": int(at_risk.sum()),
                "n_keys": keys.n_keys,
                "n_records": keys.n_records,
            },
            notes=notes_of(parts),
            keys=keys,
            key_values=worst,
            unit_label=unit_label,
            at_risk=at_risk,
            largest_first=True,
            detail=partial(beside, keys.frame.columns, columns, found),
            chart=chart,
        )


class DisclosureDelta(_RelativeGain):
    """Share of records in a class where a sensitive value is too much more, or less, likely than in the whole.

    Reference: Brickell & Shmatikov (2008), as ARX has it.
    Result: `.value` the share of records in classes that break δ, `.delta` the largest |log2(p / q)|, `.units` that of
    each record's class.
    """

    reference: ClassVar[str] = "brickell2008"
    title: ClassVar[str] = "δ-disclosure privacy"
    audience = "public"
    answers_by = always(homogeneity="measures", skewness="closes")
    loose: ClassVar[Mapping[str, Vacuous]] = {"delta": (">", 2)}
    requires = ("sensitive columns",)
    #: Where half of the records have a value, a class in which all have it reaches 1.
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"delta": (">", 1)}
    headline: ClassVar[Figure] = Figure.public("value", "share of records that break δ", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("delta", "largest log ratio of a class", "number", RiskFigure("low", 1)),
        Figure.public("n_at_risk", "records that break δ", "count", count_of("n_records")),
        Figure.public("n_keys_at_risk", "distinct keys that break δ", "count", count_of("n_keys")),
        Figure.public("n_keys", "distinct keys", "count"),
        Figure.public("n_records", "records", "count"),
    )

    delta: Number = Field(gt=0, description="what |log2(p / q)| of every value must stay below")
    sensitive: Columns | None = Field(None, description="sensitive columns; default: those declared")

    def _judge(self, classes: SensitiveClasses, totals: Ints) -> tuple[Floats, Any]:
        ratio = np.abs(np.log2(_shares(classes)) - np.log2(totals[classes.code] / totals.sum()))
        largest = _largest(classes, ratio)
        return largest, largest >= self.delta - ROUNDING

    def _measure(self, data: Microdata, against: Microdata | None, counts: Any) -> RiskResult:
        return self._found(
            data,
            against,
            unit_label="log ratio",
            chart=class_chart(
                around(float(self.delta), 0.0, 0.25, 0.5, 1.0, 2.0, 4.0),
                titles=("largest log ratio of a value in the class", "share of records"),
                flag_names=("δ or more", "below δ"),
            ),
        )


class BetaLikeness(_RelativeGain):
    """Share of records in a class where a sensitive value is too much more likely than in the whole.

    Reference: Cao & Karras (2012), as ARX has it.
    Result: `.value` the share of records in classes that break β, `.beta` the largest gain (p - q) / q, `.units` that
    of each record's class.
    """

    reference: ClassVar[str] = "cao2012"
    title: ClassVar[str] = "β-likeness"
    audience = "public"
    answers_by = always(homogeneity="measures", skewness="closes", similarity="measures")
    loose: ClassVar[Mapping[str, Vacuous]] = {"beta": (">", 4)}
    requires = ("sensitive columns",)
    headline: ClassVar[Figure] = Figure.public("value", "share of records that break β", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("beta", "largest gain of a class", "number", RiskFigure("low", 1)),
        Figure.public("n_at_risk", "records that break β", "count", count_of("n_records")),
        Figure.public("n_keys_at_risk", "distinct keys that break β", "count", count_of("n_keys")),
        Figure.public("n_keys", "distinct keys", "count"),
        Figure.public("n_records", "records", "count"),
    )

    beta: Number = Field(gt=0, description="largest relative gain of a value")
    kind: Literal["enhanced", "basic"] = Field("enhanced", description="whether frequent values are held closer")
    sensitive: Columns | None = Field(None, description="sensitive columns; default: those declared")

    @classmethod
    def flags_nobody(cls, settings: Mapping[str, Any]) -> bool:
        """Of a value that half of the records have, a basic bound of 1 lets a class have nothing else."""
        beta = settings.get("beta")
        return settings.get("kind") == "basic" and beta is not None and beta >= 1

    def _judge(self, classes: SensitiveClasses, totals: Ints) -> tuple[Floats, Any]:
        q = totals[classes.code] / totals.sum()
        gain = np.maximum((_shares(classes) - q) / q, 0.0)
        bound = np.minimum(float(self.beta), -np.log(q)) if self.kind == "enhanced" else float(self.beta)
        broken = np.bincount(classes.place, gain > bound + ROUNDING, classes.keys.n_keys) > 0
        return _largest(classes, gain), broken

    def _measure(self, data: Microdata, against: Microdata | None, counts: Any) -> RiskResult:
        return self._found(
            data,
            against,
            unit_label="gain",
            chart=class_chart(
                around(float(self.beta), 0.0, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0),
                titles=("largest gain of a value in the class", "share of records"),
                flag_names=("some break β", "β or less"),
            ),
        )


def _shares(classes: SensitiveClasses) -> Floats:
    return np.asarray(classes.count / classes.sizes[classes.place])


def _largest(classes: SensitiveClasses, figure: Floats) -> Floats:
    """The largest figure of a value in each class."""
    out = np.zeros(classes.keys.n_keys)
    np.maximum.at(out, classes.place, figure)
    return out
