"""k-anonymity (Samarati & Sweeney 1998): each key is shared by at least k records.

With undetermined values the figure depends on what a null may stand for. The default,
`pessimistic` (Saoud), takes the rarest key the record could have. Only `category` says how many
records look exactly alike; the wildcard senses let wholly undetermined records carry the count, which
the result warns of.

It answers the identity attack alone: k records that share one illness still give it away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from flou.describe.keyspace import KeySpace
from flou.describe.microdata import Microdata
from flou.describe.unique_ids import count_persons
from flou.engine.errors import ParameterError
from flou.engine.figure import Figure
from flou.engine.measure import Names, RiskMeasure
from flou.engine.note import Note
from flou.engine.parameters import Columns
from flou.engine.result import RiskResult, unused
from flou.engine.risk_figure import SHARE, SMALLEST, Vacuous, count_of
from flou.engine.sense import STRICT, Missing
from flou.engine.several_rows import refuse_several_rows
from flou.engine.taxonomy import Answers
from flou.risk.micro.frequency import Counts, count_frequencies, find_completions
from flou.risk.micro.histogram import Chart, around, class_chart
from flou.risk.micro.setting import key_space
from flou.risk.micro.subsets import SubsetCounts, count_subsets


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
    audience = "public"
    answers_by: ClassVar[Mapping[str, Answers]] = {
        "": {"identity": "closes"},
        "subsets": {"identity": "measures"},
    }
    loose: ClassVar[Mapping[str, Vacuous]] = {"k": ("<", 2)}
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"k": ("<=", 1)}
    allows_several_rows: ClassVar[bool] = True
    headline: ClassVar[Figure] = Figure.public("value", "share of records below k", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure.public("k", "smallest frequency of a key", "smallest", SMALLEST),
        Figure.public("n_at_risk", "records below k", "count", count_of("n_records")),
        Figure.public("n_keys", "distinct keys", "count"),
        Figure.public("n_keys_at_risk", "distinct keys below k", "count", count_of("n_keys")),
        Figure.public("n_records", "records", "count"),
        Figure.public("n_subsets", "subsets of the keys", "count"),
    )
    has_sense: ClassVar[bool] = True

    k: int = Field(ge=1, description="smallest number of records that must share a key")
    missing: Missing | None = Field(
        None, description="what an undetermined value may stand for; default: category on a release, pessimistic before"
    )
    by: Columns | None = Field(None, description="count within these strata; default: the whole file")
    subsets: int | None = Field(
        None, ge=1, description="count on every subset of so many keys; default: all keys at once"
    )

    @property
    def variant(self) -> str:
        return "" if self.subsets is None else "subsets"

    def answers(self) -> Answers:
        """Nulls as wildcards carry the count: only as a category do they hide somebody."""
        found = super().answers()
        return found if self.missing in (None, STRICT) else dict.fromkeys(found, "measures")

    def attacks_shown(self, result: RiskResult) -> tuple[Names, Names]:
        """Counted with nulls as wildcards it closes nothing where there are any."""
        closed, found = super().attacks_shown(result)
        wild = self.sense != STRICT and any(result.keys.frame[c].null_count() for c in result.keys.columns)
        return (() if wild else closed), found

    def _measure(self, data: Microdata, against: Any, counts: Any) -> RiskResult:
        space = key_space(data, self.by or ())
        table, columns, several = space.keys, space.columns, space.keys.people is not None
        if several and self.subsets is not None:
            refuse_several_rows(data, "KAnonymity(subsets=…)")
        if self.k > (n_persons := count_persons(data, table)):
            raise ParameterError(
                f"k = {self.k} is larger than the file: it has {n_persons:,} {'persons' if several else 'records'}."
            )
        detail: Callable[[], pl.DataFrame]
        if self.subsets is None:
            frequencies = count_frequencies(space, self.counted_sense)
            detail = partial(_completions, space, self.counted_sense)
        else:
            counted = count_subsets(space, self.subsets, self.counted_sense)
            frequencies, detail = counted.frequencies, partial(_rarest_subset, counted, table.frame.columns)
        at_risk = frequencies < self.k
        n_at_risk, k = int(table.counts[at_risk].sum()), int(frequencies.min())
        return self._result(
            data,
            value=n_at_risk / table.n_records,
            no_interval="the file is measured as it is: nothing is estimated",
            figures={
                "k": self.called("k", "smallest number of persons who share a key", k) if several else k,
                "n_at_risk": n_at_risk,
                "n_keys": table.n_keys,
                "n_keys_at_risk": int(at_risk.sum()),
                "n_records": table.n_records,
                **({} if self.subsets is None else {"n_subsets": math.comb(len(columns), self.subsets)}),
            },
            notes=self._notes(space, frequencies),
            keys=table,
            key_values=frequencies,
            unit_label="persons" if several else "frequency",
            at_risk=at_risk,
            detail=detail,
            chart=frequency_chart(self.k, several=several),
        )

    def _notes(self, space: KeySpace, frequencies: Counts) -> tuple[Note, ...]:
        """Warn when wholly undetermined records, which agree with everybody, carry others over k."""
        if self.counted_sense in ("category", "conservative") or len(space.free) < len(space.columns):
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


def frequency_chart(k: int, *, several: bool = False) -> Chart:
    """Share of records by how many records, or persons, share their key."""
    return class_chart(
        around(k, *_CLASSES),
        whole=True,
        titles=("persons who share the key" if several else "records that share the key", "share of records"),
        flag_names=("below k", "k or more"),
    )
