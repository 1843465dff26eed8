"""What weights are calibrated on: totals of the categories of columns and of numeric columns, given or of the frame.

Null is a category like any other and goes by the name `null`; a column that holds this text as well as nulls is
refused. Totals that cannot be meant are refused here, by name: a category that nobody in the release has, records that
no category is for, margins that add up to different populations, categories of the frame so small that their count
tells of somebody.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import DataError, Infeasible, listed
from flou.engine.keys import count_keys, factorise
from flou.engine.values import text_of
from flou.protect.micro.calibration.distance import Floats
from flou.protect.micro.rows import Amounts

#: What an undetermined value is called among the categories of a margin.
NULL = "null"
#: Sums of margins that differ by less than this share are equal.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class Margin:
    """The categories of a column, by name, and the total of each; those without records and total are left out."""

    column: str
    names: tuple[str, ...]
    totals: Floats
    #: Record → category.
    codes: NDArray[np.int64]

    @property
    def population(self) -> float:
        return math.fsum(self.totals)


def read_margin(column: str, wanted: Sequence[tuple[str, float]], held: pl.Series) -> Margin:
    """A margin beside the records; what does not fit is refused."""
    values, codes = factorise(held)
    texts = [text_of(v) for v in values]
    if (codes < 0).any():
        _require_no_text_null(column, texts)
        texts.append(NULL)
        codes = np.where(codes < 0, len(texts) - 1, codes)
    totals = dict(wanted)
    counts = dict(zip(texts, np.bincount(codes, minlength=len(texts)).tolist(), strict=True))
    unlisted = [t for t in texts if t not in totals]
    if unlisted:
        undetermined = " Undetermined values are listed under 'null'." if NULL in unlisted else ""
        raise DataError(
            f"The margin of {column!r} has no total for {listed(unlisted)}, which the released records have. Give a "
            f"total for each value, recode the column, or leave the margin out.{undetermined}"
        )
    nobody = [name for name, total in wanted if total > 0 and not counts.get(name)]
    if nobody:
        raise DataError(
            f"The margin of {column!r} has a total for {listed(nobody)}, but no released record has it: no weights "
            "give that total. Recode the column so that every category has records, or leave the margin out."
        )
    empty = [name for name, total in wanted if total == 0 and counts.get(name)]
    if empty:
        raise DataError(
            f"The margin of {column!r} has the total 0 for {listed(empty)}, which released records have: their weights "
            "would be zero. Drop these records, recode the column, or leave the margin out."
        )
    names = tuple(name for name, _ in wanted if counts.get(name))
    place = {name: i for i, name in enumerate(names)}
    numbers = np.array([place[t] for t in texts], dtype=np.int64)
    return Margin(column, names, np.array([float(totals[n]) for n in names]), numbers[codes])


def frame_margin(frame: Microdata, column: str, min_count: int) -> list[tuple[str, float]]:
    """The categories of a column of the frame and their (weighted) counts."""
    if frame.schema.weight is not None:
        frame.lowest_weight()
    counted = count_keys(frame.frame, [column], frame.schema.weight).sorted()
    values = counted.frame[column].to_list()
    texts = [NULL if v is None else text_of(v) for v in values]
    if None in values:
        _require_no_text_null(column, [t for t, v in zip(texts, values, strict=True) if v is not None])
    rare = [t for t, n in zip(texts, counted.counts.tolist(), strict=True) if n < min_count]
    if rare:
        raise DataError(
            f"{column!r} has categories with fewer than {min_count} records in the frame, whose exact count the "
            f"weights would tell: {listed(rare)}. Recode the column, or leave it out of frame."
        )
    totals = counted.counts.astype(np.float64) if counted.weights is None else counted.weights
    return list(zip(texts, totals.tolist(), strict=True))


def frame_total(frame: Microdata, column: str, min_count: int) -> float:
    """The (weighted) sum of a numeric column of the frame, the same in any order of its rows."""
    held = [column, *(() if frame.schema.weight is None else (frame.schema.weight,))]
    rows = native.collect(frame.frame.select(*held))
    amounts = amounts_of(frame, rows[column])
    if 0 < np.count_nonzero(amounts) < min_count:
        raise DataError(
            f"Fewer than {min_count} records of the frame have an amount in {column!r}, whose exact sum the weights "
            "would tell. Leave it out of frame_totals."
        )
    weights = np.ones(len(amounts)) if frame.schema.weight is None else rows[frame.schema.weight].cast(pl.Float64)
    return math.fsum((amounts * np.asarray(weights)).tolist())


def amounts_of(data: Microdata, held: pl.Series) -> Floats:
    """A numeric column; undetermined and not-applicable amounts add nothing to a total."""
    if not held.dtype.is_numeric():
        raise DataError(f"A total needs a numeric column; {held.name!r} is {held.dtype}. Name it in margins or frame.")
    amounts = Amounts.of(data, held)
    values = np.where(amounts.known, amounts.values, 0.0)
    if not np.isfinite(values).all():
        raise DataError(f"{held.name!r} holds infinite values, which have no total.")
    return values


def different_populations(populations: Iterable[tuple[str, float]]) -> Infeasible | None:
    """Every margin adds up to the population; two that differ cannot both be met. None where all agree."""
    known = list(populations)
    for column, population in known[1:]:
        first, expected = known[0]
        if abs(population - expected) > _EQUAL * max(abs(population), abs(expected)):
            off = f"{abs(population - expected):,.12g}"
            return Infeasible(
                f"The margin of {first!r} sums to {expected:,.12g}, but that of {column!r} to {population:,.12g}.",
                best=f"weights that meet either of them, {off} away from the other",
                next_step="Give margins of one and the same population.",
            )
    return None


def _require_no_text_null(column: str, texts: Iterable[str]) -> None:
    if NULL in texts:
        raise DataError(
            f"{column!r} holds undetermined values and also the text 'null', which would be one category. Declare the "
            "text as undetermined in the schema, or recode it."
        )
