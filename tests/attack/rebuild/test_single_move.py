"""Moving one person: the look-ups against the whole problem computed anew for every candidate."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from flou.attack.table.rebuild import single_move
from flou.attack.table.rebuild.attribute import Attribute
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.single_move import Moves, find_targets
from flou.attack.table.rebuild.universe import Universe, lay_out


def universe(seed: int) -> Universe:
    """A small product with some combinations ruled out."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, 3)
    attributes = [
        Attribute(
            f"a{j}",
            0,
            tuple(range(n)),
            {f"a{j}": tuple(map(str, range(n)))},
            {f"a{j}": f"a{j}"},
            {v: v for v in range(n)},
        )
        for j, n in enumerate(sizes.tolist())
    ]
    rules = [{"a0": 0, "a1": 1}, {"a1": 0, "a2": 1}][: seed % 3]
    return lay_out(attributes, rules)


def problem(n_cells: int, counts: np.ndarray, seed: int) -> Problem:
    """Random rows of random hardness around true counts, with holes, and pairs of a part and a whole."""
    rng = np.random.default_rng(seed)
    members = [np.arange(n_cells)]
    members += [np.flatnonzero(rng.random(n_cells) < rng.uniform(0.1, 0.8)) for _ in range(8)]
    members = [m if len(m) else np.array([0]) for m in members]
    parts = [np.sort(rng.choice(m, max(1, len(m) // 2), replace=False)) for m in members[:5]]
    n = len(members)
    pairs = [
        (n + i, i)
        for i, part in enumerate(parts)
        if len(part) < len(members[i]) and counts[members[i]].sum() > counts[part].sum()
    ]
    members += parts
    low, high, chances, hard = [], [], [], []
    for m in members:
        total = int(counts[m].sum())
        least, most = max(0, total - int(rng.integers(0, 3))), total + int(rng.integers(0, 3))
        logs = np.log(rng.uniform(0.05, 1, most - least + 1))
        logs[(rng.random(len(logs)) < 0.2) & (np.arange(least, most + 1) != total)] = -np.inf
        is_hard = bool(rng.random() < 0.7)
        if not is_hard and rng.random() < 0.2:
            logs[total - least] = -np.inf  # noise that was larger than is counted with
        low.append(least), high.append(most), chances.append(logs), hard.append(is_hard)
    return Problem(
        n_cells=n_cells,
        starts=np.concatenate([[0], np.cumsum([len(m) for m in members])]),
        members=np.concatenate(members),
        low=np.array(low),
        high=np.array(high),
        offsets=np.concatenate([[0], np.cumsum([len(c) for c in chances])]),
        log_chances=np.concatenate(chances),
        hard=np.array(hard),
        apart=np.array(pairs, dtype=np.int64).reshape(-1, 2),
    )


def finite_log(p: Problem, counts: np.ndarray) -> float:
    """The log likelihood with a floor for what soft rows hold too unlikely."""
    out = 0.0
    for r, total in enumerate(p.totals(counts).tolist()):
        inside = p.low[r] <= total <= p.high[r]
        log = p.chances_of(r)[total - p.low[r]] if inside else -np.inf
        out += log if log > -np.inf or p.hard[r] else single_move._UNLIKELY
    return out


@pytest.mark.parametrize("seed", range(60))
def test_every_move_as_if_it_were_computed_anew(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    space = universe(seed)
    rng = np.random.default_rng(seed)
    counts = np.bincount(rng.integers(0, space.n_cells, 6), minlength=space.n_cells)
    p = problem(space.n_cells, counts, seed)
    assert p.allows(counts)
    if seed % 2:
        monkeypatch.setattr(single_move, "_MOST_AT_ONCE", 50)  # in many small parts
    moves, origins = Moves(p, counts), np.flatnonzero(counts)
    base, ruled_out = finite_log(p, counts), 0
    for j in range(len(space.sizes)):
        targets = find_targets(space, origins, j)
        possible, gains = moves.score(origins, targets)
        for i, origin in enumerate(origins.tolist()):
            for value, cell in enumerate(targets[i].tolist()):
                codes = space.codes[origin].copy()
                codes[j] = value
                same = [c for c in range(space.n_cells) if (space.codes[c] == codes).all()]
                assert same == ([cell] if cell >= 0 else [])
                if cell < 0:
                    assert not possible[i, value]
                    continue
                changed = counts.copy()
                changed[origin] -= 1
                changed[cell] += 1
                assert possible[i, value] == p.allows(changed)
                ruled_out += not possible[i, value]
                if possible[i, value]:
                    assert gains[i, value] == pytest.approx(finite_log(p, changed) - base, abs=1e-6)
    assert ruled_out > 0


def test_pairs_that_differ_keep_the_one_person_between_them() -> None:
    """A whole and its part were shown by different figures: the one person who makes the difference cannot leave."""
    space = lay_out([Attribute("a", 0, (0, 1, 2), {"a": ("0", "1", "2")}, {"a": "a"}, {0: 0, 1: 1, 2: 2})], [])
    members = [np.arange(3), np.array([0]), np.array([0, 1])]
    p = Problem(
        n_cells=3,
        starts=np.array([0, 3, 4, 6]),
        members=np.concatenate(members),
        low=np.zeros(3, dtype=np.int64),
        high=np.full(3, 4),
        offsets=np.array([0, 5, 10, 15]),
        log_chances=np.zeros(15),
        hard=np.ones(3, dtype=np.bool_),
        apart=np.array([[1, 2]]),
    )
    for counts, expected in (([1, 1, 0], [False, True, False]), ([1, 2, 0], [True, True, True])):
        possible, gains = Moves(p, np.array(counts)).score(np.array([1]), find_targets(space, np.array([1]), 0))
        assert possible[0].tolist() == expected
        assert (gains == 0).all()


def test_targets_differ_in_one_value() -> None:
    space = universe(3)
    for j, origin in product(range(3), range(space.n_cells)):
        targets = find_targets(space, np.array([origin]), j)[0]
        assert targets[space.codes[origin, j]] == origin
        for cell in targets[targets >= 0]:
            assert (np.delete(space.codes[cell], j) == np.delete(space.codes[origin], j)).all()
