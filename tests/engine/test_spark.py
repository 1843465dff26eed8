"""Spark: one real cluster, and everything that can be wrong before and while it works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from tests.contracts.cases import people
from tests.spark_cluster import SparkCluster, free_port

import flou
from flou.engine import native as engines
from flou.engine.errors import DataError
from flou.engine.native import spark
from flou.job.carry_out import carry_out
from flou.job.folder import write_folder

pytestmark = pytest.mark.xdist_group("spark")

PLAN = Path(__file__).parents[1] / "small_plan"


def python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Code in a process of its own: a session belongs to a process."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def failure(code: str, *arguments: str, **environment: str) -> str:
    """The message of the Flou error that the code ends with."""
    caught = f"import flou\ntry:\n    {code}\nexcept flou.FlouError as error:\n    print('CAUGHT', error)"
    done = python(caught, *arguments, **environment)
    assert "CAUGHT" in done.stdout, done.stdout + done.stderr
    return done.stdout.partition("CAUGHT ")[2]


def public_files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted((folder / "public").iterdir())}


def test_a_plan_gives_the_same_public_files_on_every_engine(tmp_path: Path) -> None:
    plan = flou.Plan.load(PLAN / "plan.toml")
    for engine in ("polars", "duckdb", "spark"):
        write_folder(carry_out(plan, engine=engine), tmp_path / engine)
    expected = public_files(tmp_path / "polars")
    assert expected
    people = flou.Microdata(pd.read_csv(PLAN / "people.csv"), flou.Schema.load(PLAN / "people.schema.toml"))
    flou.write(plan.protect(people, secret=1), tmp_path / "data.csv")
    assert (tmp_path / "data.csv").read_bytes() == expected["data.csv"]
    for engine in ("duckdb", "spark"):
        assert public_files(tmp_path / engine) == expected, engine


@pytest.mark.deep("a cluster of several Java processes")
def test_a_plan_on_a_cluster_gives_the_public_files_of_every_other_engine(tmp_path: Path) -> None:
    write_folder(carry_out(flou.Plan.load(PLAN / "plan.toml"), engine="polars"), tmp_path / "polars")
    with SparkCluster() as cluster:
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "flou"),
                "run",
                str(PLAN / "plan.toml"),
                "--engine",
                cluster.master,
                "--out",
                str(tmp_path / "cluster"),
            ],
            env=cluster.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode in (0, 3), done.stderr
    assert public_files(tmp_path / "cluster") == public_files(tmp_path / "polars")


def test_rows_are_not_collected_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measure and a protection bring the distinct keys and counts to the driver, never the rows."""
    data = people("spark")
    sizes: list[int] = []
    collect = flou.engine.native.collect  # type: ignore[attr-defined]

    def counted(frame: object) -> pl.DataFrame:
        rows: pl.DataFrame = collect(frame)
        sizes.append(rows.height if len(rows.columns) >= len(data.columns) else 0)
        return rows

    monkeypatch.setattr("flou.engine.native.collect", counted)
    flou.risk.KAnonymity(k=3).measure(data)
    flou.protect.Recode("age", level=1).protect(data, secret=1)
    assert sizes
    assert max(sizes) == 0


def test_the_rows_of_a_result_stay_on_the_cluster() -> None:
    joined = flou.risk.KAnonymity(k=3).measure(people("spark")).joined()
    assert type(joined).__module__.startswith("pyspark.sql")
    assert joined.count() == 200


def test_a_frame_of_pandas_on_spark_is_refused_by_name() -> None:
    class DataFrame:
        __module__ = "pyspark.pandas.frame"

    with pytest.raises(DataError, match=r"pyspark\.pandas\.frame\.DataFrame is not a frame"):
        flou.Microdata(DataFrame())


def test_columns_that_differ_in_case_alone_are_refused() -> None:
    frame = spark.session("spark").createDataFrame(pl.DataFrame({"a": [1], "A": [2]}).to_arrow())
    with pytest.raises(DataError, match="differ in case alone: 'A', 'a'"):
        flou.Microdata(frame)


def test_no_java_runtime_is_said_in_one_sentence(tmp_path: Path) -> None:
    read = "flou.read(__import__('sys').argv[1], engine='spark')"
    source = str(PLAN / "people.csv")
    message = failure(read, source, PATH=str(tmp_path), JAVA_HOME="")
    assert "Spark needs a Java runtime" in message
    assert "there is none on the PATH" in message
    assert "JAVA_HOME is" in failure(read, source, JAVA_HOME=str(tmp_path))


def test_an_old_java_is_refused(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    message = failure(
        "flou.read(__import__('sys').argv[1], engine='spark')", str(PLAN / "people.csv"), JAVA_HOME=str(tmp_path)
    )
    assert "Java 17 or later" in message
    assert "is 11" in message


def test_a_session_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    session = spark.session("spark")
    monkeypatch.setattr(pyspark, "__version__", "3.5.1")
    with pytest.raises(DataError, match=r"runs version .*, but the package pyspark is 3\.5\.1"):
        spark.session("spark")
    monkeypatch.undo()
    assert spark.session("spark") is session


def test_a_master_that_does_not_answer_is_said_at_once() -> None:
    message = failure(
        "flou.read(__import__('sys').argv[1], engine=__import__('sys').argv[2])",
        str(PLAN / "people.csv"),
        f"spark://127.0.0.1:{free_port()}",
    )
    assert "No Spark master answers at" in message


@pytest.mark.parametrize("address", ["spark://", "spark://host", "spark://host:port", "spark://a b:7077"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(DataError, match="is not the address of a Spark master"):
        spark._require_answer(address)


def test_a_second_session_on_another_master_is_refused() -> None:
    spark.session("spark")
    with pytest.raises(DataError, match=r"is active, so none on 'spark://127\.0\.0\.1:7077' can be started"):
        spark.session("spark://127.0.0.1:7077")


def test_a_session_that_was_stopped_is_one_sentence() -> None:
    code = (
        "data = flou.read(__import__('sys').argv[1], keys=['sex'], engine='spark'); "
        "__import__('pyspark').sql.SparkSession.getActiveSession().stop(); flou.risk.KAnonymity(k=2).measure(data)"
    )
    message = failure(code, str(PLAN / "people.csv"))
    assert "Spark could not do the work" in message
    assert "\n\t" not in message


def test_a_file_that_vanishes_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pl.DataFrame({"a": ["x", "y"]}).write_parquet(path)
    data = flou.read(path, keys=["a"], engine="spark")
    path.unlink()
    with pytest.raises(DataError, match="was removed while it was read"):
        flou.risk.KAnonymity(k=2).measure(data)


def test_what_a_worker_lacks_is_said_with_what_to_do() -> None:
    def needs_more(rows: pl.DataFrame) -> pl.DataFrame:
        if rows.height:
            __import__("a_module_of_the_driver_alone")
        return rows

    with pytest.raises(
        DataError, match=r"No module named 'a_module_of_the_driver_alone'\. Install Flou for the workers"
    ):
        engines.collect(engines.map_batches(people("spark").frame, needs_more))


def test_the_workers_of_this_machine_run_the_python_of_the_driver() -> None:
    def executable(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.select(pl.lit(sys.executable).alias("python"))

    ran = engines.collect(engines.map_batches(people("spark").frame, executable))
    assert set(ran["python"]) == {os.environ.get("PYSPARK_PYTHON", sys.executable)}
