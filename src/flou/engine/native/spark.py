"""Spark: rows stay on the cluster; only distinct keys and what is written travel to the driver."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import polars as pl

from flou.engine.errors import DataError, MissingExtraError, listed

_MASTER = re.compile(r"spark://([^\s:/,]+):(\d{1,5})")
_PARTITIONS = "spark.sql.shuffle.partitions"
_LOGGING = Path(__file__).parent / "log4j2.properties"
#: Seconds to wait for the master to answer, and for a worker to take the application on.
_ANSWER, _EXECUTOR = 10, 60


def is_master(engine: str) -> bool:
    """Whether an engine's name is the address of a Spark master: `spark://host:7077`."""
    return engine.startswith("spark://")


def columns(frame: Any) -> list[str]:
    names: list[str] = list(frame.columns)
    odd = [n for n in names if "." in n or "`" in n]
    if odd:
        raise DataError(f"Spark takes these column names for paths: {listed(odd)}. Rename them.")
    folded = [n.casefold() for n in names]
    alike = sorted({n for n in names if folded.count(n.casefold()) > 1})
    if alike:
        raise DataError(f"Spark does not tell these columns apart, which differ in case alone: {listed(alike)}.")
    return names


def session(engine: str) -> Any:
    """The session to work in: the one there is, or a new one on the master that `engine` names."""
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("pyspark", "spark") from None
    # the frames that Flou exchanges with Spark are Arrow's, never pandas'
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    # what fails is said once, by the error that Flou raises
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)
    found = SparkSession.getActiveSession()
    if found is None:
        _require_java()
        found = _start(SparkSession.builder, engine)
    elif is_master(engine) and found.sparkContext.master != engine:
        raise DataError(
            f"A Spark session on {found.sparkContext.master!r} is active, so none on {engine!r} can be started: "
            'stop it, or read with engine = "spark" to use it.'
        )
    require_version(found.version, pyspark.__version__)
    return found


def require_version(running: str, expected: str) -> None:
    """Spark of another version may count or order otherwise, and often fails half-way: refused at once."""
    if running.split(".")[:2] != expected.split(".")[:2]:
        raise DataError(
            f"The Spark session runs version {running}, but the package pyspark is {expected}. Install "
            f"pyspark=={running}, or unset SPARK_HOME if it points to another Spark."
        )


def _require_java() -> None:
    """Spark runs on Java; without it its own error is a page of shell output."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not (Path(java).is_file() and os.access(java, os.X_OK)):
        where = f"JAVA_HOME is {home!r}, where there is none" if home else "there is none on the PATH"
        raise DataError(
            f"Spark needs a Java runtime, version 17 or later, but {where}. Install one (on Debian: "
            'default-jre-headless), or use engine = "duckdb", which needs none.'
        )
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(\d+)', told.stderr + told.stdout)
    if told.returncode or version is None or int(version[1]) < 17:
        raise DataError(f"Spark needs Java 17 or later; {java!r} is {version[1] if version else 'not a Java runtime'}.")


def _start(builder: Any, engine: str) -> Any:
    place = tempfile.gettempdir()  # where this process removes what it leaves; Java does not look at TMPDIR
    settings = {
        "spark.app.name": "flou",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} -Djava.io.tmpdir={place}",
    }
    if is_master(engine):
        _require_answer(engine)
        settings["spark.master"] = engine
    elif "SPARK_MASTER" not in os.environ and "SPARK_CONF_DIR" not in os.environ:
        # a session of our own on this machine alone listens to nobody else
        settings |= {"spark.master": "local[*]", "spark.driver.host": "127.0.0.1"}
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.local.dir": place}
    for name, value in settings.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    if is_master(engine):
        _require_executor(started, engine)
    context = started.sparkContext
    if not is_master(engine) and "PYSPARK_PYTHON" not in os.environ:
        # Spark would take the first python3 on the PATH, which is another one where a virtual environment is not active
        context.pythonExec = sys.executable
    if not context.getConf().contains(_PARTITIONS):
        # two hundred pieces, Spark's own default, are for hundreds of cores
        started.conf.set(_PARTITIONS, str(4 * context.defaultParallelism))
    return started


def _require_answer(master: str) -> None:
    address = _MASTER.fullmatch(master)
    if address is None:
        raise DataError(f"{master!r} is not the address of a Spark master: spark://HOST:PORT.")
    try:
        socket.create_connection((address[1], int(address[2])), timeout=_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise DataError(f"No Spark master answers at {master!r} ({error}). Is it started, is the port right?") from None


def _require_executor(started: Any, master: str) -> None:
    """A cluster without a free worker would let the first count wait for ever."""
    context = started.sparkContext
    deadline = time.monotonic() + _EXECUTOR
    while context._jsc.sc().getExecutorMemoryStatus().size() < 2:  # the driver counts for one
        if context._jsc.sc().isStopped() or time.monotonic() > deadline:
            version = started.version
            started.stop()
            raise DataError(
                f"No worker of {master!r} took the work on within {_EXECUTOR} s: all are busy, too small for "
                f"spark.executor.memory, or of another version than Spark {version}."
            )
        time.sleep(0.2)


def scan_parquet(engine: str, files: list[str]) -> Any:
    """Parquet files as a Spark frame; every worker must see them under the same path."""
    # Hadoop takes a path as it is written, not as a URI, except for the signs of its patterns
    paths = [re.sub(r"([{}\[\]*?\\])", r"\\\1", str(Path(f).resolve())) for f in files]
    return session(engine).read.parquet(*(f"file://{path}" for path in paths))


def match(frame: Any, keys: pl.DataFrame, on: list[str], how: Literal["semi", "anti", "left"]) -> Any:
    """Join a small table sent to every worker, null matching null."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    names = {c: f"__flou_key_{i}" for i, c in enumerate(on)}
    # the small table takes the types of the rows: a timestamp may be one with a zone or without
    sent = keys.rename(names).to_arrow()
    shape = _shape(frame, names, frame.sparkSession.createDataFrame(sent.slice(0, 0)).schema)
    small = F.broadcast(frame.sparkSession.createDataFrame(sent, schema=shape))
    condition = [frame[c].eqNullSafe(small[names[c]]) for c in on]
    together = condition[0]
    for further in condition[1:]:
        together = together & further
    return frame.join(small, together, how).drop(*names.values())


