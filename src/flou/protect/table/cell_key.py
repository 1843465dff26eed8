"""The cell key method (Fraser & Wooton 2005; Enderle, Giessing & Tent 2018; Jamme 2025): noise by contributors.

Each record has a lasting key; the sum of the keys of a cell's records decides, through a public transition
matrix, by how much the count is moved. A cell with the same people in it is therefore moved in the same way in
every table, at any time and on any engine, and asking again tells nothing more. Noise is unbiased and at most
D; zeros stay zero; counts from 1 to js are never shown. In a weighted table the number of contributors is moved,
from n to n', and the estimate w is published as w n' / n, as the R package cellKey does.

Tables do not add up any more: each cell is moved by itself, unless a repair is asked for. It does not protect sums of
amounts, which are left out of what is published; nor against an intruder who has the record keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, InstanceOf, PlainSerializer, WithJsonSchema, model_validator

from flou.describe.mechanism.cell_keys import require_random
from flou.describe.mechanism.matrix_parameters import checked_matrix
from flou.describe.mechanism.transition_matrix import TransitionMatrix
from flou.describe.table.table import Table
from flou.engine.errors import DataError, Infeasible
from flou.engine.note import Note
from flou.engine.parameters import as_tuple
from flou.engine.randomness import Draws
from flou.engine.taxonomy import always
from flou.protect.table.count_protection import Additive, CountProtection
from flou.protect.table.protection import TableGuarantee


def _matrix_from_lines(value: object) -> object:
    """A matrix as a plan writes it: lines of a true count, a published one and the chance."""
    if not isinstance(value, list):
        return value
    if not all(isinstance(line, list) and len(line) == 3 for line in value):
        raise ValueError(
            "matrix takes a flou.TransitionMatrix, or lines [i, j, p] as TransitionMatrix.to_frame has them."
        )
    columns = dict(zip("ijp", zip(*value, strict=True), strict=True)) if value else {"i": (), "j": (), "p": ()}
    return TransitionMatrix.from_ptable(pl.DataFrame(columns, strict=False))


def _lines(matrix: TransitionMatrix) -> list[list[Any]]:
    return [list(line) for line in matrix.to_frame().select("i", "j", "p").rows()]


#: A transition matrix as a parameter.
Matrix = Annotated[
    InstanceOf[TransitionMatrix],
    BeforeValidator(_matrix_from_lines),
    PlainSerializer(_lines),
    WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
]


class CellKey(CountProtection):
    """Move each count by noise that its contributors' keys decide: `CellKey(D=10, V=5, js=2)`."""

    title: ClassVar[str] = "cell key method"
    audience = "public"
    perturbative = True
    answers_by = always(inference="reduces", differencing="reduces", reconstruction="reduces")
    reference: ClassVar[str] = "fraser2005"
    requires = ("cell keys",)

    D: int | None = Field(None, description="largest deviation of a count")
    V: float | None = Field(None, description="variance of the deviation, at most")
    js: int = Field(0, description="counts from 1 to js are never published")
    stack: Annotated[tuple[int, float], BeforeValidator(as_tuple)] | None = Field(
        None, description="largest deviation and variance of large counts, if they are to differ"
    )
    matrix: Matrix | None = Field(None, description="a transition matrix made elsewhere, in the place of D, V and js")
    additive: Additive = Field("no", description='"repair" changes cells further until margins add up')

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.matrix is not None:
            if self.D is not None or self.V is not None or self.js or self.stack is not None:
                raise ValueError("matrix has noise of its own: give it alone, or D, V, js and stack without it.")
            return self
        if self.D is None or self.V is None:
            raise ValueError("give D, the largest deviation, and V, its variance: D=10, V=5; or a matrix=.")
        checked_matrix(self.D, self.V, self.js, self.stack)
        try:
            _ = self.mechanism
        except Infeasible as error:
            error.args = (f"{type(self).__name__}: {error.args[0]}",)
            raise
        return self

    @cached_property
    def mechanism(self) -> TransitionMatrix:
        """The transition matrix."""
        if self.matrix is not None:
            return self.matrix
        assert self.D is not None and self.V is not None  # noqa: PT018
        return TransitionMatrix(self.D, self.V, self.js, self.stack)

    @property
    def _allowed(self) -> tuple[int, int]:
        return self.mechanism.js + 1, 1

    def _moved(self, table: Table, draw: Draws) -> NDArray[Any]:
        if table.cells.key is not None:
            require_random(table.true_counts, table.cells.key)
        return moved_by_keys(table, self.mechanism)

    def _cell_promises(self) -> Sequence[TableGuarantee]:
        return (MovedByDAtMost(self.mechanism), MovedByKey(self.mechanism))

    def _lasting_promises(self) -> Sequence[TableGuarantee]:
        return (NoneUpToJs(self.mechanism),) if self.mechanism.js else ()

    def _own_notes(self) -> Sequence[Note]:
        if self.V is None or self.stack is not None:
            return ()
        reached = self.mechanism.variance(self.mechanism.last)
        if reached > self.V * (1 - 1e-6):
            return ()
        text = "the variance of the noise is {reached}, not {V}: with D = {D} it cannot be larger"
        return (Note(text, {"reached": round(reached, 3), "V": self.V, "D": self.D}),)


def moved_by_keys(table: Table, mechanism: TransitionMatrix) -> NDArray[Any]:
    """What the keys make of the counts, or of weighted estimates through their numbers of contributors."""
    if table.cells.key is None:
        raise DataError(
            "The table has no cell keys, so its noise would have to be drawn at each call and could be averaged "
            "away. Give each record a key first: keyed = flou.record_keys(people, secret=…); keyed.tabulate(…)."
        )
    n = table.true_counts
    moved = n + mechanism.deviations(n, table.cells.key)
    if table.cells.weighted is None:
        return moved
    # whole units: the digits behind them would tell the number of contributors, which divides the estimate
    estimates: NDArray[Any] = np.rint(table.cells.weighted * moved / np.maximum(n, 1))
    return estimates


@dataclass(frozen=True, eq=False)
class _OfCellKey(TableGuarantee):
    """A promise of the cell key method with this matrix."""

    mechanism: TransitionMatrix


class MovedByDAtMost(_OfCellKey):
    """No figure lies further from the true one than the matrix reaches."""

    text = "no count is moved by more than {D}"

    @property
    def D(self) -> int:  # noqa: N802 - the paper's name
        return self.mechanism.reach

    def wrong(self, table: Table) -> int:
        true, unit, slack = _scale(table)
        return int((np.abs(table.published_counts - true) > self.D * unit + slack).sum())


class MovedByKey(_OfCellKey):
    """Figures are those that the cell keys give."""

    text = "each cell is moved as its key says: the same people alike in every table"

    def wrong(self, table: Table) -> int:
        return int((table.published_counts != moved_by_keys(table, self.mechanism)).sum())


class NoneUpToJs(_OfCellKey):
    """No figure is shown that the matrix rules out."""

    text = "no count from 1 to {js} is shown"

    @property
    def js(self) -> int:
        return self.mechanism.js

    def wrong(self, table: Table) -> int:
        _, unit, slack = _scale(table)
        shown = table.published_counts
        return int(((shown > 0) & (shown < (self.js + 1) * unit - slack)).sum())


def _scale(table: Table) -> tuple[NDArray[Any], NDArray[Any], float]:
    """The true figures, what one contributor stands for in each cell, and how much is lost to whole units."""
    n, weighted = table.true_counts, table.cells.weighted
    if weighted is None:
        return n, np.ones(len(n)), 0.0
    return weighted, weighted / np.maximum(n, 1), 0.5 + 1e-9
