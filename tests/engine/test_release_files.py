"""A release of several files: the data, and what a step makes beside them, each for its readers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import narwhals as nw
import polars as pl
import pytest
from pydantic import Field

import flou
from flou.decide.verdict import Decision
from flou.describe.table.tabulate import tabulate_many
from flou.engine import native, registry
from flou.engine.guarantee import Guarantee
from flou.engine.protection import Protection
from flou.engine.release import Change, Outcome
from flou.engine.released_file import ReleasedFile
from flou.job.carry_out import carry_out
from flou.job.folder import write_folder
from flou.job.run_files import not_ours

SECRET = flou.Secret(bytes(range(32)))


class InPieces(Guarantee):
    """Both files have the same groups."""

    text = "both files have the same groups"

    def violations(self, data: Any) -> int:
        beside = next(file.data for file in data.kin.files.values() if file.kind == "microdata")
        return len(set(_rows(data)["group"]) ^ set(_rows(beside)["group"]))


def _rows(data: flou.Microdata) -> pl.DataFrame:
    frame: pl.DataFrame = data.to_frame(reveal=True)
    return frame


class InTwo(Protection):
    """Publish the keys in one file and the illnesses in another one, with a codebook: `InTwo()`."""

    title: ClassVar[str] = "two files"
    audience = "public"
    audience_of_text: str = Field("public", description="who reads the codebook")
    text: str = Field("# Codebook\n\ngroup: the number of the group\n", description="the codebook")
    name_: str = Field("groups", description="name of the second file")

    def _protect(self, data: flou.Microdata, draw: Any) -> Outcome:
        frame = native.collect(data.frame).with_columns(group=pl.col("age") % 3)
        keys = data.with_frame(nw.from_native(frame.drop("illness")), data.schema.without(["illness"]))
        counts = frame.group_by("group", "illness").agg(n=pl.len()).sort("group", "illness")
        groups = flou.Microdata(counts, keys=["group"], sensitive=["illness"])
        files = (ReleasedFile(self.name_, groups, "public"),
                 ReleasedFile("codebook.md", self.text, self.audience_of_text))  # type: ignore[arg-type]  # fmt: skip
        return Outcome(keys, (InPieces(),), (Change("illness", None, dropped=True),), files=files)


def people() -> flou.Microdata:
    frame = pl.DataFrame({"age": [20, 21, 22] * 20, "illness": ["flu", "gout"] * 30})
    return flou.Microdata(frame, keys=["age"], sensitive=["illness"]).marked(synthetic=True)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan file whose only step makes two files and a codebook."""
    known = registry._listed("protect")
    monkeypatch.setitem(known, "in_two", f"{__name__}:InTwo")
    people().to_frame().write_csv(tmp_path / "people.csv")
    flou.Schema(keys=["age"], sensitive=["illness"]).save(tmp_path / "people.schema.toml")
    (tmp_path / "plan.toml").write_text(
        'flou = 2\n[data]\nsource = "people.csv"\nschema = "people.schema.toml"\n[[protect]]\nmethod = "in_two"\n'
        '[[measure]]\nmethod = "k_anonymity"\nk = 3\n[policy]\n[[policy.rule]]\nmethod = "k_anonymity"\n'
        'settings = { k = 3 }\nat_most = { release = 0.0 }\n[output]\nformat = "csv"\n'
    )
    return tmp_path


def run(folder: Path, out: str = "out") -> Path:
    secret = folder / "one.secret"
    if not secret.exists():
        SECRET.save(secret)
    done = carry_out(flou.Plan.load(folder / "plan.toml"), secret=str(secret))
    return write_folder(done, folder / out)


def test_a_release_lists_its_files() -> None:
    release = InTwo().protect(people(), secret=SECRET)
    assert {name: (file.kind, file.audience) for name, file in release.files.items()} == {
        "data": ("microdata", "public"), "groups": ("microdata", "public"), "codebook.md": ("text", "public"),
    }  # fmt: skip
    assert release.files["groups"].schema.sensitive == ("illness",)


def test_microdata_alone_are_one_file() -> None:
    release = flou.protect.Recode("age", mapping={20: "a", 21: "b", 22: "b"}).protect(people(), secret=SECRET)
    assert list(release.files) == ["data"]


def test_a_set_of_tables_has_a_file_for_each() -> None:
    tables = tabulate_many(people(), {"ages": ["age"], "illnesses": ["illness"]})
    release = flou.protect.Rounding(3).protect(tables, secret=SECRET)
    assert {name: file.kind for name, file in release.files.items()} == {"ages": "table", "illnesses": "table"}


def test_a_run_writes_every_public_file(plan: Path) -> None:
    out = run(plan)
    assert sorted(p.name for p in (out / "public").iterdir()) == [
        "codebook.md",
        "data.csv",
        "groups.csv",
        "report.en.html",
    ]
    held = json.loads((out / "internal" / "manifest.json").read_text())
    assert [(f["name"], f["kind"], f["columns"]) for f in held["files"]] == [
        ("data", "microdata", ["age", "group"]), ("groups", "microdata", ["group", "illness", "n"]),
        ("codebook.md", "text", []),
    ]  # fmt: skip
    assert set(held["public"]) == {"codebook.md", "data.csv", "groups.csv", "report.en.html"}


