"""Margins that add up again: what a repair keeps, what it costs, how close it comes to the best there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from tests.contracts.table_cases import SECRET, keyed

import flou
from flou.protect.table.additivity import _compiled, find_parts, restore_additivity, settle_cells

METHODS = [
    flou.protect.CellKey(D=5, V=3, js=2, additive="repair"),
    flou.protect.CellKey(D=3, V=2, js=0, additive="repair"),
]
DIMS = [["region", "sex"], ["age@*", "sex"], ["region", "sex", "illness"]]


def unrepaired(method: flou.protect.CellKey, table: flou.Table) -> flou.Table:
    return method.model_copy(update={"additive": "no"}).protect(table, secret=SECRET).data


@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("method", METHODS)
def test_margins_add_up_and_zeros_stay(method: flou.protect.CellKey, dims: list[str]) -> None:
    table = keyed().tabulate(dims)
    release = method.protect(table, secret=SECRET)
    noisy, shown = unrepaired(method, table).published_counts, release.data.published_counts
    frame = pl.concat([release.data.labels(), pl.DataFrame({"n": shown})], how="horizontal")
    # what nobody of a known age is in ends at the first level
    parts = frame.filter(
        pl.all_horizontal((pl.col(dim.columns[-1]) != "Total") | (pl.col(dim.columns[0]) == "-1") for dim in table.dims)
    )
    for row in frame.iter_rows(named=True):
        fixed = {c: v for c, v in row.items() if c != "n" and v != "Total"}
        below = parts.filter(pl.all_horizontal([pl.lit(value=True), *(pl.col(c) == v for c, v in fixed.items())]))
        assert row["n"] == below["n"].sum()
    inner, _ = find_parts(table)
    assert (shown[inner][noisy[inner] == 0] == 0).all()
    step = getattr(method, "base", 1)
    assert (shown % step == 0).all()
    assert not ((shown > 0) & (shown < getattr(method, "js", 0) + 1)).any()
    assert (shown >= 0).all()


def test_costs_are_reported() -> None:
    method, table = METHODS[0], keyed().tabulate(["region", "sex", "illness"])
    release = method.protect(table, secret=SECRET)
    noisy, shown = unrepaired(method, table).published_counts, release.data.published_counts
    figures = dict(release.steps[0].figures)
    change = np.abs(shown - noisy)
    assert figures["n_repaired"] == (change > 0).sum() > 0
    assert figures["mean_repair"] == pytest.approx(change.mean())
    assert figures["largest_repair"] == change.max()
    assert figures["mean_deviation"] == pytest.approx(np.abs(shown - table.true_counts).mean())
    assert figures["mean_deviation_before_repair"] == pytest.approx(np.abs(noisy - table.true_counts).mean())
    assert "cells were changed to make margins add up" in str(release.steps[0].notes[-1])
    assert release.data.mechanism is None, "no mechanism of single cells describes the figures"
    promises = [str(p.promise) for p in release.guarantees]
    assert "every margin is the sum of its parts" in promises
    assert not any("is moved by more" in p or "as its key says" in p for p in promises)


def test_cells_that_differ_between_tables_are_counted() -> None:
    tables = flou.tabulate_many(keyed(), [["region", "sex"], ["sex", "illness"], ["sex"]])
    release = METHODS[0].protect(tables, secret=SECRET)
    by_cell: dict[frozenset[tuple[str, str]], set[int]] = {}
    for table in release.data:
        for row, n in zip(table.labels().iter_rows(named=True), table.published_counts, strict=True):
            by_cell.setdefault(frozenset((c, v) for c, v in row.items() if v != "Total"), set()).add(int(n))
    differing = sum(len(held) > 1 for held in by_cell.values())
    assert release.steps[0].n_inconsistent == differing > 0
    consistent = flou.protect.CellKey(D=5, V=3, js=2).protect(tables)
    assert consistent.data[0].cell(sex="F")["count"] == consistent.data[2].cell(sex="F")["count"]


def test_close_to_the_best_there_is() -> None:
    """Two by two with margins, against every table near it: never worse than a tenth above the least on average."""
    rng = np.random.default_rng(3)
    method = flou.protect.CellKey(D=3, V=2, js=1)
    ours, least = 0, 0
    for _ in range(40):
        counts = rng.integers(0, 9, (2, 2))
        cells = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
        rows = [(i, j, int(n)) for (i, j), n in zip(cells, counts.ravel(), strict=True)]
        rows += [
            ("a", "T", int(counts[0].sum())),
            ("b", "T", int(counts[1].sum())),
            ("T", "x", int(counts[:, 0].sum())),
        ]
        rows += [("T", "y", int(counts[:, 1].sum())), ("T", "T", int(counts.sum()))]
        frame = pl.DataFrame(rows, schema=["i", "j", "count"], orient="row")
        frame = frame.with_columns(key=pl.Series(rng.integers(0, 2**32, 9)))
        table = flou.Table.from_frame(frame, ["i", "j"], key="key", total="T", cells="all")
        noisy = method.protect(table).data.published_counts
        found = restore_additivity(table, noisy, least=2, step=1)
        inner, above = find_parts(table)
        assert len(inner) == 4
        start = noisy[inner]
        options = [[0] if n == 0 else [0, *range(2, int(n) + 6)] for n in start]
        best = None
        for parts in product(*options):
            sums = np.zeros(9, dtype=np.int64)
            np.add.at(sums, above, np.array(parts)[:, None])
            cost = int(((sums - noisy) ** 2).sum())
            best = cost if best is None else min(best, cost)
        assert best is not None
        cost = int(((found - noisy) ** 2).sum())
        assert cost >= best
        ours, least = ours + cost, least + best
    assert least <= ours <= 1.1 * least


def test_compiled_and_plain_loops_agree() -> None:
    table = keyed().tabulate(["region", "age@*", "sex"])
    noisy = flou.protect.CellKey(D=5, V=3, js=2).protect(table).data.published_counts
    inner, above = find_parts(table)
    given = (noisy[inner], noisy, above, noisy[inner] == 0, 3, 1)
    assert (settle_cells(*given) == _compiled()(*given)).all()


def test_what_cannot_be_repaired_is_refused() -> None:
    people = keyed()
    with pytest.raises(flou.FlouError, match="side by side"):
        METHODS[0].protect(people.tabulate(["region|illness", "sex"]))
    with pytest.raises(flou.FlouError, match="weighted estimates"):
        METHODS[0].protect(people.tabulate(["region"], weight="w"))
    part = people.tabulate(["region", "sex"]).to_frame().filter(pl.col("region") != "A")
    with pytest.raises(flou.FlouError, match="finest cells below every margin"):
        flou.protect.Rounding(5, additive="controlled").protect(flou.Table.from_frame(part, ["region", "sex"]))
    # margins that were not asked for are no obstacle: what is there adds up
    for margins in (False, ["region"]):
        assert METHODS[0].protect(people.tabulate(["region", "sex"], margins=margins)).guarantees
