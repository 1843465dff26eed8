"""Which attack is answered by which model, and what the report says of it."""

from __future__ import annotations

import polars as pl
import pytest

import flou
from flou.engine import registry
from flou.engine.taxonomy import ATTACKS
from flou.risk.attacks import left_open

R = flou.risk
FRAME = pl.DataFrame(
    {
        "age": [1] * 4 + [2] * 4,
        "illness": ["flu", "gout", "none", "cold"] * 2,
    }
)


def people(frame: pl.DataFrame = FRAME) -> flou.Microdata:
    return flou.Microdata(frame, keys=["age"], sensitive=["illness"])


@pytest.mark.parametrize("stage", ["measure", "protect", "attack"])
def test_every_method_says_what_it_answers(stage: registry.Stage) -> None:
    silent = {name for name in registry.names(stage) if not registry.find(stage, name).answers_by}
    assert silent <= {"calibrate_weights"}  # it protects nobody


def test_no_l_diversity_closes_skewness_and_none_closes_similarity_but_on_groups() -> None:
    """The cautious reading: Tab. 1 of Ben Fredj marks probabilistic inference for recursive and entropy, its text does not."""
    for kind in ("distinct", "entropy", "recursive"):
        assert not {"skewness", "similarity"} & set(R.LDiversity(2, kind=kind).answers())
    assert "skewness" not in R.LDiversity(2, level=1).answers()


def test_an_assessment_uses_models_that_close_the_attack() -> None:
    found = R.AttackMap(groups={"flu": "lungs", "cold": "lungs"}, l=2).measure(
        people(), against=people(pl.concat([FRAME] * 3))
    )
    assert {line.attack.name for line in found.lines if line.status == "closed"} == {a.name for a in ATTACKS}
    assert found.open == ()
    assert left_open([found]) == []


@pytest.mark.parametrize(
    ("measure", "closed"),
    [
        (R.KAnonymity(3), {"identity"}),
        (R.LDiversity(2), {"identity", "homogeneity"}),
        (R.LDiversity(2, kind="recursive"), {"identity", "homogeneity", "background"}),
        (R.LDiversity(2, groups={"flu": "lungs"}), {"identity", "homogeneity", "similarity"}),
        (R.TCloseness(0.2), {"skewness"}),
        (R.IndividualRisk(threshold=0.5), set()),
    ],
)
def test_what_a_result_closes(measure: flou.risk.KAnonymity, closed: set[str]) -> None:
    result = measure.measure(people())
    assert result.value == 0
    assert {a.name for a in ATTACKS} - {a.name for a in left_open([result])} == closed


def test_a_model_that_flags_somebody_closes_nothing() -> None:
    result = R.KAnonymity(5).measure(people())
    assert (result.closes, result.opens) == ((), ("identity",))
    assert len(left_open([result])) == len(ATTACKS)


def test_the_report_names_what_is_left_open() -> None:
    release = flou.Plan([]).protect(people(), secret=flou.Secret(bytes(range(32))))
    results = [R.KAnonymity(3).measure(release)]
    rule = {"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 0.0}}
    verdict = flou.Policy(rules=[rule]).judge(*results, release)
    report = flou.Report(people(), release, results=results, verdict=verdict)
    assert "closes these attacks: homogeneity, background knowledge" in report.html()
    assert "n’écarte ces attaques" in report.html(language="fr")
