"""The true counts of published cells, for those who judge what an intruder found; nobody who guesses sees them.

They come from the tables themselves where these hold them, from the tables as they were made, or from the records, of
which the same tables are made again. Truth that does not fit is refused: a share of right guesses against the counts of
other people would say nothing. So are published figures that cannot have come from the true counts, such as margins
that were made to add up, of which no mechanism tells how far they were moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.attack.table.answers import Answers
from flou.attack.table.guises import Grouping, Guises, cell_names
from flou.describe.mechanism.mechanism import Integers
from flou.describe.mechanism.unchanged import Unchanged
from flou.describe.microdata import Microdata
from flou.describe.table.coordinates import U64
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet, tables_of
from flou.describe.table.tabulate import tabulate_many
from flou.engine.errors import DataError, listed
from flou.engine.release import Release


@dataclass(frozen=True, eq=False)
class TrueCells:
    """The cells of one grouping that somebody is in, ascending by name."""

    names: U64
    counts: Integers
    labels: pl.DataFrame

    def count_of(self, names: U64) -> Integers:
        """The true count of any cell of the grouping: 0 for those that nobody is in."""
        if not len(self.names):
            return np.zeros(len(names), dtype=np.int64)
        place = np.minimum(np.searchsorted(self.names, names), len(self.names) - 1)
        return np.where(self.names[place] == names, self.counts[place], 0)


def held_truth(released: Sequence[Table]) -> dict[Grouping, TrueCells] | None:
    """The true counts that the tables hold themselves, if they do."""
    return None if any(t.cells.count is None for t in released) else true_cells(released)


def read_truth(truth: Any, released: Sequence[Table], parameter: str = "truth") -> dict[Grouping, TrueCells]:
    """True counts as a user gives them: the original table or set, or the records."""
    inner = truth.data if isinstance(truth, Release) else truth
    if isinstance(inner, Microdata):
        asked = {f"table {i + 1}": [">".join(dim.names or dim.columns) for dim in t.dims]
                 for i, t in enumerate(released)}  # fmt: skip
        return true_cells(tabulate_many(inner, asked, total=released[0].dims[0].total).tables)
    if not isinstance(inner, Table | TableSet):
        raise DataError(
            f"{parameter}= takes the original table or set of tables, or the records (flou.Microdata) that they were "
            f"made of, not {type(inner).__name__}."
        )
    if any(t.cells.count is None for t in tables_of(inner)):
        raise DataError(f"{parameter}= is a table as it was published: it does not hold the true counts.")
    return true_cells(tables_of(inner))


def true_cells(tables: Sequence[Table]) -> dict[Grouping, TrueCells]:
    """The true counts of all cells that somebody is in, by grouping."""
    held: dict[Grouping, list[tuple[U64, Integers, pl.DataFrame]]] = {}
    for table in tables:
        guise, names, counts, labels = Guises(table), cell_names(table), table.true_counts, table.labels()
        for levels in guise.published:
            here = np.flatnonzero(guise.at(levels) & (counts > 0))
            held.setdefault(guise.grouping(levels), []).append((names[here], counts[here], labels[here]))
    return {grouping: _joined(parts) for grouping, parts in held.items()}


def _joined(parts: Sequence[tuple[U64, Integers, pl.DataFrame]]) -> TrueCells:
    names, counts = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    distinct, first, place = np.unique(names, return_index=True, return_inverse=True)
    # a cell that one of the tables does not list is empty there
    missing = any(len(p[0]) != len(distinct) for p in parts)
    if missing or (counts[first][place.reshape(-1)] != counts).any():
        raise DataError(
            "The true counts of a cell differ from table to table: the tables are not of the same people. Give the "
            "tables, or the records, that the release was made of."
        )
    labels = parts[0][2] if len(parts) == 1 else pl.concat([p[2] for p in parts], how="diagonal")
    return TrueCells(distinct, counts[first], labels[first])


def require_same(held: dict[Grouping, TrueCells], given: dict[Grouping, TrueCells]) -> None:
    """Refuse truth that is not that of the release, where the release itself knows better."""
    for grouping, cells in held.items():
        other = given.get(grouping)
        if other is not None and not (np.array_equal(cells.names, other.names) and
                                      np.array_equal(cells.counts, other.counts)):  # fmt: skip
            raise DataError(
                "truth= is not what the release was made of: its true counts differ from those that the release holds. "
                "Give its own original, or leave truth= out."
            )


def require_covered(truth: dict[Grouping, TrueCells], groupings: Sequence[Grouping], parameter: str = "truth") -> None:
    """Every cell that is published has a true count."""
    for grouping in groupings:
        if grouping not in truth:
            by = listed(sorted(grouping)) if grouping else "the total"
            raise DataError(
                f"{parameter}= has no counts by {by}, which the tables publish. Give the tables as they were made, "
                "with all of their margins, or the records."
            )


def require_made_of(truth: TrueCells, answers: Answers) -> None:
    """Refuse figures that cannot have come from the true counts, whether moved by a repair or those of others."""
    true = truth.count_of(answers.names)
    unlisted = truth.counts[~np.isin(truth.names, answers.names)]
    for own in answers.own:
        if not own.mechanism.bounded:
            continue
        wrong: NDArray[np.bool_] = own.known & (own.mechanism.probability(own.figures, true) == 0)
        n = int(wrong.sum())
        if own.complete:
            n += int((own.mechanism.probability(np.zeros_like(unlisted), unlisted) == 0).sum())
        if not n:
            continue
        if isinstance(own.mechanism, Unchanged):
            raise DataError(
                f"{n:,} published counts are not the true ones, and no mechanism says how they were moved. Margins "
                'that were made to add up are such: protect with additive = "no", or give the truth of these tables.'
            )
        raise DataError(
            f"{n:,} published counts cannot have come from the true ones by {own.mechanism.name}. Is truth= of the "
            "same people, and the mechanism that of the table?"
        )
