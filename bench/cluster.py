"""k-anonymity on a Spark cluster of two workers on this machine: the same figures as DuckDB, and the time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from tests.spark_cluster import SparkCluster

import flou
from bench.data import KEYS, key_folder
from bench.timing import Line, publish, table

N = 10_000_000

_CHILD = """
import json, sys, time
import flou
keys = json.loads(sys.argv[3])
started = time.perf_counter()
from flou.engine.native import spark
spark.session(sys.argv[2])
session = time.perf_counter() - started
spent = []
for _ in range(3):
    started = time.perf_counter()
    found = flou.risk.KAnonymity(k=3).measure(flou.read(sys.argv[1], keys=keys, engine=sys.argv[2]))
    spent.append(time.perf_counter() - started)
print(json.dumps([session, sorted(spent)[1], dict(found.figures), found._by_key.rows()]))
"""


def run(folder: Path) -> None:
    source = key_folder(folder, N, 0.02)
    started = time.perf_counter()
    expected = flou.risk.KAnonymity(k=3).measure(flou.read(source, keys=KEYS, engine="duckdb"))
    duckdb = time.perf_counter() - started
    with SparkCluster() as cluster:
        command = [sys.executable, "-c", _CHILD, str(source), cluster.master, json.dumps(KEYS)]
        done = subprocess.run(command, env=cluster.environment(), check=True, capture_output=True, text=True)
    session, spent, figures, keys = json.loads(done.stdout)
    assert figures == dict(expected.figures)
    assert [tuple(row) for row in keys] == expected._by_key.rows()
    lines = [
        Line("session on the cluster (wall)", session, None, 60.0, " s"),
        Line(f"{N // 10**6} million rows × 6 keys, 2% nulls (wall), beside DuckDB", spent, duckdb, 100.0),
    ]
    title = "Spark on a master and two workers (wall seconds): identical figures, key by key"
    publish("cluster", table(title, "DuckDB", lines))
