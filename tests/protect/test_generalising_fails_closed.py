"""What could let something unsafe leave, or tell something untrue, when keys are generalised or nulled."""

from __future__ import annotations

import pickle
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.errors import DataError, GuaranteeBrokenError, HierarchyError, ParameterError

P, R, H = flou.protect, flou.risk, flou.Hierarchy


def nobody_has_z(**roles: Any) -> flou.Microdata:
    frame = pl.DataFrame({"a": ["x"] * 10 + ["y"] * 10 + [None] * 4})
    return flou.Microdata(frame, keys=["a"], hierarchies={"a": H.tree({"*": ["x", "y", "z"]})}, **roles)


@pytest.mark.parametrize(
    "method",
    [
        P.Mondrian(k=4),
        P.LocalRecode(k=4),
        P.LocalSuppression(k=4, search="quick"),
        P.Generalise(k=4, suppression_limit=0.5),
    ],
)
def test_a_null_of_a_release_may_still_be_what_was_declared(method: Any) -> None:
    people = nobody_has_z(modalities={"a": ["x", "y", "z"]})
    assert R.KAnonymity(k=5).measure(people).n_flagged == 4
    assert R.KAnonymity(k=5).measure(method.protect(people, secret=1)).n_flagged == 4


def test_values_that_were_nulled_away_stay_possible() -> None:
    frame = pl.DataFrame({"a": ["x"] * 10 + ["y"] * 10 + ["z", "u", "t", "v"]})
    release = P.LocalSuppression(k=4, search="quick").protect(flou.Microdata(frame, keys=["a"]), secret=1)
    assert R.KAnonymity(k=5).measure(release).n_flagged == 4


def test_wholly_null_records_do_not_cover_those_whom_a_later_step_leaves_alone() -> None:
    """u, v and w are nulled; the y of street 2 is alone there and dropped, so that two show y: the nulls are no third."""
    frame = pl.DataFrame({"a": [*"xxxxyyyuvw"], "street": [1] * 6 + [2] + [1] * 3})
    alone = R.KAnonymity(k=2, missing="category", by="street")
    plan = flou.Plan([P.LocalSuppression(k=3, search="quick"), P.DropRecords(alone)])
    with pytest.raises(GuaranteeBrokenError, match="2 violations"):
        plan.protect(flou.Microdata(frame, keys=["a"]), secret=1)


@pytest.mark.parametrize("subsets", [[], (), ["a", "b"], [[]], 0, True])
def test_subsets_that_say_nothing_are_refused(subsets: Any) -> None:
    with pytest.raises(ParameterError, match="subsets"):
        P.LocalSuppression(k=3, subsets=subsets)


def sick() -> flou.Microdata:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.choice(["p", "q"], 60), "ill": rng.choice(["flu", "cold", "kuru"], 60)})
    return flou.Microdata(frame, keys=["a"], sensitive=["ill"], hierarchies={"a": H.tree({"*": ["p", "q"]})})


@pytest.mark.parametrize("kind", ["generalise", "local_recode", "mondrian", "drop_records"])
def test_a_slip_in_groups_is_refused_by_protections(kind: str) -> None:
    wrong = R.LDiversity(l=2, groups={"flu": "resp", "cld": "resp"})
    method = {
        "generalise": P.Generalise([wrong], k=2),
        "local_recode": P.LocalRecode([wrong], k=2),
        "mondrian": P.Mondrian([wrong], k=2),
        "drop_records": P.DropRecords(wrong),
    }[kind]
    with pytest.raises(DataError, match="'cld'"):
        method.protect(sick(), secret=1)


def test_promises_do_not_name_values_of_the_original() -> None:
    model = R.LDiversity(l=2, groups={"kuru": "rare", "flu": "often"})
    release = P.Generalise([model], k=2).protect(sick(), secret=1)
    assert "kuru" not in " ".join(map(str, release.guarantees))


def test_a_step_that_leaves_the_process_takes_no_keys() -> None:
    step = P.Generalise(k=2).protect(sick(), secret=1).steps[0]
    again = pickle.loads(pickle.dumps(step))
    assert again.score == step.score
    assert not again.details
    with pytest.raises(DataError, match="original"):
        pickle.dumps(step.lattice)


