"""What the commands print, within 80 columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from flou.engine.values import settings_text

if TYPE_CHECKING:
    from flou.describe.microdata import Microdata
    from flou.describe.overview import LabelledValue, Overview
    from flou.engine.release import Release
    from flou.engine.result import RiskResult


def console() -> Console:
    return Console(highlight=False, markup=False)


def lines_of(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    return table


def show_overview(found: Overview) -> None:
    """One line a column, and the keys."""
    out = console()
    out.print(f"{found.n_records:,} records, {len(found.columns)} columns")
    table = lines_of(
        "column",
        "role",
        "type",
        "distinct",
        "undetermined",
        "n/a",
        numbers=("distinct", "undetermined", "n/a"),
    )
    for c in found.columns:
        counts = (f"{n:,}" for n in (c.n_distinct, c.n_undetermined, c.n_not_applicable))
        table.add_row(c.name, ", ".join(c.roles), c.type, *counts)
    out.print(table)
    _show_labels(found)
    if found.n_keys is not None:
        out.print(
            f"{found.n_keys:,} distinct keys, {found.n_complete_keys:,} of them complete; "
            f"{found.n_possible_keys:,} complete ones are possible"
        )
    else:
        out.print("No keys are declared: say which columns an intruder may know, with --schema or --keys.")
    for remark in found.remarks:
        hanging(out, "Look at this: ", str(remark))


#: Labels of values shown for one column.
_VALUES_SHOWN = 12


def _show_labels(found: Overview) -> None:
    """What columns and values are called, where the file or its schema says so."""
    labelled = [c for c in found.columns if c.label or c.values]
    if not labelled:
        return
    out = console()
    out.print("Labels", style="bold")
    for c in labelled:
        shown = [f"{v.value} {_meaning(v)}" for v in c.values[:_VALUES_SHOWN]]
        if len(c.values) > _VALUES_SHOWN:
            shown.append(f"… ({len(c.values) - _VALUES_SHOWN} more)")
        text = f"{c.name}: {c.label}" + (" — " if c.label and shown else "") + "; ".join(shown)
        out.print(textwrap.fill(text, out.width, initial_indent="  ", subsequent_indent="    "))


def _meaning(value: LabelledValue) -> str:
    label = value.label if value.label != value.value else ""
    if label.casefold() == value.missing:
        return label
    return f"{label} ({value.missing})".strip() if value.missing else label


def show_findings(data: Microdata) -> None:
    """Columns that look as if they named people: no policy releases them until the schema says why."""
    from flou.describe.identifying.scan import scan_of

    out = console()
    for finding in scan_of(data):
        seen = "is named like" if finding.by == "name" else "looks as if it held"
        hanging(out, "Look at this: ", f"the column {finding.column} {seen} {finding.looks_like}")


def show_result(result: RiskResult) -> None:
    """The figures of a measure."""
    console().print(result.summary(), soft_wrap=True)


def show_release(release: Release) -> None:
    """What each step changed and what is guaranteed."""
    out = console()
    for step in release.steps:
        settings = settings_text({n: v for n, v in step.method.shown_settings().items() if v not in ((), [], {})})
        hanging(out, f"{step.number}. ", f"{step.method.name()} {settings}")
        for change in step.changes:
            n = "some" if change.n_changed is None else f"{change.n_changed:,}"
            hanging(out, "   ", f"{change.column}: {n} values changed")
        dropped = step.n_records_before - step.n_records_after
        if dropped:
            hanging(out, "   ", f"{dropped:,} of {step.n_records_before:,} records dropped")
        for note in step.notes:
            hanging(out, "   ", str(note))
    for proof in release.guarantees:
        hanging(out, "Guaranteed: ", str(proof))


def hanging(out: Console, head: str, text: str) -> None:
    """A paragraph whose further lines stand below the first, behind its head."""
    indent = " " * min(len(head), 4)
    out.print(textwrap.fill(text, out.width, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False))
