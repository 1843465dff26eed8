"""The intruder who knows all but one value, in a plan: judged by the records that the tables were made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.job.test_run import call
from tests.job.test_tables import SCHEMA, rows
from tests.reporting.test_tables import words_of

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
method = "single_unknown"
prior = "uniform"

[output]
languages = ["en", "fr"]
"""


def test_a_plan_gives_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "plan"
    folder.mkdir()
    rows().write_csv(folder / "people.csv")
    (folder / "people.schema.toml").write_text(SCHEMA)
    (folder / "plan.toml").write_text(PLAN)
    out = tmp_path / "out"
    assert call(monkeypatch, "run", folder / "plan.toml", "--out", out) == 4, "no policy, no release"
    manifest = json.loads((out / "internal" / "manifest.json").read_text())
    (result,) = [r for r in manifest["results"] if r["method"] == "single_unknown"]
    assert result["measured_on"] == "release"
    assert result["value"] == 1, "whoever moves in one variable moves a margin that is shown as it is"
    assert result["figures"]["baseline"] < 0.9
    assert result["figures"]["n_people"] == rows().height
    assert "une seule valeur inconnue" in words_of((out / "internal" / "report.fr.html").read_text())