def test_keys_named_like_figures() -> None:
    rng = np.random.default_rng(2)
    names = ["k", "score", "status"]
    frame = pl.DataFrame({c: rng.integers(0, 20, 300) for c in names})
    people = flou.Microdata(frame, keys=names, hierarchies={c: H.bands(5, 10) for c in names})
    method = P.Generalise(k=3, suppression_limit=0.05)
    step = method.protect(people, secret=1).steps[0]
    best = method.frontier(people, k=[2, 3]).best(3, 0.05)
    assert best["score"] == pytest.approx(step.score)
    assert best["k"] == 3
    assert sorted([best["k_"], best["score_"], best["status"]]) == sorted(step.levels.values())
    chosen = step.lattice.to_frame().filter(pl.col("status") == "chosen").row(0, named=True)
    assert chosen["score"] == step.score
    assert chosen["score_"] == step.levels["score"]
    step.lattice.plot()


def test_a_code_that_is_also_a_group_is_refused() -> None:
    tree = H.tree({"v0": ["v1", "v2"], "w": ["v3"]})
    frame = pl.DataFrame({"a": ["v0", "v1", "v2", "v3"] * 4})
    people = flou.Microdata(frame, keys=["a"], hierarchies={"a": tree}, not_applicable={"a": ["v0"]})
    with pytest.raises(HierarchyError, match="'v0' is a code"):
        P.Generalise(k=2).protect(people, secret=1)


def test_local_recoding_takes_in_what_may_not_be_suppressed() -> None:
    frame = pl.DataFrame({"zip": ["aa", "ab", "ac", "ad", "ae", "ba", "bb"]})
    people = flou.Microdata(frame, keys=["zip"], hierarchies={"zip": H.prefix(1)})
    step = P.LocalRecode(k=3).protect(people, secret=1).steps[0]
    assert step.n_suppressed == 0


def test_levels_that_coarsen_nothing_are_not_taken() -> None:
    frame = pl.DataFrame({"a": ["x"] * 9, "b": list("uuuuvvvvv")})
    tree = {"a": H.tree({"g": ["x", "y"]}), "b": H.tree({"h": ["u", "v"]})}
    people = flou.Microdata(frame, keys=["a", "b"], hierarchies=tree)
    for quality in ("loss", "discernibility", "average_class_size", "non_uniform_entropy", "precision"):
        step = P.Generalise(k=4, quality=quality).protect(people, secret=1).steps[0]
        assert step.levels == {"a": 0, "b": 0}, quality


def test_twenty_keys_are_nulled_in_time() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"c{j}": rng.integers(0, 3, 200) for j in range(20)})
    people = flou.Microdata(frame, keys=frame.columns)
    release = P.LocalSuppression(k=3, search="quick").protect(people, secret=1)
    assert release.to_frame().group_by(frame.columns).len()["len"].min() >= 3
    with pytest.raises(ParameterError, match="8 keys"):
        P.LocalSuppression(k=3, sense="orthodox").protect(people, secret=1)


def test_ids_are_checked_where_rows_are_divided() -> None:
    frame = pl.DataFrame({"id": [1, 1, *range(2, 10)], "a": ["x"] * 9 + ["y"], "b": [1] * 10})
    people = flou.Microdata(frame.with_columns(id=pl.int_range(10)).lazy(), keys=["a", "b"], id="id")
    repeated = people.with_frame(nw.from_native(frame.lazy()))  # an engine whose rows changed since
    with pytest.raises(DataError, match="1 are repeated"):
        P.LocalSuppression(k=3, search="quick").protect(repeated, secret=1)


def test_a_quality_that_is_no_number_is_refused() -> None:
    with pytest.raises(ParameterError, match="finite"):
        P.Generalise(k=2, quality=lambda node: float("nan")).protect(sick(), secret=1)


def test_numbers_that_do_not_change_stay_numbers() -> None:
    frame = pl.DataFrame({"x": [1.0, 2.5, 1.0, 2.5] * 5, "a": ["p", "q", "q", "p"] * 5})
    people = flou.Microdata(frame, keys=["x", "a"])
    release = P.Mondrian(k=1).protect(people, secret=1)
    assert release.to_frame()["x"].dtype == pl.Float64
    assert release.steps[0].changes == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"models": "l_diversity"}, "write it with its parameters"),
        ({"k": 3, "quality": "los"}, "Did you mean 'loss'"),
        ({"k": 3, "importance": "age=2"}, "a table of names and values"),
    ],
)
def test_messages_show_the_right_form(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        P.Generalise(**given)
