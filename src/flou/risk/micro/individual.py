"""Individual risk (Benedetti & Franconi 1998): the chance that a sampled record is linked to the right person.

An intruder has the keys of everybody in the population and links a record at random to one of the F people
who share its key. F is not known; its distribution given the f sampled records is estimated from the
weights. Of a file that holds the whole population, F = f and the risk is exactly 1/f.

With undetermined values f and the sum of weights are taken on the same completion: `pessimistic` is the
largest risk over the completions and `optimistic` the smallest. The rarest completion need not be the
riskiest, since its records may stand for many people.

It fails where weights say little about the key: the estimate is of the sampling design, not of the person.
Rinott and others found it to be far off for keys that are rare in the population; the Poisson model uses
the other keys instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.keyspace import KeySpace
from flou.describe.microdata import Microdata
from flou.engine.figure import Figure
from flou.engine.measure import RiskMeasure
from flou.engine.parameters import Share
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, Vacuous, count_of
from flou.engine.sense import Missing
from flou.engine.taxonomy import always
from flou.risk.micro.benedetti_franconi import Floats, expected_inverse
from flou.risk.micro.frequency import add_compatible, add_up, count_frequencies, take_extreme
from flou.risk.micro.histogram import risk_chart
from flou.risk.micro.setting import key_space, require_sampling_weights


def find_risks(space: KeySpace, missing: Missing) -> Floats:
    """The individual risk of each key."""
    weights = space.keys.weights
    if weights is None:
        return np.asarray(1.0 / count_frequencies(space, missing))
    space.check_declared()
    space.refuse_incoherent(space.violating())
    persons = space.persons(missing)
    if missing not in ("optimistic", "pessimistic") or not space.free:
        return expected_inverse(add_up(space, persons, missing), add_up(space, weights, missing))
    if not space.is_dense:
        from flou.risk.micro import wide  # compiled loops, loaded only when they are needed

        return np.asarray(wide.find_extreme_risks(space, weights, largest=missing == "pessimistic"))
    counts, sums = space.filled(space.keys.counts), space.filled(weights)
    add_compatible(counts)
    add_compatible(sums)
    risks = np.full(counts.shape, -np.inf if missing == "pessimistic" else np.inf)
    # a cell that no record could be in is no completion of any; the null places are filled from the others
    held = np.flatnonzero(counts)
    risks.flat[held] = expected_inverse(counts.flat[held], sums.flat[held])
    return np.asarray(take_extreme(space, risks, largest=missing == "pessimistic"))


def summarise(risks: Floats, counts: NDArray[np.int64]) -> tuple[float, float]:
    """The expected number of records that are linked rightly, and the highest risk; whatever the order of keys."""
    return math.fsum((risks * counts).tolist()), float(risks.max())


class IndividualRisk(RiskMeasure):
    """Share of records whose chance of being linked to the right person exceeds a threshold.

    Reference: Benedetti & Franconi (1998).
    Result: `.value` the share above the threshold, `.highest` and `.mean` the risks, `.units` the risk of
    each record, `.by_key` each key with its risk.
    """

    reference: ClassVar[str] = "benedetti1998"
    title: ClassVar[str] = "individual risk"
    audience = "public"
    answers_by = always(identity="measures")
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"threshold": (">", 0.5)}
    allows_several_rows: ClassVar[bool] = True
    headline: ClassVar[Figure] = Figure.public("value", "share of records above the threshold", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("highest", "highest risk of a record", "number", SHARE),
        Figure("mean", "mean risk of a record", "number", SHARE),
        Figure.public("n_at_risk", "records above the threshold", "count", count_of("n_records")),
        Figure.public("n_records", "records", "count"),
    )
    has_sense: ClassVar[bool] = True

    threshold: Share = Field(0.1, description="a record is at risk when its chance of re-identification is larger")
    missing: Missing | None = Field(
        None, description="what an undetermined value may stand for; default: category on a release, pessimistic before"
    )

    def _measure(self, data: Microdata, against: Any, counts: Any) -> RiskResult:
        require_sampling_weights(data)
        space = key_space(data)
        risks = find_risks(space, self.counted_sense)
        expected, highest = summarise(risks, space.keys.counts)
        at_risk = risks > self.threshold
        n_at_risk = int(space.keys.counts[at_risk].sum())
        return self._result(
            data,
            value=n_at_risk / space.keys.n_records,
            no_interval=no_interval(data),
            figures={
                "highest": highest,
                "mean": expected / space.keys.n_records,
                "n_at_risk": n_at_risk,
                "n_records": space.keys.n_records,
            },
            keys=space.keys,
            key_values=risks,
            unit_label="risk",
            at_risk=at_risk,
            largest_first=True,
            chart=risk_chart(self.threshold),
        )


def no_interval(data: Microdata) -> str:
    """Why a risk that is estimated from weights has no interval."""
    if data.schema.weight is None:
        return "no weight is declared: the file is taken for the whole population, and nothing is estimated"
    return "weights give an estimate of how many people share a key, but not of its error"
