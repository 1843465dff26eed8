"""k-map (Sweeney 2002): each key of the file is shared by at least k people of a public table.

An intruder who does not know whether a person is in the file must look among all who could be. The file may then
have unique records, as long as the population has k people for each. The population is a public table
(`against=`). It can be estimated by the sampling weights instead, which must be asked for and guarantees nothing.

It fails against an intruder who knows that the person is in the file: then k-anonymity is what counts. And it is
as good as the public table: people who are not in it hide nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.figure import Figure
from flou.engine.measure import RiskMeasure
from flou.engine.note import Note
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, SMALLEST, Vacuous, count_of
from flou.engine.taxonomy import always
from flou.risk.micro.histogram import around, class_chart
from flou.risk.micro.population import Population, population_frequencies


class KMap(RiskMeasure):
    """Share of records whose key is shared by fewer than k people of the population.

    Reference: Sweeney (2002).
    Result: `.value` the share of records below k, `.k` the smallest number of people behind a key, `.units` that
    number for each record.
    """

    reference: ClassVar[str] = "sweeney2002"
    title: ClassVar[str] = "k-map"
    audience = "public"
    answers_by = always(identity="measures")
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"k": ("<", 2)}
    allows_several_rows: ClassVar[bool] = True
    headline: ClassVar[Figure] = Figure.public("value", "share of records below k", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure.public("k", "smallest number of people behind a key", "smallest", SMALLEST),
        Figure.public("n_at_risk", "records below k", "count", count_of("n_records")),
        Figure.public("n_keys_at_risk", "distinct keys below k", "count", count_of("n_keys")),
        Figure.public("n_keys", "distinct keys", "count"),
        Figure.public("n_records", "records", "count"),
    )
    compares_with: ClassVar[Literal["original", "population"] | None] = "population"

    k: int = Field(ge=1, description="smallest number of people that must share a key")
    population: Population = Field("table", description="where people are counted: a public table, or the weights")

    @property
    def needs_against(self) -> bool:
        return self.population == "table"

    def _measure(self, data: Microdata, against: Microdata | None, counts: Any) -> RiskResult:
        keys, people = population_frequencies(data, against if self.population == "table" else None)
        at_risk = people < self.k
        n_at_risk = int(keys.counts[at_risk].sum())
        return self._result(
            data,
            value=n_at_risk / keys.n_records,
            no_interval="the people of the public table are counted: nothing is estimated"
            if self.population == "table"
            else "weights give an estimate of how many people share a key, but not of its error",
            figures={
                "k": float(people.min()) if self.population == "weights" else int(people.min()),
                "n_at_risk": n_at_risk,
                "n_keys_at_risk": int(at_risk.sum()),
                "n_keys": keys.n_keys,
                "n_records": keys.n_records,
            },
            notes=()
            if self.population == "table"
            else (
                Note("The people behind a key are estimated by the weights, which guarantees nothing for rare keys."),
            ),
            keys=keys,
            key_values=people if self.population == "weights" else people.astype(np.int64),
            unit_label="people",
            at_risk=at_risk,
            chart=class_chart(
                around(self.k, 1, 2, 3, 5, 10, 20, 50, 100, 1000),
                whole=True,
                titles=("people who share the key", "share of records"),
                flag_names=("below k", "k or more"),
            ),
        )
