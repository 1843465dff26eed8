"""`flou table` and `flou calibrate`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.job.test_run import call

import flou

CENSUS = "dataset:census(3000)"
NOISE = ("--protect", "cell_key", "--D", "5", "--V", "3", "--js", "2")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    flou.Secret(bytes(range(32))).save(tmp_path / "office.secret")
    return tmp_path / "office.secret"


def test_a_table_is_shown_within_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    dims = "area@*, gender, age@age10>age@age5>age, marital, birth, activity"
    assert call(monkeypatch, "table", CENSUS, "--dims", dims) == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    assert "3,000" in said
    assert " more\n" in said
    assert "Not protected: for the office alone." in said


def test_a_protected_table_is_written_as_python_has_it(
    secret: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "t.csv"
    dims = ("--dims", "area@district>area, gender")
    assert call(monkeypatch, "table", CENSUS, *dims, *NOISE, "--secret", secret, "--out", out) == 0
    said = capsys.readouterr().out
    assert "Guaranteed: no count is moved by more than 5" in said
    assert "shown as zero and left out" in said
    plan = flou.Plan([flou.protect.CellKey(D=5, V=3.0, js=2)], tables=[["area@district>area", "gender"]])
    release = plan.protect(flou.datasets.census(3000), secret=flou.Secret.from_file(secret))
    assert pl.read_csv(out)["count"].to_list() == release.to_frame()["count"].to_list()
    assert call(monkeypatch, "table", CENSUS, *dims, *NOISE, "--secret", secret, "--out", out) == 2, "not overwritten"


def test_options_of_a_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "t.parquet"
    options = ("--dims", "activity, region", "--value", "turnover", "--no-margins", "--cells", "all", "--unprotected")
    assert call(monkeypatch, "table", "dataset:business(500)", *options, "--out", out) == 0
    said = capsys.readouterr().out
    assert "shown as zero" in said
    assert "(not protected)" in said
    held = pl.read_parquet(out)
    assert held.columns == ["activity", "region", "count", "value", "status"]
    assert held["count"].sum() == 500
    assert (held["count"] == 0).any(), "all cells are listed"


def test_calibrate_chooses_as_the_paper_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = tmp_path / "counts.csv"
    pl.DataFrame({"i": list(range(30)), "N": [4000 // (1 + i) for i in range(30)]}).write_csv(counts)
    grid = ("--over", "D=5,10", "--over", "V=2.5,5,10", "--over", "js=0,2,4")
    page = tmp_path / "chart.html"
    monkeypatch.setenv("COLUMNS", "80")
    assert call(monkeypatch, "calibrate", counts, *grid, "--s", "5", "--limit", "0.8", "--out", page) == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines() if str(tmp_path) not in line)
    found = flou.calibrate(
        flou.protect.CellKey,
        on=pl.read_csv(counts),
        over={"D": [5, 10], "V": [2.5, 5, 10], "js": [0, 2, 4]},
        risk=flou.risk.CountInference(s=5),
        utility=flou.utility.WithinDistance(2),
        limit=0.8,
    )
    best = found.best()
    assert f"{best.risk:.3f}" in said
    assert "chosen" in said
    assert "cannot be built" in said
    text = page.read_text()
    assert text.count("<svg") == 2
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_calibrate_on_records(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--dims", "area@*, gender", "--over", "D=5", "--over", "V=1,3", "--s", "5", "--within", "1")
    assert call(monkeypatch, "calibrate", CENSUS, *options) == 0
    said = capsys.readouterr().out
    assert "WithinDistance(d=1)" in said
    assert "2 points, 2 feasible" in said
