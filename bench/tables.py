"""Tables: tabulating with all margins beside the engine's own grouping sets, cell keys, and their calibration.

The records are drawn here. Figures of ckm and ptable are CPU seconds, measured once on a like machine. The census
frequencies of the calibration are read from `--data` if they are there (census_count_frequencies.csv), else counts of
a like shape are drawn.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

import flou
from bench.timing import Line, alternate, publish, table
from flou.describe.keyed import RECORD_KEY
from flou.describe.mechanism.max_entropy import solve_rows

#: CPU seconds: ckm perturbing 1 million cells; ptable making the matrix of D = 20.
_CKM, _PTABLE = 1.2, 3.0
#: 192 grouping sets: two hierarchies of three and two levels, three flat dimensions.
DIMS = ("region>department>commune", "decade>age", "sex", "activity", "marital")
_LEVELS = (
    ("", "region", "region, department", "region, department, commune"),
    ("", "decade", "decade, age"),
    ("", "sex"),
    ("", "activity"),
    ("", "marital"),
)


def records(n: int, seed: int = 3, communes: int = 1000) -> pl.DataFrame:
    """People by place (communes of very unequal size), age, sex, activity and marital status."""
    rng = np.random.default_rng(seed)
    commune = (rng.beta(1, 3, n) * communes).astype(np.int64)
    age = rng.integers(0, 20, n) * 5
    return pl.DataFrame(
        {
            "pid": np.arange(n) + n * seed,
            "region": commune // 200,
            "department": commune // 25,
            "commune": commune,
            "district": rng.integers(0, 300, n),
            "decade": age // 10,
            "age": age,
            "sex": rng.integers(1, 3, n),
            "activity": rng.integers(0, 8, n),
            "marital": rng.integers(0, 6, n),
        }
    )


def tabulating() -> list[Line]:
    """Tabulate and perturb 10 million records on Polars and on DuckDB, beside DuckDB's grouping sets."""
    keyed = flou.record_keys(flou.Microdata(records(10_000_000), id="pid"), secret=1)
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.register("held", keyed.frame.to_native())
    connection.execute("CREATE TABLE people AS SELECT * FROM held")
    sets = ", ".join(f"({', '.join(level for level in chosen if level)})" for chosen in itertools.product(*_LEVELS))
    names = "region, department, commune, decade, age, sex, activity, marital"
    query = f"SELECT {names}, count(*), sum({RECORD_KEY}) FROM people GROUP BY GROUPING SETS ({sets})"
    in_duckdb = flou.record_keys(
        flou.Microdata(connection.sql(f"SELECT * RENAME ({RECORD_KEY} AS stored) FROM people")), stored="stored"
    )
    protect = flou.protect.CellKey(D=10, V=5, js=2).protect
    ours, on_duckdb, bare = alternate(
        3,
        lambda: protect(keyed.tabulate(DIMS)),
        lambda: protect(in_duckdb.tabulate(DIMS)),
        lambda: connection.sql(query).to_arrow_table(),
    )
    n_cells = keyed.tabulate(DIMS).n_cells
    job = f"tabulate and perturb 10 million records, {n_cells:,} cells"
    return [
        Line(f"{job}, on Polars (reference: DuckDB's grouping sets)", ours, bare, 2.0),
        Line(f"{job}, on DuckDB (reference: the same)", on_duckdb, bare, 2.0),
    ]


def perturbing() -> list[Line]:
    """A million cells: the lookup alone, and the whole step with its proofs."""
    rng = np.random.default_rng(1)
    counts, keys = rng.poisson(4, 1_000_000), rng.integers(0, 2**32, 1_000_000)
    matrix = flou.TransitionMatrix(D=10, V=5, js=2)
    frame = pl.DataFrame({"cell": np.arange(len(counts)), "count": counts, "key": keys})
    cells = flou.Table.from_frame(frame, ["cell"], key="key")
    lookup, step = alternate(
        9,
        lambda: matrix.deviations(counts, keys),
        partial(flou.protect.CellKey(D=10, V=5, js=2).protect, cells),
    )
    return [
        Line("perturb 1 million cells, the lookup (reference: ckm)", lookup, _CKM, round(0.1 / _CKM, 3)),
        Line("perturb 1 million cells, the step with its proofs (reference: ckm)", step, _CKM, round(0.1 / _CKM, 3)),
    ]


def matrices() -> list[Line]:
    """Transition matrices, each solved anew."""

    def made(D: int, V: float, js: int) -> None:
        solve_rows.cache_clear()
        flou.TransitionMatrix(D, V, js)

    wide, narrow = alternate(21, partial(made, 25, 20.0, 4), partial(made, 20, 15.0, 4))
    return [
        Line("transition matrix, D = 25, V = 20, js = 4", wide, None, 0.05, " s"),
        Line(
            "transition matrix, D = 20, V = 15, js = 4 (reference: ptable)", narrow, _PTABLE, round(0.05 / _PTABLE, 3)
        ),
    ]


def calibration(folder: Path) -> list[Line]:
    """The 24 points of Jamme (2025), of which three have no matrix, with every matrix solved anew."""
    path = folder / "census_count_frequencies.csv"
    if path.exists():
        counts = pl.read_csv(path).select("i", "N")
    else:
        i = np.arange(2699)
        counts = pl.DataFrame({"i": i, "N": (2_000_000 / (i + 1) ** 1.6).astype(np.int64) + 1})

    def calibrated() -> object:
        solve_rows.cache_clear()
        return flou.calibrate(
            flou.protect.CellKey,
            on=counts,
            over={"D": [5, 10], "V": [2.5, 5, 10, 15], "js": [0, 2, 4]},
            risk=flou.risk.CountInference(s=5),
            utility=flou.utility.WithinDistance(d=2),
        )

    return [Line("calibration over 24 points", alternate(5, calibrated)[0], None, 2.0, " s")]


_CHILD = """
import sys, time
import flou
started = time.process_time()
people = flou.record_keys(flou.read(sys.argv[1], id="pid", engine=sys.argv[2]), secret=1)
tables = flou.tabulate_many(people, [
    ["region>department>commune", "sex", "decade"], ["district", "sex", "activity"],
    ["region>department|district", "marital", "sex"], ["age", "sex", "marital"],
])
released = flou.protect.CellKey(D=10, V=5, js=2).protect(tables)
# of this process alone: what getrusage says begins with the memory of the one that started it
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.process_time() - started, int(peak.split()[1]) / 1024, tables.n_cells)
"""


def large(folder: Path) -> list[Line]:
    """Record keys, four tables and their noise over 50 million rows of Parquet, each engine in a process of its own."""
    source = folder / "tables-50000000"
    if not source.exists():
        making = folder / ".tables-50000000"
        making.mkdir(parents=True, exist_ok=True)
        for part in range(10):
            records(5_000_000, seed=part, communes=2000).write_parquet(making / f"part-{part:05}.parquet")
        making.rename(source)
    lines = []
    for engine in ("polars", "duckdb"):
        runs = []
        for _ in range(3):
            command = [sys.executable, "-c", _CHILD, str(source), engine]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            runs.append(tuple(map(float, done.stdout.split())))
        cpu, memory = (statistics.median(run[j] for run in runs) for j in (0, 1))
        job = f"keys, 4 tables and noise, 50 million rows of Parquet, {engine}: {cpu:.1f} s CPU; peak memory, GB"
        lines.append(Line(job, memory / 1024, None, 2.0, " GB"))
    return lines


def run(folder: Path) -> None:
    lines = [*perturbing(), *matrices(), *calibration(folder), *tabulating(), *large(folder)]
    publish("tables", table("Tables", "reference", lines))
