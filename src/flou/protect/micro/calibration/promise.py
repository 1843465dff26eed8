"""The promise that weights meet the totals that they were calibrated on, counted anew in the rows' own engine.

Each total is compared with the weighted sum on the output. Weights are released with some digits, so that a total is
met up to that: relative to its size, or to the sum without signs where amounts may be negative. A later step that drops
records, changes a weight or recodes a column breaks the promise, and nothing is released.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import narwhals as nw
import polars as pl

from flou.describe.microdata import Microdata
from flou.describe.units import count_where
from flou.engine import native
from flou.engine.guarantee import Guarantee
from flou.engine.values import codes_in, text_of
from flou.protect.micro.calibration.margins import NULL

_SUM, _SIZE = f"{native.RESERVED}sum", f"{native.RESERVED}size"


@dataclass(frozen=True, eq=False)
class TotalsMet(Guarantee):
    """The violations are totals that are not met, and weights that are not positive and finite."""

    weight: str
    #: By column, the total of each category.
    margins: tuple[tuple[str, Mapping[str, float]], ...] = field(repr=False)
    amounts: tuple[tuple[str, float], ...] = field(repr=False)
    digits: int

    text = "the weights are positive and meet the totals of {columns} within {tolerance} of their size"

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(c for c, _ in self.margins), *(c for c, _ in self.amounts))

    @property
    def tolerance(self) -> str:
        return f"{self._within:.0e}"

    @property
    def _within(self) -> float:
        return 10.0 ** (1 - self.digits)  # half of the last digit, and as much again for the sums

    def violations(self, data: Microdata) -> int:
        weight, within = self.weight, self._within
        if weight not in data.columns or not data.frame.collect_schema()[weight].is_numeric():
            return len(self.columns)
        held = nw.col(weight).cast(nw.Float64)
        wrong = count_where(data, ~((held > 0) & (held < math.inf)).fill_null(False))
        wrong += sum(_category_misses(data, weight, c, totals, within) for c, totals in self.margins)
        return wrong + sum(_amount_misses(data, weight, c, total, within) for c, total in self.amounts)


def _category_misses(data: Microdata, weight: str, column: str, totals: Mapping[str, float], tolerance: float) -> int:
    if column not in data.columns:
        return 0  # dropped since: no table of it can be made
    summed = nw.col(weight).cast(nw.Float64).sum().alias(_SUM)
    found = native.collect(data.frame.group_by(column).agg(summed)).with_columns(pl.col(_SUM).cast(pl.Float64))
    sums = {NULL if v is None else text_of(v): s for v, s in found.select(column, _SUM).iter_rows()}
    missed = [c for c, total in totals.items() if not math.isclose(sums.get(c, 0.0), total, rel_tol=tolerance)]
    return len(missed) + len(set(sums) - set(totals))


def _amount_misses(data: Microdata, weight: str, column: str, total: float, tolerance: float) -> int:
    if column not in data.columns:
        return 0
    dtype = data.frame.collect_schema()[column]
    if not dtype.is_numeric():
        return 1
    codes = codes_in(dtype, data.schema.not_applicable.get(column, ()))
    rows = data.frame.filter(~nw.col(column).is_in(codes)) if codes else data.frame
    part = nw.col(weight).cast(nw.Float64) * nw.col(column).cast(nw.Float64)
    found = native.collect(rows.select(part.sum().alias(_SUM), part.abs().sum().alias(_SIZE)))
    met, size = (float(found[name][0] or 0.0) for name in (_SUM, _SIZE))
    return int(not abs(met - total) <= tolerance * max(abs(total), size))
