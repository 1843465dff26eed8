"""What must never look safe: attacks nobody measured, guarantees beside the point, files paired by accident."""

from __future__ import annotations

import json
import pickle

import numpy as np
import polars as pl
import pytest

import flou
from flou.decide.verdict import Decision
from flou.risk.attacks import left_open

R, P = flou.risk, flou.protect
SECRET = flou.Secret(bytes(range(32)))


def released(data: flou.Microdata, *steps: object) -> flou.Release:
    return flou.Plan(list(steps)).protect(data, secret=SECRET)  # type: ignore[arg-type]


def judged(result: flou.engine.result.Result, release: flou.Release, **settings: object) -> Decision:
    rule = {"method": result.method, "settings": settings, "at_most": {"release": 0.0}}
    return flou.Policy(rules=[rule]).judge(result, release).decision


def test_an_attack_that_nobody_measured_withholds() -> None:
    """Every woman has the same illness, but no sensitive column is declared."""
    frame = pl.DataFrame({"sex": ["f"] * 10 + ["m"] * 10, "illness": ["hiv"] * 10 + ["flu"] * 10})
    release = released(flou.Microdata(frame, keys=["sex"]))
    found = R.AttackMap().measure(release)
    assert found.value == 1
    assert found.figures["measured"] == 0
    assert judged(found, release) is Decision.WITHHOLD
    assert "count as reaching everybody" in found.summary()


def test_what_one_column_shows_is_not_lost_when_another_cannot_be_measured() -> None:
    frame = pl.DataFrame(
        {
            "sex": ["f", "f", "m", "m"] * 10,
            "illness": ["hiv", "flu", "cold", "ulcer"] * 10,
            "debt": [1, 2, 1, 2] * 9 + [1, 2, 1, None],
        }
    )
    found = R.AttackMap(c=9).measure(flou.Microdata(frame, keys=["sex"], sensitive=["illness", "debt"]))
    line = next(line for line in found.lines if line.attack.name == "skewness")
    assert line.status == "open"
    assert line.share == 1
    assert "undetermined in 1 records" in line.detail
    assert not any("undetermined" in str(note) for note in found.notes), "notes go into reports"


def test_similarity_is_not_closed_by_another_columns_hierarchy() -> None:
    frame = pl.DataFrame(
        {"k": ["a", "b"] * 20, "illness": ["hiv", "flu"] * 20, "job": ["nurse", "baker", "doctor", "smith"] * 10}
    )
    tree = flou.Hierarchy.tree({"x": ["nurse", "baker"], "y": ["doctor", "smith"]})
    data = flou.Microdata(frame, keys=["k"], sensitive=["illness", "job"], hierarchies={"job": tree})
    lines = {line.attack.name: line.status for line in R.AttackMap().measure(data).lines}
    assert lines["similarity"] == "not measured"


def test_dates_and_codes_are_amounts_too() -> None:
    frame = pl.DataFrame({"sex": ["f", "m"] * 50, "siret": [f"{i:05}" for i in range(100)]})
    assert R.AttackMap().measure(flou.Microdata(frame, keys=["sex"])).figures["amounts"] == 1


def test_attacks_stay_open_when_a_result_shows_them_open_or_asks_for_nothing() -> None:
    frame = pl.DataFrame({"k": [1, 1] + [2] * 10, "s": ["a", "b"] * 6, "other": ["x", "y"] * 6})
    release = released(flou.Microdata(frame, keys=["k"], sensitive=["s", "other"]))
    rare, diverse = R.KAnonymity(k=5).measure(release), R.LDiversity(l=2).measure(release)
    assert rare.value > 0
    assert diverse.value == 0
    assert "identity" in [a.name for a in left_open([rare, diverse])]
    for vacuous in (
        R.KAnonymity(k=1),
        R.LDiversity(l=1, kind="entropy"),
        R.LDiversity(l=2, kind="recursive", c=1000),
        R.TCloseness(t=1.0),
        R.DisclosureDelta(delta=1000),
        R.BetaLikeness(beta=1000),
    ):
        result = vacuous.measure(release)
        assert len(left_open([result], ("s", "other"))) == 7, vacuous
    one_column = R.LDiversity(l=2, sensitive="s").measure(release)
    assert "homogeneity" in [a.name for a in left_open([one_column], ("s", "other"))]


def test_nulls_as_wildcards_close_nothing() -> None:
    frame = pl.DataFrame({"a": [1, 2, None, None, None], "s": list("vwxyz")})
    release = released(flou.Microdata(frame, keys=["a"]))
    found = R.KAnonymity(k=2, missing="orthodox").measure(release)
    assert found.value == 0
    assert "identity" in [a.name for a in left_open([found])]


def test_people_are_not_counted_by_weights_unless_asked() -> None:
    data = flou.Microdata(pl.DataFrame({"k": [1] * 5 + [2], "w": [20.0] * 6}), keys=["k"], weight="w")
    with pytest.raises(flou.FlouError, match="public table"):
        R.KMap(k=5).measure(data)
    estimated = R.KMap(k=5, population="weights").measure(data)
    assert estimated.settings != R.KMap(k=5).shown_settings()
    assert "guarantees nothing" in str(estimated.notes[0])


def test_a_journalist_has_the_expected_chance_not_one_over_the_expected_people() -> None:
    data = flou.Microdata(pl.DataFrame({"k": range(10), "w": [10.0] * 10}), keys=["k"], weight="w")
    found = R.AttackerRisk("journalist", population="weights").measure(data)
    assert found.units == pytest.approx(R.IndividualRisk().measure(data).units)
    marketer = R.AttackerRisk("marketer", population="weights").measure(data)
    assert marketer.value == pytest.approx(R.GlobalRisk().measure(data).value)


