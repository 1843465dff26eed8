"""A policy releases records only whose columns somebody looked at, and by a rule on the risk that a file could fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import flou
from flou.decide.verdict import Decision
from flou.job.carry_out import carry_out

K = flou.risk.KAnonymity
RULE = {"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 0.0}}
N = 60


def frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"sex": ["F", "M"] * (N // 2), **columns})


def verdict(rows: pl.DataFrame, *rules: dict[str, Any], **roles: Any) -> Any:
    release = flou.Plan([]).protect(flou.Microdata(rows, keys=["sex"], **roles))
    results = [
        K(k=3).measure(release),
        K(k=1).measure(release),
        flou.risk.IndividualRisk(threshold=1.0).measure(release),
    ]
    results.append(
        flou.utility.Summary(columns=["pay"]).compare(release.data.kin.original, release)
    ) if "pay" in rows.columns else None
    return flou.Policy(rules=rules or [RULE]).judge(*results, release)


def test_a_file_whose_columns_are_declared_is_released() -> None:
    assert verdict(frame(pay=[100, 200, 300] * 20), others=["pay"]).decision is Decision.RELEASE


def test_a_plan_without_a_schema_and_with_a_rule_on_utility_releases_nothing(tmp_path: Path) -> None:
    """Names, social security numbers and accounts went to public/, with RELEASE and exit code 0."""
    rows = frame(
        name=[f"Person {i}" for i in range(N)],
        nir=[f"1 85 05 78 006 {i:03d} {97 - int(f'1850578006{i:03d}') % 97:02d}" for i in range(N)],
        iban=["FR76 3000 6000 0112 3456 7890 189"] * N,
        pay=[float(i) for i in range(N)],
    )
    rows.write_csv(tmp_path / "people.csv")
    plan = flou.Plan.from_toml(
        """
