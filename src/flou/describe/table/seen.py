"""What may be seen of a table, and what those who protect see of it as well.

Everything that leaves is read off the published figures: the status of a cell, the cells that are listed, the
categories that occur. Of a suppression the public is told that a cell is suppressed and nothing else: neither why, nor
for which other cell. A suppressed cell is listed, and so are its categories: leaving out those that have nothing but
suppressed cells would tell suppressed cells apart. Whatever a suppression withholds is blanked here once more, so that
no protection can forget it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.public_schema import schema_of_values
from flou.describe.table.cells import Published
from flou.describe.table.unseen_cells import may_hide_zeros
from flou.engine.data import Kin
from flou.engine.errors import DataError

if TYPE_CHECKING:
    from flou.describe.table.dimension import Dimension
    from flou.describe.table.suppression import Suppression
    from flou.describe.table.table import Table
    from flou.engine.words import Words


def withheld(published: Published | None, suppression: Suppression, n_cells: int) -> Published:
    """What is published, without the cells that the suppression withholds."""
    if len(suppression.states) != n_cells:
        raise DataError(f"The suppression speaks of {len(suppression.states):,} cells, the table has {n_cells:,}.")
    if published is None:
        raise DataError("A suppression comes with what it lets be seen: change published and suppression together.")
    return published.withheld(suppression.hidden)


def all_combinations(table: Table) -> tuple[tuple[int, ...], ...]:
    """The level combinations that a table has, by depths: those of its cells, and those that are known besides."""
    depths = np.stack([dim.reaches[table.cells.codes[:, j]] for j, dim in enumerate(table.dims)], axis=1)
    return tuple(sorted({*table.combinations, *(tuple(line) for line in np.unique(depths, axis=0).tolist())}))


def status_words(table: Table) -> list[str]:
    """`published`, `zero`, `structural` or `suppressed`, cell by cell, by what is published alone."""
    published = _published(table)
    words = np.where(published.figure == 0, "zero", "published").astype(object)
    if table.cells.coherent is not None:
        # whether a record is in the cell all the same is told by its count, if at all
        words[~table.cells.coherent & (published.figure == 0)] = "structural"
    words[published.hidden] = "suppressed"
    return [str(word) for word in words]


def listed_cells(table: Table, *, reveal: bool = False) -> pl.DataFrame:
    """Every cell with the figures that may be seen; `reveal` adds what those who protect know."""
    published = _published(table)
    figures = [] if not published.counted else [_counts("count", published.count, table)]
    if published.value is not None:
        figures.append(pl.Series("value", published.value, nan_to_null=True))
    if reveal and table.suppression is not None:
        figures += [table.suppression.words(), pl.Series("reason", reasons(table), dtype=pl.String)]
    else:
        figures.append(table.status)
    if reveal:
        figures += _hidden_figures(table)
    return pl.concat([table.labels(), pl.DataFrame(figures)], how="horizontal")


def public_table(table: Table) -> Table:
    """What would be published: without the true figures, keys, contributions and the reasons of a suppression."""
    if table.cells.count is None:
        return table if table.suppression is None else replace(table, suppression=None)
    published, cells, dims = _published(table), table.cells.shapes_alone(), table.dims
    zeros_withheld = may_hide_zeros(table)
    if table.published is not None:
        table = replace(table, combinations=table.level_combinations)  # what a table has is known, listed or not
        seen = _listed(table, published.figure != 0)
        cells, published = cells.take(seen), published.take(seen)
        pruned = [dim.pruned(cells.codes[:, j]) for j, dim in enumerate(dims)]
        dims = tuple(dim for dim, _ in pruned)
        cells = cells.with_changes(codes=np.stack([codes for _, codes in pruned], axis=1))
    if cells.coherent is not None:
        cells = cells.with_changes(possible=cells.coherent | (published.figure != 0))
    return replace(
        table,
        dims=dims,
        cells=cells,
        published=published,
        suppression=None,
        zeros_withheld=zeros_withheld,
        n_unlisted_zeros=0,
        trail=None,
        kin=Kin(),
    )


def told_of(table: Table) -> dict[str, Any]:
    """What a published table says of its columns: nothing of categories that it does not list, nor of sums left out."""
    shown: dict[str, set[str]] = {}
    for dim in table.dims:
        for column in dim.columns:
            shown[column] = set(dim.labels[column].to_list()) - {dim.total}
    columns = {*shown, *(column.rpartition("@")[0] for column in shown), table.weight_name or ""}
    if table.published_values is not None:
        columns.add(table.value_name or "")
    told: dict[str, Any] = {}
    if table.schema is not None:
        told["schema"] = schema_of_values(table.schema, columns, shown)
    if table.published is not None and table.published.value is None:
        told["value_name"] = None
    return told


def reasons(table: Table, words: Words | None = None) -> list[str]:
    """Why each cell is withheld: the rules that it breaks, or the cell that it protects; for those who protect."""
    suppression = table.suppression
    if suppression is None:
        return [""] * table.n_cells
    found = [""] * table.n_cells
    if suppression.because is not None:
        for cell, rule in zip(*np.nonzero(suppression.because), strict=True):
            label = suppression.reasons[rule]
            found[cell] = f"{found[cell]}, {label}" if found[cell] else label
    if suppression.protects is not None:
        text = "protects {cell}"
        for cell in np.flatnonzero(suppression.protects >= 0):
            other = cell_name(table, int(suppression.protects[cell]))
            protects = text.format(cell=other) if words is None else words(text, cell=other)
            found[cell] = f"{found[cell]}, {protects}" if found[cell] else protects
    return found


def cell_name(table: Table, place: int) -> str:
    """The categories of a cell, one for each dimension: `59 × F`."""
    nodes = table.cells.codes[place]
    return " × ".join(dim.category(int(node)) for dim, node in zip(table.dims, nodes, strict=True))


def _published(table: Table) -> Published:
    return table.published or Published(table.published_counts, table.published_values)


def _counts(name: str, counts: NDArray[Any], table: Table) -> pl.Series:
    """Whole counts as such, although those that are withheld made floats of them."""
    shown = pl.Series(name, counts, nan_to_null=True)
    known = shown.drop_nulls()
    whole = table.weight_name is None and counts.dtype.kind == "f" and bool((known == known.round()).all())
    return shown.cast(pl.Int64) if whole else shown


def _listed(table: Table, filled: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which cells are published, of which some are not shown as zero."""
    if table.listed == "occupied":
        return filled
    listed = np.ones(table.n_cells, dtype=np.bool_)
    for j, known in enumerate(_known_categories(table, filled)):
        listed &= known[table.cells.codes[:, j]]
    return listed


