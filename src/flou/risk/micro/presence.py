"""δ-presence (Nergiz, Atzori & Clifton 2007): nobody can tell whether a person of a public table is in the file.

For each class of the public table, the share of its people who are in the file is what an intruder can say about
the presence of any of them. It must lie in [low, high]. A class of which nobody is in the file has 0: where low is
above 0, the people of that class are known to be absent. To be in a file of cancer patients is to have cancer.

It fails where the intruder's table is another than the one measured against, which the office must guess. Null is a
category in both tables: a file in which values were suppressed has classes that no public table has, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.describe.unique_ids import count_persons
from flou.engine.errors import ParameterError
from flou.engine.figure import Figure
from flou.engine.measure import RiskMeasure
from flou.engine.parameters import Share
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, Vacuous, count_of
from flou.engine.taxonomy import always
from flou.risk.micro.histogram import class_chart
from flou.risk.micro.population import PEOPLE, alike, count_same, people_table, require_contained
from flou.risk.micro.setting import require_keys


class Presence(RiskMeasure):
    """Share of the people of a public table whose presence in the file, or absence, is too easily told.

    Reference: Nergiz, Atzori & Clifton (2007).
    Result: `.value` the share of the table's people in classes outside [low, high], `.lowest` and `.highest` the
    shares of presence, `.units` that of each record's class.
    """

    reference: ClassVar[str] = "nergiz2007"
    title: ClassVar[str] = "δ-presence"
    audience = "public"
    answers_by = always(presence="closes")
    loose: ClassVar[Mapping[str, Vacuous]] = {"high": (">", 0.9)}
    requires = ("public table",)
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"high": (">", 0.5)}
    allows_several_rows: ClassVar[bool] = True
    headline: ClassVar[Figure] = Figure(
        "value", "share of the public table outside the bounds", "share", SHARE, "public"
    )
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("lowest", "smallest share of a class in the file", "number", "high"),
        Figure("highest", "largest share of a class in the file", "number", SHARE),
        Figure(
            "n_people_outside", "people of the public table outside the bounds", "count", count_of("n_people"), "public"
        ),
        Figure(
            "n_people_absent", "people of classes that are not in the file", "count", count_of("n_people"), "public"
        ),
        Figure.public("n_people", "people of the public table", "count"),
        Figure.public("n_classes", "classes of the public table", "count"),
        Figure.public("n_at_risk", "records outside the bounds", "count", count_of("n_records")),
        Figure.public("n_records", "records", "count"),
    )
    compares_with: ClassVar[Literal["original", "population"] | None] = "population"

    low: Share = Field(description="smallest share of a class that must be in the file")
    high: Share = Field(description="largest share of a class that may be in the file")

    @model_validator(mode="after")
    def _consistent(self) -> Presence:
        if self.low > self.high:
            raise ParameterError(f"low = {self.low} is larger than high = {self.high}.")
        return self

    @property
    def needs_against(self) -> bool:
        return True

    def _measure(self, data: Microdata, against: Microdata, counts: Any) -> RiskResult:
        keys = data.key_table(require_keys(data))
        public = people_table(data, against)
        people = count_same(keys, public)
        require_contained(keys, people, count_persons(data, keys), public.n_records)
        share = keys.persons / people
        at_risk = (share < self.low) | (share > self.high)
        ours, theirs = alike(keys, public)
        in_file = theirs.join(ours, on=list(keys.columns), how="semi", nulls_equal=True).height
        absent = theirs.join(ours, on=list(keys.columns), how="anti", nulls_equal=True)
        n_absent = int(absent[PEOPLE].sum())
        n_outside = int(people[at_risk].sum()) + (n_absent if self.low > 0 else 0)
        return self._result(
            data,
            value=n_outside / public.n_records,
            no_interval="the people of the public table are counted: nothing is estimated",
            figures={
                "lowest": 0.0 if n_absent else float(share.min()),
                "highest": float(share.max()),
                "n_people_outside": n_outside,
                "n_people_absent": n_absent,
                "n_people": public.n_records,
                "n_classes": in_file + absent.height,
                "n_at_risk": int(keys.counts[at_risk].sum()),
                "n_records": keys.n_records,
            },
            keys=keys,
            key_values=np.asarray(share),
            unit_label="presence",
            at_risk=at_risk,
            largest_first=True,
            chart=class_chart(
                sorted({0.0, 0.1, 0.25, 0.5, 0.75, self.low, float(np.nextafter(self.high, 2.0))}),
                titles=("share of the class that is in the file", "share of records"),
                flag_names=("outside the bounds", "within the bounds"),
            ),
        )
