"""Three attackers (El Emam 2013): what each of them knows, and how often he is right.

- The *prosecutor* knows that his target is in the file: he is right with 1/f, f records sharing the key.
- The *journalist* does not know; he looks for anybody he can find in the population, and is right with 1/F, F
  people sharing the key.
- The *marketer* links everybody he can, and cares for how many are right: the mean of 1/F over the records.

F is counted in a public table (`against=`) or estimated by the weights; of a file that is the population, it is f.
The success rate of the journalist is the larger of keys over people and the mean of 1/F, as ARX has it.
It fails as a probability of attack: it says how often an attack succeeds, not whether anybody mounts one.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.keys import KeyTable
from flou.engine.method import RiskMeasure
from flou.engine.parameters import Share
from flou.engine.result import RiskResult
from flou.risk.micro.frequency import Missing, count_frequencies
from flou.risk.micro.histogram import risk_chart
from flou.risk.micro.population import population_frequencies
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
    compares_with: ClassVar[Literal["original", "population"] | None] = "population"

    attacker: Literal["prosecutor", "journalist", "marketer"] = Field(
        "prosecutor", description="what the attacker knows"
    )
    threshold: Share = Field(0.2, description="a record is at risk when the chance of being right is larger")
    missing: Missing = Field("pessimistic", description="for a prosecutor: what an undetermined value may stand for")

    def _measure(self, data: Microdata, against: Microdata | None, counts: Any) -> RiskResult:
        keys, people = self._people(data, against)
        chances = 1.0 / people
        at_risk = chances > self.threshold
        n, n_at_risk = keys.n_records, int(keys.counts[at_risk].sum())
        mean = math.fsum((keys.counts * chances).tolist()) / n
        success = mean
        if self.attacker == "journalist":
            success = max(keys.n_keys / math.fsum(people.tolist()), mean)
        marketer = self.attacker == "marketer"
        estimated = self.attacker != "prosecutor" and against is None and keys.weights is not None
        return self._result(
            data,
            value=success if marketer else n_at_risk / n,
            value_label="success rate of the attacker" if marketer else "share of records at risk",
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
            figure_labels={
                "highest": "highest chance for a record",
                "success": "success rate of the attacker",
                "n_at_risk": "records at risk",
                "n_keys": "distinct keys",
                "n_records": "records",
            },
            keys=keys,
            key_values=chances,
            unit_label="chance",
            at_risk=at_risk,
            largest_first=True,
            chart=risk_chart(self.threshold),
        )

    def _people(self, data: Microdata, against: Microdata | None) -> tuple[KeyTable, Floats]:
        """The keys, and how many records or people the attacker hesitates between for each."""
        if self.attacker == "prosecutor" or (against is None and data.schema.weight is None):
            space = key_space(data)
            return space.keys, count_frequencies(space, self.missing).astype(np.float64)
        return population_frequencies(data, against, f"A {self.attacker}")
