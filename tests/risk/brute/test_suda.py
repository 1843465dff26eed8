"""SUDA against a brute force that looks at every set of keys."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

import flou


def minimal_uniques(rows, largest):
    """For each record its minimal sets of keys on which it is alone; nulls never take part."""
    v = len(rows[0])
    alone = [[] for _ in rows]
    for size in range(1, largest + 1):
        for some in itertools.combinations(range(v), size):
            seen = Counter(tuple(row[j] for j in some) for row in rows)
            for i, row in enumerate(rows):
                part = tuple(row[j] for j in some)
                if None in part or seen[part] > 1 or any(set(m) <= set(some) for m in alone[i]):
                    continue
                alone[i].append(some)
    return alone


def weight(size, v, largest):
    if largest == v:
        return math.factorial(v - size)
    return math.prod(v - i for i in range(size, largest + 1))


def random_file(seed, nulls):
    rng = np.random.default_rng(seed)
    v, size = int(rng.integers(1, 6)), int(rng.integers(2, 30))
    spread = rng.integers(1, 7, v)
    rows = [tuple(None if rng.random() < nulls else int(rng.integers(s)) for s in spread) for _ in range(size)]
    names = [f"k{j}" for j in range(v)]
    frame = pl.DataFrame({name: pl.Series([r[j] for r in rows], dtype=pl.Int64) for j, name in enumerate(names)})
    declared = {name: list(range(7)) for name in names}
    return rows, names, flou.Microdata(frame, keys=names, modalities=declared)


@pytest.mark.parametrize("nulls", [0.0, 0.2])
def test_scores(nulls):
    """Scores, contributions and DIS scores, for every max_size from 1 to the number of keys."""
    for seed in range(60):
        rows, names, data = random_file(seed, nulls)
        v = len(names)
        pairs = sum(n == 2 for n in Counter(rows).values())  # a null is like a null here
        for largest in (None, *range(1, v + 1)):
            m = v if largest is None else largest
            found = minimal_uniques(rows, m)
            scores = [sum(weight(len(s), v, m) for s in some) for some in found]
            result = flou.risk.Suda(max_size=largest, sampling_fraction=0.1).measure(data)
            assert result.units.tolist() == pytest.approx(scores), (seed, largest)
            assert result.value == pytest.approx(np.mean([bool(s) for s in scores]))
            q = 1 + (8 - v) / 20
            a = sum(s**-q for s in scores if s)
            dis = [1 / (1 + 2 * pairs * 0.9 / (0.1 * a * s**q)) if s else 0.0 for s in scores]
            for line in result.by_key.iter_rows(named=True):
                i = rows.index(tuple(line[name] for name in names))
                assert line["score"] == pytest.approx(scores[i])
                assert line["dis"] == pytest.approx(dis[i], abs=1e-9), (seed, largest)
                for j, name in enumerate(names):
                    part = sum(weight(len(s), v, m) for s in found[i] if j in s)
                    assert line[f"contribution.{name}"] == pytest.approx(part / scores[i] if scores[i] else 0)
            for j, name in enumerate(names):
                part = sum(weight(len(s), v, m) for some in found for s in some if j in s)
                assert result.figures[f"contribution_{name}"] == pytest.approx(part / sum(scores) if sum(scores) else 0)
