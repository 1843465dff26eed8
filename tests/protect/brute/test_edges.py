"""Where searches, figures and refusals are easily wrong: budgets, records without keys, nulls, nobody left."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from tests.protect.brute.exhaustive import LIMITS, QUALITIES, Model, random_case, random_models, without_empty_keys

import flou

H = flou.Hierarchy
P = flou.protect


def small(frame: dict[str, list[Any]], **roles: Any) -> flou.Microdata:
    return flou.Microdata(pl.DataFrame(frame), flou.Schema(**roles))


# The bound of an anytime search


def test_the_bound_of_an_anytime_search_is_below_the_optimum():
    """Two records a class: nothing need be generalised, the optimum costs 0; one node of budget cannot know."""
    tree = H.tree({"g": ["a", "b"], "h": ["c"]})
    people = small({"x": ["a", "a", "c", "c"]}, keys=["x"], hierarchies={"x": tree})
    optimum = P.Generalise(k=2, suppression_limit=0).protect(people, secret=1).steps[-1]
    assert optimum.score == 0
    step = P.Generalise(k=2, suppression_limit=0, search="anytime", max_nodes=1).protect(people, secret=1).steps[-1]
    assert step.bound <= 0


@pytest.mark.parametrize("block", range(4))
def test_the_bound_on_random_tables(block):
    for seed in range(block * 30, block * 30 + 30):
        rng = random.Random(seed)
        case = without_empty_keys(random_case(rng, plain=True))
        models, limit, quality = random_models(rng, case), rng.choice(LIMITS), rng.choice(QUALITIES)
        best = min((n.score for n in case.nodes(models, limit, quality) if n.safe), default=None)
        method = P.Generalise(
            [m.of for m in models],
            suppression_limit=limit,
            quality=quality,
            search="anytime",
            max_nodes=rng.choice([1, 2, 3, 5, 10]),
            no_hierarchy="suppress",
        )
        try:
            step = method.protect(case.people(), secret=1).steps[-1]
        except flou.FlouError:
            continue
        assert step.bound <= best + 1e-9, seed


# Records that have no key from the start


def _empty():
    tree = H.tree({"g": ["a", "b"], "h": ["c"]})
    return small({"x": ["a", "a", None, None]}, keys=["x"], hierarchies={"x": tree})


@pytest.mark.parametrize(
    "method",
    [
        P.Generalise(k=2, suppression_limit=0),
        P.Samarati(k=2, suppression_limit=0),
        P.Datafly(k=2, suppression_limit=0),
        P.LocalRecode(k=2),
        P.Mondrian(k=2),
    ],
    ids=lambda m: type(m).__name__,
)
def test_nobody_is_suppressed_who_never_had_a_key(method):
    """Two records are null and as many as k: their class is kept as it is, and nothing is suppressed."""
    step = method.protect(_empty(), secret=1).steps[-1]
    assert step.n_suppressed == 0


def test_the_lattice_and_the_step_agree_on_records_without_a_key():
    step = P.Generalise(k=2, suppression_limit=0).protect(_empty(), secret=1).steps[-1]
    chosen = step.lattice.to_frame().filter(pl.col("status") == "chosen")
    assert chosen["n_suppressed"].to_list() == [step.n_suppressed]


# Samarati and nulls among the sensitive values


@pytest.mark.parametrize("kind", ["entropy", "recursive"])
def test_samarati_takes_diversity_without_suppression_also_with_nulls(kind):
    """The nulls of a class join its most frequent value, the worst they could be: joining classes does no harm."""
    tree = H.tree({"g": ["a", "b"], "h": ["c"]})
    frame = {"x": [*"aabbcc"], "s": ["p", "q", "p", "q", "p", None]}
    people = small(frame, keys=["x"], sensitive=["s"], hierarchies={"x": tree})
    model = flou.risk.LDiversity(l=1.5 if kind == "entropy" else 2, kind=kind, c=4)
    step = P.Samarati([model], suppression_limit=0).protect(people, secret=1).steps[-1]
    assert step.height == 2


@pytest.mark.parametrize("kind", ["entropy", "recursive"])
def test_samarati_on_random_tables_with_nulls(kind):
    for seed in range(40):
        rng = random.Random(seed)
        case = without_empty_keys(random_case(rng))
        models = [Model("k", 2), Model(kind, 1.5 if kind == "entropy" else 2, 3.5)]
        nodes = [n for n in case.nodes(models, 0) if n.safe]
        if nodes:
            step = P.Samarati([m.of for m in models], suppression_limit=0).protect(case.people(), secret=1).steps[-1]
            assert step.height == min(sum(n.levels) for n in nodes), seed


# Nothing would be left


@pytest.mark.parametrize(
    "method",
    [
        P.Generalise([flou.risk.LDiversity(l=3)], suppression_limit=1),
        P.Samarati([flou.risk.LDiversity(l=3)], suppression_limit=1),
        P.LocalRecode([flou.risk.LDiversity(l=3)]),
        P.Mondrian([flou.risk.LDiversity(l=3)]),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_release_of_nobody_is_infeasible(method):
    """Two sensitive values and l = 3: no class can be kept and the suppressed ones fail as well."""
    tree = H.tree({"g": ["a", "b"], "h": ["c"]})
    people = small({"x": [*"aabb"], "s": [*"pqpq"]}, keys=["x"], sensitive=["s"], hierarchies={"x": tree})
    with pytest.raises(flou.Infeasible) as caught:
        method.protect(people, secret=1)
    assert caught.value.best
    assert caught.value.next_step


# Infinite numbers


def test_mondrian_with_an_infinite_number():
    """No warning, and a granularity that is a number, or a refusal."""
    people = flou.Microdata(pl.DataFrame({"x": [0.1, float("inf"), 2.0, 3.0]}), keys=["x"])
    try:
        step = P.Mondrian(k=2).protect(people, secret=1).steps[-1]
    except flou.FlouError:
        return
    assert 0 <= step.granularity <= 1
