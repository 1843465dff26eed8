"""The cells of a table: their nodes and their true figures."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    #: How many holdings contribute.
    holdings: Ints | None = None
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
    """What a protection lets be seen of each cell."""

    #: Whole numbers, or estimates where the table is weighted; NaN where nothing is shown.
    count: NDArray[Any]
    value: Floats | None = None

    def take(self, chosen: NDArray[Any]) -> Published:
        """What is shown of some of the cells."""
        return Published(self.count[chosen], None if self.value is None else self.value[chosen])
