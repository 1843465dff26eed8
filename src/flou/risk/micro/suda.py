"""SUDA (Elliot, Manning & Ford 2002): records that a few of their values are enough to single out.

A minimal sample unique is a set of key values that one record alone has, and none of whose parts is unique.
The smaller and the more numerous a record's minimal uniques, the likelier it is unique in the population. With
V keys and uniques up to size M one of size s scores the product of V - i for i from s to M (V - 1 at most).

DIS-SUDA (Elliot & Manning 2003) turns the score into a chance that a match of the record is right, for a
sampling fraction: the file's overall chance, estimated from uniques and pairs, is shared out by the scores.

A null takes no part in a unique. It fails as a probability: scores rank records, and the chance is
calibrated on the file, not on the record.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.charts import Look, bars
from flou.engine.errors import ParameterError
from flou.engine.figure import Figure
from flou.engine.keys import KeyTable
from flou.engine.measure import RiskMeasure
from flou.engine.note import Note
from flou.engine.result import RiskResult, unused
from flou.engine.risk_figure import SHARE, SMALLEST, count_of
from flou.engine.taxonomy import always
from flou.risk.micro.minimal_uniques import minimal_uniques
from flou.risk.micro.setting import require_keys, sampling_fraction

if TYPE_CHECKING:
    import altair as alt

Floats = NDArray[np.float64]


class Suda(RiskMeasure):
    """Share of records that are unique on a few of their keys, with a score for each.

    Reference: Elliot, Manning & Ford (2002); DIS-SUDA after Elliot & Manning (2003).
    Result: `.value` the share of records with a minimal unique, `.units` the score of each record, `.by_key`
    each key with its score, its DIS score and the share of the score that each column has a part in.
    `contribution_*` in `.figures` is that share in the whole file.
    """

    reference: ClassVar[str] = "elliot2002"
    title: ClassVar[str] = "special uniques (SUDA)"
    audience = "public"
    answers_by = always(identity="measures")
    headline: ClassVar[Figure] = Figure.public("value", "share of records with a minimal unique", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("highest", "highest score", "number", "low"),
        Figure("highest_dis", "highest DIS score", "number", SHARE),
        Figure.public("smallest_size", "smallest minimal unique", "count", SMALLEST),
        Figure("sampling_fraction", "sampling fraction", "number"),
        Figure.public("n_at_risk", "records with a minimal unique", "count", count_of("n_records")),
        Figure.public("n_records", "records", "count"),
        Figure("contribution_*", "contribution", "share"),
    )

    max_size: int | None = Field(None, ge=1, description="largest set of keys to look at; default: all of them")
    sampling_fraction: float | None = Field(
        None,
        gt=0,
        le=1,
        description="share of the population in the file; default: by the weights, else all",
        json_schema_extra={"internal": True},  # of a sample it is the secret share
    )

    def _measure(self, data: Microdata, against: Any, counts: Any) -> RiskResult:
        columns = require_keys(data)
        largest = len(columns) if self.max_size is None else self.max_size
        if largest > len(columns):
            raise ParameterError(f"max_size = {largest} is larger than the number of keys: there are {len(columns)}.")
        table = data.key_table(columns)
        codes = table.codes
        weight = [
            math.prod(len(columns) - i for i in range(s, min(largest, len(columns) - 1) + 1))
            for s in range(largest + 1)
        ]
        scores = np.zeros(table.n_keys)
        parts = np.zeros(len(columns))
        smallest = np.zeros(table.n_keys, dtype=np.int8)
        for chosen, rows in minimal_uniques(codes, table.counts, largest):
            gained = float(weight[len(chosen)])
            scores[rows] += gained
            smallest[rows] = np.where(smallest[rows] == 0, len(chosen), smallest[rows])
            parts[list(chosen)] += gained * len(rows)
        fraction = sampling_fraction(data, table, self.sampling_fraction)
        chances = dis_scores(scores, table.counts, len(columns), fraction)
        special = scores > 0
        n_special = int(special.sum())
        total = float(scores.sum())
        return self._result(
            data,
            value=n_special / table.n_records,
            no_interval="the file is measured as it is: nothing is estimated but the DIS score",
            figures={
                "highest": float(scores.max()),
                "highest_dis": float(chances.max()),
                "smallest_size": int(smallest[special].min()) if n_special else None,
                "sampling_fraction": fraction,
                "n_at_risk": n_special,
                "n_records": table.n_records,
                **{
                    f"contribution_{c}": self.called(
                        f"contribution_{c}", f"contribution ({c})", p / total if total else 0.0
                    )
                    for c, p in zip(columns, parts.tolist(), strict=True)
                },
            },
            notes=_notes(fraction),
            keys=table,
            key_values=scores,
            unit_label="score",
            at_risk=special,
            largest_first=True,
            detail=partial(_contributions, table, largest, weight, scores, chances),
            chart=contribution_chart,
        )


def _notes(fraction: float) -> tuple[Note, ...]:
    if fraction < 1:
        return ()
    return (
        Note(
            "The file is taken for the whole population, where every unique is found for certain: give a "
            "sampling_fraction for DIS scores that tell records apart."
        ),
    )


def dis_scores(scores: Floats, counts: NDArray[np.int64], n_columns: int, fraction: float) -> Floats:
    """The chance that a match of each record is right: the file's chance, shared out by the scores."""
    out = np.zeros(len(scores))
    special = scores > 0
    held = scores[special]
    if not len(held):
        return out
    power = 1 + (8 - n_columns) / 20
    doubles = 2.0 * int((counts == 2).sum())
    spread = float(np.sort(held**-power).sum())
    out[special] = 1 / (1 + doubles * (1 - fraction) / (fraction * spread * held**power))
    return out


def _contributions(table: KeyTable, largest: int, weight: list[int], scores: Floats, chances: Floats) -> pl.DataFrame:
    """For each key the DIS score and the share of the score that each column has a part in: searched again."""
    parts = np.zeros((len(table.columns), table.n_keys))
    for chosen, rows in minimal_uniques(table.codes, table.counts, largest):
        for j in chosen:
            parts[j, rows] += weight[len(chosen)]
    parts /= np.where(scores > 0, scores, 1.0)
    taken = table.frame.columns
    columns = [pl.Series(unused("dis", taken), chances)]
    columns += [pl.Series(unused(f"contribution.{c}", taken), parts[j]) for j, c in enumerate(table.columns)]
    return pl.DataFrame(columns)


def contribution_chart(result: RiskResult, look: Look) -> alt.Chart:
    """The share of the file's score that each key has a part in."""
    shares = {c: float(result.figures[f"contribution_{c}"] or 0.0) for c in result.keys.columns}
    if result.n_flagged < look.min_count:
        shares = dict.fromkeys(shares, 0.0)  # the contributions of few records describe them
    largest = max(shares.values())
    frame = pl.DataFrame(
        {"key": list(shares), "share": list(shares.values()), "at_risk": [0 < s == largest for s in shares.values()]}
    ).sort("share", descending=True, maintain_order=True)
    return bars(
        frame,
        category="key",
        value="share",
        flag="at_risk",
        titles=("key", "share of the scores"),
        flag_names=("largest part", "other keys"),
        look=look,
    )
