"""Three attackers (El Emam 2013): what each of them knows, and how often he is right.

- The *prosecutor* knows that his target is in the file: he is right with 1/f, f records sharing the key.
- The *journalist* does not know; he looks for anybody he can find in the population, and is right with 1/F, F
  people sharing the key.
- The *marketer* links everybody he can, and cares for how many are right: the mean of 1/F over the records.

F is counted in a public table (`against=`), or 1/F is estimated by the weights as in the individual risk, which must
be asked for.
The success rate of the journalist is the larger of keys over people and the mean of 1/F, as ARX has it.
It fails as a probability of attack: it says how often an attack succeeds, not whether anybody mounts one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.figure import Figure
from flou.engine.keys import KeyTable
from flou.engine.measure import RiskMeasure
from flou.engine.parameters import Share
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, Vacuous, count_of
from flou.engine.sense import Missing
from flou.engine.taxonomy import always
from flou.risk.micro.benedetti_franconi import expected_inverse
from flou.risk.micro.frequency import count_frequencies
from flou.risk.micro.histogram import risk_chart
from flou.risk.micro.population import Population, population_frequencies
from flou.risk.micro.setting import key_space

Floats = NDArray[np.float64]


class AttackerRisk(RiskMeasure):
    """How often a prosecutor, a journalist or a marketer is right.

    Reference: El Emam (2013), as ARX has it.
    Result: `.value` for a prosecutor or journalist the share of records at risk, for a marketer his success rate;
    `.highest`, `.success`, `.units` the chance for each record.
    """

    reference: ClassVar[str] = "elemam2013"
    title: ClassVar[str] = "attacker models"
    audience = "public"
    answers_by = always(identity="measures")
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"threshold": (">", 0.5)}
    allows_several_rows: ClassVar[bool] = True
    headline: ClassVar[Figure] = Figure.public("value", "share of records at risk", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("highest", "highest chance for a record", "number", SHARE),
        Figure("success", "success rate of the attacker", "number", SHARE),
        Figure.public("n_at_risk", "records at risk", "count", count_of("n_records")),
        Figure.public("n_keys", "distinct keys", "count"),
        Figure.public("n_records", "records", "count"),
    )
    has_sense: ClassVar[bool] = True
    compares_with: ClassVar[Literal["original", "population"] | None] = "population"

    attacker: Literal["prosecutor", "journalist", "marketer"] = Field(
        "prosecutor", description="what the attacker knows"
    )
    population: Population = Field(
        "table", description="for the others: where people are counted: a public table, or the weights"
    )
    threshold: Share = Field(0.2, description="a record is at risk when the chance of being right is larger")
    missing: Missing | None = Field(
        None,
        description="for a prosecutor: what an undetermined value may stand for; default: category on a release",
    )

    @property
    def needs_against(self) -> bool:
        return self.attacker != "prosecutor" and self.population == "table"

    @property
    def no_drop(self) -> str:
        return "" if self.attacker == "prosecutor" else super().no_drop

    def _measure(self, data: Microdata, against: Microdata | None, counts: Any) -> RiskResult:
        keys, people, chances = self._people(data, against)
        at_risk = chances > self.threshold
        n, n_at_risk = keys.n_records, int(keys.counts[at_risk].sum())
        mean = math.fsum((keys.counts * chances).tolist()) / n
        success = mean
        if self.attacker == "journalist":
            success = max(keys.n_keys / math.fsum(people.tolist()), mean)
        marketer = self.attacker == "marketer"
        estimated = self.attacker != "prosecutor" and self.population == "weights"
        return self._result(
            data,
            value=self.called("value", "success rate of the attacker", success) if marketer else n_at_risk / n,
            no_interval="weights give an estimate of how many people share a key, but not of its error"
            if estimated
            else "records and people are counted: nothing is estimated",
            figures={
                "highest": float(chances.max()),
                "success": success,
                "n_at_risk": n_at_risk,
                "n_keys": keys.n_keys,
                "n_records": n,
            },
            keys=keys,
            key_values=chances,
            unit_label="chance",
            at_risk=at_risk,
            largest_first=True,
            chart=risk_chart(self.threshold),
        )

    def _people(self, data: Microdata, against: Microdata | None) -> tuple[KeyTable, Floats, Floats]:
        """The keys, how many records or people the attacker hesitates between, and his chance of being right."""
        if self.attacker == "prosecutor":
            space = key_space(data)
            people = count_frequencies(space, self.counted_sense).astype(np.float64)
            return space.keys, people, 1.0 / people
        keys, people = population_frequencies(data, against if self.population == "table" else None)
        if self.population == "table":
            return keys, people, 1.0 / people
        # the mean of 1/F is more than one over the mean of F
        return keys, people, expected_inverse(keys.persons, people)
