"""Tests of local suppression, against a check that expands the keys to rows."""

from collections import Counter

import numpy as np
import pytest
from tests.depth import at_depth

from flou.protect.micro.nulls import solver
from flou.protect.micro.nulls.requirements import give_back
from flou.protect.micro.nulls.solve import Nulling, null_cells, null_cells_exactly, violations


def random_table(seed, rows=40, d=4, values=4, nulls=0.0, skew=False):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, values, (rows, d))
    if skew:
        table = np.minimum(rng.geometric(0.5, (rows, d)) - 1, values - 1)
    table[rng.random((rows, d)) < nulls] = -1
    codes, counts = np.unique(table, axis=0, return_counts=True)
    return codes.astype(np.int32), counts.astype(np.int64)


def rows_of(codes, nulling):
    """The released file, row by row."""
    rows = []
    for key, mask, n in zip(nulling.key, nulling.mask, nulling.n, strict=True):
        row = tuple(-1 if int(mask) >> j & 1 else int(v) for j, v in enumerate(codes[key]))
        rows += [row] * int(n)
    return rows


def check(codes, counts, nulling, requirements):
    records = Counter()
    for key, mask, n in zip(nulling.key.tolist(), nulling.mask.tolist(), nulling.n.tolist(), strict=True):
        assert n > 0
        assert 0 <= mask < 1 << codes.shape[1]
        assert all(codes[key, j] >= 0 for j in range(codes.shape[1]) if mask >> j & 1), "nulled twice"
        records[key] += n
    assert [records[i] for i in range(len(codes))] == counts.tolist()
    if counts.sum() < 100_000:
        rows = rows_of(codes, nulling)
        for columns, k in requirements:
            assert min(Counter(tuple(row[j] for j in columns) for row in rows).values()) >= k
    assert violations(codes, counts, nulling, 0, requirements) == 0


def full(codes, k):
    return [(tuple(range(codes.shape[1])), k)]


def price(codes, nulling, cost=None):
    cost = np.ones(codes.shape[1]) if cost is None else cost
    return float((((nulling.mask[:, None] >> np.arange(codes.shape[1])) & 1) @ cost * nulling.n).sum())


@pytest.mark.parametrize("seed", range(at_depth(10, 30)))
def test_random_tables_with_nulls_and_costs(seed):
    codes, counts = random_table(
        seed, rows=20 + at_depth(12, 30) * (seed % 4), d=1 + seed % 5, nulls=0.15 * (seed % 3), skew=seed % 2 == 0
    )
    k = 1 + seed % 5
    cost = None if seed % 3 else np.random.default_rng(seed).integers(1, 5, codes.shape[1]).astype(float)
    nulling = null_cells(codes, counts, k, cost)
    check(codes, counts, nulling, full(codes, k))


@pytest.mark.parametrize("seed", range(at_depth(6, 16)))
def test_close_to_the_exact_minimum(seed):
    codes, counts = random_table(
        1000 + seed, rows=40, d=3 + seed % 2, values=2 + seed % 5, nulls=0.1 * (seed % 2), skew=True
    )
    k = 2 + seed % 3
    cost = np.arange(1.0, 1 + codes.shape[1]) if seed % 3 == 0 else None
    exact = null_cells_exactly(codes, counts, k, cost)
    check(codes, counts, exact, full(codes, k))
    least = price(codes, exact, cost)
    assert least <= price(codes, null_cells(codes, counts, k, cost), cost) <= 1.05 * least


@pytest.mark.parametrize("seed", range(at_depth(8, 20)))
def test_requirements_hold_together(seed):
    codes, counts = random_table(seed, rows=at_depth(30, 60), d=4, values=3 + seed % 4, nulls=0.05 * (seed % 3))
    choices = [
        [((0, 1), 3), ((1, 2), 4), ((2, 3), 2)],
        [((0, 1, 2), 2), ((3,), 6), ((0, 3), 3)],
        [((0, 1, 2, 3), 3), ((0, 1), 2), ((2,), 3)],
        [((0, 1, 2, 3), 2), ((1, 3), 5)],
    ]
    requirements = choices[seed % 4]
    nulling = null_cells(codes, counts, 1, requirements=requirements)
    check(codes, counts, nulling, requirements)


def test_exact_with_requirements_is_not_dearer():
    codes, counts = random_table(5, rows=25, d=3, values=3)
    requirements = [((0, 1), 3), ((1, 2), 3)]
    exact = null_cells_exactly(codes, counts, 1, requirements=requirements)
    check(codes, counts, exact, requirements)
    assert price(codes, exact) <= price(codes, null_cells(codes, counts, 1, requirements=requirements))


def test_implied_requirement_costs_nothing():
    codes, counts = random_table(9, rows=at_depth(25, 50))
    alone = null_cells(codes, counts, 3)
    implied = null_cells(codes, counts, 3, requirements=[((0,), 2), ((0, 1, 2, 3), 3), ((1, 2), 3)])
    assert price(codes, alone) == price(codes, implied)


