"""Policies: thresholds, verdicts, and what is never released."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.describe.table.suppressed import audit, suppress, true_table

import flou
from flou.decide.rule import Rule
from flou.decide.verdict import Decision

SECRET = flou.Secret(bytes(range(32)))


def _after(n_rare: int, *, secret: flou.Secret | int = SECRET, k: int = 2) -> flou.engine.result.RiskResult:  # type: ignore[name-defined]
    """A measure on a release in which n_rare of 100 records are alone with their key."""
    frame = pl.DataFrame({"a": ["x"] * (100 - n_rare) + [f"u{i}" for i in range(n_rare)]})
    release = flou.Plan().protect(flou.Microdata(frame, keys=["a"]), secret=secret)
    return flou.risk.KAnonymity(k=k).measure(release)


POLICY = flou.Policy(
    rules=[{"method": "k_anonymity", "settings": {"k": 2}, "at_most": {"release": 0.01, "review": 0.05}}]
)


@pytest.mark.parametrize(
    ("n_rare", "decision"),
    [
        (0, Decision.RELEASE),
        (1, Decision.RELEASE),
        (2, Decision.REVIEW),
        (5, Decision.REVIEW),
        (6, Decision.WITHHOLD),
    ],
)
def test_thresholds_include_their_bound(n_rare: int, decision: Decision) -> None:
    verdict = POLICY.judge(_after(n_rare))
    assert verdict.decision is decision
    assert verdict.reasons[0].decision is decision
    assert f"below k: {f'{n_rare}.0%' if n_rare else '0%'}" in str(verdict)


def test_at_least_and_figures() -> None:
    policy = flou.Policy(
        rules=[Rule(method="k_anonymity", settings={"k": 2}, figure="k", at_least={"release": 3, "review": 1})]
    )
    assert policy.judge(_after(0)).decision is Decision.RELEASE
    assert policy.judge(_after(3)).decision is Decision.REVIEW


def test_the_worst_rule_decides_and_comes_first() -> None:
    policy = flou.Policy(
        rules=[
            {"method": "k_anonymity", "settings": {"k": 2}, "at_most": {"release": 0.999}},
            {"method": "k_anonymity", "settings": {"k": 2}, "figure": "k", "at_least": {"release": 3}},
        ]
    )
    verdict = policy.judge(_after(1))
    assert verdict.decision is Decision.WITHHOLD
    assert [r.decision for r in verdict.reasons] == [Decision.WITHHOLD, Decision.RELEASE]


def test_what_was_not_measured_on_the_release_withholds() -> None:
    people = flou.Microdata(pl.DataFrame({"a": ["x"] * 5}), keys=["a"])
    before = flou.risk.KAnonymity(k=2).measure(people)
    assert POLICY.judge(before).decision is Decision.WITHHOLD
    assert "original" in str(POLICY.judge(before))
    assert POLICY.judge().decision is Decision.WITHHOLD


def test_settings_must_match() -> None:
    policy = flou.Policy(rules=[{"method": "k_anonymity", "settings": {"k": 5}, "at_most": {"release": 0.5}}])
    assert policy.judge(_after(0, k=2)).decision is Decision.WITHHOLD
    assert policy.judge(_after(0, k=5)).decision is Decision.RELEASE


def test_two_results_for_one_rule_the_worse_counts() -> None:
    assert POLICY.judge(_after(0), _after(9)).decision is Decision.WITHHOLD


def test_a_test_seed_is_never_released() -> None:
    assert POLICY.judge(_after(0, secret=1)).decision is Decision.WITHHOLD
    release = flou.Plan().protect(flou.Microdata(pl.DataFrame({"a": ["x"] * 5}), keys=["a"]), secret=1)
    direct = flou.risk.KAnonymity(k=2).measure(release.data)
    assert POLICY.judge(direct, release).decision is Decision.WITHHOLD


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flou = 2\n[[rule]]\nmethod = 'k_anonymity'\nsettings = { k = 2 }", "at_most"),
        (
            "flou = 2\n[[rule]]\nmethod = 'k_anonymity'\nsettings = { k = 2 }\nat_most = { release = 0.1, review = 0.05 }",
            "looser",
        ),
        ("flou = 2\n[[rule]]\nmethod = 'k_anonymity'\nsettings = { k = 2 }\nat_mots = { release = 0.1 }", "at_most"),
        ("flou = 2\n[[rules]]\nmethod = 'k_anonymity'\nsettings = { k = 2 }\nat_most = { release = 0.1 }", "'rule'"),
        ("flou = 2\nmin_count = 3", "rules"),
        ("flou = 9", "format 9"),
    ],
)
def test_wrong_policies_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(flou.FlouError, match=message):
        flou.Policy.load(path)


def test_an_unknown_figure_is_an_error() -> None:
    with pytest.raises(flou.FlouError, match=r"no figure 'kk' .* Did you mean 'k'"):
        flou.Policy(rules=[{"method": "k_anonymity", "settings": {"k": 2}, "figure": "kk", "at_least": {"release": 3}}])


UNSAFE = [
    ("k_anonymity", {"k": 3}, "value", "at_least", "low"),
    ("k_anonymity", {"k": 3}, "k", "at_most", "high"),
    ("global_risk", {}, "expected", "at_least", "low"),
    ("suda", {}, "smallest_size", "at_most", "high"),
    ("cell_bounds", {}, "n_exact", "at_least", "low"),
    ("averaging", {}, "error_after", "at_most", "high"),
]


@pytest.mark.parametrize(("method", "settings", "figure", "bound", "safe"), UNSAFE)
def test_a_rule_against_the_safe_direction_is_refused(
    method: str, settings: dict[str, int], figure: str, bound: str, safe: str
) -> None:
    """At least half of the records at risk: such a rule released the worst files and withheld the best."""
    with pytest.raises(flou.FlouError, match=f"safe when it is {safe}"):
        Rule(method=method, settings=settings, figure=figure, **{bound: {"release": 0.5}})


@pytest.mark.parametrize("bound", ["at_most", "at_least"])
def test_what_says_nothing_of_the_risk_may_be_bounded_on_either_side(bound: str) -> None:
    Rule(method="k_anonymity", settings={"k": 3}, figure="n_records", **{bound: {"release": 1000}})
    Rule(method="within_distance", settings={"d": 2}, **{bound: {"release": 0.5}})


def test_test_only_follows_the_data() -> None:
    """Measuring `.data` of a release made with a test seed must not wash the mark off."""
    release = flou.Plan().protect(flou.Microdata(pl.DataFrame({"a": ["x"] * 5}), keys=["a"]), secret=1)
    assert POLICY.judge(flou.risk.KAnonymity(k=2).measure(release.data)).decision is Decision.WITHHOLD


def test_a_rule_says_with_which_parameters_it_is_measured() -> None:
    with pytest.raises(flou.FlouError, match="with which k"):
        flou.Policy(rules=[{"method": "k_anonymity", "at_most": {"release": 0.0}}])
    with pytest.raises(flou.FlouError, match="missing = 'categry'"):
        flou.Policy(
            rules=[{"method": "k_anonymity", "settings": {"k": 2, "missing": "categry"}, "at_most": {"release": 0.0}}]
        )


def test_strata_in_a_rule_are_compared_as_plain_lists() -> None:
    people = flou.Microdata(pl.DataFrame({"a": ["x"] * 6, "s": ["1", "2"] * 3}), keys=["a"], strata=["s"])
    release = flou.Plan().protect(people, secret=SECRET)
    rule = {"method": "k_anonymity", "settings": {"k": 2, "by": ["s"]}, "at_most": {"release": 0.0}}
    assert flou.Policy(rules=[rule]).judge(flou.risk.KAnonymity(k=2, by=["s"]).measure(release)).decision == 0


def test_the_result_of_another_release_is_refused() -> None:
    files = [flou.Microdata(pl.DataFrame({"a": ["x"] * n}), keys=["a"]) for n in (6, 7)]
    one, two = (flou.Plan().protect(people, secret=SECRET) for people in files)
    with pytest.raises(flou.FlouError, match="another"):
        POLICY.judge(flou.risk.KAnonymity(k=2).measure(one), two)


def test_the_public_view_of_an_original_is_no_release() -> None:
    people = flou.Microdata(pl.DataFrame({"a": ["x"] * 6}), keys=["a"])
    assert POLICY.judge(flou.risk.KAnonymity(k=2).measure(people.public())).decision is Decision.WITHHOLD


def test_a_withheld_release_has_no_public_page() -> None:
    people = flou.Microdata(pl.DataFrame({"a": ["x", "y"]}), keys=["a"])
    release = flou.Plan().protect(people, secret=SECRET)
    result = flou.risk.KAnonymity(k=2).measure(release)
    report = flou.Report(people, release, results=[result], verdict=POLICY.judge(result))
    with pytest.raises(flou.FlouError, match="withheld"):
        report.html(audience="public")


def test_what_a_rule_does_not_name_is_the_default() -> None:
    """A rule on k alone is not met by a weaker way of counting undetermined values."""
    frame = pl.DataFrame({"a": ["x", "x", "x", None]})
    release = flou.Plan().protect(flou.Microdata(frame, keys=["a"], modalities={"a": ["x", "z"]}), secret=SECRET)
    for missing in ("orthodox", "optimistic"):
        result = flou.risk.KAnonymity(k=2, missing=missing).measure(release)
        assert result.value == 0
        assert POLICY.judge(result).decision is Decision.WITHHOLD


def test_a_table_is_judged_by_what_its_counts_give_away() -> None:
    frame = pl.DataFrame(
        {"id": range(300), "a": [str(i % 70) for i in range(300)], "b": [str(i % 4) for i in range(300)]}
    )
    keyed = flou.record_keys(flou.Microdata(frame, id="id", keys=["a", "b"]), secret=flou.Secret(bytes(range(32))))
    table = keyed.tabulate(["a", "b"])
    measure = flou.risk.CountInference(s=3)
    rule = {"method": "count_inference", "settings": {"s": 3}, "at_most": {"release": 0.99}}
    policy = flou.Policy(rules=[rule])
    release, other = (flou.protect.CellKey(D=8, V=6, js=2).protect(t) for t in (table, keyed.tabulate(["a"])))
    assert policy.judge(measure.measure(release), release).decision.name == "RELEASE"
    assert policy.judge(measure.measure(release), release).judged == (release.data, release.data)
    assert policy.judge(measure.measure(table), release).decision.name == "WITHHOLD"
    with pytest.raises(flou.FlouError, match="another one"):
        policy.judge(measure.measure(other), release)
    # what a mechanism leads one to expect is no measurement of a release
    expected = flou.utility.WithinDistance(2).expect(release.data.mechanism)
    of_mechanism = measure.measure(release.data.mechanism, counts=pl.DataFrame({"i": [0, 1], "N": [3, 4]}))
    assert policy.judge(of_mechanism, expected).decision.name == "WITHHOLD"


@pytest.mark.parametrize(
    ("n_exact", "n_narrow", "decision"),
    [(0, 0, Decision.RELEASE), (1, 0, Decision.WITHHOLD), (0, 1, Decision.WITHHOLD)],
)
def test_a_table_with_a_cell_that_can_be_computed_is_withheld(n_exact: int, n_narrow: int, decision: Decision) -> None:
    """Even where all rules are met: none asks whether withheld cells can be computed."""
    rule = {"method": "threshold", "settings": {"n": 3}, "figure": "n_shown", "at_most": {"release": 0}}
    table = suppress(true_table(), found=audit(n_exact, n_narrow))
    verdict = flou.Policy(rules=[rule]).judge(flou.risk.Threshold(3).measure(table))
    assert verdict.decision is decision
    assert ("no audit has shown" in str(verdict)) == (decision is Decision.WITHHOLD)
