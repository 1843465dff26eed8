"""Rows that do not fit in memory: they pass by in batches, and the files are the same for every engine."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from tests.contracts.cases import ROLES, SPARK, native, people, published, rows

import flou
from flou.describe.microdata import Microdata
from flou.engine import claim, spool
from flou.engine import native as engines
from flou.engine.errors import DataError
from flou.engine.progress import listening
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Outcome

ENGINES = ("polars", "pandas", "pyarrow", "polars-lazy", "duckdb", SPARK)


class Whisper(Protection):
    """Write the illness in lower case, row by row in Python: what a row-local protection does."""

    title: ClassVar[str] = "whisper"
    reference: ClassVar[str] = "none"
    preserves: ClassVar[tuple[Claim, ...]] = ("records",)

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        def lower(batch: pl.DataFrame) -> pl.DataFrame:
            texts = [None if v is None else v.swapcase() for v in batch["illness"].to_list()]
            return batch.with_columns(pl.Series("illness", texts, pl.String))

        return Outcome(data.with_frame(engines.map_batches(data.frame, lower)))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_local_protection_is_equal_on_every_engine(engine: str) -> None:
    expected = published(flou.Plan([Whisper()]).protect(people(), secret=1))
    release = flou.Plan([Whisper()]).protect(people(engine), secret=1)
    assert expected["illness"].str.contains("^[A-Z]+$").all()
    assert published(release).equals(expected)
    assert release.data.is_lazy == (engine in ("polars-lazy", "duckdb", "spark"))
    # the rows of before and after can still be worked on together
    assert (
        flou.risk.KAnonymity(k=3).measure(release).value
        == flou.risk.KAnonymity(k=3, missing="category").measure(people()).value
    )


@pytest.mark.parametrize("engine", ["polars-lazy", "duckdb"])
def test_rows_pass_by_in_batches(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "BATCH", 2048)
    frame = pl.DataFrame({"a": np.arange(20_000), "b": np.arange(20_000).astype(str)})
    sizes: list[int] = []

    def count(batch: pl.DataFrame) -> pl.DataFrame:
        sizes.append(batch.height)
        return batch

    mapped = engines.map_batches(flou.Microdata(native(frame, engine)).frame, count)
    assert max(sizes) <= 2048
    assert sum(sizes) == 20_000
    assert engines.collect(mapped).sort("a").equals(frame)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_rows_give_the_same_bytes(engine: str, ending: str, tmp_path: Path) -> None:
    frame = rows(3000)
    for name in ("polars", engine):
        flou.write(people(name, frame), tmp_path / f"{name}.{ending}", overwrite=True, unprotected=True)
    assert (tmp_path / f"{engine}.{ending}").read_bytes() == (tmp_path / f"polars.{ending}").read_bytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_hold_the_same_rows_as_one_file(engine: str, tmp_path: Path) -> None:
    data = people(engine)
    flou.write(data, tmp_path / "whole.parquet", unprotected=True)
    flou.write(data, tmp_path / "parts.parquet", rows_per_part=64, unprotected=True)
    parts = sorted((tmp_path / "parts.parquet").iterdir())
    assert [pl.read_parquet(p).height for p in parts] == [64, 64, 64, 8]
    assert pl.concat([pl.read_parquet(p) for p in parts]).equals(pl.read_parquet(tmp_path / "whole.parquet"))
    assert flou.read(tmp_path / "parts.parquet").n_records == 200


def test_parts_that_divide_evenly_leave_no_empty_file(tmp_path: Path) -> None:
    flou.write(people(), tmp_path / "parts.csv", rows_per_part=100, unprotected=True)
    assert len(list((tmp_path / "parts.csv").iterdir())) == 2


def test_a_folder_of_parts_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "parts.csv").mkdir()
    with pytest.raises(flou.FlouError, match="exists and is not overwritten"):
        flou.write(people(), tmp_path / "parts.csv", rows_per_part=100, overwrite=True, unprotected=True)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "many"])
def test_rows_per_part_is_a_whole_number(wrong: object, tmp_path: Path) -> None:
    with pytest.raises(flou.FlouError, match="rows_per_part"):
        flou.write(people(), tmp_path / "x.csv", rows_per_part=wrong, unprotected=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("parts", [None, 50])
def test_a_stop_in_the_middle_leaves_nothing(parts: int | None, tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "write data" and done:
            raise KeyboardInterrupt

    with listening(stop), pytest.raises(KeyboardInterrupt):
        flou.write(people("polars-lazy"), tmp_path / "x.parquet", rows_per_part=parts, unprotected=True)
    assert list(tmp_path.iterdir()) == []


def test_a_release_without_records_is_written_with_its_columns(tmp_path: Path) -> None:
    frame = rows(3).lazy()
    empty = flou.Microdata(frame.filter(pl.col("age") > 200), **ROLES)
    flou.write(empty, tmp_path / "x.csv", unprotected=True)
    assert (tmp_path / "x.csv").read_text().startswith("region,sex,age,")


@pytest.fixture
def big(tmp_path: Path) -> Iterator[Path]:
    """Rows of some 500 MB in memory."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "big"
    folder.mkdir()
    for part in range(6):
        n = 1_000_000
        frame = pl.DataFrame({"a": rng.integers(0, 50, n), "b": rng.integers(0, 10**9, n), "c": rng.random(n)})
        frame = frame.with_columns(d=pl.col("b").cast(pl.String) + "-a-rather-long-text-that-fills-memory")
        frame.write_parquet(folder / f"{part}.parquet")
    return folder