def test_nulls_that_no_requirement_needs_are_all_given_back():
    """Three records show each key, so every requirement holds without the nulls in the first column."""
    codes, counts = np.array([[0, 0], [1, 1]], np.int32), np.array([3, 3])
    nulled = Nulling(np.arange(2), np.array([1, 1]), counts)
    back = give_back(codes, nulled, [((0, 1), 3), ((0,), 2)], np.ones(2))
    check(codes, counts, back, [((0, 1), 3), ((0,), 2)])
    assert price(codes, back) == 0


@pytest.mark.parametrize("seed", range(at_depth(6, 12)))
def test_weights(seed):
    codes, counts = random_table(seed, rows=80, d=3, values=4)
    rng = np.random.default_rng(seed)
    weights = counts * (rng.integers(1, 9, len(counts)) if seed % 2 else rng.uniform(1, 9, len(counts)))
    need = np.array([np.inf, 30.0, 20.0, 12.5]) if seed % 3 else np.array([np.inf, np.inf, 10.0, 16.0])
    nulling = null_cells(codes, counts, 1, weights=weights.astype(float), need=need)
    check(codes, counts, nulling, [])
    assert len(set(nulling.key.tolist())) == len(nulling.key), "a key was split"
    sums, sizes = Counter(), Counter()
    for key, mask, n in zip(nulling.key, nulling.mask, nulling.n, strict=True):
        row = tuple(np.where(mask >> np.arange(3) & 1, -1, codes[key]).tolist())
        sums[row] += weights[key]
        sizes[row] += int(n)
    assert all(sums[row] >= need[min(sizes[row], 3)] * (1 - 1e-12) for row in sizes)


def test_weights_in_vain():
    codes, counts = random_table(1)
    with pytest.raises(ValueError):
        null_cells(codes, counts, 1, weights=np.ones(len(counts)), need=np.array([np.inf, 1e9]))


def test_a_rich_class_lends_two_records():
    codes = np.array([[0, 0], [0, 1]], np.int32)
    counts = np.array([10**12, 1])
    nulling = null_cells(codes, counts, 3)
    check(codes, counts, nulling, full(codes, 3))
    assert price(codes, nulling) == 3


def test_a_key_joins_a_class_with_nulls():
    codes = np.array([[-1, 0], [1, 0], [2, 5]], np.int32)
    counts = np.array([5, 1, 9])
    nulling = null_cells(codes, counts, 3)
    assert nulling.mask.tolist() == [0, 1, 0]


@pytest.mark.parametrize("k", [1, 2, 7])
def test_identical_records(k):
    nulling = null_cells(np.array([[3, 1]]), np.array([7]), k)
    assert (nulling.key.tolist(), nulling.mask.tolist(), nulling.n.tolist()) == ([0], [0], [7])


def test_all_records_unique():
    codes = np.stack(np.meshgrid(*[np.arange(4)] * 3), -1).reshape(-1, 3).astype(np.int32)
    nulling = null_cells(codes, np.ones(64, np.int64), 4)
    check(codes, np.ones(64, np.int64), nulling, full(codes, 4))
    assert price(codes, nulling) == 64


def test_nothing_in_common():
    codes = np.repeat(np.arange(5, dtype=np.int32)[:, None], 3, axis=1)
    nulling = null_cells(codes, np.array([1, 1, 2, 3, 3]), 3)
    check(codes, np.array([1, 1, 2, 3, 3]), nulling, full(codes, 3))
    assert price(codes, nulling) == 12


@pytest.mark.parametrize("solve", [null_cells, null_cells_exactly])
def test_too_few_records(solve):
    with pytest.raises(ValueError):
        solve(np.array([[0], [1]]), np.array([1, 1]), 3)


def test_same_input_same_output():
    codes, counts = random_table(3, rows=at_depth(40, 300), d=5)
    first, second = (null_cells(codes, counts, 3) for _ in range(2))
    assert all((getattr(first, f) == getattr(second, f)).all() for f in ("key", "mask", "n"))


def test_many_columns_of_many_values():
    codes, counts = random_table(4, rows=at_depth(100, 300), d=14, values=3, nulls=0.05)
    codes = np.where(codes >= 0, codes * 10**8, -1).astype(np.int32)  # more than 62 bits
    nulling = null_cells(codes, counts, 3)
    check(codes, counts, nulling, full(codes, 3))


@pytest.mark.parametrize("cells", [1, 2000, 6000])
def test_not_all_patterns_fit(monkeypatch, cells):
    monkeypatch.setattr(solver, "TABLE_CELLS", cells)
    codes, counts = random_table(6, rows=at_depth(60, 300), d=6, values=3, nulls=0.1, skew=True)
    nulling = null_cells(codes, counts, 3)
    check(codes, counts, nulling, full(codes, 3))


def test_violations_counts_records():
    codes = np.array([[0, 0], [0, 1]], np.int32)
    nothing = Nulling(np.arange(2), np.zeros(2, np.int64), np.array([5, 2]))
    assert violations(codes, np.array([5, 2]), nothing, 3) == 2
    assert violations(codes, np.array([5, 2]), nothing, 3, [((0,), 7)]) == 0
