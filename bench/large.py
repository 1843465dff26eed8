"""k-anonymity on 50 million rows of Parquet: CPU against the bare query, and memory, each in its own process."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from bench.data import KEYS, key_folder
from bench.timing import Line, publish, table

N = 50_000_000

#: What a child prints: CPU seconds, peak resident MB, the number of keys and the smallest frequency.
_CHILD = """
import resource, sys, time
{imports}
started = time.process_time()
{job}
print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, n_keys, smallest)
"""
_OURS = """
found = flou.risk.KAnonymity(k=3).measure(flou.read(sys.argv[1], keys={keys}, engine={engine!r}))
n_keys, smallest = found.n_keys, found.k
"""
_DUCKDB = """
counted = "SELECT count(*) AS n FROM read_parquet('" + sys.argv[1] + "/*.parquet') GROUP BY {names}"
connection = duckdb.connect()
connection.execute("SET enable_progress_bar = false")
n_keys, smallest = connection.sql("SELECT count(*), min(n) FROM (" + counted + ")").fetchall()[0]
"""
_POLARS = """
counted = pl.scan_parquet(sys.argv[1] + "/*.parquet").group_by({keys}).len().collect(engine="streaming")
n_keys, smallest = counted.height, counted["len"].min()
"""
_NAMES = {"keys": KEYS, "names": ", ".join(KEYS)}
_JOBS = {
    "duckdb": ("import flou", _OURS.format(keys=KEYS, engine="duckdb")),
    "polars": ("import flou", _OURS.format(keys=KEYS, engine="polars")),
    "bare duckdb": ("import duckdb", _DUCKDB.format(**_NAMES)),
    "bare polars": ("import polars as pl", _POLARS.format(**_NAMES)),
}


def child(name: str, folder: Path) -> tuple[float, float, str]:
    """CPU seconds, peak resident MB and the figures, as one process found them."""
    imports, job = _JOBS[name]
    code = _CHILD.format(imports=imports, job=job)
    done = subprocess.run([sys.executable, "-c", code, str(folder)], check=True, capture_output=True, text=True)
    cpu, memory, found = done.stdout.strip().split(" ", 2)
    return float(cpu), float(memory), found


def run(folder: Path, repeats: int = 5) -> None:
    source = key_folder(folder, N, 0.0)
    runs: dict[str, list[tuple[float, float, str]]] = {name: [] for name in _JOBS}
    for _ in range(repeats):
        for name, done in runs.items():
            done.append(child(name, source))
    figures = {found for done in runs.values() for _, _, found in done}
    assert len(figures) == 1, figures
    cpu = {name: statistics.median(c for c, _, _ in done) for name, done in runs.items()}
    memory = {name: max(m for _, m, _ in done) for name, done in runs.items()}
    lines = []
    for engine in ("duckdb", "polars"):
        lines.append(Line(f"{N // 10**6} million rows × 6 keys, {engine}", cpu[engine], cpu[f"bare {engine}"], 1.5))
    lines.append(Line("the same, duckdb: peak resident MB", memory["duckdb"], None, 1000.0, " MB"))
    lines.append(Line("the same, polars: peak resident MB", memory["polars"], memory["bare polars"], 1.5))
    publish("large", table("50 million rows of Parquet", "bare query", lines))
