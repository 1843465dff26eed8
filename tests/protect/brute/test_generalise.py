"""Generalise and its frontier against every node of small lattices, looked at one by one."""

from __future__ import annotations

import math
import random
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
    Key,
    Model,
    Node,
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
Generalise = flou.protect.Generalise


def near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


#: Measures of class sizes, which have no place for importance.
BY_SIZE = ("discernibility", "average_class_size")


def step_of(case: Case, models: list[Model], order: list[int] | None = None, **more: Any) -> tuple[Any, Any]:
    method = Generalise(models=[m.of for m in models], no_hierarchy="suppress", **more)
    release = method.protect(case.people(order), secret=1)
    return release, release.steps[-1]


def nothing_left(nodes: list[Node], case: Case) -> bool:
    """Whether every record of every safe node would be suppressed."""
    return all(node.n_suppressed == len(case.rows) for node in nodes if node.safe)


def check_optimal(rng: random.Random, whole_lattice: bool = True) -> None:
    """The least score over all safe nodes, the next one, what is suppressed, and a release that is safe and true."""
    case = without_empty_keys(random_case(rng, plain=True))
    models = random_models(rng, case)
    limit, quality = rng.choice(LIMITS), rng.choice(QUALITIES)
    importance = {k.name: rng.choice([0.5, 1, 3]) for k in case.keys} if rng.random() < 0.3 else None
    if quality in BY_SIZE:
        importance = None
    nodes = case.nodes(models, limit, quality, importance)
    scores = sorted(node.score for node in nodes if node.safe)
    if nothing_left(nodes, case):
        with pytest.raises(flou.FlouError):
            step_of(case, models, suppression_limit=limit, quality=quality, importance=importance)
        return
    search = rng.choice(["optimal", "auto"])
    release, step = step_of(
        case, models, suppression_limit=limit, quality=quality, importance=importance, search=search
    )
    chosen = next(node for node in nodes if node.levels == tuple(step.levels.values()))
    assert near(step.score, scores[0])
    assert chosen.safe
    assert near(chosen.score, scores[0])
    assert step.optimal
    assert near(step.bound, scores[0])
    assert (step.second_score is None) == (len(scores) == 1)
    if len(scores) > 1:
        assert near(step.second_score, scores[1])
    assert step.n_suppressed == chosen.n_suppressed
    check_released(release, models, case, chosen)
    frame = step.lattice.to_frame()
    assert frame.height == len(nodes) or not whole_lattice
    check_lattice(frame, nodes, case)


def check_released(release: Any, models: list[Model], case: Case, node: Node) -> None:
    rows = released(release)
    assert not unsafe(rows, models, case)
    assert not untrue(rows, case)
    gone = set(node.suppressed)
    kept = [r for r in rows if r["rid"] not in gone]
    assert {r["rid"] for r in kept} == {r["rid"] for r in case.rows} - gone
    for row in kept:
        was = case.rows[row["rid"]]
        for key, level in zip(case.keys, node.levels, strict=True):
            assert (None if row[key.name] is None else str(row[key.name])) == key.shown(was[key.name], level)
    left = [r for r in rows if r["rid"] in gone]
    assert all(r[k.name] is None for r in left for k in case.keys)
    # Together they are a class of their own: released if it meets the models, else dropped.
    fails = failing([case.rows[i] for i in node.suppressed], models, case) if gone else True
    assert len(left) == (0 if fails else len(gone))


def check_lattice(frame: pl.DataFrame, nodes: list[Node], case: Case) -> None:
    """What the lattice says of each node is so, and its floors are below the scores."""
    by_levels = {node.levels: node for node in nodes}
    for row in frame.to_dicts():
        node = by_levels[tuple(row[k.name] for k in case.keys)]
        if row["status"] in ("safe", "chosen"):
            assert node.safe
        if row["status"] == "unsafe":
            assert not node.safe
        if row["score"] is not None:
            assert near(row["score"], node.score)
        if row["n_suppressed"] is not None:
            assert row["n_suppressed"] == node.n_suppressed
        if node.safe:
            assert row["floor"] <= node.score + 1e-9


@pytest.mark.parametrize("block", range(at_depth(3, 8)))
def test_optimum_on_random_tables(block: int) -> None:
    for seed in range(block * 35, block * 35 + 35):
        try:
            check_optimal(random.Random(seed))
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@examples(40)
@given(st.randoms(use_true_random=False))
def test_optimum_on_drawn_tables(rng: random.Random) -> None:
    check_optimal(rng)