def _known_categories(table: Table, filled: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Which categories of each dimension a reader knows: declared ones, and those that some filled cell has."""
    out = []
    for j, dim in enumerate(table.dims):
        known = np.full(dim.n_nodes, dim.declared)
        known[table.cells.codes[filled, j]] = True
        known[0] = True
        out.append(known)
    return out


def left_out_categories(table: Table) -> tuple[set[tuple[Dimension, int]], int]:
    """The categories that a table of all cells leaves out, being shown as zero alone, and the number of their cells."""
    published = _published(table)
    if table.listed == "occupied":
        return set(), 0
    filled = published.figure != 0
    found = {
        (dim, int(node))
        for j, (dim, known) in enumerate(zip(table.dims, _known_categories(table, filled), strict=True))
        for node in np.unique(table.cells.codes[:, j])
        if not known[node]
    }
    return found, int((~_listed(table, filled)).sum())


def _hidden_figures(table: Table) -> list[pl.Series]:
    cells, out = table.cells, []
    if table.published is not None:
        true = table.true_counts if cells.weighted is None else cells.weighted
        out.append(pl.Series("true_count", true))
        if table.published.counted:
            out.append(_counts("deviation", table.published_counts - true, table))
        if cells.value is not None:
            out.append(pl.Series("true_value", cells.value))
    if cells.weighted is not None:
        out.append(pl.Series("contributors", table.true_counts))
    for name, held in (("holdings", cells.holdings), ("cell_key", cells.key)):
        if held is not None:
            out.append(pl.Series(name, held))
    for j in range(0 if cells.largest is None else cells.largest.shape[1]):
        assert cells.largest is not None
        out.append(pl.Series(f"largest_{j + 1}", cells.largest[:, j], nan_to_null=True))
    return out
