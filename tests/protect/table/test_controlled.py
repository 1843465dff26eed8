"""Controlled rounding: tables that add up, beside optima found by going through all tables, and what is promised."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.depth import at_depth

import flou
from flou.describe.table.cells import Ints
from flou.engine.errors import DataError
from flou.engine.formats import FormatWarning
from flou.engine.migrate import migrate
from flou.protect.table.controlled import round_together

SECRET = flou.Secret(bytes(range(32)))
#: Base, counts, and the least sum of deviations, margins included, of zero-restricted controlled rounding. Found by
#: exhaustive search for the examples of the handbook on statistical disclosure control, section 5.4.3.
OPTIMA = [
    (3, [[11, 9, 9], [4, 0, 8], [0, 4, 10]], 10),
    (3, [[12, 10, 0], [0, 11, 13], [9, 11, 1]], 10),
    (3, [[0, 0, 12], [0, 0, 0], [3, 6, 0]], 0),
    (3, [[8, 0, 12], [0, 10, 8], [13, 3, 0]], 8),
    (3, [[7, 8, 0], [6, 0, 0], [0, 0, 0]], 4),
    (3, [[5, 6, 10], [0, 0, 1], [8, 0, 2]], 12),
    (3, [[0, 13, 3], [10, 9, 11], [0, 9, 12]], 8),
    (3, [[3, 10, 2], [1, 0, 8], [1, 2, 0]], 10),
    (3, [[2, 13, 6], [0, 7, 0], [2, 8, 0]], 12),
    (3, [[1, 5, 7], [5, 7, 0], [0, 13, 11]], 10),
    (5, [[3, 1, 6], [4, 12, 0], [0, 5, 0]], 16),
    (5, [[12, 0, 10], [11, 13, 0], [1, 2, 0]], 18),
    (5, [[0, 0, 11], [7, 8, 4], [5, 0, 10]], 12),
    (5, [[0, 13, 8], [0, 3, 0], [13, 0, 9]], 24),
    (5, [[2, 2, 0], [0, 0, 5], [1, 4, 5]], 12),
    (5, [[5, 1, 8], [0, 10, 9], [12, 0, 8]], 18),
    (5, [[8, 9, 5], [11, 4, 6], [6, 2, 9]], 16),
    (5, [[0, 4, 0], [9, 12, 4], [8, 0, 0]], 18),
    (5, [[0, 12, 12], [0, 2, 13], [0, 4, 3]], 22),
    (5, [[5, 9, 7], [13, 13, 0], [10, 3, 4]], 20),
]  # fmt: skip


def table_of(counts: object, **options: object) -> flou.Table:
    """A table of two or three dimensions, with all margins."""
    array = np.array(counts)
    names = "abc"[: array.ndim]
    rows = [
        {name: f"{name}{i}" for name, i in zip(names, place, strict=True)}
        for place in np.ndindex(array.shape)
        for _ in range(array[place])
    ]
    return flou.Microdata(pl.DataFrame(rows)).tabulate(list(names), **options)


def controlled(table: object, base: int, **more: object) -> flou.Release:
    return flou.protect.Rounding(base, additive="controlled").protect(table, **more)


def least_loss(table: flou.Table, base: int, within: int = 1) -> int | None:
    """The least sum of deviations over all additive tables of multiples within so many bases, one by one."""
    labels = table.labels()
    is_inner = np.array([all(v != "Total" for v in row) for row in labels.rows()])
    inner, true = labels.filter(is_inner), table.true_counts
    sums = np.array(
        [
            [all(a in ("Total", b) for a, b in zip(row, part, strict=True)) for part in inner.rows()]
            for row in labels.rows()
        ]
    )
    best = None
    choices = [
        [
            m
            for m in range(0, int(a) + within * base, base)
            if abs(m - a) < within * base and (within > 1 or a % base or m == a)
        ]
        for a in true[is_inner]
    ]
    for figures in itertools.product(*choices):
        shown = sums @ np.array(figures)
        deviations = np.abs(shown - true)
        stays = within > 1 or (shown[true % base == 0] == true[true % base == 0]).all()
        if deviations.max() < within * base and stays:
            best = min(int(deviations.sum()), best if best is not None else 10**9)
    return best


@pytest.mark.parametrize(("base", "counts", "optimum"), OPTIMA)
def test_the_optima_of_exhaustive_search_are_found(base: int, counts: list[list[int]], optimum: int) -> None:
    release = controlled(table_of(counts), base)
    assert np.abs(release.data.published_counts - release.data.true_counts).sum() == optimum
    assert release.steps[0].within == 1


@pytest.mark.parametrize("seed", range(at_depth(12, 120)))
def test_the_loss_is_the_least_also_in_three_dimensions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = [(2, 2, 2), (2, 3), (3, 3), (2, 2, 2)][seed % 4]
    counts, base = rng.integers(0, 8, size=shape), int(rng.integers(2, 6))
    counts.flat[0] += not counts.any()
    table = table_of(counts)
    found = round_together([table], base)
    assert found.within == 1 or least_loss(table, base) is None
    if found.within < 3:
        loss = int(np.abs(found.figures[0] - table.true_counts).sum())
        assert loss == least_loss(table, base, found.within)


def test_cells_move_further_only_where_no_table_of_adjacent_multiples_adds_up() -> None:
    counts = [[[(a + b + c) % 2 == 0 for c in range(2)] for b in range(2)] for a in range(2)]
    table = table_of(np.array(counts).astype(int))
    assert least_loss(table, 2) is None
    release = controlled(table, 2)
    assert release.steps[0].within == 2
    assert any("less than 2 bases" in str(note) for note in release.steps[0].notes)
    assert any("no count is moved by 4 or more" in str(g) for g in release.guarantees)


def test_margins_of_a_nested_table_add_up_and_multiples_stay() -> None:
    table = flou.datasets.apa(3_000).tabulate(["department", "gir", "sex"])
    release = controlled(table, 5)
    shown, true = release.data.published_counts, table.true_counts
    assert (shown % 5 == 0).all()
    assert np.abs(shown - true).max() < 5
    assert (shown[true % 5 == 0] == true[true % 5 == 0]).all()
    assert "every margin is the sum of its parts" in str(release.guarantees[0])


def test_a_cell_that_stands_in_two_tables_has_one_figure() -> None:
    people = flou.datasets.census(300, rng=1)
    release = controlled(flou.tabulate_many(people, [["gender", "marital"], ["gender", "age10"]]), 3)
    first, second = (
        frame.filter(pl.col(other) == "Total").select("gender", "count")
        for frame, other in zip((t.to_frame() for t in release.data), ("marital", "age10"), strict=True)
    )
    assert first.height > 2
    assert first.sort("gender").equals(second.sort("gender"))


def shown_for(table: flou.Table, secret: int) -> Ints:
    method = flou.protect.RandomRounding(5, additive="controlled")
    return method.protect(table, secret=flou.Secret(secret.to_bytes(32, "big"))).data.published_counts


def test_random_rounding_that_adds_up_hangs_on_the_secret_and_keeps_most_draws() -> None:
    table = flou.datasets.census(2_000, rng=1).tabulate(["area", "gender"])
    drawn = [
        flou.protect.RandomRounding(5).protect(table, secret=flou.Secret(s.to_bytes(32, "big"))).data.published_counts
        for s in (1, 2)
    ]
    shown = [shown_for(table, s) for s in (1, 2)]
    assert (shown[0] == shown_for(table, 1)).all()
    assert (shown[0] != shown[1]).any()
    for kept, own in ((shown[0] == drawn[0], shown[0] == drawn[1]), (shown[1] == drawn[1], shown[1] == drawn[0])):
        assert kept.mean() > 0.75 > own.mean()


def test_the_mechanism_says_what_is_possible_and_has_no_chances() -> None:
    table = table_of([[3, 1, 6], [4, 12, 0]])
    mechanism = controlled(table, 5).data.mechanism
    low, high = mechanism.support([0, 5, 7])
    assert (low.tolist(), high.tolist()) == ([0, 1, 0], [4, 9, -1])
    with pytest.raises(DataError, match="no chance belongs to a single one"):
        flou.risk.CountInference(s=3).measure(controlled(table, 5))
    frame = pl.DataFrame({"a": ["x", "y", "z", "Total"], "count": [5, None, 0, 10]})
    seen = flou.Table.from_published(frame, ["a"], mechanism=mechanism)
    assert flou.attack.CellBounds().run(seen).bounds().select("low", "high").row(0) == (0, 13)


def test_weighted_estimates_and_zonings_side_by_side_are_refused() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["u", "v"], "w": [1.5, 2.5]})
    with pytest.raises(DataError, match="weighted estimates"):
        controlled(flou.Microdata(frame, weight="w").tabulate("a", weight="w"), 5)
    with pytest.raises(DataError, match="side by side"):
        controlled(flou.Microdata(frame).tabulate(["a|b"]), 5)


def test_a_plan_of_format_1_that_repairs_is_rounded_under_control(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        'flou = 1\n[[tabulate]]\ndims = ["a"]\n[[protect]]\nmethod = "rounding"\nbase = 5\nadditive = "repair"\n'
    )
    with pytest.warns(FormatWarning, match='is additive = "controlled"'):
        old = flou.Plan.load(path)
    assert 'is additive = "controlled"' in migrate(path)[0]
    assert flou.Plan.load(path) == old
    assert 'additive = "controlled"' in path.read_text()


@pytest.mark.parametrize(
    "measure", [flou.risk.CountInference(3), flou.risk.ZeroInference(), flou.risk.DifferenceInference(3)]
)
def test_measures_of_chances_say_that_the_cells_were_rounded_together(measure: Any) -> None:
    table = flou.datasets.census(300, rng=1).tabulate(["gender", "marital"])
    release = flou.protect.Rounding(3, additive="controlled").protect(table)
    with pytest.raises(DataError, match=r"of all cells together, .* For chances publish with RandomRounding"):
        measure.measure(release)
    advised = flou.protect.RandomRounding(3).protect(table, secret=flou.Secret.from_seed(1))
    assert measure.measure(advised).value is not None
