"""Population uniqueness: how many people of the population are alone with their key, judged by a sample.

A sample unique is in danger when nobody else in the population shares its key. The estimators see only how
many keys have one record, two, three, …: Pitman's sampling formula (Hoshino 2001), Zayatz' use of Bayes' rule
(1991), the shifted negative binomial (Chen & Keller-McNulty 1998), and the rule by which Dankar et al. (2012)
choose among them.

They fail for samples that were not drawn at random, and far apart where the sample is a few per cent; compare
them. A file that holds the whole population needs no estimate. Keys are told apart with null as a category.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.charts import Look, bars
from flou.engine.figure import Figure
from flou.engine.measure import RiskMeasure
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, count_of
from flou.engine.taxonomy import always
from flou.risk.micro.histogram import count_classes, integer_classes, without_small_classes
from flou.risk.micro.population_models import ClassSizes, choose, estimate
from flou.risk.micro.setting import require_keys, sampling_fraction

if TYPE_CHECKING:
    import altair as alt


class PopulationUniqueness(RiskMeasure):
    """Estimated share of the population that is alone with its key.

    Reference: Dankar et al. (2012).
    Result: `.value` the share, `.uniques` the number of people, `.model` the estimator that was used, `.units` the
    chance that each record is unique in the population: 0 for all but sample uniques.
    """

    reference: ClassVar[str] = "dankar2012"
    title: ClassVar[str] = "population uniqueness"
    audience = "public"
    answers_by = always(identity="measures")
    headline: ClassVar[Figure] = Figure("value", "share of the population that is unique", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("uniques", "population uniques", "number", count_of("n_records")),
        Figure("chance", "chance that a sample unique is one", "number", SHARE),
        Figure("model", "estimator", "text"),
        Figure("sampling_fraction", "sampling fraction", "number"),
        Figure("population", "people in the population", "count"),
        Figure("n_at_risk", "sample uniques", "count", count_of("n_records")),
        Figure.public("n_keys", "distinct keys", "count"),
        Figure.public("n_records", "records", "count"),
    )

    model: Literal["dankar", "pitman", "zayatz", "snb"] = Field(
        "dankar", description="estimator, or the rule that chooses"
    )
    sampling_fraction: float | None = Field(
        None,
        gt=0,
        le=1,
        description="share of the population in the file; default: by the weights, else all",
        json_schema_extra={"internal": True},  # of a sample it is the secret share
    )

    def _measure(self, data: Microdata, against: Any, counts: Any) -> RiskResult:
        table = data.key_table(require_keys(data))
        fraction = sampling_fraction(data, table, self.sampling_fraction)
        held = ClassSizes.of(table.counts, fraction)
        model, uniques = choose(held) if self.model == "dankar" else (self.model, estimate(self.model, held))
        single = table.counts == 1
        n_single = int(single.sum())
        chance = min(1.0, uniques * fraction / n_single) if n_single else 0.0
        whole = fraction >= 1
        return self._result(
            data,
            value=uniques / held.population,
            no_interval="the file is the whole population: nothing is estimated"
            if whole
            else "the estimators give no error; compare the models",
            figures={
                "uniques": uniques,
                "chance": chance,
                "model": "none" if whole or not n_single else str(model),
                "sampling_fraction": fraction,
                "population": round(held.population),
                "n_at_risk": n_single,
                "n_keys": table.n_keys,
                "n_records": table.n_records,
            },
            keys=table,
            key_values=np.where(single, chance, 0.0),
            unit_label="chance",
            at_risk=single,
            largest_first=True,
            chart=size_chart,
        )


def size_chart(result: RiskResult, look: Look) -> alt.Chart:
    """The share of records by how many share their key, which is all that the estimators see."""
    bounds = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
    classes = count_classes(replace(result, key_values=result.keys.counts), bounds, integer_classes(bounds))
    return bars(
        without_small_classes(classes, look.min_count),
        category="class",
        value="share",
        flag="at_risk",
        titles=("records that share the key", "share of records"),
        flag_names=("sample uniques", "two or more"),
        look=look,
    )
