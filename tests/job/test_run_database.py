"""A plan from a database to a database, on a real server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from tests.contracts.cases import ROLES, people, published, rows
from tests.postgres_server import PostgresServer

import flou
from flou.engine.errors import DataError, OutputError, ParameterError, PlanError
from flou.job.carry_out import carry_out
from flou.job.folder import write_folder

SMALL = Path(__file__).parents[1] / "small_plan"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        flou.write(flou.Microdata(pl.read_csv(SMALL / "people.csv")), running.uri(), table="people", unprotected=True)
        flou.write(flou.Microdata(rows()), running.uri(), table="contract", unprotected=True)
        yield running


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_table_is_microdata_on_every_engine(server: PostgresServer, engine: str) -> None:
    data = flou.read(server.uri(), table="contract", engine=engine, **ROLES)
    assert data.is_lazy
    assert published(flou.Plan([]).protect(data, secret=1)).equals(published(flou.Plan([]).protect(people(), secret=1)))
    measure = flou.risk.KAnonymity(k=3)
    assert measure.measure(data).figures == measure.measure(people()).figures


def plan(folder: Path, server: PostgresServer, **output: str) -> Path:
    shutil.copytree(SMALL, folder / "plan", dirs_exist_ok=True)
    text = (
        (SMALL / "plan.toml")
        .read_text()
        .replace('source = "people.csv"', f'source = "{server.uri()}"\ntable = "people"')
    )
    (folder / "plan" / "plan.toml").write_text(text + "".join(f'{k} = "{v}"\n' for k, v in output.items()))
    return folder / "plan" / "plan.toml"


def test_a_plan_from_table_to_table(server: PostgresServer, tmp_path: Path) -> None:
    path = plan(tmp_path, server, database=server.uri(), table="people_public")
    write_folder(carry_out(flou.Plan.load(path)), tmp_path / "out")
    write_folder(carry_out(flou.Plan.load(SMALL / "plan.toml")), tmp_path / "file")
    assert (tmp_path / "out/public/data.csv").read_bytes() == (tmp_path / "file/public/data.csv").read_bytes()
    written = flou.read(server.uri(), table="people_public").collect().to_frame()
    assert written.equals(pl.read_csv(tmp_path / "out/public/data.csv"))
    # what is there stays, and then nothing of the second run does
    with pytest.raises(OutputError, match="people_public"):
        write_folder(carry_out(flou.Plan.load(path)), tmp_path / "again")
    assert not (tmp_path / "again").exists()
    write_folder(carry_out(flou.Plan.load(path)), tmp_path / "out", replace=True)


def test_a_withheld_release_reaches_no_table(server: PostgresServer, tmp_path: Path) -> None:
    path = plan(tmp_path, server, database=server.uri(), table="never")
    steps = '[[protect]]\nmethod = "drop_records"\nmeasure = { method = "k_anonymity", k = 2, missing = "category" }\n'
    assert steps in path.read_text()
    path.write_text(path.read_text().replace(steps, ""))
    done = carry_out(flou.Plan.load(path))
    assert done.verdict.decision.name == "WITHHOLD"
    write_folder(done, tmp_path / "out")
    with pytest.raises(DataError, match="never"):
        flou.read(server.uri(), table="never")


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"database": "postgresql://u:secret@h/d", "table": "t"}, "never stands in a plan"),
        ({"database": "postgresql://h/d"}, "go together"),
        ({"table": "t"}, "go together"),
        ({"database": "mysql://h/d", "table": "t"}, "is not postgresql://"),
    ],
)
def test_outputs_that_cannot_be_are_refused(
    server: PostgresServer, output: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(PlanError, match=said) as caught:
        flou.Plan.load(plan(tmp_path, server, **output))
    assert "secret@" not in str(caught.value)


def test_a_password_in_the_source_is_refused() -> None:
    with pytest.raises(PlanError, match="never stands in a plan") as caught:
        flou.Plan.from_toml('flou = 2\n[data]\nsource = "postgresql://u:secret@h/d"\ntable = "t"\n')
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda uri: flou.read(uri), "give table ="),
        (lambda uri: flou.read(uri, table="people", sheet="x"), "sheet is for an Excel file"),
        (lambda uri: flou.write(people(), uri, unprotected=True), "with table ="),
        (lambda uri: flou.write(people(), uri, table="x", rows_per_part=3, unprotected=True), "without rows_per_part"),
        (lambda uri: flou.read(SMALL / "people.csv", table="x"), "table is for a database"),
        (lambda uri: flou.write(people(), "x.csv", table="x", unprotected=True), "table is for a database"),
    ],
)
def test_options_that_do_not_fit_are_refused(server: PostgresServer, call: object, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        call(server.uri())  # type: ignore[operator]
