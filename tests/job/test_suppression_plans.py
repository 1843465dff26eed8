"""Cell suppression in plans: lists of cells beside the plan, what is written for whom, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.job.test_run import call, tree

import flou
from flou.job.example import example_plan

THRESHOLD = flou.risk.Threshold(5)
DIMS = ["gender", "marital", "activity"]


def people() -> flou.Microdata:
    return flou.datasets.census(3_000)


def write_plan(folder: Path, more: str, *, tables: str = "", steps: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    people().to_frame().write_csv(folder / "people.csv")
    roles = {c: "id" if c == "pid" else "other" for c in people().columns}
    schema = "".join(f"[columns.{column}]\nrole = '{role}'\n" for column, role in roles.items())
    (folder / "people.schema.toml").write_text(f"flou = 2\n{schema}")
    (folder / "plan.toml").write_text(
        f"""flou = 2
[data]
source = "people.csv"
schema = "people.schema.toml"
[[tabulate]]
name = "a"
dims = ["gender", "marital", "activity"]
{tables}
{steps}
[[protect]]
method = "cell_suppression"
primary = [{{ method = "threshold", n = 5 }}]
{more}
[[measure]]
method = "threshold"
n = 5
[policy]
rule = [{{ method = "threshold", settings = {{ n = 5 }}, figure = "n_shown", at_most = {{ release = 0 }} }}]
"""
    )
    return folder / "plan.toml"


def test_the_example_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, out = example_plan("suppression"), tmp_path / "out"
    assert call(monkeypatch, "run", plan, "--out", out) == 0
    assert sorted(tree(out / "public")) == ["report.en.html", "report.fr.html", "tables/activity.csv"]
    seen = pl.read_csv(out / "public" / "tables" / "activity.csv")
    assert seen.columns == ["area@district", "marital", "activity", "count", "status"]
    assert set(seen["status"]) == {"published", "suppressed"}
    assert seen.filter(pl.col("count") < 5).is_empty()
    kept = seen.filter((pl.col("area@district") == "Total") & (pl.col("marital") == "Total"))
    assert kept.filter(pl.col("activity").is_in(["employed", "unemployed", "retired"]))["count"].null_count() == 0
    asked = seen.filter((pl.col("area@district") == "M12**") & (pl.col("marital") == "married"))
    assert asked.filter(pl.col("activity") == "unemployed")["status"].item() == "suppressed", "by the list alone"
    internal, public = ((out / name / "report.en.html").read_text() for name in ("internal", "public"))
    for word in ("primary suppression</td>", "secondary suppression</td>", "cells.csv"):
        assert word not in public
    assert "secondary suppression" in internal
    assert "Audited: 0 of 71 primary cells are disclosed to an outsider or to one of" in internal
    assert "Audited: no suppressed cell can be computed more closely than the rules allow." in public
    manifest = json.loads((out / "internal" / "manifest.json").read_text())
    assert "cells.csv" in manifest["inputs"], "the list is an input like the others, by its HMAC"
    assert "cells.csv" not in manifest["plan"], "and is not named to those who see the settings"
    attack = next(r for r in manifest["results"] if r["method"] == "cell_bounds")
    assert (attack["value"], attack["figures"]["n_sensitive"]) == (0, 71), "with the cell of the list"


def test_the_example_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for out in ("once", "again"):
        assert call(monkeypatch, "run", example_plan("suppression"), "--out", tmp_path / out) == 0
    assert tree(tmp_path / "once" / "public") == tree(tmp_path / "again" / "public"), "byte for byte"


def test_a_list_is_found_beside_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = write_plan(tmp_path / "office", 'apriori = "lists/cells.csv"\nstate = "search.json"\nseconds = 600')
    (plan.parent / "lists").mkdir()
    (plan.parent / "lists" / "cells.csv").write_text("gender,marital,activity,action\nmale,single,employed,protect\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert call(monkeypatch, "run", plan, "--out", "out") == 0
    seen = pl.read_csv("out/public/tables/a.csv")
    told = seen.filter(
        (pl.col("gender") == "male") & (pl.col("marital") == "single") & (pl.col("activity") == "employed")
    )
    assert told["status"].item() == "suppressed"
    report = Path("out/public/report.en.html").read_text() + Path("out/internal/manifest.json").read_text()
    assert str(tmp_path) not in report, "no folder of this machine"


@pytest.mark.parametrize("kind", ["inline", "hst"])
def test_other_lists(kind: str, tmp_path: Path) -> None:
    line = 'apriori = [{ gender = "male", activity = "employed", action = "protect" }, { action = "keep" }]'
    if kind == "hst":
        line = 'apriori = "cells.hst"'
    plan = flou.Plan.load(write_plan(tmp_path, line))
    (tmp_path / "cells.hst").write_text('"male";"Total";"employed";u\n"Total";"Total";"Total";p\n')
    assert flou.Plan.from_toml(plan.to_toml()) == plan
    table = plan.protect(people()).data
    assert table.cell(gender="male", activity="employed")["status"] == "suppressed"
    assert table.suppression.counted()["kept"] == 1


def test_a_list_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert call(monkeypatch, "run", write_plan(tmp_path, 'apriori = "none.csv"'), "--out", tmp_path / "o") == 2
    assert "none.csv' cannot be read (No such file or directory)" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"steps": '[[protect]]\nmethod = "rounding"\nbase = 5'}, "cell_suppression stands after rounding"),
        ({"steps": '[[protect]]\nmethod = "cell_key"\nD = 5\nV = 3.0'}, "cell_suppression stands after cell_key"),
        ({"tables": '[[tabulate]]\nname = "b"\ndims = ["gender"]'}, "protects one table at a time, and the plan makes"),
        ({"more": 'search = "exact"'}, "search = 'exact' is not allowed"),
        ({"more": "seconds = 0"}, "seconds = 0 is not allowed"),
        ({"more": 'apriori = ["keep"]'}, "each entry is a table of labels"),
        ({"more": "treshold = 5"}, "no parameter 'treshold'"),
        ({"more": 'apriori = [{ gendre = "male", action = "keep" }]'}, "Entry 1 names 'gendre', no column"),
    ],
)
def test_what_is_refused(
    parts: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    plan = write_plan(tmp_path, **{"more": "", **parts})
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out") == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


def test_a_rule_that_finds_no_cells(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, "")
    plan.write_text(plan.read_text().replace('"threshold", n = 5', '"k_anonymity", k = 5'))
    with pytest.raises(flou.FlouError, match=r"\[\[protect\]\] number 1: .*KAnonymity finds no sensitive cells"):
        flou.Plan.load(plan)


def test_the_step_tells_nobody_which_cells() -> None:
    method = flou.protect.CellSuppression([THRESHOLD], apriori=[{"gender": "male", "action": "keep"}], state="s.json")
    release = method.protect(people().tabulate(DIMS))
    for text in (repr(release), repr(method), str(method.shown_settings()), str(method.to_table(masked=True))):
        assert "male" not in text
        assert "s.json" not in text
    assert flou.Plan.from_toml(flou.Plan([method]).to_toml()).steps == (method,)
