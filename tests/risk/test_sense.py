"""In which sense undetermined keys are counted where the user names none: the worst case before, the strict one after."""

from __future__ import annotations

import polars as pl
import pytest

import flou
from flou.decide.verdict import Decision

R = flou.risk
DEFAULTS = (R.KAnonymity(k=3), R.IndividualRisk(threshold=0.1), R.GlobalRisk(), R.AttackerRisk())


@pytest.fixture(scope="module")
def people() -> flou.Microdata:
    return flou.datasets.census(300)


@pytest.mark.parametrize("measure", DEFAULTS, ids=lambda m: m.name())
def test_the_sense_is_resolved_when_something_is_measured(people: flou.Microdata, measure: R.KAnonymity) -> None:
    release = flou.protect.LocalSuppression(k=3).protect(people)
    before, after = measure.measure(people), measure.measure(release)
    assert (before.sense, after.sense) == ("pessimistic", "category")
    assert measure.measure(people, as_release=True).sense == "category"
    assert measure.missing is None
    assert "missing" not in before.settings
    assert "missing = category" in str(after)
    assert after.to_dict()["sense"] == "category"


def test_the_senses_that_flatter_are_not_the_default_of_a_release() -> None:
    """Records that look alike are found with 1/k; nulls counted as wildcards hide that the release has such records."""
    rows = pl.DataFrame({"a": ["x"] * 4 + ["y"] * 40 + [None] * 40, "b": ["u"] * 4 + ["v"] * 40 + [None] * 40})
    released = flou.Plan([]).protect(flou.Microdata(rows, keys=["a", "b"]))
    flattered = R.IndividualRisk(threshold=0.1, missing="pessimistic").measure(released)
    found = R.IndividualRisk(threshold=0.1).measure(released)
    assert flattered.highest < 0.05
    assert found.highest == 0.25
    assert found.n_at_risk == 4


def test_a_policy_on_defaults_withholds_what_decoys_would_pass() -> None:
    """Three empty records make any file 3-anonymous where nulls agree with values."""
    rows = pl.DataFrame({"a": [str(i) for i in range(20)]})
    decoys = pl.concat([rows, rows.clear(3)])
    release = flou.Plan([]).protect(flou.Microdata(decoys, keys=["a"]))
    policy = flou.Policy(rules=[{"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 0.0}}])
    verdict = policy.judge(R.KAnonymity(k=3).measure(release), release)
    assert verdict.decision is Decision.WITHHOLD


def test_a_rule_without_a_sense_matches_the_strict_one_however_it_was_asked_for() -> None:
    people = flou.Microdata(pl.DataFrame({"a": ["x"] * 5}), keys=["a"])
    release = flou.Plan([]).protect(people)
    for settings in ({"k": 3}, {"k": 3, "missing": "category"}):
        policy = flou.Policy(rules=[{"method": "k_anonymity", "settings": settings, "at_most": {"release": 0.0}}])
        for measure in (R.KAnonymity(k=3), R.KAnonymity(k=3, missing="category")):
            assert policy.judge(measure.measure(release), release).decision is Decision.RELEASE
        other = R.KAnonymity(k=3, missing="pessimistic").measure(release)
        assert policy.judge(other, release).decision is Decision.WITHHOLD


WILDCARD = {"method": "k_anonymity", "settings": {"k": 3, "missing": "orthodox"}, "at_most": {"release": 0.1}}
STRICT = {"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 0.1}}


@pytest.mark.parametrize(
    "beside",
    [
        None,
        {**STRICT, "at_most": {"release": 0.2}},
        {**STRICT, "at_most": {"release": 0.1, "review": 0.3}},
        {**STRICT, "settings": {"k": 2}},
        {**STRICT, "on": "frame"},
        {**STRICT, "figure": "n_at_risk"},
        {**STRICT, "settings": {"k": 3, "missing": "pessimistic"}},
    ],
)
def test_a_rule_in_wildcards_needs_the_strict_one_beside_it(beside: dict[str, object] | None) -> None:
    with pytest.raises(flou.FlouError, match="nulls as wildcards"):
        flou.Policy(rules=[WILDCARD] if beside is None else [WILDCARD, beside])
    assert len(flou.Policy(rules=[WILDCARD, STRICT]).rules) == 2
    tighter = {**STRICT, "settings": {"k": 3, "missing": "category"}, "at_most": {"release": 0.0}}
    assert len(flou.Policy(rules=[tighter, WILDCARD]).rules) == 2


def test_the_sense_of_an_assessment_is_held_to_the_same() -> None:
    rule = {"method": "attack_map", "settings": {"missing": "optimistic"}, "at_most": {"release": 0.0}}
    with pytest.raises(flou.FlouError, match="nulls as wildcards"):
        flou.Policy(rules=[rule])


def test_a_plan_measures_before_and_after_in_one_sense() -> None:
    from flou.job.carry_out import carry_out

    plan = flou.Plan.from_toml(
        """
flou = 2
[data]
source = "dataset:census(500)"
[[protect]]
method = "local_suppression"
k = 3
[[measure]]
method = "k_anonymity"
k = 3
"""
    )
    before, after = carry_out(plan).results
    assert before.sense == after.sense == "category"
    assert (before.measured_on, after.measured_on) == ("original", "release")
    assert after.value == 0


def test_a_promise_names_the_sense_in_which_it_is_proven(people: flou.Microdata) -> None:
    release = flou.protect.DropRecords(R.KAnonymity(k=3), max_share=1.0).protect(people)
    assert "missing = category" in str(release.guarantees[0])
