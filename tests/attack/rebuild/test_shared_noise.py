"""Noise by the keys of people: against the enumeration of every population by the sets of people in its cells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from keyed_tables import (
    combinations_of,
    draw_people,
    every_population,
    exact_presence,
    figures_of,
    log_chance,
    publish,
)

import flou
from flou.attack.table.rebuild.case import read_case
from flou.attack.table.rebuild.ground import most_people
from flou.attack.table.rebuild.posterior import sample_posterior

PROTECTIONS = {"cell keys": flou.protect.CellKey(D=2, V=1), "rounding": flou.protect.RandomRounding(3)}
DIMS = {"one table": [["u", "v"]], "two tables": [["u", "v"], ["v", "w"]], "no crossing": [["u"], ["v"]]}
NAMES = {"one table": ["u", "v"], "two tables": ["u", "v", "w"], "no crossing": ["u", "v"]}


def published(which: str, how: str, seed: int):
    people = draw_people(seed, 3 if which == "two tables" else 4, NAMES[which])
    return publish(people, DIMS[which], PROTECTIONS[how], seed), people


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", PROTECTIONS)
@pytest.mark.parametrize("which", DIMS)
def test_the_likelihood_counts_each_set_of_people_once(which, how, seed):
    tables, people = published(which, how, seed)
    case = read_case(tables)
    problem, combos, figures = case.figures.problem(), combinations_of(case), figures_of(tables)
    assert problem.shared is not None
    differs, possible = 0, 0
    rng = np.random.default_rng(seed)
    populations = every_population(len(combos), 4)
    near = [tuple(sorted(combos.index({k: p[k] for k in combos[0]}) for p in people))]
    near += [(*near[0][1:], c) for c in range(len(combos))]
    for who in near + [populations[i] for i in rng.permutation(len(populations))[:1500]]:
        counts = np.bincount(np.array(who, dtype=np.int64), minlength=len(combos))
        expected, found = log_chance(figures, [combos[c] for c in who]), problem.log_likelihood(counts)
        assert found == pytest.approx(expected, abs=1e-9) if expected > -math.inf else found == -math.inf
        if expected > -math.inf:
            assert problem.allows(counts)
            possible += 1
            totals = problem.totals(counts)
            alone = problem.log_chances[problem.offsets[:-1] + totals - problem.low].sum()
            differs += abs(alone - expected) > 1e-6
    assert possible >= 3
    assert differs or which == "no crossing"  # where each row alone would be wrong


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", PROTECTIONS)
@pytest.mark.parametrize("which", DIMS)
def test_confidences_are_those_of_enumeration(which, how, seed):
    tables, _ = published(which, how, seed)
    case = read_case(tables)
    problem, n = case.figures.problem(), case.universe.n_cells
    n_most = min(most_people(problem), 4 if n > 6 else 6)
    prior = np.random.default_rng(seed).dirichlet(np.ones(n)) * 0.8 + 0.2 / n
    exact = exact_presence(tables, prior, n_most)
    found = sample_posterior(
        problem, case.universe.codes, prior, seed=seed, log_total=np.zeros(n_most + 1), first_moves=400_000,
        max_moves=3_200_000,
    )  # fmt: skip
    assert np.abs(found.presence - exact).max() < 0.02
    assert all(problem.log_likelihood(x) > -np.inf for x in found.solutions)
