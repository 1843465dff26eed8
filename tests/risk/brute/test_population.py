"""Measures that need a public table: people behind a key, attackers, presence. One loop a definition."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import flou


def random_tables(seed, nulls=0.0):
    """A public table, and a release of some of its people, in which nulls stand for keys that were suppressed."""
    rng = np.random.default_rng(seed)
    names = list("abc")[: rng.integers(1, 4)]
    size = int(rng.integers(2, 40))
    people = [tuple(int(v) for v in rng.integers(0, 3, len(names))) for _ in range(size)]
    chosen = rng.choice(size, int(rng.integers(1, size + 1)), replace=False)
    released = [tuple(None if rng.random() < nulls else v for v in people[i]) for i in chosen]
    return names, people, released


def microdata(names, rows, **roles):
    frame = pl.DataFrame({name: pl.Series([r[j] for r in rows], dtype=pl.Int64) for j, name in enumerate(names)})
    return flou.Microdata(frame, keys=names, **roles)


def agree(one, other):
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("nulls", [0.0, 0.25])
def test_k_map_and_attackers(nulls):
    """The people of the table that agree with each record; a null agrees with everybody."""
    for seed in range(120):
        names, people, released = random_tables(seed, nulls)
        data, table = microdata(names, released), microdata(names, people)
        behind = [sum(agree(row, person) for person in people) for row in released]
        result = flou.risk.KMap(k=3).measure(data, against=table)
        assert result.units.tolist() == behind, seed
        assert result.k == min(behind)
        assert result.value == pytest.approx(np.mean([b < 3 for b in behind]))
        journalist = flou.risk.AttackerRisk(attacker="journalist", threshold=0.3).measure(data, against=table)
        assert journalist.units.tolist() == pytest.approx([1 / b for b in behind])
        assert journalist.value == pytest.approx(np.mean([1 / b > 0.3 for b in behind]))
        assert journalist.highest == pytest.approx(1 / min(behind))
        marketer = flou.risk.AttackerRisk(attacker="marketer").measure(data, against=table)
        assert marketer.value == pytest.approx(np.mean([1 / b for b in behind]))
        if not nulls:
            held = len(set(released)) / sum(sum(p == row for p in people) for row in set(released))
            assert journalist.success == pytest.approx(max(held, np.mean([1 / b for b in behind]))), seed


def test_prosecutor():
    """Without a table every class is its own population."""
    for seed in range(40):
        names, _, released = random_tables(seed)
        data = microdata(names, released)
        own = [released.count(row) for row in released]
        result = flou.risk.AttackerRisk(attacker="prosecutor", threshold=0.4).measure(data)
        assert result.units.tolist() == pytest.approx([1 / f for f in own])
        assert result.value == pytest.approx(np.mean([1 / f > 0.4 for f in own]))
        assert result.success == pytest.approx(len(set(released)) / len(released))


def test_presence():
    """The share of each class of the table that is in the release; classes without anybody have 0."""
    for seed in range(120):
        names, people, released = random_tables(seed)
        share = {row: released.count(row) / people.count(row) for row in set(people)}
        low, high = (0.0, 0.5) if seed % 2 else (0.2, 0.9)
        result = flou.risk.Presence(low=low, high=high).measure(
            microdata(names, released), against=microdata(names, people)
        )
        assert result.units.tolist() == pytest.approx([share[row] for row in released])
        assert result.lowest == pytest.approx(min(share.values()))
        assert result.highest == pytest.approx(max(share.values()))
        outside = [not low <= share[row] <= high for row in people]
        assert result.value == pytest.approx(np.mean(outside)), seed


def test_presence_on_the_boundary():
    """7 of 10 is 0.7, 1 of 3 is 1/3: inside, both ends included."""
    for inside, of in [(7, 10), (1, 3), (3, 10), (6, 7), (1, 49)]:
        data = microdata(["a"], [(1,)] * inside)
        table = microdata(["a"], [(1,)] * of)
        assert flou.risk.Presence(low=0, high=inside / of).measure(data, against=table).value == 0
        assert flou.risk.Presence(low=inside / of, high=1).measure(data, against=table).value == 0


OUTSIDE = [
    ([(1,), (9,)], [(1,), (2,)]),  # a key that nobody of the table has
    ([(1,), (1,)], [(1,), (2,)]),  # more people than the table has with this key
    ([(1,), (2,), (3,)], [(1,), (2,)]),
    ([(None,), (None,), (None,)], [(1,), (2,)]),  # more records than people
]


@pytest.mark.parametrize(("released", "people"), OUTSIDE)
@pytest.mark.parametrize(
    "method",
    [
        flou.risk.KMap(k=2),
        flou.risk.AttackerRisk(attacker="journalist"),
        flou.risk.AttackerRisk(attacker="marketer"),
        flou.risk.Presence(low=0, high=0.5),
    ],
)
def test_a_table_that_cannot_hold_the_release_is_refused(method, released, people):
    """The release must be part of the table."""
    with pytest.raises(flou.FlouError):
        _ = method.measure(
            microdata(["a"], released, modalities={"a": [1, 2, 3, 9]}), against=microdata(["a"], people)
        ).value
