"""Suppressed tables under programs that are built from the published frame alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.protect.table.independent_lp import Intruder, disclosed_counts, disclosed_sums, told_to_lone

import flou

R = flou.risk
#: The finest categories of each dimension, how many of them make a group, and the records.
SHAPES = (
    (((7, 1), (5, 1)), 120),
    (((12, 4), (5, 1)), 200),
    (((4, 1), (4, 1), (3, 1)), 160),
    (((8, 2), (3, 1), (3, 1)), 200),
)


def drawn(number: int) -> tuple[pl.DataFrame, list[list[str]]]:
    """Records, and the columns of each dimension."""
    shape, n = SHAPES[number % len(SHAPES)]
    rng = np.random.default_rng(100 + number)
    columns: dict[str, Any] = {}
    dims = []
    for j, (n_finest, n_group) in enumerate(shape):
        finest = rng.choice(n_finest, n, p=rng.dirichlet(np.full(n_finest, 2.0)))
        columns[f"d{j}"] = [f"c{x}" for x in finest]
        columns[f"g{j}"] = [f"g{x // n_group}" for x in finest]
        dims.append([f"d{j}"] if n_group == 1 else [f"g{j}", f"d{j}"])
    columns["amount"] = np.round(np.exp(rng.normal(4, 1.4, n))) + 1
    return pl.DataFrame(columns), dims


def tabulated(records: pl.DataFrame, dims: list[list[str]], value: str | None) -> flou.Table:
    options: dict[str, Any] = {} if value is None else {"value": value, "largest": 2}
    return flou.Microdata(records).tabulate([">".join(dim) for dim in dims], cells="all", **options)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("search", ["modular", "gauss"])
def test_sums(number: int, search: str) -> None:
    records, dims = drawn(number)
    rules = [R.PPercent(p=10), R.Threshold(n=3)]
    frame = (
        flou.protect.CellSuppression(rules, search=search).protect(tabulated(records, dims, "amount")).data.to_frame()
    )
    found, n_primary, n_programs = disclosed_sums(frame, records, dims, "amount", p=10, n=3)
    assert not found
    assert n_primary > 5
    assert n_programs == 2 * n_primary


@pytest.mark.parametrize("number", range(4, 8))
def test_counts(number: int) -> None:
    records, dims = drawn(number)
    frame = flou.protect.CellSuppression([R.Threshold(n=3)]).protect(tabulated(records, dims, None)).data.to_frame()
    found, n_primary, n_programs = disclosed_counts(frame, records, dims, "amount", n=3)
    assert not found
    assert n_primary > 5
    assert n_programs == 2 * n_primary


@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("singletons", ["exact", "levels"])
def test_whoever_is_alone(number: int, singletons: str) -> None:
    records, dims = drawn(number)
    rules = [R.PPercent(p=10), R.Threshold(n=3)]
    release = flou.protect.CellSuppression(rules, singletons=singletons).protect(tabulated(records, dims, "amount"))
    found, n_alone, n_programs = told_to_lone(release.data.to_frame(), records, dims, "amount", p=10, n=3)
    assert not found
    assert n_alone > 2
    assert n_programs > 0


def test_the_programs_see_what_primary_cells_alone_tell() -> None:
    """Without secondary cells they find disclosed cells, or they would find nothing ever."""
    records, dims = drawn(1)
    table = tabulated(records, dims, "amount")
    primary = flou.protect.CellSuppression([R.PPercent(p=10), R.Threshold(n=3)]).protect(table).data.suppression
    assert primary is not None
    assert primary.because is not None
    shown = table.to_frame(reveal=True).with_columns(
        value=pl.when(pl.Series(primary.because.any(axis=1))).then(None).otherwise(pl.col("value"))
    )
    found, n_primary, _ = disclosed_sums(shown, records, dims, "amount", p=10, n=3)
    assert 0 < len(found) <= n_primary


def test_bounds_by_hand() -> None:
    """Two by two suppressed cells in a table of three by three, whose bounds are read off the margins."""
    rows = [("a", "x", None), ("a", "y", None), ("a", "z", 5), ("b", "x", None), ("b", "y", None), ("b", "z", 1)]
    rows += [("Total", "x", 10), ("Total", "y", 7), ("Total", "z", 6), ("a", "Total", 13), ("b", "Total", 10)]
    frame = pl.DataFrame([*rows, ("Total", "Total", 23)], schema=["r", "c", "value"], orient="row")
    intruder = Intruder(frame, [["r"], ["c"]], "value", 0.0)
    # a × x + a × y = 8, a × x + b × x = 10, a × y + b × y = 7
    assert intruder.bounds(("a", "x")) == pytest.approx((1.0, 8.0))
    assert intruder.bounds(("b", "y")) == pytest.approx((0.0, 7.0))
    assert intruder.bounds(("a", "x"), {("a", "y"): 2.0}) == pytest.approx((6.0, 6.0))
