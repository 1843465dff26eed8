"""Exact bounds of suppressed cells, against every table that agrees with what is published."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import flou
from flou.describe.table.equations import table_equations
from flou.risk.table.bounds.extremes import Extremes
from flou.risk.table.bounds.intervals import find_intervals
from flou.risk.table.bounds.propagate import tighten
from flou.risk.table.bounds.view import View


def table_of(inner: NDArray[Any], dims: list[str] | None = None) -> flou.Table:
    """The table of given counts with all its margins."""
    rows = [
        {name: f"{name}{i}" for name, i in zip("abcd", place, strict=False)} | {"parent": f"p{place[0] // 2}"}
        for place, n in np.ndenumerate(inner)
        for _ in range(int(n))
    ]
    return flou.Microdata(pl.DataFrame(rows)).tabulate(dims or list("abcd"[: inner.ndim]))


def view_of(table: flou.Table, *, whole: bool, low: float = 0.0) -> View:
    figures = table.true_counts.astype(np.float64)
    n = table.n_cells
    return View(table_equations(table).matrix, figures, np.full(n, low), np.full(n, np.inf), whole)


def every_table(view: View, hidden: NDArray[np.bool_]) -> NDArray[np.int64]:
    """All whole tables that agree, by trying every one: totals bound what has to be tried."""
    cells, matrix = np.flatnonzero(hidden), view.matrix.toarray()
    rest = -matrix[:, ~hidden] @ view.figures[~hidden]
    held = matrix[:, cells]
    found: list[list[int]] = []

    def go_on(values: list[int], left: NDArray[np.float64]) -> None:
        k = len(values)
        if k == len(cells):
            if not left.any():
                found.append(values)
            return
        for value in range(int(view.low[cells[k]]), 7):
            after = left - held[:, k] * value
            # an equation without further cells must be satisfied
            if not after[~held[:, k + 1 :].any(axis=1)].any():
                go_on([*values, value], after)

    go_on([], rest)
    return np.array(found)


KINDS = {
    "two": ((3, 3), None),
    "three": ((2, 2, 3), None),
    "nested": ((4, 2), ["parent>a", "b"]),
    "four": ((2, 2, 2, 2), None),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("low", [0.0, 1.0])
def test_counts_agree_with_all_whole_tables(kind: str, low: float) -> None:
    shape, dims = KINDS[kind]
    rng = np.random.default_rng(len(kind))
    n_compared = 0
    for _ in range(12):
        table = table_of(rng.integers(1, 3, shape), dims)
        hidden = (rng.random(table.n_cells) < 0.35) & (table.true_counts < 6)
        hidden[np.flatnonzero(hidden)[9:]] = False
        view = view_of(table, whole=True, low=low)
        found = find_intervals(view, hidden)
        if not len(found.cells) or not np.isfinite(found.high).all() or found.high.max() > 6:
            continue
        tables = every_table(view, hidden)
        assert np.array_equal(found.low, tables.min(axis=0))
        assert np.array_equal(found.high, tables.max(axis=0))
        n_compared += len(found.cells)
    assert n_compared > 10


@pytest.mark.parametrize("low", [0.0, -np.inf])
def test_sums_agree_with_a_program_for_each_cell(low: float) -> None:
    rng = np.random.default_rng(3)
    ends = set()
    for _ in range(15):
        table = table_of(rng.integers(1, 3, (3, 3, 2)))
        matrix = table_equations(table).matrix
        scale = float(10.0 ** rng.integers(-4, 7))
        figures = table.true_counts * 1.25 * scale
        high = np.full(table.n_cells, np.inf)
        high[rng.integers(0, table.n_cells, 4)] = np.inf if low == 0 else 100 * scale
        view = View(matrix, figures, np.full(table.n_cells, low), np.maximum(high, figures), False)
        hidden = rng.random(table.n_cells) < rng.choice([0.3, 0.5, 0.9])
        found = find_intervals(view, hidden, workers=2)
        cells, dense = np.flatnonzero(hidden), matrix.toarray()
        bounds = list(zip(view.low[cells] / scale, view.high[cells] / scale, strict=True))
        for k, sign in itertools.product(range(len(cells)), (1, -1)):
            cost = np.zeros(len(cells))
            cost[k] = sign
            rest = -dense[:, ~hidden] @ figures[~hidden] / scale
            answer = linprog(cost, A_eq=dense[:, cells], b_eq=rest, bounds=bounds)
            wanted = -np.inf if answer.status == 3 else answer.fun
            got = sign * (found.low if sign > 0 else found.high)[k] / scale
            assert got == wanted if np.isinf(wanted) else abs(got - wanted) < 1e-6
            ends.add(bool(np.isinf(wanted)))
    assert ends == {True, False}, "bounded and unbounded cells occur"


#: A table of 4 × 2 categories of which the margins of two dimensions are published (cf. Sullivant 2005 on such gaps).
GAP = np.array([[[[1, 0], [0, 1]], [[0, 1], [0, 1]]], [[[0, 1], [0, 0]], [[0, 0], [1, 0]]]])


def test_linear_bounds_that_no_whole_table_reaches() -> None:
    data = flou.Microdata(
        pl.DataFrame([dict(zip("abcd", map(str, place), strict=True)) for place in np.argwhere(GAP == 1)])
    )
    table = data.tabulate(["a", "b", "c", "d"], cells="all")
    hidden = (table.cells.codes != 0).sum(axis=1) > 2
    linear = find_intervals(view_of(table, whole=False), hidden)
    whole = find_intervals(view_of(table, whole=True), hidden)
    gap = (np.ceil(linear.low - 1e-6) < whole.low) | (np.floor(linear.high + 1e-6) > whole.high)
    assert gap.sum() == 18
    known = gap & (whole.width == 0)
    assert known.sum() == 18, "linear programs leave an interval of one, and the cell is known"
    assert np.array_equal(whole.low[known], table.true_counts[whole.cells[known]])
    single = Extremes(view_of(table, whole=True), whole.cells)
    for k in np.flatnonzero(gap).tolist():
        assert single.of(int(whole.cells[k])) == (whole.low[k], whole.high[k])


def test_three_dimensions_with_fractions() -> None:
    inner = np.array(
        [[[0, 0, 1], [0, 0, 0], [1, 0, 0]], [[1, 0, 1], [1, 0, 0], [0, 1, 0]], [[1, 0, 1], [1, 1, 0], [1, 0, 0]]]
    )
    rows = [dict(zip("abc", map(str, place), strict=True)) for place in np.argwhere(inner == 1)]
    table = flou.Microdata(pl.DataFrame(rows)).tabulate(["a", "b", "c"], cells="all")
    hidden = np.zeros(64, dtype=np.bool_)
    hidden[[1, 2, 6, 7, 8, 10, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 25, 27, 28, 32, 34, 35, 36, 42, 43, 44,
            46, 47, 49, 51, 52, 53, 55, 56, 57, 58, 60, 61, 62]] = True  # fmt: skip
    linear = find_intervals(view_of(table, whole=False), hidden)
    whole = find_intervals(view_of(table, whole=True), hidden)
    at = int(np.flatnonzero(linear.cells == 6)[0])
    assert (linear.low[at], linear.high[at]) == (0.0, 0.5)
    assert (whole.low[at], whole.high[at]) == (0.0, 0.0)
    assert (whole.low >= linear.low - 1e-9).all()
    assert (whole.high <= linear.high + 1e-9).all()


def test_workers_and_parts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    table = table_of(rng.integers(1, 9, (6, 5, 4)))
    hidden = (rng.random(table.n_cells) < 0.5) & (table.true_counts < 40)
    for whole in (True, False):
        view = view_of(table, whole=whole)
        alone = find_intervals(view, hidden, workers=1)
        monkeypatch.setattr("flou.risk.table.bounds.intervals._AT_ONCE", 17)
        several = [find_intervals(view, hidden, workers=n) for n in (1, 3)]
        monkeypatch.undo()
        assert np.array_equal(several[0].low, several[1].low)
        assert np.array_equal(several[0].high, several[1].high)
        assert several[0].n_programs == several[1].n_programs
        assert np.allclose(alone.low, several[0].low)
        assert np.allclose(alone.high, several[0].high)


def test_who_knows_a_cell_gets_closer_bounds() -> None:
    table = table_of(np.array([[1, 5], [4, 7]]))
    hidden = (table.cells.codes != 0).all(axis=1)
    view = view_of(table, whole=True)
    outsider = find_intervals(view, hidden)
    assert outsider.low.tolist() == [0, 1, 0, 6], "rows hold 6 and 11, columns 5 and 12"
    assert outsider.high.tolist() == [5, 6, 5, 11]
    inside = find_intervals(view, hidden, still=outsider.cells[:1])
    assert (inside.width == 0).all()
    some = find_intervals(view, hidden, cells=outsider.cells[2:])
    assert np.array_equal(some.low, outsider.low[2:])
    assert np.array_equal(some.high, outsider.high[2:])


def test_nothing_hidden_and_nothing_bounding() -> None:
    table = table_of(np.array([[1, 5], [4, 7]]))
    nothing = np.zeros(table.n_cells, dtype=np.bool_)
    assert len(find_intervals(view_of(table, whole=True), nothing).cells) == 0
    found = find_intervals(view_of(table, whole=True), ~nothing)
    assert (found.low == 0).all()
    assert np.isposinf(found.high).all()
    free = find_intervals(view_of(table, whole=False, low=-np.inf), ~nothing)
    assert np.isneginf(free.low).all()


def test_single_equations_bound_their_cells() -> None:
    table = table_of(np.array([[1, 5], [4, 7]]))
    view = view_of(table, whole=True)
    inner = table.cells.codes.all(axis=1)
    low, high = tighten(view.matrix, np.where(inner, -view.down, 0.0), np.where(inner, np.inf, 0.0))
    assert (low[inner] + view.figures[inner]).tolist() == [0, 1, 0, 6]
    assert (high[inner] + view.figures[inner]).tolist() == [5, 6, 5, 11]
    assert not low[~inner].any()
