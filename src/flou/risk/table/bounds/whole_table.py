"""A table with its unlisted margins, and the way from its cells to those that are listed and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.apriori import Apriori
from flou.describe.table.cells import Floats, Ints
from flou.describe.table.completed import completed
from flou.describe.table.table import Table
from flou.risk.table.primary_rule import Levels, Sensitive


@dataclass(frozen=True, eq=False)
class WholeTable:
    """All cells that the listed ones are tied together by."""

    table: Table
    #: Where the listed cells are.
    places: Ints

    @classmethod
    def of(cls, table: Table) -> WholeTable:
        """The table with the margins above its cells, in the order of their labels.

        Ties are settled by the order of cells, which must not be that of somebody's file.
        """
        full, places = completed(table)
        labels = full.labels()
        order = labels.select(pl.arg_sort_by(labels.columns)).to_series().to_numpy().astype(np.int64)
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return cls(full.with_changes(cells=full.cells.take(order), published=None, suppression=None), back[places])

    @cached_property
    def is_listed(self) -> NDArray[np.bool_]:
        """Which cells the table lists; no other is ever published."""
        listed = np.zeros(self.table.n_cells, dtype=np.bool_)
        listed[self.places] = True
        return listed

    def unseen(self, hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The cells that nobody shows: those that are withheld, and all that are not listed."""
        return np.asarray(self._spread(hidden, True), dtype=np.bool_)

    def _spread(self, array: NDArray[Any], fill: object) -> NDArray[Any]:
        out = np.full((self.table.n_cells, *array.shape[1:]), fill, dtype=array.dtype)
        out[self.places] = array
        return out

    def spread_statements(self, apriori: Apriori) -> Apriori:
        """What the office says; of unlisted margins it says nothing."""
        nothing = Apriori.none(1).arrays
        spread = {name: self._spread(array, nothing[name][0]) for name, array in apriori.arrays.items()}
        return Apriori(**spread, labels=self.table.labels())

    def spread_sensitive(self, sensitive: Sensitive) -> Sensitive:
        """What is sensitive; unlisted margins are not: nobody shows them."""
        levels = {name: self._spread_levels(held) for name, held in sensitive.levels.items()}
        cells, because = self._spread(sensitive.cells, False), self._spread(sensitive.because, False)
        return Sensitive(cells=cells, levels=levels, reasons=sensitive.reasons, because=because)

    def _spread_levels(self, levels: Levels) -> Levels:
        spread: list[Floats] = [self._spread(a, 0.0) for a in (levels.lower, levels.upper, levels.sliding)]
        return Levels(*spread)

    def numbers(self, cells: Ints) -> Ints:
        """The numbers of listed cells by those in the whole table; -1 stays."""
        back = np.full(self.table.n_cells + 1, -1, dtype=np.int64)
        back[self.places] = np.arange(len(self.places))
        return back[cells]

    def back(self, findings: pl.DataFrame) -> pl.DataFrame:
        """Findings with the numbers of listed cells."""
        return findings.with_columns(pl.Series("cell", self.numbers(findings["cell"].to_numpy()), dtype=pl.Int64))
