"""k-anonymity on 50 million rows of Parquet: CPU against the bare query, and memory, each in its own process."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from bench.data import KEYS, key_folder
from bench.timing import Line, publish, table

N = 50_000_000

#: What a child prints: CPU seconds, peak resident MB beyond what the imports took, the figure found.
_CHILD = """
import resource, sys, time
{imports}
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
started = time.process_time()
found = {job}
print(time.process_time() - started, peak(), found)
"""

_JOBS = {
    "duckdb": (
        "import flou",
        "flou.risk.KAnonymity(k=3).measure(flou.read(sys.argv[1], keys={keys}, engine='duckdb')).n_at_risk",
    ),
    "polars": (
        "import flou",
        "flou.risk.KAnonymity(k=3).measure(flou.read(sys.argv[1], keys={keys}, engine='polars')).n_at_risk",
    ),
    "bare duckdb": (
        "import duckdb",
        "duckdb.sql(f\"SELECT sum(n) FROM (SELECT count(*) AS n FROM read_parquet('{{sys.argv[1]}}/*.parquet') "
        'GROUP BY {names}) WHERE n < 3").fetchone()[0] or 0',
    ),
    "bare polars": (
        "import polars as pl",
        "pl.scan_parquet(sys.argv[1] + '/*.parquet').group_by({keys}).agg(n=pl.len()).filter(pl.col('n') < 3)"
        ".select(pl.col('n').sum()).collect(engine='streaming').item()",
    ),
}


def child(name: str, folder: Path) -> tuple[float, float, int]:
    """CPU seconds, peak resident MB and the number of records below 3, as one process found them."""
    imports, job = _JOBS[name]
    code = _CHILD.format(imports=imports, job=job.format(keys=KEYS, names=", ".join(KEYS)))
    done = subprocess.run([sys.executable, "-c", code, str(folder)], check=True, capture_output=True, text=True)
    cpu, memory, found = done.stdout.split()
    return float(cpu), float(memory), int(found)


def run(folder: Path, repeats: int = 5) -> None:
    source = key_folder(folder, N, 0.0)
    runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in _JOBS}
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
    for engine in ("duckdb", "polars"):
        lines.append(Line(f"the same, {engine}: peak resident MB", memory[engine], None, 1000.0, " MB"))
    publish("large", table("50 million rows of Parquet", "bare query", lines))
