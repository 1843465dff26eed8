"""Attacks on tables in a plan: run on the release, judged by a policy, told to the office and not to the public."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.job.test_run import call
from tests.job.test_tables import SCHEMA, rows
from tests.reporting.test_report import _Page
from tests.reporting.test_tables import words_of

import flou
from flou.decide.verdict import Decision
from flou.describe.table.cells import Published

PLAN = """
flou = 2

[data]
source = "people.csv"
schema = "people.schema.toml"

[[protect]]
method = "cell_suppression"
primary = [{ method = "threshold", n = 5 }]

[[tabulate]]
name = "by area"
dims = ["gender", "marital", "activity"]

[[attack]]
method = "cell_bounds"
primary = [{ method = "threshold", n = 5 }]

[policy]
min_count = 3

[[policy.rule]]
method = "cell_bounds"
settings = { primary = [{ method = "threshold", n = 5 }] }
at_most = { release = 0.0 }

[output]
languages = ["en", "fr"]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    folder = tmp_path / "plan"
    folder.mkdir()
    rows().write_csv(folder / "people.csv")
    (folder / "people.schema.toml").write_text(SCHEMA)
    (folder / "plan.toml").write_text(PLAN)
    return folder / "plan.toml"


def test_a_plan_attacks_its_table(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    assert call(monkeypatch, "run", plan, "--out", out) == 0
    manifest = json.loads((out / "internal" / "manifest.json").read_text())
    (result,) = [r for r in manifest["results"] if r["method"] == "cell_bounds"]
    assert result["measured_on"] == "release"
    assert result["value"] == 0
    assert result["figures"]["n_sensitive"] > 0
    office = (out / "internal" / "report.en.html").read_text()
    assert not _Page(office).open
    assert "intruders that were tried" in words_of(office)
    assert "protection level" in office, "the chart is drawn"
    french = words_of((out / "internal" / "report.fr.html").read_text())
    assert "bornes des cases masquées" in french
    public = (out / "public" / "report.en.html").read_text()
    assert not _Page(public).open
    said = words_of(public)
    assert "no suppressed cell can be computed more closely than the rules allow" in said
    for word in ("intruders that were tried", "sensitive cells known", "linear programs", "units of the protection"):
        assert word not in said


def test_a_weak_pattern_withholds() -> None:
    made = flou.datasets.census(2_000).tabulate(["gender", "marital", "activity"])
    rule = flou.risk.Threshold(5)
    primary_alone = Published(made.true_counts, suppressed=rule.sensitive(made).cells)
    weak = made.with_changes(published=primary_alone, marks=made.marks.add(released=True))
    result = flou.attack.CellBounds([rule]).run(weak)
    assert not result.safe()
    settings = {"primary": [{"method": "threshold", "n": rule.n}]}
    policy = flou.Policy(rules=[{"method": "cell_bounds", "settings": settings, "at_most": {"release": 0.0}}])
    assert policy.judge(result).decision is Decision.WITHHOLD


@pytest.mark.parametrize("language", ["en", "fr"])
def test_findings_are_for_the_office(language: str) -> None:
    data = flou.datasets.census(2_000)
    release = flou.Plan(
        [flou.protect.CellSuppression([flou.risk.Threshold(5)])],
        tables=[{"name": "one", "dims": ["gender", "marital", "activity"]}],
    ).protect(data)
    strict = flou.risk.Threshold(9)  # an attack that holds more cells sensitive than the protection did
    result = flou.attack.CellBounds([strict]).run(release)
    assert not result.safe()
    utility = flou.utility.WithinDistance(2).compare(release.data.kin.original, release)
    policy = flou.Policy(rules=[{"method": "within_distance", "settings": {"d": 2}, "at_least": {"release": 0.0}}])
    report = flou.Report(data, release, results=[result, utility], verdict=policy.judge(utility, release))
    office = report.html(language=language)
    assert not _Page(office).open
    told = {"en": "sensitive cells can be computed", "fr": "peuvent être recalculées"}[language]
    assert told in words_of(office)
    public = words_of(report.html(language=language, audience="public"))
    assert told not in public
    title = {"en": "bounds of suppressed cells", "fr": "bornes des cases masquées"}[language]
    assert title in words_of(office).lower()