def _shape(frame: Any, names: dict[str, str], shape: Any) -> Any:
    """The shape of a small table whose key columns have the types of the rows' own."""
    from pyspark.sql.types import StructField, StructType

    types = {new: frame.schema[old].dataType for old, new in names.items()}
    return StructType([StructField(f.name, types.get(f.name, f.dataType)) for f in shape.fields])


def batches(frame: Any) -> Iterator[pl.DataFrame]:
    """The rows in their order, a partition at a time, so that the driver never holds them all."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as F  # noqa: N812

    held = frame.persist(StorageLevel.DISK_ONLY)
    try:
        sizes = held.groupBy(F.spark_partition_id().alias("part")).count().orderBy("part").collect()
        for row in sizes:
            yield to_polars(held.filter(F.spark_partition_id() == row["part"]))
    finally:
        held.unpersist()


def map_batches(frame: Any, function: Callable[[pl.DataFrame], pl.DataFrame]) -> Any:
    """Change rows on the workers, which need Flou installed; the result has the columns that no rows would give."""
    empty = function(to_polars(frame.limit(0)))
    shape = frame.sparkSession.createDataFrame(empty.to_arrow()).schema

    def changed(held: Iterator[Any]) -> Iterator[Any]:
        for batch in held:
            rows = pl.from_arrow(batch)
            assert isinstance(rows, pl.DataFrame)
            yield from function(rows).to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()

    return frame.mapInArrow(changed, shape)


def to_polars(frame: Any) -> pl.DataFrame:
    rows = pl.from_arrow(frame.toArrow())
    assert isinstance(rows, pl.DataFrame)
    return rows


def reason(error: BaseException) -> str:
    """The line of a failure that says what went wrong; the first one often names a call alone."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    raised = [line for line in lines if re.match(r"[\w.]+(?:Error|Exception): ", line)]
    if raised and "Python worker" in lines[0]:  # what a worker's own Python raised
        absent = raised[-1].startswith("ModuleNotFoundError")
        help_ = ". Install Flou for the workers' Python, or name another in PYSPARK_PYTHON." if absent else ""
        return f"{raised[-1]}{help_}"
    causes = [line for line in lines if re.match(r"\s*(?:Caused by:|: )", line)]
    return re.sub(r"^\s*(?:Caused by:|:)\s*(?:[\w.$]+(?:Exception|Error):\s*)?", "", causes[-1] if causes else lines[0])
