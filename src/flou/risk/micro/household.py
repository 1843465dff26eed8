"""Household risk: the chance that at least one member of a household is re-identified (Benschop et al. 2018).

Whoever finds one member has found them all, since the file says who lives together. With r the individual
risk of a member (Benedetti & Franconi 1998), taken as independent, the household's is 1 - Π(1 - r), and
every member has it.

It fails where members are recognised together: the composition of a household (ages, number of children) is
a key of its own that no member's risk knows of. Declare the household's size and make-up as keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import polars as pl
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import DataError, SchemaError
from flou.engine.figure import Figure
from flou.engine.keys import KeyTable
from flou.engine.measure import RiskMeasure
from flou.engine.parameters import Share
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, Vacuous, count_of
from flou.engine.sense import Missing
from flou.engine.taxonomy import always
from flou.risk.micro.benedetti_franconi import Floats
from flou.risk.micro.histogram import risk_chart
from flou.risk.micro.individual import find_risks, no_interval
from flou.risk.micro.setting import key_space, require_sampling_weights

_LOG, _KNOWN, _SIZE, _LOW, _HIGH = (f"{native.RESERVED}{name}" for name in ("log", "known", "size", "low", "high"))
#: log(1 - r) is added up in whole numbers of this unit: the same sum in any order of the rows.
_UNIT = 2.0**-40
#: So are the risks of households.
_FINE = 2.0**-32
#: log(1 - r) of a certain member; a household that reaches it is certain.
_CERTAIN = -36.0
#: More members than this could overflow the sum, and are no household.
_MOST_MEMBERS = 200_000
#: Up to this many members the sum is exact in floating point too.
_EXACT_MEMBERS = 200
#: Numbers that may be unused for each record before a table of households is too wide.
_MOST_GAPS = 8


class HouseholdRisk(RiskMeasure):
    """Share of records in a household where the chance that somebody is re-identified exceeds a threshold.

    Reference: Benschop, Machingauta & Welch (2018).
    Result: `.value` the share above the threshold, `.highest` the highest risk of a household, `.expected`
    the expected number of households with a re-identified member, `.units` the household's risk for each
    record, `.by_key` one line a household.
    """

    reference: ClassVar[str] = "benschop2018"
    title: ClassVar[str] = "household risk"
    audience = "public"
    answers_by = always(identity="measures")
    requires = ("household numbers",)
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"threshold": (">", 0.5)}
    headline: ClassVar[Figure] = Figure.public("value", "share of records above the threshold", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("highest", "highest risk of a household", "number", SHARE),
        Figure("expected", "expected households with a re-identified member", "number", count_of("n_households")),
        Figure.public("n_at_risk", "records above the threshold", "count", count_of("n_records")),
        Figure.public("n_households_at_risk", "households above the threshold", "count", count_of("n_households")),
        Figure.public("n_households", "households", "count"),
        Figure.public("n_records", "records", "count"),
    )
    has_sense: ClassVar[bool] = True

    threshold: Share = Field(0.1, description="a household is at risk when its chance of re-identification is larger")
    missing: Missing | None = Field(
        None, description="what an undetermined value may stand for; default: category on a release, pessimistic before"
    )

    def _measure(self, data: Microdata, against: Any, counts: Any) -> RiskResult:
        if data.schema.household is None:
            raise SchemaError(
                "No household is declared: say which column numbers them, with household=… or in a schema."
            )
        require_sampling_weights(data)
        space = key_space(data)
        households, risks = _households(data, space.keys, find_risks(space, self.counted_sense))
        at_risk = risks > self.threshold
        n, n_at_risk = households.n_records, int(households.counts[at_risk].sum())
        return self._result(
            data,
            value=n_at_risk / n,
            no_interval=no_interval(data),
            figures={
                "highest": float(risks.max()),
                "expected": float(np.rint(risks / _FINE).astype(np.int64).sum() * _FINE),
                "n_at_risk": n_at_risk,
                "n_households_at_risk": int(at_risk.sum()),
                "n_households": households.n_keys,
                "n_records": n,
            },
            keys=households,
            key_values=risks,
            unit_label="risk",
            at_risk=at_risk,
            largest_first=True,
            chart=risk_chart(self.threshold),
        )


def _households(data: Microdata, keys: KeyTable, risks: Floats) -> tuple[KeyTable, Floats]:
    """Each household with its size and its risk, by one pass over the rows in their engine."""
    household = str(data.schema.household)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log1p(-np.minimum(risks, 1.0)), _CERTAIN)
    units = pl.Series(_LOG, np.rint(logs / _UNIT).astype(np.int64))
    strata = [s for s in data.schema.strata if s != household]
    rows = data.frame.select(*dict.fromkeys((household, *keys.columns, *strata)))
    rows = native.look_up(rows, keys.frame.with_columns(units), list(keys.columns))
    found = _add_numbered(rows, household) if not strata else None
    if found is None:
        found = native.collect(rows.group_by(household).agg(*_figures(strata)))
    _require_whole(found, household, strata)
    sizes = found[_SIZE].to_numpy().astype(np.int64)
    sums = found[_LOG].to_numpy() * _UNIT
    chances = np.where(sums <= _CERTAIN, 1.0, -np.expm1(sums))
    return KeyTable((household,), found.select(household), sizes, None), chances


def _figures(strata: list[str]) -> list[nw.Expr]:
    """What is found out about a household: the sum, its size, members with a risk, and whether one stratum has it."""
    held = nw.col(_LOG)
    figures = [
        held.sum().cast(nw.Int64),
        held.count().cast(nw.Int64).alias(_KNOWN),
        nw.len().cast(nw.Int64).alias(_SIZE),
    ]
    for i, stratum in enumerate(strata):
        named = nw.col(stratum)
        figures += [named.min().alias(f"{_LOW}{i}"), named.max().alias(f"{_HIGH}{i}")]
        figures.append(named.count().cast(nw.Int64).alias(f"{_KNOWN}{i}"))
    return figures


def _add_numbered(rows: native.Frame, household: str) -> pl.DataFrame | None:
    """The same by arrays, where Polars holds households that are numbered without many gaps; else None."""
    if not rows.implementation.is_polars() or rows.collect_schema()[household] != nw.Int64:
        return None
    held = native.collect(rows.select(household, _LOG))
    if not held.height or held[household].null_count():
        return None
    low, high = int(held[household].min()), int(held[household].max())  # type: ignore[arg-type]
    if high - low > _MOST_GAPS * held.height:
        return None
    number = held[household].to_numpy() - low if low else held[household].to_numpy()
    sizes = np.bincount(number)
    if int(sizes.max()) > _EXACT_MEMBERS or held[_LOG].null_count():
        return None
    sums = np.bincount(number, weights=held[_LOG].to_numpy())
    there = np.flatnonzero(sizes)
    return pl.DataFrame(
        {household: there + low, _LOG: sums[there].astype(np.int64), _KNOWN: sizes[there], _SIZE: sizes[there]}
    )


def _require_whole(found: pl.DataFrame, household: str, strata: list[str]) -> None:
    """Refuse households that nobody could have meant."""
    size = pl.col(_SIZE)
    n_null = int(found.filter(pl.col(household).is_null())[_SIZE].sum())
    if n_null:
        raise DataError(
            f"The household {household!r} is null in {n_null:,} records: nobody can say with whom they live. Number "
            "people who live alone as households of their own."
        )
    for i, stratum in enumerate(strata):
        known = pl.col(f"{_KNOWN}{i}")
        split = found.filter((pl.col(f"{_LOW}{i}") != pl.col(f"{_HIGH}{i}")) | ((known > 0) & (known < size)))
        if split.height:
            raise DataError(
                f"{split.height:,} households are split over the strata of {stratum!r}: members of a household are in "
                f"one stratum. Are the households numbered within strata only?"
            )
    largest = int(found[_SIZE].max())  # type: ignore[arg-type]
    if largest > _MOST_MEMBERS:
        raise DataError(f"{household!r} has a household of {largest:,} members: is it the right column?")
    if found.filter(pl.col(_KNOWN) != size).height:
        raise DataError("Some rows have keys that were not there when the keys were counted: the file has changed.")
