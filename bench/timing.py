"""Ratios in one run: ours and the reference alternate, warm, and medians of CPU time are compared."""

from __future__ import annotations

import platform
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Line:
    """One comparison: CPU seconds (medians), the ratio, and the bound it should stay under."""

    job: str
    ours: float
    reference: float | None
    bound: float
    unit: str = "×"

    @property
    def ratio(self) -> float:
        return self.ours / self.reference if self.reference else self.ours

    @property
    def met(self) -> bool:
        return self.ratio <= self.bound


def alternate(repeats: int, *jobs: Callable[[], object]) -> list[float]:
    """Median CPU seconds of each job, run in turn so that noise falls on all alike; one warm-up each."""
    for job in jobs:
        job()
    spent: list[list[float]] = [[] for _ in jobs]
    for _ in range(repeats):
        for times, job in zip(spent, jobs, strict=True):
            started = time.process_time()
            job()
            times.append(time.process_time() - started)
    return [statistics.median(times) for times in spent]


def table(title: str, reference: str, lines: list[Line]) -> str:
    """The results as a Markdown table."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = [
        f"## {title}",
        "",
        f"CPU seconds, medians, warm, in one run; {platform.python_implementation()} {platform.python_version()}; "
        f"peak memory of the run {peak:,.0f} MB.",
        "",
        f"| job | Flou | {reference} | ratio | bound | |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for line in lines:
        peer = "" if line.reference is None else f"{line.reference:.3f}"
        rows.append(
            f"| {line.job} | {line.ours:.3f} | {peer} | {line.ratio:.2f}{line.unit} | {line.bound}{line.unit} "
            f"| {'met' if line.met else 'missed'} |"
        )
    return "\n".join(rows) + "\n"


def publish(name: str, text: str) -> None:
    """Print a table and save it."""
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
