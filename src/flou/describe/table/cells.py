"""The cells of a table: their nodes and their true figures."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """One line a cell, in the order of the nodes. What is not known of a table, or not asked for, is None."""

    #: The node of each dimension.
    codes: NDArray[np.int32]
    #: How many records are in the cell; of published tables not known.
    count: Ints | None = None
    #: The sum of the records' keys modulo 2^32.
    key: Ints | None = None
    #: The sum of the sampling weights.
    weighted: Floats | None = None
    #: The sum of the amounts, times the weights if there are any.
    value: Floats | None = None
    #: How many holdings contribute, and which one where it is alone; -1 elsewhere.
    holdings: Ints | None = None
    sole: Ints | None = None
    #: The largest contributions, largest first, NaN where there are fewer; and the weight of each.
    largest: Floats | None = None
    largest_weights: Floats | None = None
    #: False where nobody can be: a structural zero.
    possible: NDArray[np.bool_] | None = None
    #: The same by what the schema says alone: a record in a cell that it rules out makes it possible, not coherent.
    coherent: NDArray[np.bool_] | None = None

    @property
    def n(self) -> int:
        return len(self.codes)

    def take(self, chosen: NDArray[Any]) -> Cells:
        """Some of the cells."""
        held: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        taken: dict[str, Any] = {name: None if array is None else array[chosen] for name, array in held.items()}
        return Cells(**taken)

    def shapes_alone(self) -> Cells:
        """The cells without their true figures."""
        return Cells(codes=self.codes, coherent=self.coherent)

    def with_changes(self, **changes: Any) -> Cells:
        return replace(self, **changes)


@dataclass(frozen=True, eq=False)
class Published:
    """What a protection lets be seen of each cell. Figures of suppressed cells are blanked, whatever is handed in."""

    #: Whole numbers, or estimates where the table is weighted; NaN where nothing is shown.
    count: NDArray[Any]
    value: Floats | None = None
    #: Which cells are withheld; None where no cell is, or where the counts that are NaN say it.
    suppressed: NDArray[np.bool_] | None = None
    #: Whether counts are published at all: if not, they are NaN everywhere and the values alone are seen.
    counted: bool = True

    def __post_init__(self) -> None:
        if not self.counted and self.value is None:
            raise DataError("A table that shows neither counts nor sums shows nothing: publish one of them.")
        blank = self.suppressed
        if not self.counted:
            object.__setattr__(self, "count", np.full(len(self.count), np.nan))
        elif blank is not None and blank.any():
            object.__setattr__(self, "count", np.where(blank, np.nan, self.count))
        if self.value is not None and blank is not None and blank.any():
            object.__setattr__(self, "value", np.where(blank, np.nan, self.value))

    @property
    def figure(self) -> NDArray[Any]:
        """The figure by which a cell is seen to be empty: its count, or its sum where counts are not published."""
        if self.counted:
            return self.count
        assert self.value is not None
        return self.value

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Which cells are withheld."""
        figure = self.figure
        hidden = np.isnan(figure) if figure.dtype.kind == "f" else np.zeros(len(figure), dtype=np.bool_)
        return hidden if self.suppressed is None else hidden | self.suppressed

    def take(self, chosen: NDArray[Any]) -> Published:
        """What is shown of some of the cells."""
        value, suppressed = (None if held is None else held[chosen] for held in (self.value, self.suppressed))
        return Published(self.count[chosen], value, suppressed, self.counted)

    def withheld(self, cells: NDArray[np.bool_]) -> Published:
        """The same with further cells withheld."""
        return replace(self, suppressed=cells if self.suppressed is None else self.suppressed | cells)
