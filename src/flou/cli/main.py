"""The command `flou`. Errors are one clear paragraph, never a traceback.

Exit codes: 0 released (or done), 2 bad input, 3 to be reviewed, 4 withheld, 1 a fault of Flou's own; 128 and the
number of the signal where it was asked to end: 130 by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, cast

import typer
from typer.core import TyperGroup

from flou._version import __version__
from flou.cli.arguments import (
    METHOD_OPTIONS,
    Against,
    AnsweringTo,
    Decimal,
    Delimiter,
    Encoding,
    EngineName,
    Keys,
    Memory,
    OfStage,
    OnData,
    PlanFile,
    SaveSchema,
    SchemaFile,
    SecretFile,
    SensitiveColumns,
    Sheet,
    Since,
    Source,
    Table,
)
from flou.cli.office_commands import clean, migrate, secret
from flou.cli.table_commands import calibrate, table
from flou.engine.errors import FlouError, Interrupted

if TYPE_CHECKING:
    from flou.engine.measure import RiskMeasure
    from flou.engine.protection import Protection

BAD_INPUT, FAULT = 2, 1


class _AskedToEnd(BaseException):
    """A signal asks the process to end; everything on the way is cleaned up, as after any error."""

    def __init__(self, number: int) -> None:
        self.number = number


class _CtrlC(KeyboardInterrupt):
    """Ctrl-C. Python ends itself by the signal where its own KeyboardInterrupt came while a text was compiled."""


class _Commands(TyperGroup):
    """The commands; Ctrl-C is an error of ours, which the frame around us does not swallow."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _heard():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _heard():
            return super().invoke(ctx)


@contextmanager
def _heard() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("Interrupted; nothing was written.") from None


