"""`flou migrate`, `flou secret` and `flou clean`: what an office needs beside its data."""

from __future__ import annotations

from typing import Annotated, Optional

import typer


def migrate(
    file: Annotated[str, typer.Argument(help="Plan, schema or policy file of a former format; it is rewritten.")],
    period: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--period", help="Of a plan that draws a sample: add [release] with this period."),
    ] = None,
) -> None:
    """Rewrite a file of a former format, and say what its words mean now."""
    from flou.engine.migrate import migrate as rewrite

    changed = rewrite(file, period=period)
    typer.echo(f"{file} has format 2." + (" What its words mean now:" if changed else ""))
    for meaning in changed:
        typer.echo(f"- {meaning}")


def secret(file: Annotated[str, typer.Argument(help="File to write; must not exist.")]) -> None:
    """Make a secret of 256 bits in a file that only you can read."""
    from flou.engine.secret import Secret

    Secret.generate().save(file)
    typer.echo(f"Written: {file}. Keep it safe and out of version control: without it a release cannot be replayed.")


def clean(
    older_than: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option("--older-than", min=0, help="Remove only what was kept so many days ago, or earlier."),
    ] = None,
) -> None:
    """Remove what runs that failed or were killed have kept for `flou run --resume`."""
    from flou.job.store.place import clean as remove

    n_entries, megabytes = remove(older_than)
    what = "entry was" if n_entries == 1 else "entries were"
    typer.echo(f"{n_entries:,} {what} removed, {megabytes:,.1f} MB.")
