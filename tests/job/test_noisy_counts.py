"""A plan with differentially private tables, run by the job: what is written, and that nobody claims to replay it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.job.test_run import call, tree

import flou

SECRET = flou.Secret(bytes(range(32)))
PLAN = """
flou = 2

[data]
source = "people.csv"
schema = "people.schema.toml"

[secrets]
file = "office.secret"

[[protect]]
method = "noisy_counts"
epsilon = 0.4
budget = "budget.toml"

[[tabulate]]
name = "marital"
dims = ["gender", "marital"]
cells = "all"

[[tabulate]]
name = "ages"
dims = ["gender", "age@age10"]
cells = "all"

[[measure]]
method = "count_inference"
s = 3

[[compare]]
method = "mean_deviation"

[policy]
min_count = 3

[[policy.rule]]
method = "count_inference"
settings = { s = 3 }
at_most = { release = 0.97 }

[output]
languages = ["en", "fr"]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    folder = tmp_path / "plan"
    folder.mkdir()
    people = flou.datasets.census(500)
    people.to_frame().write_csv(folder / "people.csv")
    people.schema.save(folder / "people.schema.toml")
    (folder / "plan.toml").write_text(PLAN)
    SECRET.save(folder / "office.secret")
    flou.PrivacyBudget(1.0, path=folder / "budget.toml", secret=SECRET)
    return folder / "plan.toml"


def test_run_spends_once_and_says_that_it_cannot_be_replayed(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for out in ("one", "two"):
        assert call(monkeypatch, "run", plan, "--out", tmp_path / out) == 0
    assert flou.PrivacyBudget.read(plan.parent / "budget.toml", secret=SECRET).left == (0.2, 0.0)
    one, two = (tree(tmp_path / out / "public") for out in ("one", "two"))
    assert sorted(one) == sorted(two) == ["report.en.html", "report.fr.html", "tables/ages.csv", "tables/marital.csv"]
    assert one["tables/ages.csv"] != two["tables/ages.csv"], "drawn anew, whatever the secret is"
    manifest = json.loads((tmp_path / "one" / "internal" / "manifest.json").read_text())
    assert manifest["secret"] == {"origin": "file", "replayable": False}
    assert manifest["public"] == one, "what is stored is what a check compares with"
    assert manifest["steps"][0]["figures"]["epsilon_left"] == 0.6
    for language, said in (("en", "cannot be replayed"), ("fr", "ne peut pas être")):
        page = (tmp_path / "one" / "internal" / f"report.{language}.html").read_text()
        assert said in page
        public = (tmp_path / "one" / "public" / f"report.{language}.html").read_text()
        assert "budget.toml" not in public
        assert ("bruit géométrique" if language == "fr" else "geometric noise") in public
    written = pl.read_csv(tmp_path / "one" / "public" / "tables" / "marital.csv")
    assert written.height == 18, "every cell is listed, whoever is in it"
    assert written["count"].min() >= 0
    capsys.readouterr()
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "three") != 0
    said = capsys.readouterr()
    assert "epsilon = 0.2" in said.out + said.err
    assert not (tmp_path / "three").exists()