def test_dropping_by_closeness_promises_what_is_measured_afterwards() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"k": rng.integers(0, 40, 400), "s": rng.choice(["a", "b", "c"], 400, p=[0.8, 0.15, 0.05])})
    data = flou.Microdata(frame, keys=["k"], sensitive=["s"])
    release = released(data, P.DropRecords(R.TCloseness(t=0.15)))
    assert 0 < release.data.n_records < 400
    assert R.TCloseness(t=0.15).measure(release, against=data).value == 0


def test_a_published_file_is_not_paired_by_accident(tmp_path: object) -> None:
    """Published rows are in another order and have no ids: their distance from the original means nothing."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": rng.integers(1, 5, 200), "income": rng.lognormal(7, 1, 200).round()})
    original = flou.Microdata(frame, keys=["age"])
    release = released(original, P.TopCode("age", at=3))
    assert R.IntervalRisk().measure(release, against=original).value == 1
    published = flou.Microdata(release.data.to_frame(), keys=["age"])
    with pytest.raises(flou.FlouError, match="No id says"):
        R.IntervalRisk().measure(published, against=original)
    with pytest.raises(flou.FlouError, match="in another order"):
        R.IntervalRisk().measure(release, against=flou.Microdata(frame.reverse(), keys=["age"]))
    for forgetful in (pickle.loads(pickle.dumps(release.data)), release.data.public()):
        with pytest.raises(flou.FlouError, match="Declare the role id"):
            R.IntervalRisk().measure(forgetful, against=original)


def test_groups_of_values_that_a_release_has_lost_are_no_error() -> None:
    frame = pl.DataFrame({"k": [1, 1, 1, 2], "s": ["a", "b", "a", "rare"]})
    data = flou.Microdata(frame, keys=["k"], sensitive=["s"])
    release = released(data, P.DropRecords(R.KAnonymity(k=2)))
    found = R.LDiversity(l=2, groups={"rare": "x", "a": "x"}).measure(release)
    assert found.value == 0


def test_the_public_report_shows_no_small_count_under_another_name() -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {"age": [*rng.integers(1, 3, 200).tolist(), 77], "sex": [*rng.choice(["f", "m"], 200).tolist(), "f"]}
    )
    data = flou.Microdata(frame, keys=["age", "sex"])
    register = flou.Microdata(pl.concat([frame.head(200)] * 2), keys=["age", "sex"])
    release = released(data)
    results = [
        R.AttackMap().measure(release, against=register),
        R.GlobalRisk().measure(release),
        R.Suda().measure(release),
        R.PopulationUniqueness().measure(release),
        R.PoissonRisk().measure(release),
    ]
    rule = {"method": "global_risk", "settings": {"k": 3}, "at_most": {"release": 0.5}}
    verdict = flou.Policy(rules=[rule], min_count=3).judge(*results, release)
    report = flou.Report(data, release, results=results, verdict=verdict)
    public, internal = report.html(audience="public"), report.html()
    for text in ("highest", "expected re-identifications", "τ1", "contribution", "population uniques"):
        assert text not in public, text
        assert text in internal, text
    assert "(77" not in public
    assert "too many" not in public


def test_a_chart_for_the_public_does_not_call_an_open_attack_closed() -> None:
    frame = pl.DataFrame({"age": [1] * 400 + [2]})
    found = R.AttackMap().measure(flou.Microdata(frame, keys=["age"]))
    assert "identity" not in json.dumps(found.plot(min_count=3).to_dict())
    assert "identity" in json.dumps(found.plot().to_dict())


def test_an_assessment_that_asks_for_nothing_closes_nothing() -> None:
    frame = pl.DataFrame({"age": [1] * 4 + [2] * 4, "illness": ["flu", "gout", "none", "cold"] * 2})
    people = flou.Microdata(frame, keys=["age"], sensitive=["illness"])
    register = flou.Microdata(pl.concat([frame] * 3), keys=["age"])
    alike = {"flu": "lungs", "cold": "lungs"}
    assert left_open([R.AttackMap(groups=alike).measure(people, against=register)]) == []
    for loose in ({"k": 1}, {"l": 1}, {"t": 1.0}, {"c": 1000}, {"high": 1.0}):
        found = R.AttackMap(groups=alike, **loose).measure(people, against=register)
        assert len(left_open([found])) == 7, loose


def test_an_assessment_counts_nulls_as_a_category() -> None:
    """Wholly undetermined records make any file k-anonymous in the other senses."""
    frame = pl.DataFrame({"a": [1, 2, None, None, None], "b": [1, 2, None, None, None]})
    found = R.AttackMap().measure(flou.Microdata(frame, keys=["a", "b"]))
    assert found.figures["identity"] == 2 / 5
    assert R.KAnonymity(k=3).measure(flou.Microdata(frame, keys=["a", "b"])).value == 0


def test_weights_that_are_all_1_are_no_sample() -> None:
    """Each record stands for itself: the file is the population, with weights as without."""
    frame = pl.DataFrame({"k": [1, 1, 1, 2, 2, 3], "w": [1.0] * 6})
    plain, weighted = flou.Microdata(frame, keys=["k"]), flou.Microdata(frame, keys=["k"], weight="w")
    one, two = (flou.risk.GlobalRisk().measure(data) for data in (plain, weighted))
    assert one.interval == two.interval
    assert one.figures == two.figures
    assert [str(n) for n in one.notes] == [str(n) for n in two.notes]
    other = flou.Microdata(frame.with_columns(w=pl.Series([2.0, 1, 1, 1, 1, 1])), keys=["k"], weight="w")
    assert flou.risk.GlobalRisk().measure(other).interval != one.interval
