"""The kernels of the inference check against plain Python, on small random files."""

from __future__ import annotations

from collections import Counter
from statistics import median

import numpy as np
import pytest
from tests.depth import at_depth

from flou.risk.micro.inferable.codes import Codes
from flou.risk.micro.inferable.control import by_chance
from flou.risk.micro.inferable.kernels import order_by_group, permute_within
from flou.risk.micro.inferable.predict import SHARES, SUPPORTS, Asked


def leaks_one_by_one(group, label, learn, treated, secret, agrees):
    """Secret records read off, for each share that must agree, by the definition."""
    best = []
    for share in SHARES:
        found = [0]
        for support in SUPPORTS:
            predicted = right = leak = 0
            for i in np.flatnonzero(treated):
                others = [label[j] for j in range(len(group)) if group[j] == group[i] and learn[j] and j != i]
                if len(others) < support:
                    continue
                guess, agreeing = agrees(others, i)
                if agreeing / len(others) < share:
                    continue
                predicted += 1
                if guess:
                    right += 1
                    leak += secret[i]
            if right >= share * predicted:
                found.append(leak)
        best.append(max(found))
    return tuple(best)


def random_file(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    group = rng.integers(0, int(rng.integers(1, 8)), n)
    treated = rng.random(n) < rng.choice([0.2, 1.0])
    learn = np.ones(n, dtype=bool) if rng.random() < 0.5 else ~treated
    return rng, n, group, learn, treated, rng.random(n) < 0.7


@pytest.mark.parametrize("seed", range(at_depth(40, 400)))
def test_labels_are_predicted_by_the_most_frequent_among_others(seed):
    rng, n, group, learn, treated, secret = random_file(seed)
    label = np.where(rng.random(n) < rng.choice([0.0, 0.02, 0.3]), rng.integers(0, 5, n), group % 5)

    def agrees(others, i):
        value, count = Counter(others).most_common(1)[0]
        return value == label[i], count

    asked = Asked.labels(Codes(label, 5), learn, treated, secret)
    assert asked.leaks(Codes(group, 8)) == leaks_one_by_one(group, label, learn, treated, secret, agrees)


@pytest.mark.parametrize("seed", range(at_depth(40, 400)))
def test_amounts_are_predicted_by_the_median_of_others(seed):
    rng, n, group, learn, treated, secret = random_file(seed)
    amount = np.round(100.0 * group + rng.choice([0.0, 1.0]) * rng.normal(0, 1, n), 3)
    amount = np.where(rng.random(n) < 0.03, 1_000 * rng.random(n), amount)
    tolerance = np.full(n, 1.5)

    def agrees(others, i):
        middle = sorted(others)[len(others) // 2]
        assert len(others) % 2 == 0 or middle == median(others)
        return abs(amount[i] - middle) <= 1.5, sum(abs(o - middle) <= 1.5 for o in others)

    asked = Asked.of_amounts(amount, tolerance, learn, treated, secret)
    assert asked.leaks(Codes(group, 8)) == leaks_one_by_one(group, amount, learn, treated, secret, agrees)


def test_records_that_are_alike_count_as_often_as_they_are():
    """A table of distinct rows with their numbers gives what the rows give one by one."""
    rng = np.random.default_rng(3)
    group, label = rng.integers(0, 3, 30), rng.integers(0, 2, 30)
    label = np.where(rng.random(30) < 0.9, group % 2, label)
    learn, treated = rng.integers(0, 20, 30), rng.integers(1, 4, 30) * 21
    rows = np.repeat(np.arange(30), learn), np.repeat(np.arange(30), treated)
    both = np.concatenate(rows)
    flags = np.arange(len(both)) < len(rows[0])
    table = Asked.labels(Codes(label, 2), learn, treated, np.ones(30, dtype=bool))
    plain = Asked.labels(Codes(label[both], 2), flags, ~flags, np.ones(len(both), dtype=bool))
    assert table.leaks(Codes(group, 3)) == plain.leaks(Codes(group[both], 3))


def test_permutations_stay_within_classes_and_move():
    strata = np.random.default_rng(1).integers(0, 4, 200)
    rows, starts = order_by_group(strata, 4)
    seen, places = np.zeros((200, 200)), np.empty(200, dtype=np.int64)
    for seed in range(2_000):
        permute_within(rows, starts, seed, places)
        assert sorted(places) == list(range(200))
        assert (strata[places] == strata).all()
        seen[np.arange(200), places] += 1
    sizes = np.bincount(strata)[strata]
    allowed = strata[:, None] == strata[None, :]
    away = (seen - 2_000 / sizes[:, None])[allowed] / np.sqrt(2_000 / sizes[:, None] * np.ones((1, 200)))[allowed]
    assert abs(away.mean()) < 0.01
    assert 0.9 < away.std() < 1.1


def test_two_of_two_hundred_permutations_may_reach_a_leak():
    """The 99th percentile: two permutations as large do not matter, three do."""
    strata = Codes(np.zeros(5, dtype=np.int64), 1)
    for n_large, exceeds in ((2, True), (3, False)):
        drawn = iter([10] * n_large + [0] * 200)
        _, (passed,) = by_chance(strata, lambda places, drawn=drawn: [(next(drawn),)], [(10,)])
        assert passed == [exceeds]
