"""Local recoding, Mondrian, Datafly and Samarati's search: what they release, and what they say of it, by brute force."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import at_depth, examples
from tests.protect.brute.exhaustive import (
    LIMITS,
    QUALITIES,
    Case,
    Model,
    exact,
    failing,
    random_case,
    random_models,
    released,
    unsafe,
    untrue,
    without_empty_keys,
)

import flou

H = flou.Hierarchy
P = flou.protect


def seeds(check: Any, some: range) -> None:
    for seed in some:
        try:
            check(random.Random(seed))
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def check_frame(release: Any, models: list[Model], case: Case, *, ranges: bool = False) -> list[dict[str, Any]]:
    rows = released(release)
    assert not unsafe(rows, models, case)
    assert not untrue(rows, case, ranges)
    return rows


def joined_fails(models: list[Model], case: Case) -> bool:
    return failing(case.rows, models, case)


# ------------------------------------------------------------------------------------------- local recoding


def check_local(rng: random.Random) -> None:
    """Safe, true, nobody invented; whoever is missing or without a key is counted."""
    case = without_empty_keys(random_case(rng, plain=True))
    models = random_models(rng, case)
    method = P.LocalRecode([m.of for m in models], suppression_limit=1.0, no_hierarchy="suppress")
    nodes = case.nodes(models, 1)
    if all(node.n_suppressed == len(case.rows) for node in nodes):
        with pytest.raises(flou.FlouError):
            method.protect(case.people(), secret=1)
        return
    release = method.protect(case.people(), secret=1)
    rows, step = check_frame(release, models, case), release.steps[-1]
    hidden = sum(all(r[k.name] is None for k in case.keys) for r in rows)
    assert step.n_suppressed == hidden + len(case.rows) - len(rows)
    assert 0 <= step.granularity <= 1
    few = P.LocalRecode([m.of for m in models], suppression_limit=0.2, no_hierarchy="suppress")
    try:
        release = few.protect(case.people(), secret=1)
    except flou.Infeasible:
        return
    check_frame(release, models, case)
    assert release.steps[-1].n_suppressed <= 0.2 * len(case.rows)


@pytest.mark.parametrize("block", range(at_depth(2, 4)))
def test_local_recoding_on_random_tables(block: int) -> None:
    seeds(check_local, range(block * 30, block * 30 + 30))


@examples(30)
@given(st.randoms(use_true_random=False))
def test_local_recoding_on_drawn_tables(rng: random.Random) -> None:
    check_local(rng)


# ------------------------------------------------------------------------------------------- Mondrian


def check_mondrian(rng: random.Random) -> None:
    """Every part meets the models, ranges hold their records, nobody is lost."""
    case = random_case(rng, plain=True, numbers=True)
    models = random_models(rng, case)
    method = P.Mondrian([m.of for m in models])
    if joined_fails(models, case):
        with pytest.raises(flou.FlouError):
            method.protect(case.people(), secret=1)
        return
    release = method.protect(case.people(), secret=1)
    rows, step = check_frame(release, models, case, ranges=True), release.steps[-1]
    assert len(rows) == len(case.rows)
    shown = {tuple(r[k.name] for k in case.keys) for r in rows}
    assert len(shown) <= step.n_classes
    assert 0 <= step.granularity <= 1


@pytest.mark.parametrize("block", range(at_depth(2, 4)))
def test_mondrian_on_random_tables(block: int) -> None:
    seeds(check_mondrian, range(block * 40, block * 40 + 40))


@examples(30)
@given(st.randoms(use_true_random=False))
def test_mondrian_on_drawn_tables(rng: random.Random) -> None:
    check_mondrian(rng)


def test_mondrian_cuts_where_it_can() -> None:
    """2k records with two values of one number: two parts of k."""
    frame = pl.DataFrame({"x": [1, 1, 1, 9, 9, 9]})
    release = P.Mondrian(k=3).protect(flou.Microdata(frame, keys=["x"]), secret=1)
    assert [str(v) for v in release.data.to_frame(reveal=True)["x"]] == ["1"] * 3 + ["9"] * 3
    release = P.Mondrian(k=4).protect(flou.Microdata(frame, keys=["x"]), secret=1)
    assert release.data.to_frame(reveal=True)["x"].to_list() == ["1-9"] * 6


@pytest.mark.parametrize(("spared", "other"), ["ab", "ba"])
def test_mondrian_spares_the_key_that_counts_more(spared: str, other: str) -> None:
    """Both keys are as wide, and 2k records allow one cut: it is made on the key whose detail is wanted."""
    people = flou.Microdata(pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}), keys=["a", "b"])
    out = P.Mondrian(k=2, importance={spared: 2}).protect(people, secret=1).data.to_frame(reveal=True)
    assert {str(v) for v in out[spared]} == {"0", "1"}
    assert set(out[other]) == {"0-1"}


# ------------------------------------------------------------------------------------------- Datafly


def trace(case: Case, k: int, limit: int) -> tuple[int, ...]:
    """Sweeney's loop: while more than `limit` records are in small classes, raise the key with most distinct values."""
    levels = [0] * len(case.keys)
    while True:
        small = sum(len(w) for w in case.classes(tuple(levels)).values() if len(w) < k)
        if small <= limit:
            return tuple(levels)
        distinct = [
            len({key.shown(r[key.name], l) for r in case.rows}) if l < key.height else 0
            for key, l in zip(case.keys, levels, strict=True)
        ]
        levels[distinct.index(max(distinct))] += 1