@pytest.mark.parametrize(("chunk", "sparse"), [(3, False), (1, True), (256, True)])
def test_optimum_as_on_a_large_lattice(chunk: int, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few nodes at a time, and without an entry for every node."""
    monkeypatch.setattr("flou.protect.micro.lattice.ground.CHUNK", chunk)
    if sparse:
        monkeypatch.setattr("flou.protect.micro.lattice.search.MAX_OPTIMAL", 0)
    for seed in range(1000, at_depth(1005, 1015)):
        check_optimal(random.Random(seed), whole_lattice=not sparse)


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("limit", LIMITS)
def test_every_quality_at_every_limit(quality: str, limit: float) -> None:
    """k alone, where the search prunes most."""
    for seed in range(at_depth(2, 5)):
        rng = random.Random(f"{seed} {limit}")
        case = without_empty_keys(random_case(rng))
        models = [Model("k", rng.choice([2, 3, 4]))]
        nodes = case.nodes(models, limit, quality)
        scores = sorted(node.score for node in nodes if node.safe)
        release = Generalise(k=int(models[0].number), suppression_limit=limit, quality=quality).protect(
            case.people(), secret=1
        )
        step = release.steps[-1]
        assert near(step.score, scores[0]), seed
        assert step.second_score is None if len(scores) == 1 else near(step.second_score, scores[1]), seed
        chosen = next(node for node in nodes if node.levels == tuple(step.levels.values()))
        check_released(release, models, case, chosen)


def check_anytime(rng: random.Random) -> None:
    """With a small budget: the score is no better than the optimum, and the release as safe."""
    case = without_empty_keys(random_case(rng, plain=True))
    models = random_models(rng, case)
    limit, quality = rng.choice(LIMITS), rng.choice(QUALITIES)
    nodes = case.nodes(models, limit, quality)
    best = min((node.score for node in nodes if node.safe), default=None)
    budget = rng.choice([1, 2, 3, 5, 10])
    try:
        release, step = step_of(
            case, models, suppression_limit=limit, quality=quality, search="anytime", max_nodes=budget
        )
    except flou.FlouError:
        # Nothing is released: for want of a safe node, or of budget.
        return
    assert best is not None
    assert best <= step.score + 1e-9
    assert step.n_evaluated <= budget
    assert not step.optimal or near(step.score, best)
    chosen = next(node for node in nodes if node.levels == tuple(step.levels.values()))
    assert chosen.safe
    assert near(chosen.score, step.score)
    check_released(release, models, case, chosen)


@pytest.mark.parametrize("block", range(at_depth(2, 4)))
def test_anytime_on_random_tables(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        try:
            check_anytime(random.Random(seed))
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def test_a_large_budget_proves_the_optimum() -> None:
    for seed in range(at_depth(6, 15)):
        rng = random.Random(seed)
        case = without_empty_keys(random_case(rng))
        best = min(node.score for node in case.nodes([Model("k", 2)], 0.1) if node.safe)
        _, step = step_of(case, [Model("k", 2)], suppression_limit=0.1, search="anytime", max_nodes=100_000)
        assert step.optimal
        assert near(step.score, best)


@pytest.mark.parametrize("quality", QUALITIES)
def test_frontier(quality: str) -> None:
    """For each k and every number of records that may be suppressed, the optimum of all nodes."""
    for seed in range(6):
        rng = random.Random(f"{seed} {quality}")
        case = without_empty_keys(random_case(rng, n_keys=rng.choice([2, 3]), plain=True))
        importance = {case.keys[0].name: 3} if seed % 3 == 0 and quality not in BY_SIZE else None
        people, n = case.people(), len(case.rows)
        method = Generalise(k=2, quality=quality, importance=importance, no_hierarchy="suppress")
        frontier = method.frontier(people, k=[2, 3, 5])
        frame = frontier.to_frame()
        assert set(frame["k"]) == {2, 3, 5}
        for k in (2, 3, 5):
            nodes = case.nodes([Model("k", k)], 1, quality, importance)
            for s in range(n + 1):
                best = min(node.score for node in nodes if node.n_suppressed <= s and node.n_suppressed < n)
                found = frontier.best(k, s / n)
                assert near(found["score"], best), (seed, k, s)
                assert found["n_suppressed"] <= s
                node = next(x for x in nodes if x.levels == tuple(found[key.name] for key in case.keys))
                assert node.n_suppressed == found["n_suppressed"]
                assert near(node.score, best)
            steps = frame.filter(pl.col("k") == k)
            assert steps["score"].to_list() == sorted(steps["score"], reverse=True)
            assert steps["suppression_limit"].to_list() == pytest.approx([x / n for x in steps["n_suppressed"]])
        for limit in (0, 0.2, 0.5):
            one = Generalise(
                k=3, quality=quality, importance=importance, suppression_limit=limit, no_hierarchy="suppress"
            )
            assert near(one.protect(people, secret=1).steps[-1].score, frontier.best(3, limit)["score"])


def test_the_order_of_the_rows_does_not_matter() -> None:
    for seed in range(at_depth(8, 25)):
        rng = random.Random(seed)
        case = without_empty_keys(random_case(rng))
        models = random_models(rng, case)
        settings_ = {"suppression_limit": rng.choice([0.1, 0.5]), "quality": rng.choice(QUALITIES)}
        order = list(range(len(case.rows)))
        rng.shuffle(order)
        try:
            release, step = step_of(case, models, **settings_)
        except flou.FlouError:
            with pytest.raises(flou.FlouError):
                step_of(case, models, order, **settings_)
            continue
        other, other_step = step_of(case, models, order, **settings_)
        assert released(release) == released(other), seed
        assert step.levels == other_step.levels
        assert step.score == pytest.approx(other_step.score, rel=1e-12)
        assert other.data.to_frame(reveal=True)["rid"].to_list() == [
            i for i in order if i in set(release.data.to_frame(reveal=True)["rid"])
        ]


# ------------------------------------------------------------------------------------------- by hand


def small(frame: dict[str, list[Any]], **roles: Any) -> flou.Microdata:
    return flou.Microdata(pl.DataFrame(frame), flou.Schema(**roles))


def test_a_not_applicable_code_named_like_a_group() -> None:
    """They would show the very same at one level and not at the next."""
    people = small(
        {"x": ["a", "b", "g", "h1"]},
        keys=["x"],
        hierarchies={"x": H.tree({"g": ["a", "b"], "h": ["h1", "h2"]})},
        not_applicable={"x": ["g"]},
    )
    with pytest.raises(flou.FlouError, match="'g' is a code"):
        Generalise(k=3, suppression_limit=0.25).protect(people, secret=1)


def test_limits_in_decimals_are_whole_records() -> None:
    """0.29 of 100 records is 29, whatever the product is in binary."""
    values = [f"v{i}" for i in range(29)] + ["w"] * 71
    tree = H.tree({"all": sorted(set(values)), "none": ["z"]})
    people = small({"x": values}, keys=["x"], hierarchies={"x": tree})
    step = Generalise(k=30, suppression_limit=0.29).protect(people, secret=1).steps[-1]
    assert (step.levels, step.n_suppressed) == ({"x": 0}, 29)
    step = Generalise(k=30, suppression_limit=0.28).protect(people, secret=1).steps[-1]
    assert step.n_suppressed == 0


def test_the_domain_of_bands_is_what_is_declared_and_what_occurs() -> None:
    """Two of five leaves: at the level of bands each record stands for its share of the leaves."""
    frame = {"age": [1, 2, 11, 12, 12]}
    declared = small(frame, keys=["age"], hierarchies={"age": H.bands(10)}, modalities={"age": [1, 2, 11, 12, 13]})
    step = Generalise(k=2, suppression_limit=0).protect(declared, secret=1).steps[-1]
    raw = 2 * 2 / 5 + 3 * 3 / 5
    assert step.levels == {"age": 1}
    assert step.score == pytest.approx((raw - 1) / (5 - 1))
    observed = small(frame, keys=["age"], hierarchies={"age": H.bands(10)})
    step = Generalise(k=2, suppression_limit=0).protect(observed, secret=1).steps[-1]
    raw = 2 * 2 / 4 + 3 * 2 / 4
    assert step.score == pytest.approx((raw - 5 / 4) / (5 - 5 / 4))


# ------------------------------------------------------------------------------------------- bad input


def _bad() -> flou.Microdata:
    frame = {"x": ["a", "a", "b", "b"], "y": ["1", "2", "1", "2"], "s": ["p", "q", "p", "q"]}
    trees = {"x": H.tree({"g": ["a", "b"], "h": ["c"]}), "y": H.tree({"u": ["1", "2"], "v": ["3"]})}
    return small(frame, keys=["x", "y"], sensitive=["s"], hierarchies=trees)


def test_a_key_without_hierarchy() -> None:
    people = small({"x": ["a", "b"], "y": ["1", "1"]}, keys=["x", "y"], hierarchies={"y": H.tree({"u": ["1"]})})
    with pytest.raises(flou.FlouError, match="'x'"):
        Generalise(k=2).protect(people, secret=1)
    release = Generalise(k=2, no_hierarchy="suppress").protect(people, secret=1)
    assert release.data.to_frame(reveal=True)["x"].to_list() == ["*", "*"]


def test_a_value_that_its_hierarchy_lacks() -> None:
    """Found as the file is described, before any step."""
    with pytest.raises(flou.FlouError, match="zzz"):
        small({"x": ["a", "zzz"]}, keys=["x"], hierarchies={"x": H.tree({"g": ["a"], "h": ["b"]})})


def test_more_diversity_than_there_are_values() -> None:
    for kind in ("distinct", "entropy", "recursive"):
        model = flou.risk.LDiversity(l=3, kind=kind)
        with pytest.raises(flou.Infeasible) as caught:
            Generalise([model], suppression_limit=0.5).protect(_bad(), secret=1)
        assert caught.value.best
        assert caught.value.next_step


@pytest.mark.parametrize("limit", [-0.1, 1.1, math.nan, "many"])
def test_a_suppression_limit_out_of_range(limit: Any) -> None:
    with pytest.raises(flou.FlouError, match="suppression_limit"):
        Generalise(k=2, suppression_limit=limit)


def test_k_above_the_number_of_records() -> None:
    for limit in (0, 0.5):
        with pytest.raises(flou.FlouError, match="4"):
            Generalise(k=5, suppression_limit=limit).protect(_bad(), secret=1)


def test_neither_k_nor_models() -> None:
    with pytest.raises(flou.FlouError):
        Generalise()


def test_a_budget_that_ends_too_early() -> None:
    """Six keys of which only the root is safe: two nodes are not enough to find it, or it is found."""
    rng = random.Random(0)
    leaves = [f"v{i}" for i in range(8)]
    tree = H.tree({"g": {"g1": leaves[:2], "g2": leaves[2:4]}, "h": {"h1": leaves[4:6], "h2": leaves[6:]}})
    keys = [f"x{j}" for j in range(6)]
    frame = {name: [rng.choice(leaves) for _ in range(40)] for name in keys}
    people = small(frame, keys=keys, hierarchies=dict.fromkeys(keys, tree))
    try:
        release = Generalise(k=40, suppression_limit=0, search="anytime", max_nodes=1).protect(people, secret=1)
    except flou.Infeasible as error:
        assert error.next_step
        assert "max_nodes" in str(error)
    else:
        assert set(release.data.to_frame(reveal=True).rows()) == {("*",) * 6}
    release = Generalise(k=40, suppression_limit=0, search="optimal").protect(people, secret=1)
    assert set(release.data.to_frame(reveal=True).rows()) == {("*",) * 6}


def test_importance_of_what_is_no_key() -> None:
    for importance in ({"nokey": 2}, {"x": 0}, {"x": -1}):
        with pytest.raises(flou.FlouError):
            Generalise(k=2, importance=importance).protect(_bad(), secret=1)


def test_keys_of_the_brute_force_itself() -> None:
    """A worked line of the definitions, so that the brute force is not its own witness."""
    key = Key(
        "x",
        H.tree({"g": ["a", "b"], "h": ["c"]}),
        {"a": ["a", "g"], "b": ["b", "g"], "c": ["c", "h"]}.get,
        [],
        [*"abc"],
        height=2,
    )
    rows = [{"rid": i, "x": v, "s": "a", "other": 0} for i, v in enumerate("aabc")]
    case = Case([key], rows, ["s"])
    node = case.node((1,), [Model("k", 2)], 0.25)
    # Three records stand for two of three leaves, one is suppressed: (3 * 2/3 + 1 - 4/3) / (4 - 4/3).
    assert node.score == pytest.approx((3 - 4 / 3) / (4 - 4 / 3))
    assert (node.n_suppressed, node.safe) == (1, True)
