"""The whole example, from 618,000 generated people to the reports: wall seconds and memory of a fresh process."""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import flou
from bench.startup import wall
from bench.timing import Line, publish, table


def run(folder: Path) -> None:
    started = time.perf_counter()
    flou.datasets.apa()
    generated = time.perf_counter() - started
    out = Path(tempfile.mkdtemp()) / "demo"
    whole = wall([str(Path(sys.executable).parent / "flou"), "demo", "--out", str(out), "--replace"], repeats=4)
    shutil.rmtree(out.parent)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
    lines = [
        Line("datasets.apa()", generated, None, 3.0, " s"),
        Line("flou demo", whole, None, 60.0, " s"),
        Line("flou demo: peak memory", peak, None, 4.0, " GB"),
    ]
    publish("demo", table("The example (wall seconds, GB)", "", lines))