@pytest.mark.deep("six million records on disk")
def test_a_file_larger_than_the_memory_budget_is_sorted_and_written(big: Path, tmp_path: Path) -> None:
    code = """
import resource, sys, flou
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = flou.read(sys.argv[1], keys=["a"])
flou.write(flou.protect.TopCode("a", at=40).protect(data, secret=1), sys.argv[2])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(big), str(tmp_path / "out.parquet")],
        env={**os.environ, "POLARS_OOC_MEMORY_BUDGET_MB": "150"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = pl.scan_parquet(tmp_path / "out.parquet")
    assert written.select(pl.len()).collect().item() == 6_000_000
    assert written.select(pl.col("a").is_sorted() & (pl.col("a").max() == 40)).collect().item()
    assert int(done.stdout) < 600, "the rows were held in memory"


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pl.DataFrame({"a": ["x", "y", "y"]}).write_parquet(path)
    data = flou.read(path, keys=["a"])
    pl.DataFrame({"a": ["x", "y", "y", "z"]}).write_parquet(path)
    with pytest.raises(DataError, match="changed while it was read"):
        flou.risk.KAnonymity(k=2).measure(data)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_file_that_changes_before_the_release_is_written_is_refused(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pl.DataFrame({"a": ["x", "y", "y"]}).write_parquet(path)
    release = flou.Plan([]).protect(flou.read(path, keys=["a"], engine=engine), secret=1)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="changed while it was read"):
        flou.write(release, tmp_path / "out.parquet", unprotected=True)
    assert not (tmp_path / "out.parquet").exists()


def test_a_file_that_vanishes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a\nx\ny\n")
    data = flou.read(path, keys=["a"])
    path.unlink()
    with pytest.raises(DataError, match="removed while it was read"):
        flou.risk.KAnonymity(k=2).measure(data)


def test_a_file_added_to_a_folder_meanwhile_is_not_read(tmp_path: Path) -> None:
    pl.DataFrame({"a": ["x"]}).write_parquet(tmp_path / "1.parquet")
    data = flou.read(tmp_path, keys=["a"])
    pl.DataFrame({"a": ["y"]}).write_parquet(tmp_path / "2.parquet")
    assert data.key_table(("a",)).n_keys == 1


def test_minus_zero_is_zero_on_every_engine() -> None:
    frame = pl.DataFrame({"a": [0.0, -0.0, 1.0]})
    for engine in ("polars", "polars-lazy", "pandas", "duckdb"):
        data = flou.Microdata(native(frame, engine), keys=["a"])
        assert data.key_table(("a",)).n_keys == 2, engine


def test_rows_that_duckdb_writes_to_disk_are_in_a_private_place(tmp_path: Path) -> None:
    pl.DataFrame({"a": ["x"]}).write_parquet(tmp_path / "people.parquet")
    relation = engines.duckdb.scan_files([str(tmp_path / "people.parquet")])
    ((place,),) = relation.query("rows", "SELECT current_setting('temp_directory')").fetchall()
    assert Path(place).stat().st_mode & 0o777 == 0o700
    assert Path(place).is_relative_to(tempfile.gettempdir())


def test_the_spool_is_private_and_goes_with_the_process(tmp_path: Path) -> None:
    code = """
