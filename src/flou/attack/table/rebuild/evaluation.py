"""How right an intruder is who rebuilt a population: match rates, against populations that have nothing to do with it.

This side holds the true records and never lends them to the other. That they agree with what is published is checked
first: tables that were made of other records, or values that nobody declared, would make every figure meaningless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from flou.attack.table.rebuild.case import Case
from flou.attack.table.rebuild.independent import draw_population, even_chances, guess_population, margin_chances
from flou.attack.table.rebuild.matching import NONE, Likeness, Matches, match
from flou.attack.table.rebuild.rebuilt import Rebuilt
from flou.attack.table.rebuild.true_counts import require_behind, require_inside
from flou.describe.microdata import Microdata
from flou.describe.table.cells import Floats, Ints
from flou.engine.randomness import Draws

#: Independent populations for one block, where they are drawn; other blocks to compare each block with.
N_DRAWN, N_OTHERS = 30, 5
#: How many of the most confident records are looked at.
TOP = 10

Origin = Literal["control", "other blocks", "published shares"]


@dataclass(frozen=True, eq=False)
class Truth:
    """The true records: the cell of each, -1 outside of the product, and its block, -1 where none is published."""

    people: Microdata
    cells: Ints
    block: Ints

    @property
    def by_block(self) -> list[Ints]:
        order = np.argsort(self.block, kind="stable")
        known = self.block[order]
        bounds = np.searchsorted(known, np.arange(known.max(initial=-1) + 2))
        return [self.cells[order[a:b]] for a, b in pairwise(bounds)]


def read_truth(case: Case, people: Microdata) -> Truth:
    """The true records in the product of the tables' attributes."""
    cells = case.universe.locate(people)
    return Truth(people, cells, case.block_of(people))


def require_made_of(case: Case, truth: Truth) -> None:
    """The records must be a solution of what is published, or it was made of others."""
    require_inside(int(((truth.cells < 0) | (truth.block < 0)).sum()), len(truth.cells))
    people = truth.by_block
    for b, block in enumerate(case.figures.blocks):
        true = people[b] if b < len(people) else np.zeros(0, dtype=np.int64)
        require_behind(case.figures.problem(b), np.bincount(true, minlength=case.universe.n_cells), block)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Matches of the attack and of what is compared with it."""

    found: Matches
    independent: Matches
    origin: Origin
    by_prior: Matches
    n_uniques: int
    n_unique_hits: int
    #: The share of the most confident records that exist; NaN where no confidence is known.
    precision: float


def evaluate(
    rebuilt: Rebuilt,
    truth: Truth,
    likeness: Likeness,
    *,
    controls: Sequence[Microdata],
    chances: Floats | None,
    draw: Draws,
) -> Evaluation:
    """Compare the rebuilt people with the true ones, and independent populations with them too."""
    case, true = rebuilt.case, truth.by_block
    true += [np.zeros(0, dtype=np.int64)] * (case.n_blocks - len(true))
    found = sum((match(likeness, t, s.cells) for t, s in zip(true, rebuilt.solved, strict=True)), NONE)
    uniques = hits = 0
    for t, solved in zip(true, rebuilt.solved, strict=True):
        cells, counts = np.unique(t[t >= 0], return_counts=True)
        alone = cells[counts == 1]
        uniques += len(alone)
        hits += int(np.isin(alone, solved.cells).sum())
    independent, origin = _independent(case, true, likeness, controls, draw)
    by_prior = sum((match(likeness, t, _by_prior(case, chances, len(t), draw, b)) for b, t in enumerate(true)), NONE)
    return Evaluation(
        found=found,
        independent=independent,
        origin=origin,
        by_prior=by_prior,
        n_uniques=uniques,
        n_unique_hits=hits,
        precision=_precision(rebuilt, true),
    )


def _independent(
    case: Case, true: Sequence[Ints], likeness: Likeness, controls: Sequence[Microdata], draw: Draws
) -> tuple[Matches, Origin]:
    if controls:
        found = NONE
        for people in controls:
            cells = case.universe.locate(people)
            split = case.block is not None and case.block.column in people.columns
            block = case.block_of(people) if split else np.zeros(len(cells), dtype=np.int64)
            for b, t in enumerate(true):
                found += match(likeness, t, _as_many(cells[block == b] if split else cells, len(t), draw, b))
        return found, "control"
    found = NONE
    if case.n_blocks > 1:
        order = draw.order(np.arange(case.n_blocks), 1)
        for step in range(1, 1 + min(N_OTHERS, case.n_blocks - 1)):
            for at, b in enumerate(order.tolist()):
                found += match(likeness, true[b], true[int(order[(at + step) % case.n_blocks])])
        return found, "other blocks"
    chances = margin_chances(case, 0)
    for number in range(N_DRAWN):
        found += match(likeness, true[0], draw_population(chances, len(true[0]), draw, 2000 + number))
    return found, "published shares"


def _by_prior(case: Case, chances: Floats | None, n: int, draw: Draws, block: int) -> Ints:
    """The best guess without any table; where nothing is known beforehand any combination is as good as another."""
    if chances is None:
        return draw_population(even_chances(case.universe), n, draw, 1000 + block)
    return guess_population(chances, n)


def _as_many(cells: Ints, n: int, draw: Draws, number: int) -> Ints:
    """As many people of a population as there are true ones: more would have more in common with them."""
    return cells if len(cells) <= n else cells[draw.order(np.arange(len(cells)), 100_000 + number)[:n]]


def _precision(rebuilt: Rebuilt, true: Sequence[Ints]) -> float:
    """Of the most confident records, each counted once, the share that somebody has."""
    if rebuilt.mode != "posterior":
        return float("nan")
    held: list[tuple[float, Any, int]] = []
    for b, solved in enumerate(rebuilt.solved):
        cells, first = np.unique(solved.cells, return_index=True)
        held += [(-float(solved.confidence[i]), b, int(c)) for c, i in zip(cells, first, strict=True)]
    held.sort()
    top = held[:TOP]
    return float(np.mean([cell in true[b] for _, b, cell in top])) if top else float("nan")
