"""Groups of alike records against their definitions: MDAV as the paper states it, every cut of a few values."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

from flou.protect.micro.microaggregation import mdav, tree
from flou.protect.micro.microaggregation.exchange import exchange_members, sum_of_squares
from flou.protect.micro.microaggregation.univariate import group_values

GOLDEN = Path(__file__).parents[1] / "golden"
AMOUNTS = ["income", "wage", "expend"]


def squares(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    total = np.zeros(len(points))
    for c in range(points.shape[1]):
        total = total + (points[:, c] - centre[c]) ** 2
    return total


def textbook(points: np.ndarray, k: int) -> np.ndarray:
    """MDAV by scans, from the paper; `argmax` and a stable sort give equals to the lowest row."""
    groups, left, number = np.full(len(points), -1), np.arange(len(points)), 0

    def close(left: np.ndarray, seed: int) -> np.ndarray:
        left = left[left != seed]
        nearest = left[np.argsort(squares(points[left], points[seed]), kind="stable")[: k - 1]]
        groups[[seed, *nearest]] = number
        return np.setdiff1d(left, nearest)

    def far(left: np.ndarray, centre: np.ndarray) -> int:
        return int(left[np.argmax(squares(points[left], centre))])

    while len(left) >= 3 * k:
        r = far(left, points[left].mean(axis=0))
        left, number = close(left, r), number + 1
        left, number = close(left, far(left, points[r])), number + 1
    if len(left) >= 2 * k:
        left, number = close(left, far(left, points[left].mean(axis=0))), number + 1
    groups[left] = number
    return groups


@pytest.mark.parametrize("seed", range(60))
def test_mdav_is_the_textbook(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(8, 300), rng.integers(1, 6), rng.integers(2, 9)
    points = rng.normal(size=(n, d)) ** 3
    assert mdav.group_by_mdav(points, k).tolist() == textbook(points, k).tolist()


def test_equal_distances_go_by_row() -> None:
    """Records that are all alike, or at equal distances from whole centres, are taken from the first row on."""
    alike = np.zeros((7, 2))
    assert mdav.group_by_mdav(alike, 2).tolist() == [0, 0, 1, 1, 2, 2, 2] == textbook(alike, 2).tolist()
    line = np.array([0.0, 4, 4, 2, 2, 2, 0, 4, 0])[:, None]
    assert mdav.group_by_mdav(line, 3).tolist() == textbook(line, 3).tolist()


@examples(60)
@given(st.integers(1, 70), st.integers(1, 3), st.integers(0, 10_000))
def test_searches_in_a_tree_are_scans(n: int, d: int, seed: int) -> None:
    """Whole coordinates, so that many distances are equal; every other point is taken away."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, d)).astype(float)
    held, left = tree.build_tree(points), list(range(n))
    for _ in range(n):
        centre = rng.integers(0, 4, d).astype(float)
        gaps = squares(points[left], centre)
        assert tree.find_farthest(held, centre) == left[int(np.argmax(gaps))]
        found = np.empty(min(3, len(left)), np.int64)
        tree.find_nearest(held, centre, found)
        assert found.tolist() == [left[i] for i in np.argsort(gaps, kind="stable")[:3]]
        tree.take_away(held, left.pop(int(rng.integers(len(left)))))


def cuts(values: list[float], k: int) -> float:
    """The least sum of squares over every way of cutting sorted values into groups of k or more."""
    if not values:
        return 0.0
    sizes = range(k, len(values) + 1)
    return min((float(np.var(values[:m]) * m) + cuts(values[m:], k) for m in sizes), default=np.inf)


@examples(150)
@given(st.integers(2, 4), st.data())
def test_no_cut_of_one_variable_is_better(k: int, data: st.DataObject) -> None:
    whole = st.lists(st.integers(-9, 9), min_size=k, max_size=12)
    values = np.array(data.draw(whole | st.lists(st.floats(-1e3, 1e3), min_size=k, max_size=12)), dtype=float)
    groups = group_values(values, k)
    sizes = np.bincount(groups)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    assert sum_of_squares(values[:, None], groups) == pytest.approx(cuts(sorted(values), k), abs=1e-7)
    assert (np.diff(groups[np.argsort(values, kind="stable")]) >= 0).all()


def test_one_variable_keeps_its_digits_far_from_zero() -> None:
    """Groups of a large file do not change when all values are moved: no running sum loses digits."""
    values = np.sort(np.random.default_rng(1).integers(0, 2**30, 20_000)).astype(float)
    assert (group_values(values, 3) == group_values(values + 2.0**40, 3)).all()


@examples(60)
@given(st.integers(2, 5), st.integers(0, 10_000))
def test_exchanges_never_raise_the_squares(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rng.integers(2 * k, 150), rng.integers(1, 4))).round(1)
    groups = rng.permutation(np.arange(len(points)) // k)
    groups[groups == len(points) // k] = 0  # what is left over, fewer than k
    before = groups.copy()
    after = exchange_members(points, groups, k)
    assert (groups == before).all()
    assert sum_of_squares(points, after) <= sum_of_squares(points, before)
    assert np.bincount(after).min() >= k
    assert np.bincount(after).max() < 2 * k


def test_exchanges_find_the_pairs() -> None:
    """From groups across a line to neighbours together; the lone one is a move, since a group of three has room."""
    points = np.array([0.0, 10, 1, 11])[:, None]
    assert exchange_members(points, np.array([0, 0, 1, 1]), 2).tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])
    points = np.array([0.0, 1, 9, 10, 11])[:, None]
    assert exchange_members(points, np.array([0, 0, 0, 1, 1]), 2).tolist() == [0, 0, 1, 1, 1]


@cache
def amounts() -> np.ndarray:
    return pl.read_parquet(GOLDEN / "sdcmicro_risks_2000.parquet").select(AMOUNTS).to_numpy()


def test_squares_of_sdcmicro() -> None:
    """sdcMicro 5.8.1, microaggregation(method = "mdav", aggr = 3) on 2,000 records, standardised: 56.2118."""
    masked = pl.read_parquet(GOLDEN / "sdcmicro_masked_2000.parquet").select(f"ma_mdav.{a}" for a in AMOUNTS).to_numpy()
    points = amounts() / amounts().std(axis=0, ddof=1)
    theirs = float((((amounts() - masked) / amounts().std(axis=0, ddof=1)) ** 2).sum())
    assert theirs == pytest.approx(56.211839552, abs=1e-8)
    ours = mdav.group_by_mdav(points, 3)
    assert sum_of_squares(points, ours) == pytest.approx(theirs, abs=1e-8)
    # exchanges go on from there: 11% lower, also in euros
    better = exchange_members(points, ours, 3)
    assert sum_of_squares(points, better) < 0.9 * theirs
    assert sum_of_squares(amounts(), better) < 0.9 * float(((amounts() - masked) ** 2).sum())


@pytest.mark.parametrize("column", range(3))
def test_one_variable_of_sdcmicro(column: int) -> None:
    """Against its "onedims", which cuts sorted values into threes: 1.58, 2.86 and 26.73, standardised."""
    golden = pl.read_parquet(GOLDEN / "sdcmicro_masked_2000.parquet")[f"ma_onedims.{AMOUNTS[column]}"].to_numpy()
    values = amounts()[:, column]
    theirs = float((((values - golden) / values.std(ddof=1)) ** 2).sum())
    assert theirs == pytest.approx((1.583230, 2.863526, 26.732339)[column], abs=1e-6)
    assert sum_of_squares((values / values.std(ddof=1))[:, None], group_values(values, 3)) < 0.7 * theirs