import sys, pathlib, flou
flou.read(sys.argv[1], engine="duckdb")
spools = list(pathlib.Path(sys.argv[2]).glob("flou-*"))
print(len(spools), oct(spools[0].stat().st_mode & 0o777))
"""
    (tmp_path / "people.csv").write_text("a\nx\ny\n")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "people.csv"), str(temporary)],
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1", "0o700"]
    assert not list(temporary.glob("flou-*"))


def test_a_frame_behind_narwhals_goes_in_as_it_is() -> None:
    assert flou.Microdata(nw.from_native(rows().lazy())).is_lazy


@pytest.mark.xdist_group("spark")
def test_partitions_of_spark_come_in_order(tmp_path: Path) -> None:
    from flou.engine.native import spark

    session = spark.session("spark")
    session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    try:
        frame = rows(20_000)
        data = flou.Microdata(native(frame, "spark"), **ROLES)
        assert len(list(spark.batches(data.public().frame.to_native()))) > 1
        flou.write(data, tmp_path / "spark.parquet", unprotected=True)
    finally:
        session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")
    flou.write(people(frame=frame), tmp_path / "polars.parquet", unprotected=True)
    assert (tmp_path / "spark.parquet").read_bytes() == (tmp_path / "polars.parquet").read_bytes()


@pytest.mark.parametrize("name", ["a b", "50%20", "[x]", "{a,b}", "é#?", "it's", "a*b"])
@pytest.mark.parametrize("engine", ["polars", "duckdb", SPARK])
def test_paths_of_any_name(engine: str, name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    path = folder / f"{name}.parquet"
    pl.DataFrame({"a": ["x", "y"]}).write_parquet(path)
    assert flou.read(path, engine=engine).n_records == 2
    assert flou.read(folder, engine=engine).n_records == 2


def test_the_spool_of_a_process_that_was_told_to_end(tmp_path: Path) -> None:
    """Schedulers send SIGTERM: the copy of the microdata must not outlive the process."""
    temporary = _spooling(tmp_path, signal.SIGTERM)
    assert not list(temporary.glob("flou-*"))


def test_the_spool_of_a_killed_process_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = _spooling(tmp_path, signal.SIGKILL)
    (left,) = temporary.glob("flou-*")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    own = spool.spool_folder()
    assert not left.exists()
    claim.remove_abandoned.cache_clear()
    claim.remove_abandoned(temporary, claim.SPOOL)
    assert own.exists(), "it is in use"


def _spooling(folder: Path, end: signal.Signals) -> Path:
    """Start a command, end it by a signal when its spool is there; the place of the spools."""
    temporary = folder / "tmp"
    temporary.mkdir()
    code = """
import sys, time
from flou.cli import main as command
from flou.engine.spool import spool_folder
def app():
    (spool_folder() / "rows").write_text("secret")
    print("ready", flush=True)
    time.sleep(60)
command.app = app
command.main()
"""
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert len(list(temporary.glob("flou-*/*/rows"))) == 1
        process.send_signal(end)
    return temporary


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_instants_do_not_depend_on_the_zone_of_the_machine(zone: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [dt.datetime(2000, 1, 1, tzinfo=ZoneInfo("Europe/Paris")), None]})
    frame.write_parquet(tmp_path / "in.parquet")
    code = """
import sys, duckdb, flou, polars as pl
for engine in ("polars", "duckdb"):
    data = flou.read("in.parquet", keys=["a"], engine=engine)
    flou.write(data, f"{engine}.csv", unprotected=True)
    flou.write(data, f"{engine}.parquet", unprotected=True)
    print(data.key_table(["a"]).frame["a"].dtype, flou.risk.KAnonymity(k=1).measure(data).joined() is not None)
flou.write(flou.Microdata(duckdb.sql("from 'in.parquet'")), "relation.parquet", unprotected=True)
print(flou.Microdata(pl.read_parquet("in.parquet").to_pandas()).to_frame()["a"].dtype)
"""
    environment = {**os.environ, "TZ": zone}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0] == done.stdout.splitlines()[1]
    assert done.stdout.splitlines()[2] == "datetime64[us, UTC]"
    assert (tmp_path / "polars.csv").read_text() == "a\n1999-12-31T23:00:00.000000+0000\n\n"
    assert (tmp_path / "duckdb.csv").read_bytes() == (tmp_path / "polars.csv").read_bytes()
    assert (tmp_path / "duckdb.parquet").read_bytes() == (tmp_path / "polars.parquet").read_bytes()
    assert (tmp_path / "relation.parquet").read_bytes() == (tmp_path / "polars.parquet").read_bytes()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_figures_are_not_joined_to_another_file(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pl.DataFrame({"a": ["x", "y"]}).write_parquet(path)
    data = flou.read(path, keys=["a"], engine=engine)
    result = flou.risk.KAnonymity(k=2).measure(data)
    pl.DataFrame({"a": ["x", "x", "y"]}).write_parquet(path)
    for use in (result.joined, data.to_frame):
        with pytest.raises(DataError, match="changed while it was read"):
            use()


def test_a_source_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pl.DataFrame({"a": ["x", "y"]}).write_parquet(path)
    with pytest.raises(flou.FlouError, match="is the file that the rows are read from"):
        flou.write(
            flou.read(path), tmp_path / ".." / tmp_path.name / "people.parquet", overwrite=True, unprotected=True
        )
    assert flou.read(path).n_records == 2


@pytest.mark.parametrize("engine", ["polars", "polars-lazy", "duckdb"])
def test_values_are_checked_wherever_the_rows_are(engine: str) -> None:
    frame = native(pl.DataFrame({"s": ["x", "BAD"], "w": [1.0, -2.0]}), engine)
    with pytest.raises(flou.FlouError, match=r"negative in 1 records[\s\S]*declared modalities: 'BAD'"):
        flou.Microdata(frame, sensitive=["s"], modalities={"s": ["x"]}, weight="w")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow"])
def test_parts_are_read_again(suffix: str, tmp_path: Path) -> None:
    flou.write(flou.Microdata(rows(100)), tmp_path / f"out{suffix}", rows_per_part=30, unprotected=True)
    assert flou.read(tmp_path / f"out{suffix}").n_records == 100
