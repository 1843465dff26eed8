"""The whole example, from 618,000 generated people to the reports: wall seconds in a fresh process."""

from __future__ import annotations

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
    lines = [Line("datasets.apa()", generated, None, 3.0, " s"), Line("flou demo", whole, None, 30.0, " s")]
    publish("demo", table("The example (wall seconds)", "", lines))
