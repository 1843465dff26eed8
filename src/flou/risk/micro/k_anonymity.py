"""k-anonymity (Samarati & Sweeney 1998): each key is shared by at least k records.

With undetermined values the figure depends on what a null may stand for. The default,
`pessimistic` (Saoud), takes the rarest key the record could have. Only `category` says how many
records look exactly alike; the wildcard senses let wholly undetermined records carry the count, which
the result warns of.

It answers the identity attack alone: k records that share one illness still give it away.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from flou.describe.keyspace import KeySpace
from flou.describe.microdata import Microdata
from flou.engine.charts import Look, bars
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.method import RiskMeasure, require_columns
from flou.engine.note import Note
from flou.engine.parameters import Columns
from flou.engine.result import RiskResult, unused
from flou.risk.micro.frequency import Counts, Missing, count_frequencies, find_completions
from flou.risk.micro.subsets import SubsetCounts, count_subsets

if TYPE_CHECKING:
    import altair as alt


class KAnonymity(RiskMeasure):
    """Share of records whose key is shared by fewer than k records.

    Reference: Samarati & Sweeney (1998); undetermined values after Saoud.
    Result: `.value` the share of records below k, `.k` the smallest frequency, `.units` the frequency of
    each record, `.by_key` each key with its frequency and, for optimistic and pessimistic, the completion
    that gave it. With `subsets=m` a record's frequency is the smallest over every m of the keys, and
    `.by_key` names the rarest subset.
    """

    reference: ClassVar[str] = "samarati1998"
    title: ClassVar[str] = "k-anonymity"

    k: int = Field(ge=1, description="smallest number of records that must share a key")
    missing: Missing = Field("pessimistic", description="what an undetermined value may stand for")
    by: Columns | None = Field(None, description="count within these strata; default: the whole file")
    subsets: int | None = Field(
        None, ge=1, description="count on every subset of so many keys; default: all keys at once"
    )

    def _measure(self, data: Microdata, against: Any, counts: Any) -> RiskResult:
        columns, strata = data.schema.keys, self.by or ()
        if not columns:
            raise DataError(
                "No keys are declared: say which columns an intruder may know, with keys=[…] or in a schema."
            )
        require_columns(data, strata, "by")
        hidden = [c for c in strata if c in data.schema.hidden]
        if hidden:
            raise DataError(f"by names {listed(hidden)}, which is never published: strata are columns that people see.")
        table = data.key_table((*columns, *(s for s in strata if s not in columns)))
        if self.k > table.n_records:
            raise ParameterError(f"k = {self.k} is larger than the file: it has {table.n_records:,} records.")
        space = KeySpace(table, tuple(columns), strata, data.declared_modalities, data.schema.incoherent)
        detail: Callable[[], pl.DataFrame]
        if self.subsets is None:
            frequencies, detail = count_frequencies(space, self.missing), partial(_completions, space, self.missing)
        else:
            counted = count_subsets(space, self.subsets, self.missing)
            frequencies, detail = counted.frequencies, partial(_rarest_subset, counted, table.frame.columns)
        at_risk = frequencies < self.k
        n_at_risk = int(table.counts[at_risk].sum())
        return RiskResult(
            method=self.name(),
            title=self.title,
            settings=self.shown_settings(),
            value=n_at_risk / table.n_records,
            value_label="share of records below k",
            no_interval="the file is measured as it is: nothing is estimated",
            figures={
                "k": int(frequencies.min()),
                "n_at_risk": n_at_risk,
                "n_keys": table.n_keys,
                "n_keys_at_risk": int(at_risk.sum()),
                "n_records": table.n_records,
                **({} if self.subsets is None else {"n_subsets": math.comb(len(columns), self.subsets)}),
            },
            figure_labels={
                "k": "smallest frequency of a key",
                "n_at_risk": "records below k",
                "n_keys": "distinct keys",
                "n_keys_at_risk": "distinct keys below k",
                "n_records": "records",
                "n_subsets": "subsets of the keys",
            },
            notes=self._notes(space, frequencies),
            measured_on="release" if data.released else "original",
            test_only=data.marks.test_only,
            data=data,
            keys=table,
            key_values=frequencies,
            unit_label="frequency",
            at_risk=at_risk,
            detail=detail,
            chart=frequency_chart,
        )

    def _notes(self, space: KeySpace, frequencies: Counts) -> tuple[Note, ...]:
        """Warn when wholly undetermined records, which agree with everybody, carry others over k."""
        if self.missing in ("category", "conservative") or len(space.free) < len(space.columns):
            return ()
        table = space.keys
        wholly = (space.free_codes == -1).all(axis=1)
        n_wholly = int(table.counts[wholly].sum())
        if not n_wholly:
            return ()
        # within strata they count for their own stratum alone, which is then the anchor
        anchor = space.anchors[1]
        of_anchor = np.bincount(anchor, weights=np.where(wholly, table.counts, 0)).astype(np.int64)
        carried = ~wholly & (frequencies >= self.k) & (frequencies - of_anchor[anchor] < self.k)
        return (
            Note(
                "{n_wholly} records have every key undetermined and count for every key; without them {n_carried} "
                'further records would be below k. They do not hide anybody: count with missing = "category".',
                {"n_wholly": n_wholly, "n_carried": int(table.counts[carried].sum())},
            ),
        )


def _completions(space: KeySpace, missing: Missing) -> pl.DataFrame:
    """The completion of each key, one column a key that is null somewhere; empty where none was needed."""
    codes = find_completions(space, missing)
    if codes is None:
        return pl.DataFrame()
    columns = []
    for j, column in enumerate(space.free):
        values = space.categories[column]
        name = unused(f"completion.{column}", space.keys.frame.columns)
        columns.append(pl.Series(name, [values[c] for c in codes[:, j]], strict=False))
    return pl.DataFrame(columns)


def _rarest_subset(counted: SubsetCounts, taken: list[str]) -> pl.DataFrame:
    """The subset of the keys on which each key is rarest."""
    return pl.DataFrame([pl.Series(unused("rarest_subset", taken), counted.names())])


#: Lower bounds of the classes in which frequencies are drawn; k joins them, so that no bar straddles it.
_CLASSES = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


def frequency_classes(result: RiskResult) -> pl.DataFrame:
    """Records by class of frequency: `class`, `records`, `share`, `at_risk`. Aggregates, never records."""
    k = int(result.settings["k"])
    bounds = np.unique([*_CLASSES, k])
    place = np.searchsorted(bounds, result.key_values, side="right") - 1
    records = np.bincount(np.maximum(place, 0), weights=result.keys.counts, minlength=len(bounds)).astype(np.int64)
    ends = [*(bounds[1:] - 1).tolist(), None]
    names = [
        f"{a}+" if b is None else str(a) if a == b else f"{a}–{b}" for a, b in zip(bounds.tolist(), ends, strict=True)
    ]
    return pl.DataFrame(
        {"class": names, "records": records, "share": records / result.keys.n_records, "at_risk": bounds < k}
    )


def without_small_classes(classes: pl.DataFrame, min_count: int) -> pl.DataFrame:
    """Classes of few records merged with the next: one left out could be found by subtraction."""
    merged: list[dict[str, Any]] = []
    for row in classes.iter_rows(named=True):
        if merged and 0 < merged[-1]["records"] < min_count:
            row = _merged(merged.pop(), row)
        merged.append(row)
    while len(merged) > 1 and 0 < merged[-1]["records"] < min_count:
        last = merged.pop()
        merged.append(_merged(merged.pop(), last))
    return pl.DataFrame(merged, schema=classes.schema)


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    end = second["class"].rpartition("–")[2]
    return {
        "class": f"{first['class'].partition('–')[0]}–{end}"
        if not end.endswith("+")
        else f"{first['class'].partition('–')[0]}+",
        "records": first["records"] + second["records"],
        "share": first["share"] + second["share"],
        "at_risk": first["at_risk"] or second["at_risk"],
    }


def frequency_chart(result: RiskResult, look: Look) -> alt.Chart:
    """Share of records by how many records share their key; classes of few records are merged."""
    return bars(
        without_small_classes(frequency_classes(result), look.min_count),
        category="class",
        value="share",
        flag="at_risk",
        titles=("records that share the key", "share of records"),
        flag_names=("below k", "k or more"),
        look=look,
    )
