"""`flou calibrate`: which parameters of the noise keep the risk under a limit at the least loss, and the two charts."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table as Lines

from flou.cli.carried_out import EXIT
from flou.cli.data import DataSource, load
from flou.cli.progress import shown_progress
from flou.cli.show import console, hanging
from flou.cli.tables import Asked
from flou.decide.verdict import Decision
from flou.engine import native, registry
from flou.engine.errors import OutputError, ParameterError
from flou.engine.output import checked_path, require_new, written_whole
from flou.engine.parsing import Unparsable, parsed_toml
from flou.engine.table_steps import works_on_tables
from flou.engine.values import plain_text
from flou.engine.words import Words

if TYPE_CHECKING:
    from flou.decide.calibration.calibration import Calibration, Point

#: More points than this, and only those on the frontier are listed.
_MOST_POINTS = 30


def calibrate_noise(
    where: DataSource,
    asked: Asked | None,
    *,
    method: str,
    over: list[str],
    s: int,
    within: int,
    limit: float | None,
    out: str | None,
    language: str,
) -> None:
    """Measure every point, show them, draw them."""
    import flou
    from flou.risk.table.count_inference import CountInference
    from flou.utility.table.within_distance import WithinDistance

    words, target = Words(language), None if out is None else _page(out)
    protection = registry.find("protect", method.replace("-", "_"))
    if not works_on_tables(protection):
        raise ParameterError(f"--method {method} works on records: calibrate a protection of tables, such as cell_key.")
    grid = dict(_values(text) for text in over)
    if len(grid) < len(over):
        raise ParameterError("--over names a parameter twice: give all of its values at once, --over 'D=5,10'.")
    risk, utility = CountInference(s=s), WithinDistance(d=within)
    tabulation = None if asked is None else asked.tabulation()
    with shown_progress() as progress:
        data = load(where, None)
        on: Any = native.collect(data.frame) if tabulation is None else data.tabulate(**tabulation.options())
        found = flou.calibrate(protection, on=on, over=grid, risk=risk, utility=utility, limit=limit, progress=progress)
    _show(found)
    if target is not None:
        with written_whole(target) as file:
            file.write(_html(found, words).encode())
        console().print(f"Written: {out}", soft_wrap=True)
    if limit is not None and found.chosen is None:
        raise typer.Exit(EXIT[Decision.REVIEW])


def _values(text: str) -> tuple[str, list[Any]]:
    """`D=5,10` as a name and the values to try."""
    name, equals, values = text.partition("=")
    try:
        held = parsed_toml(f"values = [{values}]")["values"] if equals else []
    except Unparsable:
        held = []
    if not name.strip() or not held:
        raise ParameterError(f'--over {text!r} should be a parameter and values to try: --over "D=5,10".')
    return name.strip(), held


def _page(out: str) -> Path:
    target = checked_path(out, "A page to write", OutputError)
    if target.suffix.lower() != ".html":
        raise ParameterError(f"--out {out} should end in .html: a page with the charts.")
    require_new(target)
    if not target.parent.is_dir():
        raise OutputError(f"The folder {str(target.parent)!r} does not exist; make it first.")
    return target


def _show(found: Calibration) -> None:
    screen, frontier = console(), set(map(id, found.frontier))
    feasible = [p for p in found.points if p.feasible]
    listed = feasible if len(feasible) <= _MOST_POINTS else list(found.frontier)
    lines = Lines(box=None, pad_edge=False, header_style="bold")
    zeros = ("told", "empty") if found.on_tables else ()
    for name in (*found.names, "risk", "worst", "utility", *zeros, ""):
        lines.add_column(name, justify="left" if name == "" else "right")
    for point in listed:
        lines.add_row(
            *(plain_text(point.parameters[n]) for n in found.names),
            *_figures(point, zeros),
            _mark(point, found, frontier),
        )
    screen.print(lines, width=min(screen.width, 80))
    refused = len(found.points) - len(feasible)
    if refused:
        reason = next(p.reason for p in found.points if not p.feasible)
        hanging(screen, f"{refused} cannot be built: ", reason)
    for line in found.summary().splitlines():
        hanging(screen, "", line.strip())


def _figures(point: Point, zeros: tuple[str, ...]) -> list[str]:
    shown = [(point.risk, 3), (point.worst, 3), (point.utility, 3)]
    shown += [(getattr(point, name), digits) for name, digits in zip(zeros, (0, 3), strict=False)]
    return ["–" if x is None else f"{x:,.{digits}f}" for x, digits in shown]


def _mark(point: Point, found: Calibration, frontier: set[int]) -> str:
    return "chosen" if point is found.chosen else "frontier" if id(point) in frontier else ""


def _html(found: Calibration, words: Words) -> str:
    """A page with both charts; it holds no script and loads nothing."""
    from flou.engine.charts import to_svg

    title = escape(words("disclosure risk") + " / " + words("utility"))
    charts = "\n".join(
        f"<figure>{to_svg(found.plot(words.language, kind=kind))}</figure>" for kind in ("frontier", "priors")
    )
    return (
        f'<!doctype html>\n<html lang="{words.language}"><head><meta charset="utf-8"><title>{title}</title>'
        "<style>body { font-family: sans-serif; max-width: 60rem; margin: 2rem auto } svg { overflow: visible }</style>"
        "</head>\n"
        f"<body>\n{charts}\n</body></html>\n"
    )
