"""Deductions: the office reads how many cells an intruder computes, which intruder, and the bounds.

The public reads that the table was attacked and that nothing came of it; neither how many intruders were tried, which
would tell how many contributors are alone in a cell, nor which cells are sensitive.
"""

from __future__ import annotations

import math
from typing import Any

from flou.attack.results.cells import CellsResult
from flou.reporting.reader import Reader
from flou.reporting.sections.section import Listing, Shown, draw

#: Findings that a page lists, and suppressed cells up to which bounds are computed for a chart.
_MOST_FINDINGS, _MOST_DRAWN = 20, 2000


def proof(result: CellsResult, reader: Reader) -> Shown | None:
    """What an attack that deduces comes to; the public is told of it only that nothing came of it."""
    words, safe = reader.words, result.safe()
    if not reader.is_told(result.method) or (reader.public and not safe):
        return None
    sentence = words("Audited: no suppressed cell can be computed more closely than the rules allow.")
    if not safe:
        sentence = words(
            "{n} of {all} sensitive cells can be computed: {exact} exactly, {narrow} more closely than is allowed.",
            n=result.n_exact + result.n_narrow,
            all=result.n_sensitive,
            exact=result.n_exact,
            narrow=result.n_narrow,
        )
    if reader.public:
        return Shown(result, sentence)
    rows = [(words(result.value_label), [words.share(result.value)])]
    rows += [(words(figure.label), [_number(figure.value, reader)]) for figure in result.figures.held]
    charts = draw(result, reader) if result.n_sensitive and result.n_suppressed <= _MOST_DRAWN else []
    return Shown(result, sentence, rows, reader.notes(result.notes), charts, _findings(result, reader))


def _findings(result: CellsResult, reader: Reader) -> list[Listing]:
    """The first disclosed cells: who computes what; and how many more there are."""
    if result.case is None or result.safe():
        return []
    words, found, names = reader.words, result.audit.findings, result.case.table.labels()
    header = [words("cell"), words("computed by"), words("least"), words("most"), words("needed"), words("disclosed")]
    kinds = {"exact": words("exactly"), "narrow": words("too closely")}
    rows = [
        [
            " × ".join(map(str, names.row(row["cell"]))),
            _by(row["by"], reader),
            _number(row["low"], reader),
            _number(row["high"], reader),
            _needed(row["needed_low"], row["needed_high"], reader),
            kinds[row["kind"]],
        ]
        for row in found.head(_MOST_FINDINGS).iter_rows(named=True)
    ]
    return [Listing([(name, False) for name in header], rows, n_more=max(0, found.height - _MOST_FINDINGS))]


def _number(value: Any, reader: Reader) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    return reader.words.number(round(value, 6))


def _by(who: str, reader: Reader) -> str:
    cell = who.removeprefix("who is alone in ")
    return reader.words("an outsider") if cell == who else reader.words("who is alone in {cell}", cell=cell)


def _needed(low: float | None, high: float | None, reader: Reader) -> str:
    ends = [None if end is None else _number(end, reader) for end in (low, high)]
    if ends[0] is None or ends[1] is None:
        return f"≥ {ends[1]}" if ends[1] is not None else f"≤ {ends[0]}"
    return f"{ends[0]} – {ends[1]}"
