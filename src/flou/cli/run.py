"""`flou run` and `flou report`: the work in a process of its own, progress on the way, the verdict at the end.

This process loads none of the libraries that work: it is there at once, and hears at once that it should end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flou.cli.progress import shown_progress
from flou.engine.errors import FlouError, OutputError, ParameterError
from flou.engine.output import PRIVATE, PUBLIC, checked_path, require_new, written_whole
from flou.engine.progress import Progress
from flou.job.signals import undisturbed
from flou.job.store import place
from flou.job.target import claimed
from flou.job.worker import work


def run_plan(
    path: Path,
    out: Path,
    *,
    engine: str | None = None,
    secret: str | None = None,
    replace: bool = False,
    since: str | None = None,
    memory: int | None = None,
    keep: bool = True,
    resume: bool = False,
    tell: str = "flou.cli.carried_out:show_done",
) -> int:
    """Carry a plan out, write its folder, say what was decided; the exit code is the verdict.

    `keep` keeps what comes of it until the folder is there, and `resume` goes on from what an earlier run has kept.
    `tell` names the function, `module:name`, that prints what was found.
    """
    with claimed(out, replace=replace) as target:
        with shown_progress() as progress, _resumable() as noticed:
            code, said, kept = work(
                "flou.cli.carried_out:fill_folder",
                path, target.new, out, engine, secret, since, replace, tell, keep, resume,
                progress=noticed(progress), memory=_memory(memory),
            )  # fmt: skip
        with undisturbed():
            target.put_in_place()
            place.forget(kept)
            sys.stdout.write(said)
    return int(code)


@contextmanager
def _resumable() -> Iterator[Callable[[Progress], Progress]]:
    """Add to an error, where something was kept, that `--resume` continues from there.

    What the block gets makes a progress of one that need not know what is kept.
    """
    kept = False

    def noticed(progress: Progress) -> Progress:
        def heard(stage: str, done: int, total: int) -> None:
            nonlocal kept
            if stage == place.KEPT:
                kept = True
            else:
                progress(stage, done, total)

        return heard

    try:
        yield noticed
    except FlouError as error:
        if kept and error.args:
            more = "What was computed before is kept: the same command with --resume goes on from there."
            error.args = (f"{error.args[0]} {more}", *error.args[1:])
        raise


def report_plan(
    path: Path,
    out: Path,
    *,
    language: str,
    audience: str,
    engine: str | None,
    secret: str | None,
    memory: int | None = None,
) -> int:
    """Carry a plan out and write its report; the exit code is the verdict."""
    require_new(checked_path(out, "--out", OutputError))
    if not out.parent.is_dir():
        raise OutputError(f"The folder {str(out.parent)!r} does not exist; make it first.")
    with shown_progress() as progress:
        code, said, page = work(
            "flou.cli.carried_out:draw_report",
            path,
            out,
            language,
            audience,
            engine,
            secret,
            progress=progress,
            memory=_memory(memory),
        )
    with undisturbed():
        if page is not None:
            with written_whole(out, mode=PUBLIC if audience == "public" else PRIVATE) as file:
                file.write(page.encode())
        sys.stdout.write(said)
    return int(code)


def _memory(given: int | None) -> int | None:
    """The limit in megabytes: the option, else the variable."""
    text = os.environ.get("FLOU_MEMORY")
    if given is not None or not text:
        return given
    if not text.isascii() or not text.isdigit():
        raise ParameterError(f"FLOU_MEMORY = {text!r} must be a whole number of megabytes.")
    return int(text)
