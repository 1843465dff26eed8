"""Commands with wrong files, options and words."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FLOU = Path(sys.executable).with_name("flou")


@pytest.mark.parametrize("option", ["--engine=polar", "--keys=age", "--keys=none"], ids=str)
def test_describe_and_risk_refuse_the_same(option: str, job: Any, refused: Callable[..., str]) -> None:
    people, schema = job.folder / "people.csv", job.folder / "people.schema.toml"
    given = ["--schema", schema] if option != "--keys=none" else []
    refused("describe", people, *given, option)
    refused("risk", people, *given, option, "--k", "2")
    refused("protect", people, *given, option, "--method", "drop_identifiers", "--out", job.out.with_suffix(".csv"))


OPTIONS: dict[str, tuple[list[str], str]] = {
    "no k": (["--method", "k_anonymity"], "'k' is required"),
    "k of zero": (["--k", "0"], "k = 0"),
    "negative k": (["--k", "-1"], "k = -1"),
    "k as a text": (["--k", "three"], "k = 'three'"),
    "k without a value": (["--k"], "--k needs a value"),
    "k twice": (["--k", "2", "--k", "3"], "given twice"),
    "k larger than the file": (["--method", "k_anonymity", "--k", "100"], "larger than the file"),
    "unknown parameter": (["--k", "2", "--mising", "category"], "Did you mean 'missing'"),
    "unknown word": (["--k", "2", "--missing", "pesimistic"], "pesimistic"),
    "a stray word": (["--k", "2", "category"], "'category' is not understood"),
    "unknown method": (["--method", "k_anonymty", "--k", "2"], "Did you mean 'k_anonymity'"),
    "method of another stage": (["--method", "recode", "--k", "2"], "protect"),
    "strata that are not there": (["--method", "k_anonymity", "--k", "2", "--by", "sexe"], "Did you mean 'sex'"),
}


@pytest.mark.parametrize("case", list(OPTIONS))
def test_options_of_a_measure(case: str, job: Any, refused: Callable[..., str]) -> None:
    options, word = OPTIONS[case]
    people, schema = job.folder / "people.csv", job.folder / "people.schema.toml"
    assert word in refused("risk", people, "--schema", schema, *options)


PROTECT: dict[str, tuple[list[str], str]] = {
    "no column": (["--method", "recode", "--level", "1"], "'column' is required"),
    "no such column": (["--method", "recode", "--column", "agee", "--level", "1"], "Did you mean 'age'"),
    "no such level": (["--method", "recode", "--column", "age", "--level", "9"], "level = 9"),
    "no hierarchy": (["--method", "recode", "--column", "sex", "--level", "1"], "no hierarchy"),
    "text": (["--method", "top_code", "--column", "sex", "--at", "3"], "numeric"),
    "no number": (["--method", "top_code", "--column", "age", "--at", "nan"], "nan"),
    "every record": (["--method", "drop_records", "--measure", '{method = "k_anonymity", k = 8}'], "every record"),
    "no measure": (["--method", "drop_records", "--measure", "k_anonymity"], "measure"),
    "unknown method": (["--method", "top_cod"], "Did you mean 'top_code'"),
    "no such secret": (["--method", "drop_identifiers", "--secret", "none.secret"], "none.secret"),
}


@pytest.mark.parametrize("case", list(PROTECT))
def test_options_of_a_protection(case: str, job: Any, refused: Callable[..., str]) -> None:
    options, word = PROTECT[case]
    people, schema = job.folder / "people.csv", job.folder / "people.schema.toml"
    out = job.out.with_suffix(".csv")
    assert word in refused("protect", people, "--schema", schema, "--out", out, *options)


@pytest.mark.parametrize("name", ["out.xlsx", "out", "none/out.csv", "job/people.csv", "job"])
def test_targets_that_protect_cannot_write(name: str, job: Any, refused: Callable[..., str]) -> None:
    people, schema = job.folder / "people.csv", job.folder / "people.schema.toml"
    refused("protect", people, "--schema", schema, "--method", "drop_identifiers", "--out", job.out.parent / name)


def test_a_wrong_ending_is_found_before_the_work(job: Any, refused: Callable[..., str]) -> None:
    """The data are not even looked at."""
    none = job.folder / "none.csv"
    assert "xlsx" in refused("protect", none, "--method", "drop_identifiers", "--out", job.out.with_suffix(".xlsx"))


def test_taken_targets_of_a_run(job: Any, refused: Callable[..., str]) -> None:
    job.out.mkdir()
    (job.out / "letter.txt").write_text("something else", encoding="utf-8")
    assert "not overwritten" in refused("run", job.plan, "--out", job.out)
    assert "not made by a run of Flou" in refused("run", job.plan, "--out", job.out, "--replace")
    assert "not made by a run of Flou" in refused("demo", "--out", job.out, "--replace")
    assert "not overwritten" in refused("demo", "--out", job.out)
    assert "not overwritten" in refused("run", job.plan, "--out", job.plan)
    refused("run", job.plan, "--out", job.plan, "--replace")
    refused("run", job.plan, "--out", job.plan / "out")
    assert "not overwritten" in refused("report", job.plan, "--out", job.out / "letter.txt")
    refused("report", job.plan, "--out", job.out)


def test_the_folder_of_the_plan_is_never_replaced(job: Any, refused: Callable[..., str]) -> None:
    refused("run", job.plan, "--out", job.folder)
    refused("run", job.plan, "--out", job.folder, "--replace")


def test_wrong_words_of_a_report(job: Any, refused: Callable[..., str]) -> None:
    out = job.out.with_suffix(".html")
    assert "en or fr" in refused("report", job.plan, "--out", out, "--language", "de")
    assert "internal or public" in refused("report", job.plan, "--out", out, "--audience", "all")
    refused("report", job.plan, "--out", job.out.parent / "none" / "report.html")


def test_wrong_words_of_a_report_are_found_before_the_work(job: Any, refused: Callable[..., str]) -> None:
    job.edit("plan.toml", "people.csv", "none.csv")
    assert "en or fr" in refused("report", job.plan, "--out", job.out.with_suffix(".html"), "--language", "de")


def test_an_unknown_method_suggests_the_nearest(refused: Callable[..., str]) -> None:
    assert "Did you mean 'recode'" in refused("methods", "recod")


@pytest.mark.parametrize("command", ["describe", "risk"])
def test_a_wrong_engine_in_the_environment(
    command: str, job: Any, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOU_ENGINE", "polar")
    people, schema = job.folder / "people.csv", job.folder / "people.schema.toml"
    more = ["--k", "1"] if command == "risk" else []
    assert "Did you mean 'polars'" in refused(command, people, "--schema", schema, *more)
    assert "Did you mean 'polars'" in refused(command, people, "--keys", "age", *more)
    assert "Did you mean 'polars'" in refused("run", job.plan, "--out", job.out)


@pytest.mark.parametrize("options", [["--delimiter", ";"], ["--encoding", "latin-1"], ["--engine", "polar"]], ids=str)
def test_options_that_a_data_set_cannot_use_are_refused(options: list[str], refused: Callable[..., str]) -> None:
    refused("describe", "dataset:benschop", *options)


@pytest.mark.parametrize(
    "source", ["dataset:", "dataset:appa", "dataset:apa(x)", "dataset:apa(-5)", "dataset:apa(0)", "dataset:benschop(3)"]
)
def test_data_sets_that_there_are_not(source: str, refused: Callable[..., str]) -> None:
    refused("describe", source)


def test_keys_of_a_data_set(refused: Callable[..., str]) -> None:
    refused("describe", "dataset:benschop", "--keys", "none")


@pytest.mark.parametrize("keys", ["", ",", "age,age"])
def test_keys_that_are_none(keys: str, job: Any, refused: Callable[..., str]) -> None:
    refused("risk", job.folder / "people.csv", "--keys", keys, "--k", "1")


def test_sources_that_cannot_be_read(job: Any, refused: Callable[..., str]) -> None:
    (job.folder / "empty.csv").touch()
    (job.folder / "text.parquet").write_text("age,sex\n31,F\n", encoding="utf-8")
    (job.folder / "latin.csv").write_bytes(b"age,city\n31,Paris\n32,Orl\xe9ans\n")
    (job.folder / "header.csv").write_text("age,sex\n", encoding="utf-8")
    cases = {
        "empty.csv": "empty",
        "text.parquet": "damaged, truncated or of another kind",
        "latin.csv": "latin-1",
        "header.csv": "no records",
        "plan.toml": "not of a kind",
        "": "",
        "poeple.csv": "Did you mean 'people.csv'",
    }
    for name, word in cases.items():
        assert word in refused("describe", job.folder / name)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "plan.toml"],
        ["run", "plan.toml", "--out", "x", "--bogus"],
        ["runn", "plan.toml"],
        ["protect", "people.csv"],
        ["describe"],
        ["--bogus"],
        ["secret"],
    ],
    ids=" ".join,
)
def test_commands_that_are_not_complete(arguments: list[str], run: Callable[..., Any], nothing_written: Any) -> None:
    with nothing_written():
        ran = run(*arguments)
    assert ran.code == 2
    assert ran.err
    assert "Traceback" not in ran.err


def test_the_installed_command(job: Any, nothing_written: Any) -> None:
    """The entry point itself, in a process of its own."""
    job.edit("plan.toml", 'column = "age"', 'column = "agee"')
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FLOU_")}
    with nothing_written():
        ran = subprocess.run(
            [str(FLOU), "run", str(job.plan), "--out", str(job.out)],
            capture_output=True, text=True, encoding="utf-8", env=environment, check=False, timeout=60,
        )  # fmt: skip
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1].startswith("flou: ")
    assert "Did you mean 'age'" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""