@pytest.mark.parametrize(("language", "heading"), [("en", "Files"), ("fr", "Fichiers")])
def test_both_reports_list_the_files_that_their_readers_get(plan: Path, language: str, heading: str) -> None:
    text = (plan / "plan.toml").read_text().replace('"in_two"\n', '"in_two"\naudience_of_text = "internal"\n')
    (plan / "plan.toml").write_text(text + 'languages = ["en", "fr"]\n')
    out = run(plan)
    internal = (out / "internal" / f"report.{language}.html").read_text()
    public = (out / "public" / f"report.{language}.html").read_text()
    assert f"<h2>{heading}</h2>" in internal
    assert "codebook.md" in internal
    assert "<td>groups</td>" in public
    assert "codebook.md" not in public


def test_an_internal_file_stays_in_the_office(plan: Path) -> None:
    text = (plan / "plan.toml").read_text().replace('"in_two"\n', '"in_two"\naudience_of_text = "internal"\n')
    (plan / "plan.toml").write_text(text)
    out = run(plan)
    assert not (out / "public" / "codebook.md").exists()
    assert (out / "internal" / "codebook.md").stat().st_mode & 0o777 == 0o600
    assert not not_ours(out)


def test_files_of_a_method_that_does_not_speak_publicly_are_internal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InTwo, "audience", "internal")
    release = InTwo().protect(people(), secret=SECRET)
    assert {file.audience for name, file in release.files.items() if name != "data"} == {"internal"}


def test_a_step_after_one_that_made_files_is_refused() -> None:
    plan = flou.Plan([InTwo(), flou.protect.Recode("age", mapping={20: "a", 21: "b", 22: "b"})])
    with pytest.raises(flou.FlouError, match=r"Step 2 \(recode\) would change the data and leave 'groups'"):
        plan.protect(people(), secret=SECRET)


def test_tables_of_a_file_with_others_beside_it_are_refused() -> None:
    plan = flou.Plan([InTwo(), flou.protect.Rounding(3)], tables=[["age"]])
    with pytest.raises(flou.FlouError, match=r"\[\[tabulate\]\] would change the data and leave"):
        plan.protect(people(), secret=SECRET)


def test_a_file_beside_tables_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = flou.protect.Rounding._protect
    codebook = ReleasedFile("codebook.md", "# Codebook", "public")
    monkeypatch.setattr(flou.protect.Rounding, "_protect", lambda *given: replace(whole(*given), files=(codebook,)))
    with pytest.raises(flou.FlouError, match=r"Step 1 \(rounding\) makes 'codebook.md' beside tables"):
        flou.protect.Rounding(3).protect(people().tabulate(["age"]), secret=SECRET)


@pytest.mark.parametrize("name", ["data", "Groups", "../x", "report", ""])
def test_names_that_are_no_file_names_are_refused(name: str) -> None:
    with pytest.raises(flou.FlouError, match="give it a name of its own"):
        InTwo(name_=name).protect(people(), secret=SECRET)


def test_a_policy_looks_at_every_public_file() -> None:
    release = InTwo(text="call jane.roe@example.org\n" * 3).protect(people(), secret=SECRET)
    rule = {"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 0.0}}
    found = flou.Policy(rules=[rule]).judge(flou.risk.KAnonymity(k=3).measure(release), release)
    assert found.decision is Decision.WITHHOLD
    assert any("text" in str(reason.text) for reason in found.reasons)


def test_a_result_on_another_file_of_the_release_is_no_stranger() -> None:
    release = InTwo().protect(people(), secret=SECRET)
    beside = release.files["groups"].data
    assert not release.is_strange(flou.risk.KAnonymity(k=2).measure(beside))
    other = flou.Microdata(people().to_frame().head(30), keys=["age"], sensitive=["illness"])
    assert release.is_strange(flou.risk.KAnonymity(k=2).measure(InTwo().protect(other, secret=SECRET)))


def test_several_files_are_written_to_a_folder(tmp_path: Path) -> None:
    release = InTwo().protect(people(), secret=SECRET)
    with pytest.raises(flou.FlouError, match=r"several files that belong together: 'data', 'groups'"):
        flou.write(release, tmp_path / "data.csv")
    flou.write(release, tmp_path / "all")
    assert sorted(p.name for p in (tmp_path / "all").iterdir()) == ["codebook.md", "data.parquet", "groups.parquet"]


def test_several_files_that_nothing_protects_are_written_only_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codebook = ReleasedFile("codebook.md", "# Codebook", "public")
    monkeypatch.setattr(InTwo, "_protect", lambda self, data, draw: Outcome(data, files=(codebook,)))
    release = InTwo().protect(people(), secret=SECRET)
    with pytest.raises(flou.FlouError, match="nothing protects them"):
        flou.write(release, tmp_path / "all")
    flou.write(release, tmp_path / "all", unprotected=True)
    assert (tmp_path / "all" / "data.parquet").stat().st_mode & 0o777 == 0o600
