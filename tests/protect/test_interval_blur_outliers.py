"""Nobody stands alone in a class: least sizes, extreme values, small strata."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import flou
from flou.protect import IntervalBlur


def people(n: int = 600, largest: float = 1_234_567.0) -> flou.Microdata:
    rng = np.random.default_rng(8)
    income = np.round(np.exp(rng.normal(7.5, 0.5, n)), 2)
    income[0] = largest
    area = np.arange(n) % (n // 10)
    return flou.Microdata(pl.DataFrame({"pid": np.arange(n), "income": income, "area": area.astype(str)}), id="pid")


@pytest.mark.parametrize("means", ["keep", "free"])
def test_an_outlier_shows_neither_in_a_sum_nor_in_where_draws_end(means: str) -> None:
    """Two files that differ in one person's fortune show the same range and almost the same total."""
    blur = IntervalBlur("income", class_means=means)  # type: ignore[arg-type]
    totals, highest = [], []
    for fortune in (9_000.0, 50_000.0, 1_234_567.0):
        shown = blur.protect(people(largest=fortune), secret=1).to_frame()["income"]
        totals.append(float(shown.sum()))
        highest.append(float(shown.max()))  # type: ignore[arg-type]
    assert len(set(highest)) == 1
    assert max(totals) - min(totals) < 0.001 * totals[0]


def test_classes_of_small_files_and_strata_keep_ten_records() -> None:
    release = IntervalBlur("income", classes=100).protect(people(200, 9000.0), secret=1)
    edges = np.array(release.steps[0].edges[0])
    before = people(200, 9000.0).to_frame()["income"].to_numpy()
    assert np.bincount(np.searchsorted(edges[1:-1], before, side="right")).min() >= 8  # bounds are rounded
    with pytest.raises(flou.FlouError, match="too few to be blurred: each of two classes needs min_records = 10"):
        IntervalBlur("income", by=["area"]).protect(people(), secret=1)
    with pytest.raises(flou.FlouError, match="too few"):
        IntervalBlur("income").protect(people(12, 2000.0), secret=1)


def test_an_open_class_does_not_pile_up_at_its_end() -> None:
    """A class whose mean lies beyond its last break, because of a few fortunes, is still drawn over its whole width."""
    data = people(2000, 9e6)
    top = float(np.quantile(data.to_frame()["income"], 0.95).round())
    blur = IntervalBlur("income", breaks=[0, 1000, 2000, top, 1.5 * top], top="open")
    shown = blur.protect(data, secret=1).to_frame()["income"]
    assert shown.filter(shown >= top).n_unique() > 40
