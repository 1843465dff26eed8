"""Tables in plans and on the command line, asked for in ways that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flou

HEAD = "flou = 2\n"
TABLE = '[[tabulate]]\ndims = ["sex"]\n'
NOISE = '[[protect]]\nmethod = "cell_key"\nD = 5\nV = 2.0\n'
DATA = '[data]\nsource = "people.csv"\nschema = "people.schema.toml"\n'
PLANS: dict[str, tuple[str, str]] = {
    "single brackets": (HEAD + '[tabulate]\ndims = ["sex"]\n', "double brackets"),
    "tables as texts": (HEAD + 'tabulate = ["sex"]\n', "double brackets"),
    "no dimensions": (HEAD + '[[tabulate]]\nname = "a"\n', "needs dims"),
    "an empty list of dimensions": (HEAD + "[[tabulate]]\ndims = []\n", "dims = []"),
    "an empty dimension": (HEAD + '[[tabulate]]\ndims = [""]\n', "list of dimensions"),
    "dimensions as numbers": (HEAD + "[[tabulate]]\ndims = [3]\n", "dims = [3]"),
    "unknown word": (HEAD + TABLE + 'cels = "all"\n', "Did you mean 'cells'"),
    "unknown cells": (HEAD + TABLE + 'cells = "some"\n', "occupied"),
    "margins of no dimension": (HEAD + TABLE + 'margins = ["age"]\n', "not one of dims"),
    "margins as a text": (HEAD + TABLE + 'margins = "sex"\n', "margins = 'sex'"),
    "value as a number": (HEAD + TABLE + "value = 3\n", "value = 3"),
    "an empty total": (HEAD + TABLE + 'total = ""\n', "total = ''"),
    "too many of the largest": (HEAD + TABLE + "largest = 1000\n", "0 to 100"),
    "largest as a boolean": (HEAD + TABLE + "largest = true\n", "largest = True"),
    "name as a number": (HEAD + TABLE + "name = 3\n", "name = 3"),
    "two tables without names": (HEAD + TABLE + TABLE, "number 1 has no name"),
    "two tables of one name": (HEAD + TABLE + 'name = "A"\n' + TABLE + 'name = "a"\n', "called"),
    "records after tables": (
        HEAD + TABLE + NOISE + '[[protect]]\nmethod = "recode"\ncolumn = "age"\nlevel = 1\n',
        "recode changes records, but stands after cell_key",
    ),
    "a table step without tables": (HEAD + DATA + NOISE, "add [[tabulate]]"),
    "a table measure without tables": (
        HEAD + DATA + '[[measure]]\nmethod = "count_inference"\ns = 5\n',
        "[[tabulate]]",
    ),
    "a table comparison without tables": (HEAD + DATA + '[[compare]]\nmethod = "hellinger"\n', "[[tabulate]]"),
    "record keys without tables": (HEAD + '[record_keys]\nstored = "rkey"\n', "[[tabulate]]"),
    "record keys of no column": (HEAD + TABLE + "[record_keys]\n", "'stored'"),
    "unknown word of record keys": (HEAD + TABLE + '[record_keys]\nstord = "rkey"\n', "Did you mean 'stored'"),
    "a workbook of records": (HEAD + '[output]\nformat = "xlsx"\n', "is for tables"),
    "tables that nothing protects": (HEAD + TABLE, "No step protects the tables"),
    "tables in parts": (HEAD + TABLE + NOISE + "[output]\nrows_per_part = 5\n", "rows_per_part is for records"),
    "records compared that nothing changed": (
        HEAD + TABLE + NOISE + '[[compare]]\nmethod = "summary"\n',
        "no step that changes records",
    ),
}


@pytest.mark.parametrize("case", list(PLANS))
def test_a_wrong_plan_is_refused(case: str, job: Any, refused: Callable[..., str]) -> None:
    text, word = PLANS[case]
    job.plan.write_text(text, encoding="utf-8")
    assert word in refused("run", job.plan, "--out", job.out)
    with pytest.raises(flou.FlouError) as caught:
        flou.Plan.from_toml(text)
    assert word in str(caught.value)


RUN: dict[str, tuple[str, str]] = {
    "no such column": ('[[tabulate]]\ndims = ["sexe"]\n' + NOISE, "Did you mean 'sex'"),
    "an identifier as a dimension": ('[[tabulate]]\ndims = ["name"]\n' + NOISE, "identifies"),
    "no id": (TABLE + NOISE, "[record_keys] stored"),
    "no such keys": (TABLE + NOISE + '[record_keys]\nstored = "rkey"\n', "rkey"),
    "one file for two": (
        '[[tabulate]]\nname = "a b"\ndims = ["sex"]\n[[tabulate]]\nname = "a_b"\ndims = ["age"]\n' + NOISE,
        "one file",
    ),
}


@pytest.mark.parametrize("case", list(RUN))
def test_tables_that_cannot_be_made(case: str, job: Any, refused: Callable[..., str], tmp_path: Path) -> None:
    text, word = RUN[case]
    flou.Secret(bytes(range(32))).save(tmp_path / "s")
    job.plan.write_text(HEAD + DATA + text, encoding="utf-8")
    assert word in refused("run", job.plan, "--out", job.out, "--secret", tmp_path / "s")


def test_no_lasting_secret(job: Any, refused: Callable[..., str]) -> None:
    job.plan.write_text(HEAD + DATA + TABLE + NOISE, encoding="utf-8")
    assert "averaged away" in refused("run", job.plan, "--out", job.out)


def test_plans_in_python_with_the_wrong_tables(people: flou.Microdata) -> None:
    noise = flou.protect.CellKey(D=5, V=2.0)
    for tables in ("sex", {"dims": ["sex"]}, flou.Tabulation(["sex"]), 3, [3], [["sex", 3]], [None]):
        with pytest.raises(flou.FlouError):
            flou.Plan([noise], tables=tables)  # type: ignore[arg-type]
    with pytest.raises(flou.FlouError, match="RecordKeys"):
        flou.Plan([noise], tables=[["sex"]], record_keys="rkey")  # type: ignore[arg-type]
    table = people.tabulate(["sex"])
    with pytest.raises(flou.FlouError, match="tables of records"):
        flou.Plan([noise], tables=[["sex"]]).protect(table, secret=1)
    with pytest.raises(flou.FlouError, match=r"\[\[tabulate\]\]"):
        flou.Plan([noise]).protect(people, secret=1)
    with pytest.raises(flou.FlouError, match=r"people\.tabulate"):
        noise.protect(people, secret=1)


COMMANDS: dict[str, tuple[list[str], str]] = {
    "no such column": (["--dims", "sexe"], "Did you mean 'sex'"),
    "an empty dimension": (["--dims", "sex,,age"], "empty dimension"),
    "unknown cells": (["--dims", "sex", "--cells", "some"], "occupied or all"),
    "a parameter of no method": (["--dims", "sex", "--D", "5"], "--protect METHOD"),
    "a method of records": (["--dims", "sex", "--protect", "round", "--columns", "age", "--unit", "5"], "records"),
    "unknown parameter": (["--dims", "sex", "--protect", "cell_key", "--D", "5", "--W", "2"], "no parameter --W"),
    "no lasting secret": (["--dims", "sex", "--protect", "cell_key", "--D", "5", "--V", "2"], "averaged away"),
    "keys that nothing uses": (["--dims", "sex", "--record-keys", "age"], "--protect"),
    "unprotected and protected": (
        ["--dims", "sex", "--protect", "cell_key", "--D", "5", "--V", "2", "--unprotected"],
        "--unprotected",
    ),
    "a file of true counts": (["--dims", "sex", "--out", "t.csv"], "--unprotected"),
    "an unknown ending": (["--dims", "sex", "--unprotected", "--out", "t.doc"], ".xlsx"),
    "no such folder": (["--dims", "sex", "--unprotected", "--out", "none/t.csv"], "does not exist"),
}


@pytest.mark.parametrize("case", list(COMMANDS))
def test_options_of_a_table(
    case: str, job: Any, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    options, word = COMMANDS[case]
    people, schema = job.folder / "people.csv", job.folder / "people.schema.toml"
    assert word in refused("table", people, "--schema", schema, *options)


CALIBRATIONS: dict[str, tuple[list[str], str]] = {
    "no counts": (["--over", "D=5", "--over", "V=2", "--s", "5"], "column i"),
    "no values": (["--dims", "sex", "--over", "D=", "--s", "5"], "values to try"),
    "no parameter": (["--dims", "sex", "--over", "5,10", "--s", "5"], "values to try"),
    "a parameter twice": (["--dims", "sex", "--over", "D=5", "--over", "D=6", "--s", "5"], "twice"),
    "unknown parameter": (["--dims", "sex", "--over", "W=5", "--s", "5"], "W"),
    "a limit beyond 1": (["--dims", "sex", "--over", "D=5", "--over", "V=2", "--s", "5", "--limit", "80"], "limit"),
    "a threshold of 1": (["--dims", "sex", "--over", "D=5", "--over", "V=2", "--s", "1"], "s = 1"),
    "a method of records": (["--dims", "sex", "--over", "D=5", "--s", "5", "--method", "round"], "records"),
    "a page of another kind": (["--dims", "sex", "--over", "D=5", "--s", "5", "--out", "c.png"], ".html"),
    "an unknown language": (["--dims", "sex", "--over", "D=5", "--s", "5", "--language", "de"], "en or fr"),
}


@pytest.mark.parametrize("case", list(CALIBRATIONS))
def test_options_of_a_calibration(
    case: str, job: Any, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    options, word = CALIBRATIONS[case]
    job.edit("people.csv", "55,,flu", "55,M,flu").edit("people.csv", "51,,asthma", "51,M,asthma")
    people, schema = job.folder / "people.csv", job.folder / "people.schema.toml"
    assert word in refused("calibrate", people, "--schema", schema, *options)