def check_datafly(rng: random.Random) -> None:
    case = without_empty_keys(random_case(rng, plain=True))
    k, share = rng.choice([2, 3, 5]), rng.choice([None, 0, 0.1, 0.5])
    limit = k if share is None else math.floor(exact(share) * len(case.rows))
    expected = trace(case, k, limit)
    node = case.node(expected, [Model("k", k)], 1)
    release = P.Datafly(k=k, suppression_limit=share, no_hierarchy="suppress").protect(case.people(), secret=1)
    step = release.steps[-1]
    assert tuple(step.levels.values()) == expected
    assert step.n_suppressed == node.n_suppressed
    assert step.score == pytest.approx(node.score, abs=1e-9)
    rows = check_frame(release, [Model("k", k)], case)
    assert len(rows) == len(case.rows) - (node.n_suppressed if node.n_suppressed < k else 0)


@pytest.mark.parametrize("block", range(at_depth(2, 3)))
def test_datafly_on_random_tables(block: int) -> None:
    seeds(check_datafly, range(block * 40, block * 40 + 40))


# ------------------------------------------------------------------------------------------- Samarati

MONOTONE = ("k", "distinct")
MONOTONE_ALONE = ("k", "distinct", "entropy", "recursive", "t", "t-hierarchical", "t-ordered", "basic", "enhanced")


def check_samarati(rng: random.Random) -> None:
    """The lowest height with a safe node, and the least score there; other models are refused."""
    case = without_empty_keys(random_case(rng, plain=True, sensitive_nulls=False))
    limit, quality = rng.choice(LIMITS), rng.choice(QUALITIES)
    models = random_models(rng, case, monotone=limit > 0 and rng.random() < 0.7)
    whole = math.floor(exact(limit) * len(case.rows))
    method = P.Samarati([m.of for m in models], suppression_limit=limit, quality=quality, no_hierarchy="suppress")
    people = case.people()
    if not all(m.kind in (MONOTONE if whole else MONOTONE_ALONE) for m in models):
        with pytest.raises(flou.FlouError):
            method.protect(people, secret=1)
        return
    nodes = [node for node in case.nodes(models, limit, quality) if node.safe]
    if all(node.n_suppressed == len(case.rows) for node in nodes):
        with pytest.raises(flou.FlouError):
            method.protect(people, secret=1)
        return
    height = min(sum(node.levels) for node in nodes)
    best = min(node.score for node in nodes if sum(node.levels) == height)
    release = method.protect(people, secret=1)
    step = release.steps[-1]
    assert step.height == height == sum(step.levels.values())
    assert step.score == pytest.approx(best, abs=1e-9)
    chosen = next(node for node in nodes if node.levels == tuple(step.levels.values()))
    assert step.n_suppressed == chosen.n_suppressed
    check_frame(release, models, case)


@pytest.mark.parametrize("block", range(at_depth(2, 4)))
def test_samarati_on_random_tables(block: int) -> None:
    seeds(check_samarati, range(block * 40, block * 40 + 40))


