"""What each protection does to values, schema and guarantees."""

from __future__ import annotations

import polars as pl
import pytest

import flou
from flou.engine.errors import GuaranteeBrokenError
from flou.protect.micro.replaced import coarsened_rules

Bands = flou.Hierarchy.bands


def _people(**roles: object) -> flou.Microdata:
    frame = pl.DataFrame({"age": [21, 25, 34, 39, 61, None], "sex": ["F", "M", "F", "F", "M", "F"]})
    return flou.Microdata(frame, keys=["age", "sex"], hierarchies={"age": Bands(10, 20, names=["ten"])}, **roles)


def test_recode_to_a_level_and_on() -> None:
    release = flou.protect.Recode("age", level="ten").protect(_people(), secret=1)
    assert release.data.to_frame(reveal=True)["age"].to_list() == ["20-29", "20-29", "30-39", "30-39", "60-69", None]
    twice = flou.protect.Recode("age", level=1).protect(release, secret=1)
    assert twice.data.to_frame(reveal=True)["age"].to_list() == ["20-39"] * 4 + ["60-79", None]
    root = flou.protect.Recode("age", level=1).protect(twice, secret=1)
    assert set(root.data.to_frame(reveal=True)["age"].drop_nulls()) == {"*"}
    assert "age" not in root.data.schema.hierarchies
    assert len(root.steps) == 3
    assert [s.changes[0].n_values_after for s in root.steps] == [3, 2, 1]


def test_recode_maps_modalities_and_drops_labels_of_old_values() -> None:
    people = _people(modalities={"sex": ["F", "M", "X"]}, value_labels={"sex": {"F": {"en": "women"}}})
    release = flou.protect.Recode("sex", mapping={"F": "person", "M": "person", "X": "person"}).protect(
        people, secret=1
    )
    assert release.data.schema.modalities["sex"] == ("person",)
    assert "sex" not in release.data.schema.value_labels


def test_recode_of_integers_by_mapping() -> None:
    frame = pl.DataFrame({"gir": [1, 2, 3, 4, None]})
    release = flou.protect.Recode("gir", mapping={1: 1, 2: 1, 3: 3, 4: 3}).protect(
        flou.Microdata(frame, keys=["gir"]), secret=1
    )
    assert release.data.to_frame(reveal=True)["gir"].to_list() == [1, 1, 3, 3, None]
    assert release.data.to_frame().schema["gir"] == pl.Int64


def test_coarse_rules_hold_only_if_all_their_parts_do() -> None:
    rules = (
        {"age": 10, "work": "yes"},
        {"age": 11, "work": "yes"},
        {"age": 16, "work": "boss"},
        {"sex": "M", "work": "no"},
    )
    mapping = {10: "child", 11: "child", 16: "teen", 17: "teen"}
    assert coarsened_rules(rules, "age", mapping) == ({"sex": "M", "work": "no"}, {"work": "yes", "age": "child"})


def test_top_code_by_value_and_by_quantile() -> None:
    frame = pl.DataFrame({"x": [float(i) for i in range(1000)]})
    people = flou.Microdata(frame)
    coded = flou.protect.TopCode("x", at=990.5, replacement=1500).protect(people, secret=1)
    assert coded.data.to_frame()["x"].max() == 1500
    assert coded.steps[0].n_coded == 9
    by_quantile = flou.protect.TopCode("x", quantile=0.985).protect(people, secret=1)
    assert by_quantile.steps[0].bound == 980, "rounded down to two digits: an exact quantile is somebody's value"
    assert flou.protect.TopCode("x", quantile=0.985, unit=25).protect(people, secret=1).steps[0].bound == 975
    low = flou.protect.BottomCode("x", quantile=0.111).protect(people, secret=1)
    assert low.steps[0].bound == 120, "rounded up, towards the middle"
    assert low.data.to_frame()["x"].min() == 120


def test_bounds_of_whole_numbers_are_whole() -> None:
    people = flou.Microdata(pl.DataFrame({"x": [1, 2, 3]}))
    assert flou.protect.TopCode("x", at=2).protect(people, secret=1).data.to_frame().schema["x"] == pl.Int64
    with pytest.raises(flou.FlouError, match="whole"):
        flou.protect.TopCode("x", at=2.5).protect(people, secret=1)


def test_drop_records_repeats_until_nobody_is_flagged() -> None:
    """The record with a null carries another: when it goes, the other falls below k as well."""
    frame = pl.DataFrame({"a": ["x", "x", "x", "y", None], "b": [1, 1, 1, 2, 2]})
    people = flou.Microdata(frame, keys=["a", "b"])
    measure = flou.risk.KAnonymity(k=2, missing="pessimistic")
    assert measure.measure(people).units.tolist() == [3, 3, 3, 2, 1]
    release = flou.protect.DropRecords(measure).protect(people, secret=1)
    assert release.steps[0].rounds == 2
    assert release.data.n_records == 3
    assert measure.measure(release).value == 0


def test_drop_records_is_refused_past_its_share() -> None:
    people = flou.Microdata(pl.DataFrame({"a": ["x", "x", "y"]}), keys=["a"])
    with pytest.raises(flou.Infeasible, match="max_share"):
        flou.protect.DropRecords(flou.risk.KAnonymity(k=2), max_share=0.1).protect(people, secret=1)
    with pytest.raises(flou.Infeasible, match="every record") as caught:
        flou.protect.DropRecords(flou.risk.KAnonymity(k=3)).protect(people, secret=1)
    assert caught.value.next_step


def test_drop_identifiers() -> None:
    frame = pl.DataFrame({"name": ["a", "b"], "pid": [1, 2], "x": [3, 4]})
    release = flou.protect.DropIdentifiers().protect(flou.Microdata(frame, identifiers=["name"], id="pid"), secret=1)
    assert release.data.columns == ("pid", "x")
    assert release.data.to_frame().columns == ["x"]
    none = flou.protect.DropIdentifiers().protect(flou.Microdata(frame, id="pid"), secret=1)
    assert "no identifiers" in str(none.steps[0].notes[0])


def test_a_promise_undone_by_a_later_step_is_found() -> None:
    """Top coding promised no income above 100; multiplying by mapping breaks it, and the plan says so."""
    people = flou.Microdata(pl.DataFrame({"x": [50, 100, 150], "y": [1, 2, 3]}), keys=["y"])
    plan = flou.Plan([flou.protect.TopCode("x", at=100), flou.protect.Recode("x", mapping={50: 50, 100: 1000})])
    with pytest.raises(GuaranteeBrokenError, match="above 100"):
        plan.protect(people, secret=1)


def test_guarantees_of_earlier_steps_travel_with_a_release() -> None:
    people = flou.Microdata(pl.DataFrame({"x": [50, 100, 150], "y": [1, 2, 3]}), keys=["y"])
    first = flou.protect.TopCode("x", at=100).protect(people, secret=1)
    with pytest.raises(GuaranteeBrokenError):
        flou.protect.Recode("x", mapping={50: 50, 100: 1000}).protect(first, secret=1)
    assert len(flou.protect.BottomCode("x", at=60).protect(first, secret=1).guarantees) == 2


def test_a_test_seed_taints_what_follows() -> None:
    people = flou.Microdata(pl.DataFrame({"x": [50, 100]}))
    first = flou.protect.TopCode("x", at=60).protect(people, secret=1)
    assert flou.protect.BottomCode("x", at=55).protect(first, secret=flou.Secret.generate()).test_only
