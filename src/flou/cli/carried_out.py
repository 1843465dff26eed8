"""What `flou run` and `flou report` do in the process that works: carry the plan out, write, say what was decided.

The text is made here, where the results are, and printed by the process that was called, once all is in place.
"""

from __future__ import annotations

import pkgutil
import textwrap
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import cast

from flou.cli.show import console, hanging
from flou.decide.verdict import Decision, Verdict
from flou.engine.errors import ParameterError
from flou.engine.note import Note
from flou.engine.plan import Plan
from flou.engine.values import figure_text, settings_text
from flou.engine.words import Words
from flou.job.carry_out import Done, carry_out
from flou.job.folder import fill
from flou.reporting.document import Audience

#: Exit codes of a verdict.
EXIT = {Decision.RELEASE: 0, Decision.REVIEW: 3, Decision.WITHHOLD: 4}
_COLOUR = {Decision.RELEASE: "green", Decision.REVIEW: "yellow", Decision.WITHHOLD: "red"}


def fill_folder(
    path: Path,
    folder: Path,
    out: Path,
    engine: str | None,
    secret: str | None,
    since: str | None,
    replace: bool,
    tell: str,
    keep: bool,
    resume: bool,
) -> tuple[int, str, list[str]]:
    """Carry a plan out into `folder`, which will be `out`.

    Gives the exit code, what is to be printed, and the entries that were kept until now. `tell` names the function that
    prints what was found.
    """
    done = carry_out(Plan.load(path), engine=engine, secret=secret, since=since, keep=keep, resume=resume)
    fill(done, folder, replace=replace)
    with redirect_stdout(StringIO()) as text:
        if done.keeper.continues:
            console().print(done.keeper.continues, soft_wrap=True)
        pkgutil.resolve_name(tell)(done)
        show_verdict(done.verdict)
        _show_places(done, out)
    return EXIT[done.verdict.decision], text.getvalue(), done.keeper.entries()


def draw_report(
    path: Path, out: Path, language: str, audience: str, engine: str | None, secret: str | None
) -> tuple[int, str, str | None]:
    """Carry a plan out and draw its report: the exit code, what is to be printed, and the page where there is one."""
    plan = Plan.load(path)
    Words(language)  # a language that does not exist is refused before the work
    if audience not in ("internal", "public"):
        raise ParameterError(f"--audience {audience} is not known; use internal or public.")
    done = carry_out(plan, engine=engine, secret=secret)
    page = None
    with redirect_stdout(StringIO()) as text:
        show_verdict(done.verdict)
        if audience == "public" and done.verdict.decision is Decision.WITHHOLD:
            console().print("The release is withheld, so there is no public report. Ask for --audience internal.")
        else:
            page = done.report.html(language=language, audience=cast(Audience, audience))
            console().print(f"Report: {out}", soft_wrap=True)
    return EXIT[done.verdict.decision], text.getvalue(), page


def show_done(done: Done) -> None:
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
        screen.print(f"{head}:\n  {figure_text(result.headline.read)} {result.headline.label}")


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


def _show_places(done: Done, out: Path) -> None:
    """Where the report and the released files are."""
    screen = console()
    for language in done.plan.output.languages:
        screen.print(f"Report ({language}): {out / 'internal' / f'report.{language}.html'}", soft_wrap=True)
    if done.verdict.decision is Decision.WITHHOLD:
        screen.print("Nothing was written for the public.")
    elif done.verdict.decision is Decision.REVIEW:
        screen.print(f"To be looked at before it is published: {out / 'public'}", soft_wrap=True)
    else:
        screen.print(f"For the public: {out / 'public'}", soft_wrap=True)
        if done.plan.output.table is not None:
            screen.print(f"Written to the database: {done.plan.output.table}", soft_wrap=True)


def show_verdict(verdict: Verdict) -> None:
    """The decision and its reasons."""
    screen = console()
    screen.print(verdict.decision.name, style=f"bold {_COLOUR[verdict.decision]}")
    for reason in verdict.reasons:
        text = f"{reason.decision.name.lower()}: {reason.text}"
        screen.print(textwrap.fill(text, screen.width, initial_indent="  ", subsequent_indent="    "))
