"""The published figures, block by block, and the problem that each block poses.

What a suppressed cell and one that is not listed tell is said in `flou.describe.table.unseen_cells`. Everything else
follows from the mechanism of the table: which true counts can lie behind a figure, and how likely each is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flou.attack.table.rebuild.attribute import level_names
from flou.attack.table.rebuild.layout import ALL, Layout, Sheet
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.shared_noise import find_keys, share_noise
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.table.cells import Ints
from flou.describe.table.table import Table
from flou.describe.table.unseen_cells import least_suppressed
from flou.engine.errors import DataError


@dataclass(frozen=True, eq=False)
class Figures:
    """What is published of all blocks: one line a figure that is listed."""

    layout: Layout
    tables: tuple[Table, ...]
    #: The label of each block; one without a name where nothing is split.
    blocks: tuple[str, ...]
    #: The listed figures: block, figure and what is shown, in the order of blocks.
    block: Ints
    figure: Ints
    shown: Ints
    max_total: int | None = None

    @cached_property
    def _bounds(self) -> Ints:
        return np.searchsorted(self.block, np.arange(len(self.blocks) + 1))

    def published(self, block: int) -> Ints:
        """The count that is shown for each figure of a block; `SUPPRESSED` or `UNKNOWN` where none is."""
        at = slice(self._bounds[block], self._bounds[block + 1])
        unlisted = np.array([0 if table.unlisted == "zero" else UNKNOWN for table in self.tables], dtype=np.int64)
        published = unlisted[self.layout.table]
        published[self.figure[at]] = self.shown[at]
        return published

    def problem(self, block: int = 0) -> Problem:
        """The problem that the figures of a block pose."""
        layout, published = self.layout, self.published(block)
        kept = _distinct(layout.shared, published)
        low, high, hard = self._supports(published, kept)
        n_rows = layout.n_rows
        least, most = np.zeros(n_rows, dtype=np.int64), np.full(n_rows, _NO_BOUND)
        row, is_hard = layout.row[kept], hard[kept]
        np.maximum.at(least, row[is_hard], low[kept][is_hard])
        np.minimum.at(most, row[is_hard], high[kept][is_hard])
        proven = np.zeros(n_rows, dtype=np.bool_)
        proven[row[is_hard]] = True
        soft, soft_row = ~is_hard, row[~is_hard]
        wide_low, wide_high = np.full(n_rows, _NO_BOUND), np.zeros(n_rows, dtype=np.int64)
        np.minimum.at(wide_low, soft_row, low[kept][soft])
        np.maximum.at(wide_high, soft_row, high[kept][soft])
        merely = ~proven & (wide_high > 0)
        least, most = np.where(merely, wide_low, least), np.where(merely, wide_high, most)
        ceiling, proven_ceiling = self._ceiling(most, merely)
        merely |= (most > ceiling) & ~np.bool_(proven_ceiling)
        most = np.minimum(most, ceiling)
        _require_small(most - least + 1)
        # rows that contradict themselves keep one count, which has no chance: the message names their figures
        empty = least > most
        most = np.where(empty, least, most)
        widths = most - least + 1
        offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        chances = np.zeros(offsets[-1])
        chances[offsets[:-1][empty]] = -np.inf
        self._add_chances(chances, offsets, least, widths, published, kept)
        return Problem(
            n_cells=layout.universe.n_cells,
            starts=layout.starts,
            members=layout.members,
            low=least,
            high=most,
            offsets=offsets,
            log_chances=chances,
            hard=~merely,
            apart=self._apart(published, least, most),
            shared=share_noise(layout.mechanisms, self._keys, layout.table[kept], layout.row[kept], published[kept]),
        )

    @cached_property
    def _keys(self) -> Ints:
        """The keys that each table was made by."""
        published = (self.published(b) for b in range(len(self.blocks)))
        return find_keys(self.layout.mechanisms, self.layout.table, self.layout.shared, published)

    def _supports(self, published: Ints, kept: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """The least and largest true count behind each figure, and whether others are impossible."""
        low, high = np.zeros(len(published), dtype=np.int64), np.full(len(published), _NO_BOUND)
        hard = np.ones(len(published), dtype=np.bool_)
        tables = self.layout.table
        for t, (table, mechanism) in enumerate(zip(self.tables, self.layout.mechanisms, strict=True)):
            here = kept[tables[kept] == t]
            seen = here[published[here] >= 0]
            low[seen], high[seen] = mechanism.support(published[seen])
            hard[seen] = mechanism.bounded
            low[here[published[here] == SUPPRESSED]] = least_suppressed(table)
            never = seen[high[seen] < low[seen]]
            if len(never):
                figure = int(never[0])
                raise DataError(
                    f"{published[figure]:,} is shown at {self.layout.figure_name(figure, self.tables)}, which "
                    f"{mechanism.name} never publishes. Is it the mechanism that made the table?"
                )
        return low, high, hard

    def _ceiling(self, most: Ints, merely: NDArray[np.bool_]) -> tuple[int, bool]:
        """How many people there can be, by what some level combination adds up to, and whether more are impossible."""
        found = [] if self.max_total is None else [(self.max_total, True)]
        for sheet in self.layout.sheets:
            rows = np.unique(self.layout.row[sheet.first : sheet.first + sheet.n])
            if (most[rows] < _NO_BOUND).all():
                found.append((int(most[rows].sum()), not merely[rows].any()))
        if not found:
            raise DataError(
                "Nothing that is published bounds the number of people: at each level of each table a cell is "
                "suppressed or not listed. Give the largest possible number of people: max_total=…."
            )
        # a bound that is proven goes before a smaller one that is merely likely
        return min(found, key=lambda held: (not held[1], held[0]))

    def _add_chances(
        self,
        chances: NDArray[np.float64],
        offsets: Ints,
        least: Ints,
        widths: Ints,
        published: Ints,
        kept: Ints,
    ) -> None:
        """Add the log chances of all figures to those of their rows, count by count."""
        tables = self.layout.table
        for t, mechanism in enumerate(self.layout.mechanisms):
            here = kept[(tables[kept] == t) & (published[kept] >= 0)]
            row = self.layout.row[here]
            n = widths[row]
            step = np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n, n)
            counts = np.repeat(least[row], n) + step
            np.add.at(chances, np.repeat(offsets[row], n) + step, _log_chances(mechanism, published[here], n, counts))

    def _apart(self, published: Ints, least: Ints, most: Ints) -> Ints:
        """Rows that differ for certain: the same people would be shown by the same figure, and these differ."""
        part, whole = self.layout.nested[:, 0], self.layout.nested[:, 1]
        differ = (published[part] >= 0) & (published[whole] >= 0) & (published[part] != published[whole])
        pairs = np.stack([self.layout.row[part[differ]], self.layout.row[whole[differ]]], axis=1)
        pairs = np.unique(pairs, axis=0)
        possible: Ints = pairs[most[pairs[:, 0]] >= least[pairs[:, 1]]]
        return possible


#: What stands in the place of a count that is suppressed, and of one that is not listed and may be anything.
SUPPRESSED, UNKNOWN = -1, -2
#: More people than any table counts.
_NO_BOUND = 2**40
#: Counts that the figures of one block may allow together.
_MAX_CHANCES = 50_000_000


def _distinct(shared: Ints, published: Ints) -> Ints:
    """The figures that tell something: of equal ones with the same noise the first alone."""
    pairs = np.stack([shared, published], axis=1)
    return np.sort(np.unique(pairs, axis=0, return_index=True)[1]).astype(np.int64)


def _require_small(widths: Ints) -> None:
    if int(widths.sum()) > _MAX_CHANCES:
        raise DataError(
            f"The figures allow {int(widths.sum()):,} counts together, more than the {_MAX_CHANCES:,} that are held: "
            "too many suppressed cells in too large a population. Attack areas one by one: block=…."
        )


def _log_chances(mechanism: Mechanism, published: Ints, n: Ints, counts: Ints) -> NDArray[np.float64]:
    return mechanism.log_likelihood(np.repeat(published, n), counts)


def read_figures(
    layout: Layout, tables: Sequence[Table], blocks: Sequence[str], block: str, max_total: int | None
) -> Figures:
    """The figures that published tables list."""
    found = []
    for t, table in enumerate(tables):
        assert table.published is not None
        hidden, count = table.published.hidden, np.nan_to_num(table.published.count, nan=SUPPRESSED)
        shown = np.where(hidden, SUPPRESSED, count).astype(np.int64)
        for sheet in layout.sheets:
            if sheet.table == t:
                found.append(_read_sheet(sheet, layout, table, shown, blocks, block))
    block_of, figure, value = (np.concatenate(held) for held in zip(*found, strict=True))
    order = np.lexsort((figure, block_of))
    return Figures(layout, tuple(tables), tuple(blocks), block_of[order], figure[order], value[order], max_total)


def _read_sheet(
    sheet: Sheet,
    layout: Layout,
    table: Table,
    shown: Ints,
    blocks: Sequence[str],
    block: str,
) -> tuple[Ints, Ints, Ints]:
    """The block, figure and shown count of the cells that a table lists at one level combination."""
    here = np.ones(table.n_cells, dtype=np.bool_)
    codes: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(sheet.levels)
    wanted: dict[int, tuple[int, list[str]]] = {}
    block_codes = np.zeros(table.n_cells, dtype=np.int64)
    for j, dim in enumerate(table.dims):
        names = level_names(dim)
        own = [dim.category(node) for node in range(dim.n_nodes)]
        if block and block in names:
            here &= dim.at_level(names.index(block) + 1)[table.cells.codes[:, j]]
            place = {label: i for i, label in enumerate(blocks)}
            block_codes = np.array([place.get(label, -1) for label in own])[table.cells.codes[:, j]]
            continue
        axis = next(i for i, a in enumerate(layout.universe.attributes) if set(names) & set(a.labels))
        level = sheet.levels[axis]
        here &= dim.at_level(0 if level == ALL else names.index(level) + 1)[table.cells.codes[:, j]]
        wanted[axis] = (j, own)
    chosen = np.flatnonzero(here)
    for axis, labels in enumerate(sheet.labels):
        codes[axis] = np.zeros(len(chosen), dtype=np.int64)
        if axis in wanted and sheet.levels[axis] != ALL:
            j, own = wanted[axis]
            place = {label: i for i, label in enumerate(labels)}
            codes[axis] = np.array([place.get(label, -1) for label in own])[table.cells.codes[chosen, j]]
    figure = sheet.find(codes)
    value = shown[chosen]
    _require_possible(table, layout, sheet, chosen[figure < 0], value[figure < 0])
    inside = figure >= 0
    return block_codes[chosen][inside], figure[inside], value[inside]


def _require_possible(table: Table, layout: Layout, sheet: Sheet, cells: Ints, shown: Ints) -> None:
    """A cell that the rules exclude may be listed, but not with somebody in it for certain."""
    if not len(cells):
        return
    mechanism = layout.mechanisms[sheet.table]
    low = mechanism.support(np.maximum(shown, 0))[0]
    wrong = np.flatnonzero((low > 0) & (shown >= 0)) if mechanism.bounded else np.zeros(0, dtype=np.int64)
    if len(wrong):
        labels = table.labels()[int(cells[wrong[0]])].row(0)
        raise DataError(
            f"{table.name or 'The table'} shows {shown[wrong[0]]:,} at {' × '.join(map(str, labels))}, where nobody "
            f"can be by the structural rules or the values that are known ({len(wrong):,} such cells). One of them is "
            "wrong: leave the rule out, add the value, or correct the table."
        )
