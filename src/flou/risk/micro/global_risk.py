"""Global risk: how many re-identifications to expect in the whole file, and how many records are rare.

The sum over records of their individual risk (Benedetti & Franconi 1998), that is of f · r over the keys, is
the number of records that an intruder links rightly who links them all. Of a file that holds the whole
population it is the number of distinct keys: one right guess in each class, on average.

The interval is that of the intruder's luck. In a file of the whole population he hands the people of a class
out at random: the number of right ones has mean 1 and, for two or more, variance 1. In a sample each record
is a draw of its own. The error of the estimated risks themselves is not in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.figure import Figure
from flou.engine.keys import KeyTable
from flou.engine.measure import RiskMeasure
from flou.engine.note import Note
from flou.engine.result import Interval, RiskResult
from flou.engine.risk_figure import SHARE, Vacuous, count_of
from flou.engine.sense import Missing
from flou.engine.taxonomy import always
from flou.risk.micro.frequency import count_frequencies
from flou.risk.micro.histogram import RISKS, class_chart
from flou.risk.micro.individual import find_risks, summarise
from flou.risk.micro.setting import key_space, require_sampling_weights

#: Standard errors on each side of a 95% interval.
_SPREAD = 1.959963984540054


_LUCK = Note(
    "The interval is that of the intruder's luck, at the risks found here; the error of the risks is not in it."
)


def _is_sample(data: Microdata, keys: KeyTable) -> bool:
    """Whether some record stands for more or less than itself; weights that are all 1 say that none does."""
    return keys.weights is not None and not (data.lowest_weight() == 1 and np.array_equal(keys.weights, keys.persons))


class GlobalRisk(RiskMeasure):
    """Expected share of records that are linked to the right person, with the share of rare ones.

    Reference: Benedetti & Franconi (1998); the threshold rule after Benschop et al. (2018).
    Result: `.value` the expected share, `.expected` the expected number of re-identifications, `.below_k`
    the share of records whose key has fewer than k, `.units` the risk of each record.
    """

    reference: ClassVar[str] = "benedetti1998"
    title: ClassVar[str] = "global risk"
    audience = "public"
    answers_by = always(identity="measures")
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"k": ("<=", 1)}
    flag_figures: ClassVar[tuple[str, ...]] = ("below_k", "n_at_risk")
    allows_several_rows: ClassVar[bool] = True
    headline: ClassVar[Figure] = Figure.public("value", "expected share of records re-identified", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("expected", "expected re-identifications", "number", count_of("n_records")),
        Figure("highest", "highest risk of a record", "number", SHARE),
        Figure.public("below_k", "share of records below k", "share", SHARE),
        Figure.public("n_at_risk", "records below k", "count", count_of("n_records")),
        Figure.public("n_keys", "distinct keys", "count"),
        Figure.public("n_records", "records", "count"),
    )
    has_sense: ClassVar[bool] = True

    k: int = Field(3, ge=1, description="a record is rare when fewer records share its key")
    missing: Missing | None = Field(
        None, description="what an undetermined value may stand for; default: category on a release, pessimistic before"
    )

    def _measure(self, data: Microdata, against: Any, counts: Any) -> RiskResult:
        require_sampling_weights(data)
        space = key_space(data)
        n, several = space.keys.n_records, space.keys.people is not None
        risks = find_risks(space, self.counted_sense)
        frequencies = count_frequencies(space, self.counted_sense)
        expected, highest = summarise(risks, space.keys.counts)
        rare = frequencies < self.k
        n_rare = int(space.keys.counts[rare].sum())
        if not _is_sample(data, space.keys):
            luck = math.fsum((space.keys.counts / frequencies)[frequencies > 1].tolist())
        else:
            luck = math.fsum((space.keys.counts * risks * (1.0 - risks)).tolist())
        spread = _SPREAD * math.sqrt(luck)
        return self._result(
            data,
            value=expected / n,
            interval=None
            if several
            else Interval(max(0.0, (expected - spread) / n), min(1.0, (expected + spread) / n)),
            no_interval="the rows of a person are right or wrong together, which the interval does not know"
            if several
            else "",
            figures={
                "expected": expected,
                "highest": highest,
                "below_k": n_rare / n,
                "n_at_risk": n_rare,
                "n_keys": space.keys.n_keys,
                "n_records": n,
            },
            notes=(_LUCK,) if _is_sample(data, space.keys) and not several else (),
            keys=space.keys,
            key_values=risks,
            unit_label="risk",
            at_risk=rare,
            largest_first=True,
            chart=class_chart(
                RISKS,
                titles=("risk of re-identification", "share of records"),
                flag_names=("some below k", "k or more"),
            ),
        )