@pytest.mark.parametrize(
    "model",
    [Model("entropy", 2), Model("recursive", 2), Model("t", 0.5), Model("basic", 1), Model("delta", 2)],
    ids=lambda m: m.kind,
)
def test_samarati_refuses_what_is_not_monotone(model: Model) -> None:
    """With suppression all of them, without it delta alone."""
    case = without_empty_keys(random_case(random.Random(3), n_keys=2))
    with pytest.raises(flou.FlouError, match="stay met when classes are joined"):
        P.Samarati([model.of], k=2, suppression_limit=0.5).protect(case.people(), secret=1)
    if model.kind == "delta":
        with pytest.raises(flou.FlouError, match="stay met when classes are joined"):
            P.Samarati([model.of], k=2, suppression_limit=0).protect(case.people(), secret=1)


# ------------------------------------------------------------------------------------------- what they share


METHODS = {
    "local_recode": lambda models: P.LocalRecode([m.of for m in models]),
    "mondrian": lambda models: P.Mondrian([m.of for m in models]),
    "datafly": lambda models: P.Datafly(k=3),
    "samarati": lambda models: P.Samarati([m.of for m in models if m.kind in MONOTONE] or [Model("k", 2).of]),
}


@pytest.mark.parametrize("name", METHODS)
def test_the_order_of_the_rows_does_not_matter(name: str) -> None:
    for seed in range(at_depth(6, 15)):
        rng = random.Random(seed)
        case = without_empty_keys(random_case(rng))
        method = METHODS[name](random_models(rng, case))
        order = list(range(len(case.rows)))
        rng.shuffle(order)
        try:
            first = method.protect(case.people(), secret=1)
        except flou.FlouError:
            with pytest.raises(flou.FlouError):
                method.protect(case.people(order), secret=1)
            continue
        assert released(first) == released(method.protect(case.people(order), secret=1)), seed


@pytest.mark.parametrize("name", METHODS)
def test_k_above_the_number_of_records(name: str) -> None:
    tree = H.tree({"g": ["a", "b"], "h": ["c"]})
    people = flou.Microdata(pl.DataFrame({"x": ["a", "b", "c"]}), flou.Schema(keys=["x"], hierarchies={"x": tree}))
    method = P.Datafly(k=4) if name == "datafly" else METHODS[name]([Model("k", 4)])
    with pytest.raises(flou.FlouError, match="k = 4"):
        method.protect(people, secret=1)


@pytest.mark.parametrize("name", ["local_recode", "datafly", "samarati"])
def test_a_key_without_hierarchy_is_refused(name: str) -> None:
    people = flou.Microdata(pl.DataFrame({"x": ["a", "b", "c", "c"]}), keys=["x"])
    with pytest.raises(flou.FlouError, match="hierarch"):
        METHODS[name]([Model("k", 2)]).protect(people, secret=1)


@pytest.mark.parametrize("name", ["local_recode", "mondrian", "samarati"])
def test_more_diversity_than_there_are_values(name: str) -> None:
    tree = H.tree({"g": ["a", "b"], "h": ["c"]})
    frame = pl.DataFrame({"x": [*"aabbcc"], "s": [*"pqpqpq"]})
    people = flou.Microdata(frame, flou.Schema(keys=["x"], sensitive=["s"], hierarchies={"x": tree}))
    with pytest.raises(flou.FlouError):
        METHODS[name]([Model("distinct", 3)]).protect(people, secret=1)


def test_a_group_named_like_one_of_its_values() -> None:
    """Local recoding shows `a` for the value and for the group: those who show the very same are one class."""
    tree = H.tree({"a": ["a", "b", "c"], "z": ["z"]})
    rows = [*"aaaa", *"bc", *"zzzz"]
    sick = ["p", "p", "q", "q", "r", "r", "p", "p", "q", "r"]
    frame = pl.DataFrame({"x": rows, "s": sick})
    people = flou.Microdata(frame, flou.Schema(keys=["x"], sensitive=["s"], hierarchies={"x": tree}))
    whole = Counter(sick)
    for delta in (0.5, 0.8, 1, 1.2, 1.5, 2):
        try:
            release = P.LocalRecode([flou.risk.DisclosureDelta(delta=delta)], k=2).protect(people, secret=1)
        except flou.FlouError:
            continue
        out = release.data.to_frame(reveal=True)
        for _, part in out.group_by("x"):
            for value, count in Counter(part["s"]).items():
                assert abs(math.log2(count / part.height / (whole[value] / len(sick)))) < delta, delta
