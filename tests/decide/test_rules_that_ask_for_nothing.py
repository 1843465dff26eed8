"""A rule that lets more than half of the records be at risk, or bounds what is no risk, is no rule on the risk."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import flou
from flou.decide.rule import Rule
from flou.decide.verdict import Decision
from flou.engine import registry

R = flou.risk
N = 60


def verdict(measure: Any, figure: str, **bound: Any) -> Any:
    """The verdict on a file in which every record is alone, by one rule."""
    rows = pl.DataFrame(
        {"key": range(0, 7 * N, 7), "sex": ["F", "M"] * (N // 2), "s": ["a", "b", "c"] * (N // 3), "w": [1.0, 3.0] * 30}
    )
    people = flou.Microdata(rows, keys=["key", "sex"], sensitive=["s"], weight="w", scan={"key": "a place"})
    release = flou.Plan([]).protect(people)
    settings = {n: v for n, v in measure.shown_settings().items() if n not in ("missing", "sampling_fraction")}
    rule = {"method": measure.name(), "settings": settings, "figure": figure, **bound}
    return flou.Policy(rules=[rule]).judge(measure.measure(release), release)


NOTHING = [
    (R.Suda(), "highest_dis", 1),
    (R.Suda(), "highest_dis", 100),
    (R.Suda(), "sampling_fraction", 1),
    (R.PopulationUniqueness(), "sampling_fraction", 1),
    (R.PopulationUniqueness(), "chance", 1),
    (R.PopulationUniqueness(), "uniques", 1e12),
    (R.PoissonRisk(), "tau2", 1e9),
    (R.PoissonRisk(), "sampling_fraction", 1),
    (R.DisclosureDelta(delta=1e12), "value", 0.0),
    (R.DisclosureDelta(delta=1), "delta", 1e9),
    (R.BetaLikeness(beta=1e6, kind="basic"), "value", 0.0),
    (R.TCloseness(t=0.99999), "value", 0.0),
    (R.TCloseness(t=0.2), "t", 0.999),
    (R.LDiversity(l=2, kind="recursive", c=1e9), "value", 0.0),
    (R.LDiversity(l=1.0001, kind="entropy"), "value", 0.0),
    (R.IndividualRisk(threshold=0.99), "value", 0.0),
    (R.KAnonymity(k=3), "n_keys_at_risk", N - 1),
    (R.KAnonymity(k=3), "n_at_risk", N - 1),
    (R.KAnonymity(k=3), "value", 0.9999999),
    (R.AttackMap(k=1), "value", 0.5),
]


@pytest.mark.parametrize(("measure", "figure", "bound"), NOTHING)
def test_a_bound_that_hardly_any_file_could_fail_does_not_count(measure: Any, figure: str, bound: float) -> None:
    found = verdict(measure, figure, at_most={"release": bound})
    assert found.decision is Decision.WITHHOLD
    assert "no rule on the risk" in str(found)


@pytest.mark.parametrize(
    ("measure", "figure", "bound"),
    [
        (R.Suda(), "highest_dis", {"at_most": {"release": 0.5}}),
        (R.PopulationUniqueness(), "chance", {"at_most": {"release": 0.1}}),
        (R.KAnonymity(k=3), "n_at_risk", {"at_most": {"release": N // 2}}),
        (R.KAnonymity(k=3), "k", {"at_least": {"release": 2}}),
        (R.TCloseness(t=0.2), "value", {"at_most": {"release": 0.0}}),
        (R.DisclosureDelta(delta=1), "value", {"at_most": {"release": 0.5}}),
    ],
)
def test_a_bound_that_half_of_the_worst_files_fail_counts(measure: Any, figure: str, bound: Any) -> None:
    assert "no rule on the risk" not in str(verdict(measure, figure, **bound))


def test_what_measures_no_risk_may_be_bounded_on_either_side() -> None:
    for side in ("at_most", "at_least"):
        assert not Rule(method="poisson_risk", figure="tau2", **{side: {"release": 1}}).bounds_risk
        assert not Rule(method="suda", figure="sampling_fraction", **{side: {"release": 1}}).bounds_risk


@pytest.mark.parametrize("stage", ["measure", "attack"])
def test_every_method_says_of_its_headline_which_bounds_ask_for_something(stage: Any) -> None:
    found = {name: registry.find(stage, name).risk_figure("value") for name in registry.names(stage)}
    assert [name for name, figure in found.items() if figure is None] == []
