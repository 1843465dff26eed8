"""Records by class of a figure, for charts: aggregates, never records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flou.engine.charts import Look, bars
from flou.engine.result import RiskResult

if TYPE_CHECKING:
    import altair as alt

Chart = Callable[[RiskResult, Look], "alt.Chart"]


def count_classes(result: RiskResult, bounds: Sequence[float], names: Sequence[str]) -> pl.DataFrame:
    """Records by class of the figure: `class`, `records`, `share`, `at_risk`.

    A class goes from its bound up to, not including, the next; the first also takes what is smaller.
    """
    place = np.maximum(np.searchsorted(np.asarray(bounds), result.key_values, side="right") - 1, 0)
    records = np.bincount(place, weights=result.keys.counts, minlength=len(bounds)).astype(np.int64)
    flagged = np.bincount(place, weights=result.at_risk, minlength=len(bounds)) > 0
    return pl.DataFrame(
        {"class": list(names), "records": records, "share": records / result.keys.n_records, "at_risk": flagged}
    )


def integer_classes(bounds: Sequence[int]) -> list[str]:
    """Names of classes of whole numbers by their lower bounds: `1`, `2`, `3–4`, `5+`."""
    ends = [*(b - 1 for b in bounds[1:]), None]
    return [f"{a}+" if b is None else str(a) if a == b else f"{a}–{b}" for a, b in zip(bounds, ends, strict=True)]


def number_classes(bounds: Sequence[float]) -> list[str]:
    """Names of classes of numbers by their lower bounds: `0–0.05`, `0.05–0.1`, `0.1+`."""
    shown = [f"{b:.4g}" for b in bounds]
    return [*(f"{a}–{b}" for a, b in pairwise(shown)), f"{shown[-1]}+"]


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
    start, end = first["class"].partition("–")[0], second["class"].rpartition("–")[2]
    return {
        "class": f"{start}+" if end.endswith("+") else f"{start}–{end}",
        "records": first["records"] + second["records"],
        "share": first["share"] + second["share"],
        "at_risk": first["at_risk"] or second["at_risk"],
    }


@dataclass(frozen=True)
class ClassChart:
    """A chart of the share of records by class of the figure; classes of few records are merged."""

    bounds: tuple[float, ...]
    titles: tuple[str, str]
    flag_names: tuple[str, str]
    whole: bool = False

    def __call__(self, result: RiskResult, look: Look) -> alt.Chart:
        bounds = self.bounds
        names = integer_classes([int(b) for b in bounds]) if self.whole else number_classes(bounds)
        if look.language == "fr":
            names = [name.replace(".", ",") for name in names]
        return bars(
            without_small_classes(count_classes(result, bounds, names), look.min_count),
            category="class",
            value="share",
            flag="at_risk",
            titles=self.titles,
            flag_names=self.flag_names,
            look=look,
        )


def class_chart(
    bounds: Sequence[float], *, whole: bool = False, titles: tuple[str, str], flag_names: tuple[str, str]
) -> Chart:
    """A chart by classes with these lower bounds."""
    return ClassChart(tuple(bounds), titles, flag_names, whole)


def around(threshold: float, *others: float) -> list[float]:
    """Class bounds with the threshold among them, so that no bar straddles it."""
    return sorted({*others, threshold})


#: Lower bounds of classes of a risk, which is a probability.
RISKS = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5)


def risk_chart(threshold: float) -> Chart:
    """The share of records by class of their risk."""
    return class_chart(
        around(float(np.nextafter(threshold, 1.0)), *(r for r in RISKS if r != threshold)),
        titles=("risk of re-identification", "share of records"),
        flag_names=("above the threshold", "threshold or less"),
    )
