"""Records that are alike in every calibration variable, taken together.

A calibrated weight is the design weight times a ratio that depends on a record's calibration variables alone, so that
the equations need one line a distinct combination of them: 300,000 records and six categorical margins give some ten
thousand lines. A constraint is a column: one a category of each margin, then one a numeric variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from flou.engine.keys import pack
from flou.protect.micro.calibration.distance import Floats

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct combinations of calibration variables, the design weight that stands behind each, and who has it."""

    #: Patterns by constraints.
    matrix: csr_array
    mass: Floats
    #: Record → pattern.
    place: NDArray[np.intp]

    @property
    def design_totals(self) -> Floats:
        """What the design weights give for each constraint."""
        return np.asarray(self.matrix.T @ self.mass)

    def sizes(self, totals: Floats) -> Floats:
        """What a deviation from each total is measured by: the total, or what its values add up to without signs."""
        signed = np.zeros(self.matrix.shape[1], dtype=np.bool_)
        signed[self.matrix.indices[self.matrix.data < 0]] = True
        unsigned = np.asarray(abs(self.matrix).T @ self.mass)
        size = np.where(signed | (totals == 0), np.maximum(np.abs(totals), unsigned), np.abs(totals))
        return np.where(size > 0, size, 1.0)

    def restricted(self, rows: Sequence[int]) -> Patterns:
        """The patterns of fewer constraints; those that became equal are one."""
        part = self.matrix[:, list(rows)].toarray()
        codes = [np.unique(column, return_inverse=True)[1] for column in part.T]
        sizes = [int(c.max(initial=0)) + 1 for c in codes]
        _, first, place = np.unique(pack(np.stack(codes, axis=1), sizes), return_index=True, return_inverse=True)
        return Patterns(csr_array(part[first]), np.bincount(place, self.mass).astype(np.float64), place[self.place])


def group_patterns(codes: Ints, sizes: Sequence[int], numbers: Floats, weights: Floats) -> Patterns:
    """The patterns of records given by the category (0, 1, …) that each has in each margin, and by numbers.

    `codes` is records by margins, `sizes` the number of categories of each margin, `numbers` records by numeric
    variables, `weights` the design weights.
    """
    number_codes = [np.unique(column, return_inverse=True)[1] for column in numbers.T]
    together = np.stack([*codes.T, *number_codes], axis=1).astype(np.int32)
    radices = [*sizes, *(int(c.max(initial=0)) + 1 for c in number_codes)]
    _, first, place = np.unique(pack(together, radices), return_index=True, return_inverse=True)
    n, m, p = len(first), len(sizes), numbers.shape[1]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns = np.concatenate([codes[first] + offsets[:m], np.tile(offsets[m] + np.arange(p), (n, 1))], axis=1)
    values = np.concatenate([np.ones((n, m)), numbers[first]], axis=1)
    matrix = csr_array(
        (values.ravel(), columns.ravel().astype(np.int64), np.arange(n + 1) * (m + p)), shape=(n, int(offsets[m]) + p)
    )
    return Patterns(matrix, np.bincount(place, weights, n).astype(np.float64), place)