flou = 2
[data]
source = "people.csv"
[[compare]]
method = "summary"
columns = ["pay"]
[policy]
[[policy.rule]]
method = "summary"
settings = { columns = ["pay"] }
at_most = { release = 0.1 }
""",
        tmp_path,
    )
    found = carry_out(plan).verdict
    assert found.decision is Decision.WITHHOLD
    for reason in (
        "nobody has said what these columns are",
        "no rule on the risk",
        "column name",
        "column nir",
        "column iban",
    ):
        assert reason in str(found), reason


def test_unlisted_columns_that_a_schema_keeps_are_still_not_declared() -> None:
    found = verdict(frame(pay=[100, 200, 300] * 20), unlisted="keep")
    assert found.decision is Decision.WITHHOLD
    assert "'pay'" in str(found)


def test_what_is_not_released_needs_no_more_and_is_not_written(tmp_path: Path) -> None:
    people = flou.Microdata(frame(name=[f"Person {i}" for i in range(N)]), keys=["sex"], not_released=["name"])
    release = flou.Plan([]).protect(people)
    assert flou.Policy(rules=[RULE]).judge(K(k=3).measure(release), release).decision is Decision.RELEASE
    flou.write(release, tmp_path / "out.csv", unprotected=True)
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "sex"
    with pytest.raises(flou.FlouError, match="stand alone"):
        flou.Schema(keys=["a"], not_released=["a"])


def test_a_column_that_a_step_makes_has_a_role() -> None:
    people = flou.Microdata(frame(pay=[100.0, 200.0, 300.0] * 20), keys=["sex"], others=["pay"])
    release = flou.protect.Derive("double = 2 * pay").protect(people)
    assert "double" in release.data.schema.others
    assert flou.Policy(rules=[RULE]).judge(K(k=3).measure(release), release).decision is Decision.RELEASE


@pytest.mark.parametrize(
    "rule",
    [
        {"method": "summary", "settings": {"columns": ["pay"]}, "at_most": {"release": 0.5}},
        {"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 1.0}},
        {"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 1.0, "review": 1.0}},
        {"method": "k_anonymity", "settings": {"k": 3}, "figure": "k", "at_least": {"release": 1}},
        {"method": "k_anonymity", "settings": {"k": 3}, "figure": "n_at_risk", "at_most": {"release": N}},
        {"method": "k_anonymity", "settings": {"k": 3}, "figure": "n_records", "at_least": {"release": 1}},
        {"method": "k_anonymity", "settings": {"k": 1}, "at_most": {"release": 0.0}},
        {"method": "individual_risk", "settings": {"threshold": 1.0}, "at_most": {"release": 0.0}},
        {"method": "individual_risk", "settings": {"threshold": 1.0}, "figure": "highest", "at_most": {"release": 1.0}},
    ],
)
def test_a_rule_that_no_file_could_fail_does_not_count(rule: dict[str, Any]) -> None:
    found = verdict(frame(pay=[100, 200, 300] * 20), rule, others=["pay"])
    assert found.decision is Decision.WITHHOLD
    assert "no rule on the risk" in str(found)
    assert verdict(frame(pay=[100, 200, 300] * 20), rule, RULE, others=["pay"]).decision is Decision.RELEASE


def test_a_rule_that_was_not_measured_says_so_alone() -> None:
    rule = {"method": "l_diversity", "settings": {"l": 2}, "at_most": {"release": 0.0}}
    assert "no rule on the risk" not in str(verdict(frame(), rule))


def test_a_reason_in_the_schema_explains_a_column() -> None:
    rows = frame(name=["Firm A", "Firm B"] * 30)
    assert verdict(rows, others=["name"]).decision is Decision.WITHHOLD
    assert verdict(rows, others=["name"], scan={"name": "names of public bodies"}).decision is Decision.RELEASE
    with pytest.raises(flou.FlouError, match="gives no reason"):
        flou.Schema(others=["name"], scan={"name": " "})
    with pytest.raises(flou.FlouError, match="missing"):
        flou.Microdata(rows, keys=["sex"], scan={"nmae": "a slip"})


def test_the_reason_stands_in_a_schema_file(tmp_path: Path) -> None:
    schema = flou.Schema(keys=["sex"], others=["name"], scan={"name": "names of public bodies"}, not_released=["x"])
    schema.save(tmp_path / "s.toml")
    assert flou.Schema.load(tmp_path / "s.toml") == schema.with_changes(unlisted="keep")


def test_an_original_is_written_only_where_asked(tmp_path: Path) -> None:
    people = flou.Microdata(frame(), keys=["sex"])
    with pytest.raises(flou.FlouError, match="unprotected=True"):
        flou.write(people, tmp_path / "raw.csv")
    assert not (tmp_path / "raw.csv").exists()
    flou.write(people, tmp_path / "raw.csv", unprotected=True)


NOTHING = [
    flou.Plan([]),
    flou.Plan([flou.protect.DropIdentifiers()]),
    flou.Plan([flou.protect.TopCode("pay", at=1e9)]),
    flou.Plan([flou.protect.Derive("double = 2 * pay")]),
]


@pytest.mark.parametrize("plan", NOTHING)
def test_a_release_in_which_nothing_changed_is_written_like_an_original(tmp_path: Path, plan: flou.Plan) -> None:
    people = flou.Microdata(frame(pay=[100.0, 200.0, 300.0] * 20), keys=["sex"], others=["pay"])
    release = plan.protect(people)
    with pytest.raises(flou.FlouError, match="a step changed or removed something"):
        flou.write(release, tmp_path / "raw.csv")
    flou.write(release, tmp_path / "raw.csv", unprotected=True)
    assert (tmp_path / "raw.csv").stat().st_mode & 0o777 == 0o600


def test_a_release_in_which_a_value_changed_is_written_for_everybody(tmp_path: Path) -> None:
    people = flou.Microdata(frame(pay=[100.0, 200.0, 300.0] * 20), keys=["sex"], others=["pay"])
    flou.write(flou.protect.TopCode("pay", at=250).protect(people), tmp_path / "release.csv")
    assert (tmp_path / "release.csv").stat().st_mode & 0o777 == 0o644


def test_dropping_identifiers_promises_nothing_of_undeclared_columns() -> None:
    release = flou.protect.DropIdentifiers().protect(flou.Microdata(frame(name=["x"] * N), keys=["sex"]))
    assert release.guarantees == ()
    assert "nothing is promised" in str(release.steps[0].notes[0])


def test_a_draft_of_a_schema_takes_no_name_for_harmless(tmp_path: Path) -> None:
    from flou.describe.overview import draft_schema

    rows = frame(name=[f"Person {i}" for i in range(N)], contact=[f"p{i}@x.org" for i in range(N)], pay=[1.5] * N)
    draft = draft_schema(flou.Microdata(rows))
    assert draft.identifiers == ("name", "contact")
    assert draft.others == ("sex", "pay")