app = typer.Typer(
    name="flou",
    cls=_Commands,
    help="Statistical disclosure control: publish the statistics, not the people.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Statistical disclosure control: publish the statistics, not the people."""
    if show:
        typer.echo(f"flou {__version__}")
        raise typer.Exit()


@app.command()
def describe(
    source: Source,
    schema: SchemaFile = None,
    keys: Keys = None,
    engine: EngineName = None,
    table: Table = None,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    save_schema: SaveSchema = None,
) -> None:
    """Say what a file is: columns, roles, types, missing values, keys."""
    from flou.cli.data import DataSource, load
    from flou.cli.show import show_findings, show_overview
    from flou.describe.overview import draft_schema

    where = DataSource(source, schema, engine, table, sheet, delimiter, encoding, decimal)
    data = load(where, keys)
    show_overview(data.describe())
    show_findings(data)
    if save_schema is not None:
        draft_schema(data).save(save_schema)
        typer.echo(f"Written: {save_schema}. Give each column its role: key, sensitive, identifier, id, weight, …")


@app.command(context_settings=METHOD_OPTIONS)
def risk(
    context: typer.Context,
    source: Source,
    schema: SchemaFile = None,
    method: Annotated[
        str, typer.Option("--method", help="Risk measure; see `flou methods`. Default: an assessment by attack.")
    ] = "attack_map",
    keys: Keys = None,
    sensitive: SensitiveColumns = None,
    against: Against = None,
    engine: EngineName = None,
    table: Table = None,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
) -> None:
    """Assess a file attack by attack, or measure one risk. Parameters are options: --k 3 --missing orthodox."""
    from flou.cli.data import DataSource, load, load_against
    from flou.cli.options import method_from_options
    from flou.cli.show import show_result

    measure = cast("RiskMeasure", method_from_options("measure", method, context.args))
    where = DataSource(source, schema, engine, table, sheet, delimiter, encoding, decimal)
    data = load(where, keys, sensitive)
    other = None if against is None else load_against(against, where, data, measure)
    show_result(measure.measure(data, against=other))


@app.command(context_settings=METHOD_OPTIONS)
def protect(
    context: typer.Context,
    source: Source,
    method: Annotated[str, typer.Option("--method", help="Protection; see `flou methods`.")],
    schema: SchemaFile = None,
    out: Annotated[Optional[str], typer.Option("--out", help="Write the protected file here.")] = None,  # noqa: UP045
    unprotected: Annotated[
        bool, typer.Option("--unprotected", help="Let --out write records that are as they came, or that name people.")
    ] = False,
    secret: SecretFile = None,
    keys: Keys = None,
    engine: EngineName = None,
    table: Table = None,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
) -> None:
    """Apply one protection. Its parameters are options: --method recode --column age --level 1."""
    from flou.cli.data import DataSource, load
    from flou.cli.options import method_from_options
    from flou.cli.show import show_findings, show_release
    from flou.cli.written import write_protected
    from flou.describe.files import require_writable
    from flou.job.source import find_secret

    protection = cast("Protection", method_from_options("protect", method, context.args))
    if out is not None:
        require_writable(out)
    key = find_secret(secret)
    where = DataSource(source, schema, engine, table, sheet, delimiter, encoding, decimal)
    data = load(where, keys)
    release = protection.protect(data, secret=key)
    show_release(release)
    show_findings(release.data)
    if out is not None:
        written = write_protected(release.data, out, unprotected=unprotected)
        typer.echo(f"Written: {written} (no policy has judged it; for the office alone)")


app.command(context_settings=METHOD_OPTIONS)(table)
app.command()(calibrate)


@app.command()
def run(
    plan: PlanFile,
    out: Annotated[str, typer.Option("--out", help="Folder to write; must not exist.")],
    engine: EngineName = None,
    secret: SecretFile = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the folder of a former run.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from what an earlier run has kept.")] = False,
    since: Since = None,
    memory: Memory = None,
) -> None:
    """Carry a plan out and write DIR/public and DIR/internal."""
    from flou.cli.run import run_plan

    code = run_plan(
        Path(plan), Path(out), engine=engine, secret=secret, replace=replace, since=since, memory=memory, resume=resume
    )
    raise typer.Exit(code)


@app.command()
def report(
    plan: PlanFile,
    out: Annotated[str, typer.Option("--out", help="HTML file to write.")],
    language: Annotated[str, typer.Option("--language", help="en or fr.")] = "en",
    audience: Annotated[str, typer.Option("--audience", help="internal or public.")] = "internal",
    engine: EngineName = None,
    secret: SecretFile = None,
    memory: Memory = None,
) -> None:
    """Carry a plan out and write its report alone, no data."""
    from flou.cli.run import report_plan

    raise typer.Exit(
        report_plan(
            Path(plan), Path(out), language=language, audience=audience, engine=engine, secret=secret, memory=memory
        )
    )


@app.command()
def methods(
    name: Annotated[Optional[str], typer.Argument(help="Explain this method.")] = None,  # noqa: UP045
    stage: OfStage = None,
    data: OnData = None,
    answers: AnsweringTo = None,
) -> None:
    """List the methods, or explain one."""
    from flou.cli.show_methods import show_method, show_methods

    if name is None:
        show_methods(stage=stage, data=data, answers=answers)
    else:
        show_method(name)


@app.command()
def schema() -> None:
    """Print the JSON Schema of plan files, for editors."""
    import json

    from flou.engine.plan_schema import plan_schema

    typer.echo(json.dumps(plan_schema(), indent=2, ensure_ascii=False))


for command in (migrate, secret, clean):
    app.command()(command)


@app.command()
def demo(
    out: Annotated[str, typer.Option("--out", help="Folder to write.")] = "flou-demo",
    replace: Annotated[bool, typer.Option("--replace", help="Replace the folder of a former run.")] = False,
) -> None:
    """Run the example: 618,000 synthetic beneficiaries, from file to a half sample, with the paper's figures beside."""
    from flou.cli.run import run_plan
    from flou.job.example import example_plan

    told = "flou.cli.demo:tell_story"
    raise typer.Exit(run_plan(example_plan("apa"), Path(out), replace=replace, keep=False, tell=told))


def main() -> None:
    """Entry point: every error of the user's becomes one paragraph and exit code 2."""
    warnings.showwarning = lambda message, *_: _say(str(message))
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` asks not to hear it
            signal.signal(number, _end)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        app()
    except Interrupted:
        _say("Interrupted; nothing was written.")
        sys.exit(130)
    except _AskedToEnd as asked:
        _say(f"Asked to end ({signal.Signals(asked.number).name}); nothing was written.")
        sys.exit(128 + asked.number)
    except FlouError as error:
        _say(str(error))
        sys.exit(BAD_INPUT)
    except BaseException as error:
        # the last line of defence: never a traceback, not even for a panic of Polars, which is no Exception
        if isinstance(error, SystemExit) or os.environ.get("FLOU_DEBUG"):
            raise
        _say(
            f"Flou failed in a way it did not foresee ({type(error).__name__}: {error}). "
            "Run again with FLOU_DEBUG=1 for details."
        )
        sys.exit(FAULT)


def _end(number: int, frame: object) -> None:
    raise _AskedToEnd(number)


def _interrupt(number: int, frame: object) -> None:
    raise _CtrlC


def _say(message: str) -> None:
    typer.echo(f"flou: {message}", err=True)
