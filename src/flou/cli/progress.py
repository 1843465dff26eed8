"""Progress on the error stream: a bar on a terminal, a line per stage elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from flou.engine.progress import Progress as Callback


@contextmanager
def shown_progress() -> Iterator[Callback]:
    """A callback that shows how far the work is."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        seen: set[str] = set()

        def line(stage: str, done: int, total: int) -> None:
            if stage not in seen:
                seen.add(stage)
                sys.stderr.write(f"… {stage}\n")

        yield line
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("start", total=None)

        def update(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total or None)

        yield update
