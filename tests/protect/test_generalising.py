"""Generalising and suppressing as users meet them: what a step carries, draws and refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.errors import HierarchyError, Infeasible, ParameterError, PlanError
from flou.engine.plan import Plan
from flou.protect.micro.lattice.quality import NodeView

P = flou.protect


@pytest.fixture(scope="module")
def people() -> flou.Microdata:
    rng = np.random.default_rng(4)
    n = 600
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "region": rng.choice(["n1", "n2", "s1", "s2"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "illness": rng.choice(["flu", "asthma", "none"], n),
        }
    )
    return flou.Microdata(
        frame,
        keys=["age", "region"],
        sensitive=["illness"],
        hierarchies={
            "age": flou.Hierarchy.bands(5, 10, 20),
            "region": flou.Hierarchy.tree({"north": ["n1", "n2"], "south": ["s1", "s2"]}),
        },
    )


def test_the_step_carries_its_choice(people: flou.Microdata) -> None:
    step = P.Generalise(k=10).protect(people, secret=1).steps[0]
    lattice = step.lattice.to_frame()
    assert lattice.height == step.n_nodes == 15
    chosen = lattice.filter(pl.col("status") == "chosen")
    assert chosen.select("age", "region").row(0, named=True) == step.levels
    assert chosen["score"].item() == step.score == step.bound <= step.second_score
    assert step.second_levels != step.levels
    assert set(lattice["status"]) <= {"chosen", "safe", "unsafe", "not looked at"}
    with pytest.raises(AttributeError, match="levels"):
        step.nonsense  # noqa: B018


@pytest.mark.parametrize("language", ["en", "fr"])
def test_charts_are_drawn(people: flou.Microdata, language: str) -> None:
    method = P.Generalise(k=10)
    lattice = method.protect(people, secret=1).steps[0].lattice.plot(language).to_dict()
    frontier = method.frontier(people, k=[2, 5, 10]).plot(language).to_dict()
    assert ("sûr" in str(lattice)) == (language == "fr")
    assert ("5%" in str(frontier)) == (language == "en")


def test_one_more_k_never_costs_less(people: flou.Microdata) -> None:
    frontier = P.Generalise(k=2).frontier(people, k=range(2, 30))
    for limit in (0.0, 0.02, 0.1, 1.0):
        scores = [frontier.best(k, limit)["score"] for k in range(2, 30)]
        assert scores == sorted(scores)
    assert frontier.best(10, 0.05)["score"] == pytest.approx(
        P.Generalise(k=10).protect(people, secret=1).steps[0].score
    )
    with pytest.raises(ParameterError, match="not traced for k = 40"):
        frontier.best(40, 0.1)
    for limit in (5, -1, "5%"):
        with pytest.raises(ParameterError, match=r"0\.05 for 5%"):
            frontier.best(5, limit)


def test_a_function_of_the_users_own(people: flou.Microdata) -> None:
    def keep_regions(node: NodeView) -> float:
        return 10 * node.levels["region"] + node.levels["age"] + node.n_suppressed / node.n_records

    method = P.Generalise(k=10, quality=keep_regions)
    step = method.protect(people, secret=1).steps[0]
    assert step.levels["region"] == 0
    with pytest.raises(PlanError, match="cannot hold a function"):
        Plan(steps=(method,)).to_toml()


def test_a_key_without_hierarchy(people: flou.Microdata) -> None:
    bare = flou.Microdata(
        people.to_frame(), keys=["age", "region"], hierarchies={"age": people.schema.hierarchies["age"]}
    )
    with pytest.raises(HierarchyError, match=r"'region'.*suggest.*no_hierarchy"):
        P.Generalise(k=5).protect(bare, secret=1)
    assert P.Generalise(k=5, no_hierarchy="suppress").protect(bare, secret=1).steps[0].levels["region"] in (0, 1)


def test_a_value_that_its_hierarchy_misses(people: flou.Microdata) -> None:
    tree = flou.Hierarchy.tree({"north": ["n1", "n2"], "south": ["s1"]})
    with pytest.raises(flou.FlouError, match="s2"):
        flou.Microdata(people.to_frame(), keys=["region"], hierarchies={"region": tree})


def test_what_cannot_be_reached(people: flou.Microdata) -> None:
    with pytest.raises(Infeasible, match=r"l-diversity \(l = 4.*Best found: k = 600.*3 for l_diversity"):
        P.Generalise([flou.risk.LDiversity(4)], k=5).protect(people, secret=1)
    with pytest.raises(ParameterError, match="600 records"):
        P.Generalise(k=601).protect(people, secret=1)
    with pytest.raises(Infeasible, match="budget of max_nodes = 1 ended"):
        P.Generalise(k=100, search="anytime", max_nodes=1, suppression_limit=0.0).protect(people, secret=1)
    with pytest.raises(ParameterError, match=r"suppression_limit = 1\.5"):
        P.Generalise(k=3, suppression_limit=1.5)


def test_samarati_refuses_what_is_not_monotone(people: flou.Microdata) -> None:
    close = flou.risk.TCloseness(0.3)
    with pytest.raises(ParameterError, match="suppression_limit = 0"):
        P.Samarati([close], k=5).protect(people, secret=1)
    assert P.Samarati([close], k=5, suppression_limit=0.0).protect(people, secret=1).steps[0].n_suppressed == 0


def test_suppressed_records_that_fail_the_models_are_dropped() -> None:
    frame = pl.DataFrame({"a": ["x"] * 20 + ["y", "z"]})
    people = flou.Microdata(frame, keys=["a"], hierarchies={"a": flou.Hierarchy.tree({"*": ["x", "y", "z"]})})
    kept = P.Generalise(k=2, suppression_limit=0.2).protect(people, secret=1)
    assert kept.to_frame()["a"].null_count() == 2
    dropped = P.Generalise(k=3, suppression_limit=0.2).protect(people, secret=1)
    assert dropped.data.n_records == 20
    assert "dropped" in str(dropped.steps[0].notes[-1])


def test_a_public_table_cannot_follow(tmp_path: Path) -> None:
    people = pl.DataFrame({"a": ["x", "y"] * 5})
    people.write_csv(tmp_path / "people.csv")
    text = """
        flou = 2
        [data]
        source = "people.csv"
        schema = "people.schema.toml"
        [population]
        source = "people.csv"
        [[protect]]
        method = "local_suppression"
        k = 3
        [[measure]]
        method = "k_map"
        k = 2
    """
    flou.Schema(keys=["a"]).save(tmp_path / "people.schema.toml")
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    from flou.job.carry_out import carry_out

    with pytest.raises(PlanError, match="cannot follow"):
        carry_out(Plan.load(tmp_path / "plan.toml"))


def test_rows_without_an_id_are_treated_alike_in_an_engine() -> None:
    frame = pl.DataFrame({"a": ["x"] * 9 + ["y"], "b": [1] * 10})
    lazy = flou.Microdata(frame.lazy(), keys=["a", "b"])
    step = P.LocalSuppression(k=3, search="quick").protect(lazy, secret=1).steps[0]
    assert step.n_nulls == 10
    assert "told apart" in str(step.notes[1])
    assert P.LocalSuppression(k=3, search="quick").protect(lazy.collect(), secret=1).steps[0].n_nulls == 3


def test_exact_nulls_are_for_small_files(people: flou.Microdata) -> None:
    few = flou.Microdata(people.to_frame()[:40], keys=["age", "region"])
    exact = P.LocalSuppression(k=3, search="exact").protect(few, secret=1).steps[0]
    assert exact.n_nulls <= P.LocalSuppression(k=3).protect(few, secret=1).steps[0].n_nulls
    many = flou.Microdata(pl.DataFrame({c: range(600) for c in "abcd"}), keys=["a", "b", "c", "d"])
    with pytest.raises(ParameterError, match="small files"):
        P.LocalSuppression(k=3, search="exact").protect(many, secret=1)


def test_importance_says_where_nulls_go(people: flou.Microdata) -> None:
    spare = P.LocalSuppression(k=4, importance={"age": 10}, search="quick").protect(people, secret=1).steps[0]
    assert spare.nulls["age"] < spare.nulls["region"]
    with pytest.raises(ParameterError, match="importance names 'sex'"):
        P.LocalSuppression(k=4, importance={"sex": 1}).protect(people, secret=1)


def test_what_is_hidden_is_said(people: flou.Microdata) -> None:
    step = P.Generalise(k=600).protect(people, secret=1).steps[0]
    assert any("every key is hidden" in str(note) for note in step.notes)
    few = P.LocalRecode(k=30, max_nodes=1).protect(people, secret=1).steps[0]
    assert any("first 1 of 15" in str(note) for note in few.notes)
    assert any("show no key at all" in str(note) for note in few.notes)
    assert "15 nodes" in repr(step.lattice)


def test_declared_values_that_a_hierarchy_misses_are_named_with_their_key(people: flou.Microdata) -> None:
    tree = flou.Hierarchy.tree({"north": ["n1", "n2"], "south": ["s1", "s2"]})
    roles = {
        "keys": ["region"],
        "hierarchies": {"region": tree},
        "modalities": {"region": ["n1", "n2", "s1", "s2", "s3"]},
    }
    with pytest.raises(HierarchyError, match=r"'region'.*'s3'"):
        P.Generalise(k=5).protect(flou.Microdata(people.to_frame(), **roles), secret=1)
