"""Published tables of a small population as a problem: what the tests of reconstruction share."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

import flou
from flou.attack.table.rebuild.problem import Problem
from flou.describe.mechanism.mechanism import Mechanism

#: The four tables of the paper, without those that are margins of another.
TABLES = (("gender", "age"), ("gender", "age5", "marital"))


def lay_rows(
    n_cells: int,
    members: list[np.ndarray],
    supports: list[tuple[int, np.ndarray]],
    hard: list[bool] | None = None,
    apart: list[tuple[int, int]] | None = None,
) -> Problem:
    """A problem from lists: the cells of each row, its lowest total and the log chances from there on."""
    lengths = [len(cells) for cells in members]
    widths = [len(chances) for _, chances in supports]
    return Problem(
        n_cells=n_cells,
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        members=np.concatenate([np.zeros(0), *members]).astype(np.int64),
        low=np.array([low for low, _ in supports], dtype=np.int64),
        high=np.array([low + width - 1 for (low, _), width in zip(supports, widths, strict=True)], dtype=np.int64),
        offsets=np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
        log_chances=np.concatenate([np.zeros(0), *[chances for _, chances in supports]]).astype(np.float64),
        hard=np.ones(len(members), dtype=np.bool_) if hard is None else np.array(hard, dtype=np.bool_),
        apart=np.array(apart or [], dtype=np.int64).reshape(-1, 2),
    )


def behind(mechanism: Mechanism, shown: int) -> tuple[int, np.ndarray]:
    """The lowest true total behind a published one and the log chances from there on."""
    low, high = (int(bound) for bound in mechanism.support(np.array(shown)))
    return low, mechanism.log_likelihood(shown, np.arange(low, high + 1))


def publish(mechanism: Mechanism, true: int, rng: np.random.Generator) -> int:
    """One figure that the mechanism can publish for a true one."""
    return int(rng.choice(mechanism.targets(true), p=mechanism.row(true)))


def census_problem(seed: int, mechanism: Mechanism | None, n: int = 50) -> tuple[Problem, np.ndarray, np.ndarray]:
    """The problem, the true counts and the attribute codes (age, gender, marital) of each cell."""
    town = flou.datasets.census(n=n, rng=seed)
    marital = list(town.schema.modalities["marital"])
    genders = list(town.schema.modalities["gender"])
    codes = np.array([(a, g, m) for a, g, m in product(range(105), range(2), range(len(marital))) if a >= 16 or m == 0])
    place = {tuple(code): i for i, code in enumerate(codes.tolist())}
    frame = town.frame.to_native()
    truth = np.zeros(len(codes), dtype=np.int64)
    for a, g, m in zip(frame["age"].to_list(), frame["gender"].to_list(), frame["marital"].to_list(), strict=True):
        truth[place[(a, genders.index(g), marital.index(m))]] += 1
    values = {"age": codes[:, 0], "gender": codes[:, 1], "marital": codes[:, 2], "age5": codes[:, 0] // 5}
    subsets = sorted({part for table in TABLES for k in range(len(table) + 1) for part in combinations(table, k)})
    rng = np.random.default_rng(seed)
    members, supports = [], []
    for subset in subsets:
        keys = np.stack([np.zeros(len(codes), dtype=np.int64), *[values[name] for name in subset]], axis=1)
        _, group = np.unique(keys, axis=0, return_inverse=True)
        for line in range(group.max() + 1):
            cells = np.flatnonzero(group == line)
            true = int(truth[cells].sum())
            members.append(cells)
            if mechanism is None:
                supports.append((true, np.zeros(1)))
            else:
                supports.append(behind(mechanism, publish(mechanism, true, rng)))
    return lay_rows(len(codes), members, supports), truth, codes
