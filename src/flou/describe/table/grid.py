"""Every cell that the categories make, those that nobody is in included.

A combination that the schema declares incoherent is a structural zero: nobody can be there. Any other
empty cell just has nobody in it, which is news about people. A margin is a structural zero when all of
its parts are; so the values of the columns that a rule names must be declared, or it is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.schema import Schema
from flou.describe.table.atoms import Atoms
from flou.describe.table.roll_up import CELL, SIZE, Digits
from flou.describe.table.spec import DimensionSpec
from flou.engine import native
from flou.engine.errors import DataError
from flou.engine.values import text_of

#: Finest combinations that are laid out in memory.
MAX_FINEST = 20_000_000


@dataclass(frozen=True, eq=False)
class Grid:
    """All combinations of the dimensions' atoms, and which of them are coherent."""

    POSSIBLE: ClassVar[str] = f"{native.RESERVED}possible"
    COHERENT: ClassVar[str] = f"{native.RESERVED}coherent"
    sizes: tuple[int, ...]
    coherent: NDArray[np.bool_]

    @classmethod
    def of(cls, schema: Schema, specs: Sequence[DimensionSpec], atoms: Sequence[Atoms]) -> Grid:
        sizes = tuple(a.n_atoms for a in atoms)
        if math.prod(sizes) > MAX_FINEST:
            shape = " × ".join(f"{s:,}" for s in sizes)
            raise DataError(
                f'cells = "all" would lay out {math.prod(sizes):,} finest cells ({shape}), more than {MAX_FINEST:,}. '
                'Use fewer or coarser dimensions, or cells = "occupied".'
            )
        coherent = np.ones(sizes, dtype=np.bool_)
        columns = [c for spec in specs for c in spec.columns]
        for rule in schema.incoherent:
            # where a column's values are not declared, what is structural would hang on who is in the file
            if all(c in columns and c in schema.modalities for c in rule):
                coherent &= ~_ruled_out(rule, atoms)
        return cls(sizes, coherent.ravel())


def _ruled_out(rule: Mapping[str, object], atoms: Sequence[Atoms]) -> NDArray[np.bool_]:
    """Where the combinations of a rule lie, as an array that spans the grid."""
    hit = np.ones((1,) * len(atoms), dtype=np.bool_)
    for axis, held in enumerate(atoms):
        along = np.ones(held.n_atoms, dtype=np.bool_)
        for j, column in enumerate(held.columns):
            if column in rule:
                met = np.array([v is not None and text_of(v) == text_of(rule[column]) for v in held.values[j]])
                along &= met[held.combinations[:, j]]
        shape = [1] * len(atoms)
        shape[axis] = -1
        hit = hit & along.reshape(shape)
    return hit


def with_zeros(cells: pl.DataFrame, digits: Digits, grid: Grid) -> pl.DataFrame:
    """The finest cells and those that nobody is in, with two more columns: whether they are coherent, and possible."""
    axes = np.indices(grid.sizes).reshape(len(grid.sizes), -1)
    all_cells = pl.DataFrame({CELL: digits.pack(list(axes)), grid.COHERENT: grid.coherent.astype(np.int64)})
    joined = all_cells.join(cells, on=CELL, how="left").fill_null(0)
    # a record in an incoherent cell is in the data all the same
    occupied = (pl.col(SIZE) > 0).cast(pl.Int64)
    return joined.with_columns(pl.max_horizontal(grid.COHERENT, occupied).alias(grid.POSSIBLE))
