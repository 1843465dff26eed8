"""A table with suppressed cells, made by hand: firms by region, department and sector, with their turnover."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import flou
from flou.describe.table.cells import Published
from flou.describe.table.suppression import Audit, State, Suppression

#: region, department, sector, the turnover of each firm
FIRMS: list[tuple[str, str, str, list[float]]] = [
    ("North", "59", "food", [40.5, 31.0, 22.0, 10.0, 9.0, 8.0]),
    ("North", "59", "wood", [777.25, 3.5]),
    ("North", "62", "food", [12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0]),
    ("North", "62", "wood", [21.0, 20.0, 19.0, 18.0, 17.0]),
    ("South", "13", "food", [66.0, 55.0, 44.0, 33.0, 22.0]),
    ("South", "13", "wood", [15.0, 14.0, 13.0, 12.0, 11.0]),
    ("South", "13", "silk", [991.125]),
]
#: The cells that are withheld: primary by a rule or two, and what each secondary one protects.
PRIMARY = {("North", "59", "wood"): (0, 1), ("South", "13", "silk"): (0,)}
SECONDARY = {
    ("North", "59", "food"): ("North", "59", "wood"),
    ("North", "62", "food"): ("North", "59", "wood"),
    ("North", "62", "wood"): ("North", "59", "wood"),
    ("South", "Total", "silk"): ("South", "13", "silk"),
    ("Total", "Total", "silk"): ("South", "13", "silk"),
    ("South", "13", "food"): ("South", "13", "silk"),
    ("South", "Total", "food"): ("South", "13", "silk"),
    ("Total", "Total", "food"): ("South", "13", "silk"),
}
REASONS = ("threshold (3)", "p% (10)")
NOTHING = pl.DataFrame({"cell": [], "by": []})


def firms(**more: Any) -> flou.Microdata:
    rows = [(r, d, s, amount) for r, d, s, amounts in FIRMS for amount in amounts]
    frame = pl.DataFrame(rows, schema=["region", "department", "sector", "turnover"], orient="row")
    return flou.Microdata(frame, keys=["region", "department", "sector"], others=["turnover"], **more)


def true_table(*, cells: Any = "occupied", value: str | None = "turnover", **more: Any) -> flou.Table:
    table: flou.Table = firms(**more).tabulate(["region>department", "sector"], value=value, cells=cells)
    return table


def audit(n_exact: int = 0, n_narrow: int = 0) -> Audit:
    return Audit(len(PRIMARY), n_exact, n_narrow, n_attackers=2, n_programs=37, findings=NOTHING)


def pattern(table: flou.Table, *, found: Audit | None) -> Suppression:
    """The states of the cells with their reasons."""
    places = {row: i for i, row in enumerate(table.labels().rows())}
    states = np.where(table.true_counts == 0, State.ZERO, State.PUBLISHED).astype(np.uint8)
    because, protects = np.zeros((table.n_cells, 2), dtype=np.bool_), np.full(table.n_cells, -1)
    states[places["North", "Total", "food"]] = State.KEPT
    for cell, rules in PRIMARY.items():
        states[places[cell]] = State.PRIMARY
        because[places[cell], list(rules)] = True
    for cell, other in SECONDARY.items():
        states[places[cell]] = State.SECONDARY
        protects[places[cell]] = places[other]
    return Suppression(states, REASONS, because, protects, found, {"search": "by hand"})


def suppress(table: flou.Table, *, show: str = "both", found: Audit | None = None, released: bool = True) -> flou.Table:
    """The table as `CellSuppression` would hand it back."""
    made = pattern(table, found=found)
    value = None if show == "count" else table.true_values
    published = Published(table.true_counts, value, made.hidden, counted=show != "value")
    return table.with_changes(published=published, suppression=made).marked(released=released)


def suppressed_table(*, show: str = "both", cells: Any = "occupied", **more: Any) -> flou.Table:
    """Ten of its cells are withheld, and the audit found nothing."""
    return suppress(true_table(cells=cells, **more), show=show, found=audit())
