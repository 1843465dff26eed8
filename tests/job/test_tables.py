"""Plans that publish tables: what is made, measured, judged and written, and that records never leave."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.depth import at_depth
from tests.job.test_run import call, tree

import flou
from flou.engine.plan_schema import plan_schema
from flou.job.example import example_plan

PLAN = """
flou = 2

[data]
source = "people.csv"
schema = "people.schema.toml"

[secrets]
file = "office.secret"

[[protect]]
method = "cell_key"
D = 5
V = 3.0
js = 2

[[tabulate]]
name = "by area"
dims = ["area@district>area", "gender"]

[[tabulate]]
name = "marital"
dims = ["marital", "age@age10"]
cells = "all"
margins = ["marital"]

[[measure]]
method = "count_inference"
s = 5

[[compare]]
method = "within_distance"
d = 2

[policy]
min_count = 3

[[policy.rule]]
method = "count_inference"
settings = { s = 5 }
at_most = { release = 0.97 }

[output]
languages = ["en", "fr"]
"""
#: Reports in which the tests of every day do without French.
LANGUAGES = at_depth('["en"]', '["en", "fr"]')
SCHEMA = """
flou = 2
[columns.pid]
role = "id"
[columns.age]
role = "key"
hierarchy = { bands = [5, 10], names = ["age5", "age10"] }
[columns.gender]
role = "key"
[columns.marital]
role = "key"
[columns.area]
role = "key"
hierarchy = { prefix = [3], names = ["district"] }
[columns.birth]
role = "other"
[columns.activity]
role = "sensitive"
not_applicable = ["not applicable"]
"""
SECRET = flou.Secret(bytes(range(32)))
CELL_KEY = flou.protect.CellKey(D=5, V=3.0, js=2)


def rows() -> pl.DataFrame:
    return flou.datasets.census(2_000).to_frame()


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    folder = tmp_path / "plan"
    folder.mkdir()
    rows().write_csv(folder / "people.csv")
    (folder / "people.schema.toml").write_text(SCHEMA)
    (folder / "plan.toml").write_text(PLAN)
    SECRET.save(folder / "office.secret")
    return folder / "plan.toml"


def people() -> flou.Microdata:
    return flou.datasets.census(2_000)


def test_run_writes_the_tables_and_no_record(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert call(monkeypatch, "run", plan, "--out", out) == 0
    said = capsys.readouterr().out
    assert "in 2 tables" in said
    assert "2,000 records in, " in said
    assert sorted(tree(out / "public")) == [
        "report.en.html",
        "report.fr.html",
        "tables/by_area.csv",
        "tables/marital.csv",
    ]
    written = pl.read_csv(out / "public" / "tables" / "by_area.csv")
    assert written.columns == ["area@district", "area", "gender", "count", "status"]
    assert written["count"].min() > 2, "no zero and nothing from 1 to js is listed"
    every = pl.read_csv(out / "public" / "tables" / "marital.csv")
    assert 0 in every["count"].to_list()
    assert not set(every["count"].to_list()) & {1, 2}
    assert "Total" in every["marital"].to_list()
    assert "Total" not in every["age@age10"].to_list(), "margins of one dimension alone"
    # the same as in Python, with lasting keys of the same secret
    released = flou.Plan.load(plan).protect(
        flou.read(plan.parent / "people.csv", schema=plan.parent / "people.schema.toml"), secret=SECRET
    )
    assert released.data["by area"].public().shown_cells()["count"].to_list() == written["count"].to_list()


def test_the_manifest_speaks_of_cells(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out") == 0
    manifest = json.loads((tmp_path / "out" / "internal" / "manifest.json").read_text())
    (step,) = manifest["steps"]
    assert step["cells_before"] == step["cells_after"] > 0
    assert "records_before" not in step
    assert set(manifest["public"]) == set(tree(tmp_path / "out" / "public"))
    assert [(r["method"], r["measured_on"]) for r in manifest["results"]] == [
        ("count_inference", "original"), ("count_inference", "release"), ("within_distance", "release"),
    ]  # fmt: skip
    assert SECRET._key.hex() not in json.dumps(manifest)


def test_the_same_public_bytes_on_every_engine_and_in_any_order(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan.write_text(plan.read_text().replace('["en", "fr"]', LANGUAGES))
    for out, engine in (("one", "polars"), ("two", "duckdb")):
        assert call(monkeypatch, "run", plan, "--out", tmp_path / out, "--engine", engine) == 0
    rows().sample(fraction=1.0, shuffle=True, seed=1).write_csv(plan.parent / "people.csv")
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "three") == 0
    assert tree(tmp_path / "one" / "public") == tree(tmp_path / "two" / "public")
    assert tree(tmp_path / "one" / "public") == tree(tmp_path / "three" / "public")


def test_another_secret_is_other_noise(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "one") == 0
    flou.Secret(bytes(32)).save(tmp_path / "other.secret")
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "four", "--secret", tmp_path / "other.secret") == 0
    name = "public/tables/by_area.csv"
    assert tree(tmp_path / "one")[name] != tree(tmp_path / "four")[name]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "xlsx"])
def test_tables_in_other_formats(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    text = plan.read_text().replace("[output]", f'[output]\nformat = "{ending}"')
    plan.write_text(text.replace('["en", "fr"]', LANGUAGES))
    for out in ("one", "two"):
        assert call(monkeypatch, "run", plan, "--out", tmp_path / out) == 0
    found = tree(tmp_path / "one" / "public")
    assert f"tables/by_area.{ending}" in found
    assert found == tree(tmp_path / "two" / "public")
    if ending == "parquet":
        held = pl.read_parquet(tmp_path / "one" / "public" / "tables" / "marital.parquet")
        assert held.columns == ["marital", "age@age10", "count", "status"]


def test_withheld_tables_are_not_written(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan.write_text(plan.read_text().replace("release = 0.97", "release = 0.01").replace('["en", "fr"]', LANGUAGES))
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out") == 4
    assert not (tmp_path / "out" / "public").exists()
    plan.write_text(plan.read_text().replace("release = 0.01", "release = 0.999"))
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "other") == 0
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "other", "--replace") == 0, "all files there are a run's"
    assert "must not be published" in (tmp_path / "out" / "internal" / "report.en.html").read_text()


def test_steps_on_records_come_first_and_their_promises_hold_behind_the_tables() -> None:
    plan = flou.Plan(
        [flou.protect.Recode("age", level=1), flou.protect.RandomSwap(["area"], share=0.1), CELL_KEY],
        tables=[flou.Tabulation(["age", "gender"])],
    )
    release = plan.protect(people(), secret=SECRET)
    assert isinstance(release.data, flou.Table)
    assert [step.unit for step in release.steps] == ["records", "records", "cells"]
    assert [step.number for step in release.steps] == [1, 2, 3]
    assert "cells" in repr(release)
    assert "records 2,000" in repr(release.steps[0])
    assert "cells" in repr(release.steps[2])
    where = [str(proof).rpartition("(")[2] for proof in release.guarantees]
    assert where[0] == "checked on the records behind the tables)"
    assert where[-1] == "checked on the output)"
    behind = release.data.kin.records
    assert behind.released
    assert "0-4" in behind.to_frame()["age"].to_list()
    # the tables are made of the changed records
    truth = behind.to_frame(reveal=True).group_by("age", "gender").len()
    made = release.data.kin.original
    assert not made.released
    finest = made.to_frame().filter((pl.col("age") != "Total") & (pl.col("gender") != "Total"))
    assert dict(zip(finest.select("age", "gender").iter_rows(), finest["count"], strict=True)) == {
        (age, gender): n for age, gender, n in truth.iter_rows()
    }


def test_a_promise_that_breaks_behind_the_tables_stops_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    from flou.engine.errors import GuaranteeBrokenError
    from flou.engine.guarantee import Guarantee

    seen: list[object] = []

    class Late(Guarantee):
        text = "late"

        def violations(self, data: object) -> int:
            seen.append(data)
            return 0 if len(seen) < 3 else 1

    protect = flou.protect.DropIdentifiers._protect

    def promising(self: object, data: object, draw: object) -> object:
        from dataclasses import replace

        found = protect(self, data, draw)  # type: ignore[arg-type]
        return replace(found, guarantees=(Late(),))

    monkeypatch.setattr(flou.protect.DropIdentifiers, "_protect", promising)
    with pytest.raises(GuaranteeBrokenError, match="late"):
        flou.Plan([flou.protect.DropIdentifiers(), CELL_KEY], tables=[["gender"]]).protect(people(), secret=SECRET)
    assert isinstance(seen[-1], flou.Microdata), "proven on the records, not on the tables"


def test_measures_of_records_describe_what_lies_behind(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = plan.read_text().replace(
        '[[protect]]\nmethod = "cell_key"',
        '[[protect]]\nmethod = "recode"\ncolumn = "age"\nlevel = 2\n\n[[protect]]\nmethod = "cell_key"',
    )
    text = text.replace('dims = ["marital", "age@age10"]\ncells = "all"', 'dims = ["marital", "age"]')
    text = text.replace(
        "[policy]", '[[measure]]\nmethod = "k_anonymity"\nk = 2\n\n[[compare]]\nmethod = "summary"\n\n[policy]'
    )
    text = text.replace(
        "[output]",
        '[[policy.rule]]\nmethod = "k_anonymity"\nsettings = { k = 2 }\nat_most = { release = 0.999 }\n\n[output]',
    )
    plan.write_text(text)
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out") == 0
    manifest = json.loads((tmp_path / "out" / "internal" / "manifest.json").read_text())
    found = [(r["method"], r["measured_on"]) for r in manifest["results"]]
    assert ("k_anonymity", "original") in found
    assert ("k_anonymity", "release") in found
    assert ("summary", "release") in found
    internal = (tmp_path / "out" / "internal" / "report.en.html").read_text()
    public = (tmp_path / "out" / "public" / "report.en.html").read_text()
    assert "Guarantees, checked on the records behind the tables" in internal
    assert "share of records below k" in internal
    assert "Measured on the records behind the tables" in internal
    assert internal.index("inference about counts <code>") < internal.index("k-anonymity <code>")
    assert "most exposed after protection" in internal
    risk = public.split('<section id="risk">')[1].split("</section>")[0]
    assert "k-anonymity" not in risk, "records behind the tables are no affair of the public"
    assert not (tmp_path / "out" / "public" / "data.parquet").exists()


def test_without_a_step_on_records_they_are_measured_once_and_a_rule_on_them_withholds(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = plan.read_text().replace("[policy]", '[[measure]]\nmethod = "k_anonymity"\nk = 2\n\n[policy]')
    plan.write_text(text)
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out") == 0
    plan.write_text(
        text.replace(
            "[output]",
            '[[policy.rule]]\nmethod = "k_anonymity"\nsettings = { k = 2 }\nat_most = { release = 0.999 }\n[output]',
        )
    )
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "two") == 4
    assert "measured on the original only" in " ".join(capsys.readouterr().out.split())


def test_tables_of_a_sample_keep_the_promises_of_its_frame(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        plan.read_text()
        .replace(
            '[[protect]]\nmethod = "cell_key"',
            '[[protect]]\nmethod = "recode"\ncolumn = "age"\nlevel = 2\n\n[[protect]]\nmethod = "sample"\nshare = 0.5\n\n'
            '[release]\nperiod = "2026"\n\n'
            '[[protect]]\nmethod = "cell_key"',
        )
        .replace('dims = ["marital", "age@age10"]\ncells = "all"', 'dims = ["marital", "age"]')
    )
    plan.write_text(text.replace("[policy]", '[[measure]]\nmethod = "k_anonymity"\nk = 2\n\n[policy]'))
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out") in (0, 4)
    manifest = json.loads((tmp_path / "out" / "internal" / "manifest.json").read_text())
    assert [r["measured_on"] for r in manifest["results"] if r["method"] == "k_anonymity"] == [
        "original", "frame", "release",
    ]  # fmt: skip
    assert any("drawn from" in g for g in manifest["guarantees"])


def test_stored_record_keys() -> None:
    from flou.describe.keyed import RECORD_KEY, record_keys

    keyed = record_keys(people(), secret=SECRET)
    stored = rows().with_columns(pl.Series("rkey", keyed.frame.to_native()[RECORD_KEY]))
    data = flou.Microdata(stored, keys=["gender", "area"])
    plan = flou.Plan([CELL_KEY], tables=[["area", "gender"]], record_keys=flou.engine.tabulation.RecordKeys("rkey"))
    from_column = plan.protect(data, secret=flou.Secret.generate())
    lasting = flou.Plan([CELL_KEY], tables=[["area", "gender"]]).protect(people(), secret=SECRET)
    assert from_column.to_frame().equals(lasting.to_frame())
    assert not from_column.random
    assert lasting.random, "the noise hangs on the secret"
    assert flou.Plan.from_toml(plan.to_toml()) == plan


def test_keys_that_would_not_last_are_refused() -> None:
    plan = flou.Plan([CELL_KEY], tables=[["gender"]])
    with pytest.raises(flou.FlouError, match="averaged away"):
        plan.protect(people())
    with pytest.raises(flou.FlouError, match=r"role = .id."):
        plan.protect(flou.Microdata(rows(), keys=["gender"]), secret=SECRET)
    assert plan.protect(people(), secret=3).test_only


def test_plans_with_tables_are_read_as_they_are_written() -> None:
    plan = flou.Plan(
        [flou.protect.DropIdentifiers(), CELL_KEY],
        tables=[
            flou.Tabulation(["region>department", "sex"], "a", "income", False, "w", largest=5, total="Ensemble"),
            flou.Tabulation("sex", "b", holding="group", margins=["sex"], cells="all"),
        ],
        record_keys=flou.engine.tabulation.RecordKeys("rkey"),
    )
    assert flou.Plan.from_toml(plan.to_toml()) == plan
    assert flou.Plan([CELL_KEY], tables=[{"dims": ["sex"]}]).tables == (flou.Tabulation(("sex",)),)
    jsonschema = pytest.importorskip("jsonschema")
    import tomllib

    check = jsonschema.Draft202012Validator(plan_schema())
    check.validate(tomllib.loads(plan.to_toml()))
    check.validate(tomllib.loads(PLAN))
    for wrong in ('dims = ["sex"]\ncels = "all"', 'name = "x"', "dims = []", 'dims = ["sex"]\ncells = "some"'):
        assert list(check.iter_errors(tomllib.loads(f"flou = 2\n[[tabulate]]\n{wrong}\n"))), wrong


def test_tables_that_nothing_protects_are_no_plan() -> None:
    """However mild the policy is: a mean over counts can be small where single ones are certain."""
    for steps in ([], [flou.protect.DropIdentifiers()]):
        with pytest.raises(flou.FlouError, match="No step protects the tables"):
            flou.Plan(steps, tables=[["gender"]])


def test_results_belong_to_the_release_that_is_judged() -> None:
    release = flou.Plan([CELL_KEY], tables=[["gender", "marital"]]).protect(people(), secret=SECRET)
    result = flou.risk.CountInference(s=5).measure(release)
    policy = flou.Policy(rules=[{"method": "count_inference", "settings": {"s": 5}, "at_most": {"release": 0.5}}])
    assert policy.judge(result, release).decision.name in ("RELEASE", "WITHHOLD")
    other = flou.Plan([CELL_KEY], tables=[["gender"]]).protect(people(), secret=SECRET)
    with pytest.raises(flou.FlouError, match="another"):
        policy.judge(result, other)
    with pytest.raises(flou.FlouError, match="another"):
        flou.Report(people(), other, results=[result])


def test_the_example_is_released_and_quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, "run", example_plan("tables"), "--out", tmp_path / "out") == 0
    assert {"tables/age.csv", "tables/activity.csv"} < set(tree(tmp_path / "out" / "public"))
    assert "Synthetic" not in (tmp_path / "out" / "public" / "tables" / "age.csv").read_text()
