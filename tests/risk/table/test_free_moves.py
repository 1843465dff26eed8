"""Cells that nothing bounds, beside the ranks of the equations; signed tables, where figures have no lower bound."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csc_array
from tests.depth import at_depth

import flou
from flou.describe.table.cells import Published
from flou.describe.table.table import Table
from flou.engine.errors import DataError
from flou.risk.table.bounds.free_moves import FreeMoves


@pytest.mark.parametrize("seed", range(at_depth(60, 600)))
def test_a_cell_is_movable_where_the_equations_do_not_determine_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 2, size=(rng.integers(1, 9), rng.integers(2, 12))).astype(float)
    still = np.flatnonzero(rng.random(matrix.shape[1]) < rng.choice([0.0, 0.2]))
    known = np.vstack([matrix, np.eye(matrix.shape[1])[still]])
    rank = np.linalg.matrix_rank(known)
    free = [np.linalg.matrix_rank(np.vstack([known, row])) > rank for row in np.eye(matrix.shape[1])]
    assert FreeMoves(csc_array(matrix)).movable(still).tolist() == free


def test_somebody_who_knows_many_cells_is_asked_as_well() -> None:
    totals = np.zeros((20, 60))
    for row in range(20):
        totals[row, 3 * row : 3 * row + 3] = 1
    still = np.arange(0, 60, 3)[:18]
    expected = np.ones(60, dtype=bool)
    expected[still] = False
    assert FreeMoves(csc_array(totals)).movable(still).tolist() == expected.tolist()


def signed(n: int, spread: float, seed: int = 0) -> Table:
    """Results of enterprises, of very different sizes and of either sign."""
    rng, firms = np.random.default_rng(seed), flou.datasets.business(n)
    amounts = np.round(rng.standard_normal(n) * np.exp(rng.normal(6, spread, n)))
    frame = firms.to_frame().with_columns(result=pl.Series(amounts))
    return flou.Microdata(
        frame, keys=["region", "activity", "size"], hierarchies=dict(firms.schema.hierarchies), id="eid"
    ).tabulate(["region@*", "activity@section", "size"], value="result")


@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_a_signed_table_is_suppressed_whatever_the_sizes_of_its_figures(spread: float) -> None:
    rules, made = [flou.risk.PPercent(10), flou.risk.Threshold(3)], signed(300, spread)
    release = flou.protect.CellSuppression(rules, search="gauss").protect(made)
    found = flou.attack.CellBounds(rules).run(release)
    assert found.figures["n_sensitive"] > 100
    assert found.value == 0.0
    # nothing bounds a cell of a signed table that cannot be computed
    assert np.isneginf(found.bounds()["low"].to_numpy()).all()


def test_a_signed_cell_that_its_total_tells_is_found() -> None:
    made, rule = signed(300, 1.0), flou.risk.Threshold(3)
    first = np.zeros(made.n_cells, dtype=np.bool_)
    first[np.flatnonzero((made.true_counts > 0) & (made.true_counts < 3))[0]] = True
    shown = Published(made.true_counts, made.cells.value, suppressed=first, counted=False)
    released = made.with_changes(published=shown, marks=made.marks.add(released=True))
    found = flou.attack.CellBounds([rule]).run(released)
    assert found.value == 1.0
    assert found.bounds().select(pl.col("high") == pl.col("low")).item()


@pytest.mark.parametrize(("total", "agrees"), [(7, True), (8, False)])
def test_a_published_table_without_gaps_adds_up_or_is_refused(total: int, agrees: bool) -> None:
    table = flou.Table.from_published(pl.DataFrame({"a": ["x", "y", "Total"], "count": [3, 4, total]}), ["a"])
    if agrees:
        assert flou.attack.CellBounds().run(table).figures["n_suppressed"] == 0
    else:
        with pytest.raises(DataError, match="contradict each other"):
            flou.attack.CellBounds().run(table)


def test_prices_of_cells_with_hardly_any_room_are_finite() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = flou.datasets.business(300).tabulate(["region", "activity@section"], value="turnover")
        flou.protect.CellSuppression([flou.risk.PPercent(10)]).protect(table)
