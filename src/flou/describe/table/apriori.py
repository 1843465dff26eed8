"""What an office says beforehand of single cells, and what an intruder knows of them beforehand.

    flou.describe.table.apriori.read_apriori("cells.csv", table)

A list has a column for each shown column of the table (the total's label, or nothing, means the total), an `action`
and up to two numbers, `first` and `second`:

    protect    the cell must not be shown; numbers, if given, are its lower and upper protection level
    keep       the cell must be shown
    safe       the rules do not make the cell primary; it may still be suppressed for others
    cost       what suppressing the cell costs: `first`
    levels     lower and upper protection level, for when a rule makes the cell primary
    bounds     what an intruder knows beforehand of the figure: at least `first`, at most `second`

The figure of a cell is its sum in a table of amounts, else its count. A list is a statement of the office and is taken
at its word: cells that it keeps or calls safe are not protected by any rule. A list that contradicts itself, or that
states bounds which the true figure does not satisfy, is refused as a whole.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.apriori_lines import OfCell, cell_text, gather
from flou.describe.table.apriori_rows import ACTION, FIRST, SECOND, Said, read_said
from flou.describe.table.cells import Floats
from flou.describe.table.table import Table
from flou.engine.errors import DataError, listed
from flou.engine.output import written_whole
from flou.engine.values import figure_text

Bools = NDArray[np.bool_]
_MOST_LISTED = 10
#: Sums are floats: a bound may miss the true figure by so much of its size and holds it all the same.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Apriori:
    """What is said beforehand, one entry a cell of the table; NaN where a number is not given."""

    protect: Bools
    #: Protection levels asked for, in units of the figure.
    lower: Floats
    upper: Floats
    keep: Bools
    safe: Bools
    cost: Floats
    #: What an intruder knows beforehand of the figure.
    low: Floats
    high: Floats
    #: The labels of the cells, where it is known of which table they are.
    labels: pl.DataFrame | None = None

    @classmethod
    def none(cls, n: int, labels: pl.DataFrame | None = None) -> Apriori:
        """Nothing is said of any of `n` cells."""
        marks: dict[str, Any] = {name: np.zeros(n, dtype=np.bool_) for name in ("protect", "keep", "safe")}
        numbers = {name: np.full(n, np.nan) for name in ("lower", "upper", "cost", "low", "high")}
        return cls(**marks, **numbers, labels=labels)

    @property
    def n(self) -> int:
        return len(self.protect)

    def take(self, chosen: NDArray[Any]) -> Apriori:
        """What is said of some of the cells."""
        labels = None if self.labels is None else self.labels[chosen]
        return Apriori(**{name: array[chosen] for name, array in self.arrays.items()}, labels=labels)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is said, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "labels"}

    @property
    def n_said(self) -> int:
        """Of how many cells something is said."""
        said = self.protect | self.keep | self.safe
        for held in (self.lower, self.upper, self.cost, self.low, self.high):
            said = said | ~np.isnan(held)
        return int(said.sum())

    def __repr__(self) -> str:
        return (
            f"Apriori of {self.n:,} cells: {int(self.protect.sum()):,} protect, {int(self.keep.sum()):,} keep, "
            f"{int(self.safe.sum()):,} safe, {int((~np.isnan(self.cost)).sum()):,} cost, "
            f"{int((~np.isnan(self.low) | ~np.isnan(self.high)).sum()):,} bounds"
        )


def read_apriori(
    source: object,
    table: Table,
    *,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
) -> Apriori:
    """What a CSV file, a frame or a list of dictionaries says of the cells of a table."""
    return apriori_of(read_said(source, table, delimiter=delimiter, decimal=decimal, encoding=encoding), table)


def apriori_of(said: Sequence[Said], table: Table) -> Apriori:
    """What single statements say together, checked against each other and against the true figures."""
    found, problems, contrary = gather(said, table)
    made = Apriori.none(table.n_cells, table.labels())
    for place, held in found.items():
        _note(made, place, held)
    outside = [] if contrary else _outside(made, table)
    if problems or contrary or outside:
        raise DataError(_refusal(problems, contrary, outside))
    return _widened(made, table)


def _refusal(problems: list[str], contrary: list[str], outside: list[str]) -> str:
    parts = []
    if problems:
        parts += [f"The list of cells has {len(problems):,} lines that cannot be used:", *_first(problems)]
    if contrary:
        # all of them: an office must see the whole of what it has to decide
        parts += [f"The list of cells contradicts itself in {len(contrary):,} places:", *(f"  - {c}" for c in contrary)]
    if outside:
        parts += [
            f"{len(outside):,} cells are outside their bounds:",
            *_first(outside),
            "An intruder cannot know beforehand what is not so: correct the bounds or the figures.",
        ]
    return "\n".join(parts)


def _first(problems: Sequence[str]) -> Iterable[str]:
    yield from (f"  - {p}" for p in problems[:_MOST_LISTED])
    if len(problems) > _MOST_LISTED:
        yield f"  … and {len(problems) - _MOST_LISTED:,} more"


def _note(made: Apriori, place: int, held: OfCell) -> None:
    for action, (_, numbers) in held.items():
        if action in ("protect", "keep", "safe"):
            getattr(made, action)[place] = True
        if action == "cost":
            made.cost[place] = numbers[0]
        elif action == "bounds":
            made.low[place], made.high[place] = numbers
        elif action == "levels" or (action == "protect" and "levels" not in held):
            made.lower[place], made.upper[place] = numbers


def figures_of(table: Table) -> Floats:
    """The figure of each cell that levels and bounds speak of: its sum where there is one, else its count."""
    cells = table.cells
    held: Any = (
        cells.value if cells.value is not None else cells.weighted if cells.weighted is not None else cells.count
    )
    if held is None:  # as it was published: what is withheld is NaN
        held = table.published_counts if table.published_values is None else table.published_values
    figures: Floats = held.astype(np.float64)
    return figures


def _outside(made: Apriori, table: Table) -> list[str]:
    """The cells whose true figure is not what an intruder is said to know of it."""
    figures = figures_of(table)
    slack = _ROUNDING * np.abs(figures)
    wrong = np.flatnonzero((figures < made.low - slack) | (figures > made.high + slack))
    return [
        f"{cell_text(table, place)}: its figure is {figure_text(float(figures[place]))}, known beforehand is: "
        + ", ".join(
            f"{word} {figure_text(float(bound[place]))}"
            for word, bound in (("at least", made.low), ("at most", made.high))
            if not np.isnan(bound[place])
        )
        for place in wrong.tolist()
    ]


def _widened(made: Apriori, table: Table) -> Apriori:
    """Bounds that hold the figure to the last digit, whatever sums of floats have lost."""
    figures = figures_of(table)
    for held, better in ((made.low, np.minimum), (made.high, np.maximum)):
        said = ~np.isnan(held) & ~np.isnan(figures)
        held[said] = better(held[said], figures[said])
    return made


def write_apriori(apriori: Apriori, table: Table, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a list of cells that `read_apriori` reads back. It is for the office alone: it tells what is sensitive."""
    require_aligned(apriori, table)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*table.columns, ACTION, FIRST, SECOND])
    labels = table.labels()
    for place, action, numbers in statements(apriori):
        shown = ["" if math.isnan(v) else repr(v).removesuffix(".0") for v in numbers]
        writer.writerow([*labels.row(place), action, *shown])
    with written_whole(path, overwrite=overwrite) as file:
        file.write(out.getvalue().encode())


def require_aligned(apriori: Apriori, table: Table) -> None:
    """What is said must be of this table's cells."""
    if apriori.n != table.n_cells:
        raise DataError(
            f"The list is of {apriori.n:,} cells, the table has {table.n_cells:,}: they do not belong together "
            f"({listed(table.columns)})."
        )


def statements(apriori: Apriori) -> Iterable[tuple[int, str, tuple[float, float]]]:
    """All that is said: the cell, the action and its numbers, cell after cell."""
    for place in range(apriori.n):
        levels = (float(apriori.lower[place]), float(apriori.upper[place]))
        nothing = (math.nan, math.nan)
        if apriori.protect[place]:
            yield place, "protect", levels
        elif not math.isnan(levels[0]) or not math.isnan(levels[1]):
            yield place, "levels", levels
        for action in ("keep", "safe"):
            if getattr(apriori, action)[place]:
                yield place, action, nothing
        if not math.isnan(apriori.cost[place]):
            yield place, "cost", (float(apriori.cost[place]), math.nan)
        known = (float(apriori.low[place]), float(apriori.high[place]))
        if not math.isnan(known[0]) or not math.isnan(known[1]):
            yield place, "bounds", known
