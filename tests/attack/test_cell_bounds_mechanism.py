"""Bounds of suppressed counts where those that are shown were rounded or moved: the mechanism decides what is possible.

The brute force goes through all tables of small true counts, and keeps those of which every published count has a
chance.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.mechanism.noise import GeometricNoise

CONVENTIONAL = flou.protect.Rounding(base=3).mechanism
RANDOM = flou.protect.RandomRounding(base=3).mechanism


def published(counts: dict[str, int | None], mechanism: Mechanism | None, **options: Any) -> flou.Table:
    frame = pl.DataFrame({"a": list(counts), "count": list(counts.values())})
    return flou.Table.from_published(frame, ["a"], mechanism=mechanism, **options)


def bounds(table: flou.Table, **options: Any) -> list[tuple[Any, ...]]:
    return flou.attack.CellBounds(**options).run(table).bounds().select("low", "high").rows()


@pytest.mark.parametrize(
    ("mechanism", "least", "most"), [(None, 3, 3), (CONVENTIONAL, 0, 6), (RANDOM, 0, 9)], ids=["true", "base", "random"]
)
def test_a_rounded_margin_is_known_in_bounds_alone(mechanism: Mechanism | None, least: int, most: int) -> None:
    table = published({"x": 3, "y": None, "z": 6, "Total": 12}, mechanism)
    found = flou.attack.CellBounds().run(table)
    assert found.bounds().select("a", "low", "high").rows() == [("y", least, most)]
    assert found.n_exact == (mechanism is None)
    said = [str(note) for note in found.notes]
    assert any("published so by" in note for note in said) == (mechanism is not None)
    # conventional rounding: 2 to 4, 5 to 7 and 11 to 13; random: 1 to 5, 4 to 8 and 10 to 14


@pytest.mark.parametrize(
    "mechanism",
    [
        CONVENTIONAL,
        RANDOM,
        flou.protect.Rounding(base=2).mechanism,
        flou.TransitionMatrix(D=1, V=0.5),
        flou.TransitionMatrix(D=2, V=1, js=1),
    ],
    ids=["conventional", "random", "base 2", "noise of 1", "noise of 2, no ones"],
)
@pytest.mark.parametrize("seed", range(3))
def test_every_table_that_can_be_published_so_is_counted(mechanism: Mechanism, seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 5, (2, 2))
    whole = np.zeros((3, 3), dtype=np.int64)
    whole[:2, :2] = true
    whole[2] = whole.sum(axis=0)
    whole[:, 2] = whole[:, :2].sum(axis=1)
    shown = np.array([[int(rng.choice(mechanism.targets(int(n)), p=mechanism.row(int(n)))) for n in r] for r in whole])
    hidden = np.zeros((3, 3), dtype=bool)
    hidden[0, 0] = hidden[rng.integers(0, 2), 1] = True
    rows = [
        {"a": a, "b": b, "count": None if hidden[i, j] else int(shown[i, j])}
        for (i, a), (j, b) in itertools.product(enumerate(["x", "y", "Total"]), enumerate(["u", "v", "Total"]))
    ]
    table = flou.Table.from_published(pl.DataFrame(rows), ["a", "b"], mechanism=mechanism, cells="all")
    inner = np.stack(np.meshgrid(*[np.arange(14)] * 4, indexing="ij")).reshape(2, 2, -1)
    grids = np.concatenate([inner, inner.sum(axis=0, keepdims=True)])
    grids = np.concatenate([grids, grids.sum(axis=1, keepdims=True)], axis=1)
    chances = mechanism.probability(np.broadcast_to(shown[~hidden][:, None], grids[~hidden].shape), grids[~hidden])
    possible = grids[hidden][:, (chances > 0).all(axis=0)].T
    assert np.max(possible) < 13  # the brute force saw them all
    assert bounds(table) == list(zip(np.min(possible, axis=0), np.max(possible, axis=0), strict=True))
    assert any(low <= n <= high for n, (low, high) in zip(whole[hidden], bounds(table), strict=True))


def test_noise_without_bounds_proves_nothing() -> None:
    table = published({"x": 3, "y": None, "z": 6, "Total": 12}, GeometricNoise(1.0))
    assert bounds(table) == [(0, np.inf)]


def test_a_cell_that_is_not_listed_was_shown_as_zero() -> None:
    """Up to two people are in x × v, which is not listed, rounded to 0: as many fewer than without it are in x × w."""
    lines = [("x", "u", 3), ("x", "w", None), ("x", "Total", 9), ("y", "v", 6), ("y", "w", 6), ("y", "Total", 12),
             ("Total", "u", 3), ("Total", "v", 6), ("Total", "w", None), ("Total", "Total", 21)]  # fmt: skip
    frame = pl.DataFrame(lines, schema=["a", "b", "count"], orient="row")
    table = flou.Table.from_published(frame, ["a", "b"], mechanism=RANDOM, cells="occupied")
    found = flou.attack.CellBounds().run(table).bounds()
    # x × Total is 7 to 11, x × u 1 to 5 and x × v 0 to 2
    assert found.filter(a="x", b="w").select("low", "high").row(0) == (0, 10)


@pytest.mark.parametrize(
    ("mechanism", "most"),
    [(CONVENTIONAL, 1), (RANDOM, 2), (GeometricNoise(1.0), np.inf)],
    ids=["base", "random", "without bounds"],
)
def test_a_published_zero_may_be_true_where_no_withheld_cell_is_empty(mechanism: Mechanism, most: float) -> None:
    """x is 1 at least, being withheld; y is published as 0 and may be so."""
    table = published({"x": None, "y": 0, "Total": 0}, mechanism, zeros="shown")
    found = flou.attack.CellBounds().run(table)
    assert found.bounds().select("low", "high").rows() == [(1, most)]
    # rounding to the nearest multiple of 3 shows 0 for 0 and 1 alone: x is 1
    assert found.n_exact == (mechanism is CONVENTIONAL)


def test_a_cell_that_was_shown_as_zero_may_be_so_where_no_withheld_cell_is_empty() -> None:
    """Occupied cells are listed: x × v is shown as zero, and need not hold anybody."""
    lines = [("x", "u", None), ("x", "Total", 0), ("y", "v", 3), ("y", "Total", 3), ("Total", "u", 0),
             ("Total", "v", 3), ("Total", "Total", 3)]  # fmt: skip
    frame = pl.DataFrame(lines, schema=["a", "b", "count"], orient="row")
    table = flou.Table.from_published(frame, ["a", "b"], mechanism=RANDOM, cells="occupied", zeros="shown")
    assert bounds(table) == [(1, 2)]


@pytest.mark.parametrize("published_zeros", [1, 3])
def test_a_note_calls_no_cell_known_or_empty_that_rounding_leaves_open(published_zeros: int) -> None:
    zeros = dict.fromkeys("yzw"[:published_zeros], 0)
    found = flou.attack.CellBounds().run(published({"x": None, **zeros, "Total": 0}, RANDOM))
    assert "if none were, no further cell would be known exactly" in str(found)


def test_a_count_that_the_mechanism_never_publishes() -> None:
    table = published({"x": 4, "y": None, "z": 6, "Total": 12}, CONVENTIONAL)
    with pytest.raises(flou.FlouError, match="such as 4, are none that"):
        bounds(table)


def test_published_counts_that_no_true_ones_explain() -> None:
    table = published({"x": 30, "y": None, "z": 6, "Total": 12}, CONVENTIONAL)
    with pytest.raises(flou.FlouError, match="No table agrees"):
        bounds(table)


def test_what_is_known_beforehand_holds_of_true_counts() -> None:
    table = published({"x": 3, "y": None, "z": 6, "Total": 12}, RANDOM)
    assert bounds(table, apriori=[{"a": "y", "action": "bounds", "first": 2, "second": 4}]) == [(2, 4)]


def test_nothing_withheld_nothing_computed() -> None:
    """A rounded table that withholds nothing: its cells are the matter of other attacks."""
    table = published({"x": 3, "y": 3, "z": 6, "Total": 12}, RANDOM)
    found = flou.attack.CellBounds().run(table)
    assert (found.n_suppressed, found.n_sensitive, found.value) == (0, 0, 0)
    assert found.safe()


@pytest.mark.parametrize("rule", [flou.risk.Threshold(3, zeros=True), flou.risk.GroupDisclosure(of="b")])
def test_rules_that_withhold_zeros_leave_a_suppressed_count_at_nothing(rule: Any) -> None:
    """No empty cell happens to be withheld, and who knows the rule alone cannot tell."""
    counts = {("x", "u"): 1, ("x", "v"): 5, ("y", "u"): 9, ("y", "v"): 4}
    rows = [{"a": a, "b": b} for (a, b), n in counts.items() for _ in range(n)]
    made = flou.Microdata(pl.DataFrame(rows)).tabulate(["a", "b"], cells="all")
    release = flou.protect.CellSuppression([rule, flou.risk.Threshold(3)]).protect(made)
    assert release.data.published.hidden.sum() == 4
    found = flou.attack.CellBounds([rule, flou.risk.Threshold(3)], singletons="off").run(release)
    of_people = flou.protect.CellSuppression([flou.risk.Threshold(3)]).protect(made)
    by_count = flou.attack.CellBounds([flou.risk.Threshold(3)], singletons="off").run(of_people)
    # rows hold 6 and 13, columns 10 and 9
    assert found.bounds()["low"].to_list() == [0, 0, 4, 3]
    assert found.bounds()["high"].to_list() == [6, 6, 10, 9]
    assert by_count.bounds()["low"].to_list() == [1, 1, 5, 4]
    # what was withheld by the rule stays so, whatever rules the attack is given
    assert flou.attack.CellBounds(singletons="off").run(release).bounds()["low"].to_list() == [0, 0, 4, 3]
    assert flou.attack.CellBounds().run(release.data.public()).bounds()["low"].to_list() == [0, 0, 4, 3]
    assert flou.attack.CellBounds().run(of_people.data.public()).bounds()["low"].to_list() == [1, 1, 5, 4]
