"""Plans carried out from file to folder, through the command line."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.depth import at_depth

import flou
from flou.cli import main as cli
from flou.cli.run import run_plan
from flou.engine.plan_schema import plan_schema
from flou.job.carry_out import Done
from flou.job.example import example_plan

SMALL = Path(__file__).parents[1] / "small_plan"


def tell_size(done: Done) -> None:
    """A story of its own, as the demonstration has one."""
    print(f"{done.original.n_records} people came")  # noqa: T201


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    shutil.copytree(SMALL, tmp_path / "plan")
    return tmp_path / "plan" / "plan.toml"


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["flou", *(str(a) for a in arguments)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return int(stopped.value.code or 0)


def tree(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def test_a_story_is_told_by_the_function_that_is_named(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_plan(plan, tmp_path / "out", tell=f"{__name__}:tell_size") == 0
    assert "people came" in capsys.readouterr().out


@pytest.mark.parametrize(("formulas", "said"), [("escaped", "has an apostrophe in front"), ("plain", "as it is")])
def test_the_report_says_how_texts_that_look_like_formulas_were_written(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, formulas: str, said: str
) -> None:
    plan.write_text(plan.read_text().replace("[output]\n", f'[output]\nformulas = "{formulas}"\n'))
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out") == 0
    for folder in ("internal", "public"):
        assert said in (tmp_path / "out" / folder / "report.en.html").read_text()


def test_run_writes_public_and_internal(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out") == 0
    said = capsys.readouterr()
    assert "RELEASE" in said.out
    assert all(len(line) <= 80 or str(tmp_path) in line for line in said.out.splitlines())
    out = tmp_path / "out"
    assert sorted(tree(out)) == [
        "internal/log.txt", "internal/manifest.json", "internal/parameters.json",
        "internal/profile.json", "internal/report.en.html", "public/data.csv", "public/report.en.html",
    ]  # fmt: skip
    released = pl.read_csv(out / "public" / "data.csv")
    assert released.columns == ["age", "sex", "illness"]
    assert released.height == 7
    manifest = json.loads((out / "internal" / "manifest.json").read_text())
    assert manifest["verdict"]["decision"] == "RELEASE"
    assert manifest["secret"] == {"origin": "entropy", "replayable": False}
    assert manifest["public"]["data.csv"] == tree(out)["public/data.csv"]
    plain = hashlib.sha256((SMALL / "people.csv").read_bytes()).hexdigest()
    assert plain not in json.dumps(manifest), "inputs are identified under the secret, never by a plain hash"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "plan"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o027, 0o077])
def test_what_is_internal_is_for_its_owner_and_the_rest_as_the_umask_says(
    umask: int, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    former = os.umask(umask)
    try:
        assert call(monkeypatch, "run", plan, "--out", out) == 0
    finally:
        os.umask(former)
    for path in (out, *out.rglob("*")):
        mode = 0o755 if path.is_dir() else 0o644
        mode &= 0o700 if "internal" in path.parts else ~umask
        assert path.stat().st_mode & 0o777 == mode, path


def test_ctrl_c_while_options_are_read_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.core.TyperGroup.parse_args", interrupt)
    assert call(monkeypatch, "methods") == 130
    assert capsys.readouterr().err == "flou: Interrupted; nothing was written.\n"


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_run_twice_gives_the_same_public_bytes(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    flou.Secret.generate().save(tmp_path / "s")
    for out in ("one", "two"):
        assert (
            call(monkeypatch, "run", plan, "--out", tmp_path / out, "--secret", tmp_path / "s", "--engine", engine) == 0
        )
    assert tree(tmp_path / "one" / "public") == tree(tmp_path / "two" / "public")
    one, two = ((tmp_path / o / "internal" / "manifest.json").read_text() for o in ("one", "two"))
    assert one == two
    monkeypatch.setenv("FLOU_ENGINE", "polars")
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "three", "--secret", tmp_path / "s") == 0
    assert tree(tmp_path / "one" / "public") == tree(tmp_path / "three" / "public"), "whatever the engine"


@pytest.mark.parametrize(
    ("bounds", "code", "public"),
    [("{ release = 0.0 }", 0, True), ("{ release = -1, review = 0.0 }", 3, True), ("{ release = -1 }", 4, False)],
)
def test_exit_code_is_the_verdict(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bounds: str, code: int, public: bool
) -> None:
    plan.write_text(plan.read_text().replace("{ release = 0.0 }", bounds))
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out") == code
    assert (tmp_path / "out" / "public").exists() is public
    assert (tmp_path / "out" / "internal" / "report.en.html").exists()


def test_a_plan_without_a_policy_withholds(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = plan.read_text()
    plan.write_text(text[: text.index("[policy]")] + text[text.index("[output]") :])
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out") == 4
    assert not (tmp_path / "out" / "public").exists()


def test_replace_only_what_a_run_made(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    assert call(monkeypatch, "run", plan, "--out", out) == 0
    assert call(monkeypatch, "run", plan, "--out", out) == 2
    assert call(monkeypatch, "run", plan, "--out", out, "--replace") == 0
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "precious.txt").write_text("x")
    assert call(monkeypatch, "run", plan, "--out", mine, "--replace") == 2
    assert (mine / "precious.txt").exists()
    empty = tmp_path / "empty"
    empty.mkdir()
    assert call(monkeypatch, "run", plan, "--out", empty) == 0


def test_report_command(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "r.html"
    assert call(monkeypatch, "report", plan, "--out", page, "--language", "fr") == 0
    assert "Rapport" in page.read_text(encoding="utf-8")
    assert call(monkeypatch, "report", plan, "--out", page) == 2
    assert page.stat().st_mode & 0o777 == 0o600


def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "report", tmp_path / "no plan", "--out", tmp_path / "no folder" / "r.html") == 2
    assert "make it first" in capsys.readouterr().err


def test_describe_risk_protect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    people, schema = SMALL / "people.csv", SMALL / "people.schema.toml"
    assert call(monkeypatch, "describe", people, "--schema", schema) == 0
    assert "identifier" in capsys.readouterr().out
    assert call(monkeypatch, "risk", people, "--keys", "age,sex", "--k", 2, "--missing", "orthodox") == 0
    assert "orthodox" in capsys.readouterr().out
    out = tmp_path / "p.parquet"
    assert (
        call(
            monkeypatch,
            "protect",
            people,
            "--schema",
            schema,
            "--method",
            "recode",
            "--column",
            "age",
            "--level",
            "1",
            "--out",
            out,
        )
        == 0
    )
    assert pl.read_parquet(out)["age"].to_list().count("50-59") == 4
    assert (
        call(
            monkeypatch, "protect", people, "--schema", schema, "--method", "recode", "--column", "age", "--levle", "1"
        )
        == 2
    )
    assert "--level" in capsys.readouterr().err.replace("'level'", "--level")
    nested = '{ method = "k_anonymity", k = 2 }'
    assert call(
        monkeypatch,
        "protect",
        people,
        "--schema",
        schema,
        "--method",
        "drop-records",
        "--measure",
        nested,
        "--max-share",
        "1",
    ) in (0, 2)


def test_methods_schema_secret_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call(monkeypatch, "methods") == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("k_anonymity", "recode", "drop_records"))
    assert call(monkeypatch, "methods", "k_anonymity") == 0
    explained = capsys.readouterr().out
    assert "--missing" in explained
    assert all(len(line) <= 80 for line in (listed + explained).splitlines())
    assert call(monkeypatch, "methods", "k_anonimity") == 2
    assert "k_anonymity" in capsys.readouterr().err
    assert call(monkeypatch, "schema") == 0
    assert json.loads(capsys.readouterr().out) == plan_schema()
    assert call(monkeypatch, "secret", tmp_path / "s") == 0
    assert flou.Secret.from_file(tmp_path / "s").origin == "file"
    assert call(monkeypatch, "secret", tmp_path / "s") == 2
    assert call(monkeypatch, "--version") == 0
    assert flou.__version__ in capsys.readouterr().out


def test_faults_of_our_own_are_one_paragraph(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("boom")

    monkeypatch.setattr(cli, "app", broken)
    assert call(monkeypatch, "describe") == 1
    assert "FLOU_DEBUG" in capsys.readouterr().err
    monkeypatch.setenv("FLOU_DEBUG", "1")
    with pytest.raises(KeyError):
        cli.main()


def test_the_demonstration_secret_is_for_synthetic_data(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    demonstration = example_plan("apa").parent / "demonstration.secret"
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "out", "--secret", demonstration) == 2
    assert "demonstration" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


_QUICK = 'method = "local_suppression"\nsearch = "quick"'


def small_example(folder: Path) -> Path:
    """The example's own files, on fewer people; more of them are rare, so more may go, and each is easier to find."""
    shutil.copytree(example_plan("apa").parent, folder / "apa")
    plan = folder / "apa" / "plan.toml"
    plan.write_text(
        plan.read_text()
        .replace('"dataset:apa"', f'"dataset:apa({at_depth(6_000, 20_000)})"')
        .replace("max_share = 0.01", "max_share = 0.5")
        .replace("min_size = 2000", f"min_size = {at_depth(6, 30)}")
        .replace('method = "local_suppression"', at_depth(_QUICK, 'method = "local_suppression"'))
        .replace('languages = ["en", "fr"]', at_depth('languages = ["fr"]', 'languages = ["en", "fr"]'))
        .replace('  "age_blurred = age",\n', "")  # of few people ages are nulled too, and it would tell them
        # nulls and dropped records would leave departments of few people smaller than those that get a code
        .replace("department = 10, sex = 1000, age = 1000", "department = 1000, sex = 10, age = 10")
    )
    policy = folder / "apa" / "policy.toml"
    text = policy.read_text().replace("release = 0.01, review = 0.02", "release = 0.3, review = 0.4")
    for bounds in ("release = 0.05, review = 0.1 ", "release = 0.1, review = 0.15", "release = 0.15, review = 0.3"):
        assert bounds in text
        text = text.replace(bounds, "release = 0.5, review = 1.0 ")
    policy.write_text(text)
    return plan


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the small example was run: its plan in `apa`, what came out in `once`."""
    folder = tmp_path_factory.mktemp("small")
    plan = small_example(folder)
    with pytest.MonkeyPatch.context() as patch:
        assert call(patch, "run", plan, "--out", folder / "once") == 0
    return folder


def test_the_example_at_a_small_size(small_run: Path) -> None:
    out = small_run / "once"
    assert (out / "public" / "report.fr.html").exists()
    manifest = json.loads((out / "internal" / "manifest.json").read_text())
    found = {(r["method"], r["measured_on"]): r for r in manifest["results"]}
    assert found["k_anonymity", "frame"]["figures"]["k"] == 3
    assert found["l_diversity", "frame"]["value"] == 0
    released = flou.read(out / "public" / "data.parquet").collect()
    frame = found["k_anonymity", "frame"]["figures"]["n_records"]
    assert abs(released.n_records - frame / 2) < 10, "each stratum is rounded by itself"
    assert released.to_frame()["weight"].sum() == pytest.approx(frame, rel=1e-6)
    assert "pid" not in released.columns
    assert set(released.to_frame()["department"].drop_nulls().str.head(1)) & {"R"}


def test_the_example_replays(small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, "run", small_run / "apa" / "plan.toml", "--out", tmp_path / "again") == 0
    for file in (small_run / "once" / "public").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / "public" / file.name).read_bytes(), file.name


def test_the_demonstration_tells_its_story(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("flou.job.example.example_plan", lambda name: small_run / name / "plan.toml")
    assert call(monkeypatch, "demo", "--out", tmp_path / "demo") == 0
    assert "departments under 2,000, with a random code" in capsys.readouterr().out


def test_another_secret_draws_anew_and_promises_the_same(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(small_run, tmp_path, dirs_exist_ok=True)
    plan = tmp_path / "apa" / "plan.toml"
    assert call(monkeypatch, "secret", tmp_path / "other.secret") == 0
    plan.write_text(plan.read_text().replace('file = "demonstration.secret"', 'file = "../other.secret"'))
    assert call(monkeypatch, "run", plan, "--out", tmp_path / "other") == 0
    frames = [flou.read(tmp_path / name / "public" / "data.parquet").collect().to_frame() for name in ("once", "other")]
    assert frames[0].columns == frames[1].columns
    for column in ("resources", "apa_amount", "hours", "entitlement"):
        assert frames[0][column].sort().to_list() != frames[1][column].sort().to_list()
    promised = [
        json.loads((tmp_path / name / "internal" / "manifest.json").read_text())["guarantees"]
        for name in ("once", "other")
    ]
    assert promised[0] == promised[1]
    assert len(promised[0]) > 20


def test_progress_on_a_pipe_is_one_line_a_stage(plan: Path, tmp_path: Path) -> None:
    flou_command = Path(sys.executable).parent / "flou"
    done = subprocess.run(
        [flou_command, "run", plan, "--out", tmp_path / "o"],
        capture_output=True, text=True, check=True, env={**os.environ, "FLOU_WORKER": "", "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {"o", plan.parent.name}, "nothing else is left"
    assert "… protect: recode" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_scan_of_many_row_groups_is_written_the_same_each_time(tmp_path: Path) -> None:
    """The chunks of a scan depend on threads; the file must not."""
    flou.datasets.apa(60_000).to_frame().write_parquet(tmp_path / "big.parquet", row_group_size=3_000)
    hashes = set()
    for i in range(4):
        people = flou.read(tmp_path / "big.parquet", keys=["department", "sex"], id="pid")
        release = flou.protect.TopCode("resources", at=3000).protect(people, secret=flou.Secret(bytes(32)))
        for kind in ("parquet", "arrow"):
            path = flou.write(release, tmp_path / f"{i}.{kind}")
            hashes.add((kind, hashlib.sha256(path.read_bytes()).hexdigest()))
    assert len(hashes) == 2


def test_decimal_commas_and_cut_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a;w\nx;67,5\ny;1\n")
    assert flou.read(path, keys=["a"], weight="w", decimal=",").collect().to_frame()["w"].to_list() == [67.5, 1.0]
    with pytest.raises(flou.FlouError, match="decimal"):
        flou.read(path, keys=["a"], weight="w")
    path.write_text("a,b,c\n1,2,3\n4,5\n")
    with pytest.raises(flou.FlouError, match="line 3"):
        flou.read(path)
    path.write_text('a,b,c\n"1,1",2,3\n4,"5\n')
    with pytest.raises(flou.FlouError, match="line"):
        flou.read(path)


def test_a_schema_to_start_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = tmp_path / "draft.toml"
    assert call(monkeypatch, "describe", SMALL / "people.csv", "--save-schema", draft) == 0
    schema = flou.Schema.load(draft)
    assert schema.identifiers == ("name",)
    assert schema.others == ("age", "sex", "illness")
    assert schema.types["age"] == "integer"
    assert flou.read(SMALL / "people.csv", schema=draft).n_records == 8
