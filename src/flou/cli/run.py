"""`flou run` and `flou report`: progress on the way, the verdict and where things are at the end."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from flou.cli.show import console, hanging
from flou.decide.verdict import Decision, Verdict
from flou.engine.errors import Interrupted, OutputError, ParameterError
from flou.engine.note import Note
from flou.engine.plan import Plan
from flou.engine.progress import Progress as Callback
from flou.engine.values import figure_text, settings_text
from flou.engine.words import Words
from flou.job.carry_out import Done, carry_out
from flou.job.folder import require_free, write_folder
from flou.reporting.document import Audience

#: Exit codes of a verdict.
EXIT = {Decision.RELEASE: 0, Decision.REVIEW: 3, Decision.WITHHOLD: 4}
_COLOUR = {Decision.RELEASE: "green", Decision.REVIEW: "yellow", Decision.WITHHOLD: "red"}


def run_plan(
    path: Path,
    out: Path,
    *,
    engine: str | None = None,
    secret: str | None = None,
    replace: bool = False,
    since: str | None = None,
    tell: Callable[[Done], None] | None = None,
) -> int:
    """Carry a plan out, write its folder, say what was decided; the exit code is the verdict.

    `tell` says what was found in its own way, instead of the list of results.
    """
    plan = Plan.load(path)
    require_free(out, replace=replace)
    with shown_progress() as progress:
        done = carry_out(plan, engine=engine, secret=secret, since=since, progress=progress)
        write_folder(done, out, replace=replace, progress=progress)
    screen = console()
    (tell or _show_done)(done)
    show_verdict(done.verdict)
    for language in plan.output.languages:
        screen.print(f"Report ({language}): {out / 'internal' / f'report.{language}.html'}", soft_wrap=True)
    if done.verdict.decision is Decision.WITHHOLD:
        screen.print("Nothing was written for the public.")
    elif done.verdict.decision is Decision.REVIEW:
        screen.print(f"To be looked at before it is published: {out / 'public'}", soft_wrap=True)
    else:
        screen.print(f"For the public: {out / 'public'}", soft_wrap=True)
        if plan.output.table is not None:
            screen.print(f"Written to the database: {plan.output.table}", soft_wrap=True)
    return EXIT[done.verdict.decision]


def _show_done(done: Done) -> None:
    """What each step has to say, and each result."""
    screen = console()
    screen.print(f"{done.original.n_records:,} records in, {_size(done)}")
    for step in done.release.steps:
        for note in step.notes:
            hanging(screen, f"{step.method.name()}: ", str(note))
    _show_changes(done.changed)
    for result in done.results:
        settings = settings_text(result.measured_with)
        head = f"{result.method}{f' ({settings})' if settings else ''} on the {result.measured_on}"
        screen.print(f"{head}:\n  {figure_text(result.headline)} {result.value_label}")


def _size(done: Done) -> str:
    """How large the release is, as it would be published."""
    data = done.release.data
    if not done.plan.tables:
        return f"{data.n_records:,} in the release"
    n_tables = len(done.plan.tables)
    return f"{data.public().n_cells:,} published cells in {n_tables} {'table' if n_tables == 1 else 'tables'}"


def _show_changes(changed: Sequence[Note] | None) -> None:
    """What is different from the file of a former run."""
    if changed is None:
        return
    screen = console()
    screen.print("Changed since the former file:" if changed else "Nothing changed since the former file.")
    for note in changed:
        screen.print(textwrap.fill(str(note), screen.width, initial_indent="  ", subsequent_indent="    "))


def report_plan(path: Path, out: Path, *, language: str, audience: str, engine: str | None, secret: str | None) -> int:
    """Carry a plan out and write its report; the exit code is the verdict."""
    plan = Plan.load(path)
    Words(language)  # a language that does not exist is refused before the work
    if audience not in ("internal", "public"):
        raise ParameterError(f"--audience {audience} is not known; use internal or public.")
    if out.exists():
        raise OutputError(f"{str(out)!r} exists and is not overwritten. Choose another --out.")
    with shown_progress() as progress:
        done = carry_out(plan, engine=engine, secret=secret, progress=progress)
    if audience == "public" and done.verdict.decision is Decision.WITHHOLD:
        show_verdict(done.verdict)
        console().print("The release is withheld, so there is no public report. Ask for --audience internal.")
        return EXIT[done.verdict.decision]
    done.report.save(out, language=language, audience=cast(Audience, audience))
    show_verdict(done.verdict)
    console().print(f"Report: {out}", soft_wrap=True)
    return EXIT[done.verdict.decision]


def show_verdict(verdict: Verdict) -> None:
    """The decision and its reasons."""
    screen = console()
    screen.print(verdict.decision.name, style=f"bold {_COLOUR[verdict.decision]}")
    for reason in verdict.reasons:
        text = f"{reason.decision.name.lower()}: {reason.text}"
        screen.print(textwrap.fill(text, screen.width, initial_indent="  ", subsequent_indent="    "))


@contextmanager
def shown_progress() -> Iterator[Callback]:
    """Progress on the error stream; Ctrl-C becomes an error of ours, which the frame around us does not swallow."""
    try:
        with _bar_or_lines() as callback:
            yield callback
    except KeyboardInterrupt:
        raise Interrupted("Interrupted; nothing was written.") from None


@contextmanager
def _bar_or_lines() -> Iterator[Callback]:
    """A bar on a terminal, one line a stage elsewhere."""
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
