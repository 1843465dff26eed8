"""How long it takes before anything happens: wall seconds in a fresh process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.timing import Line, publish, table


def wall(command: list[str], repeats: int = 7) -> float:
    spent = []
    for _ in range(repeats):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        spent.append(time.perf_counter() - started)
    return statistics.median(spent[1:])


def run(folder: Path) -> None:
    python = wall([sys.executable, "-c", "pass"])
    lines = [
        Line("import flou", wall([sys.executable, "-c", "import flou"]) - python, None, 0.5, " s"),
        Line("flou --help", wall([str(Path(sys.executable).parent / "flou"), "--help"]), None, 1.0, " s"),
    ]
    publish("startup", table("Start-up (wall seconds)", "", lines))
