"""Matrices of PRAM that go on from one release to the next: a value that did not change is shown as it was.

A row keeps what its draws are bound to. A value that the former file did not have gets a row of its own, and takes the
same share ε of every former row, out of each of its chances alike. So whoever is shown otherwise than before is shown
the new value, with a chance that hangs on no true value: two releases tell of an old value what the first tells alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.protect.micro.transition import invariant_matrix

Integers = NDArray[np.int64]

#: Where new values would take more than this of each row, the stratum is another one and gets a matrix of its own.
_MOST_TAKEN = 0.5


@dataclass(frozen=True)
class MatrixRow:
    """What a value becomes with which chance, and the text that its draws are bound to."""

    to: tuple[tuple[str, float], ...]
    bound_to: str

    @classmethod
    def of(cls, to: Sequence[tuple[str, float]]) -> MatrixRow:
        """A row that nothing was drawn by before; targets without a chance are left out."""
        kept = [(value, float(chance)) for value, chance in to if chance > 0]
        return cls(tuple(kept), repr(kept))

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> MatrixRow:
        return cls(tuple((value, chance) for value, chance in held["to"]), held["bound_to"])

    def to_dict(self) -> dict[str, Any]:
        return {"to": [list(pair) for pair in self.to], "bound_to": self.bound_to}

    def giving(self, shares: Mapping[str, float]) -> MatrixRow:
        """The same row where new values take a share of each chance; a draw that hits none of them stays."""
        left = 1.0 - sum(shares.values())
        to = [
            pair
            for value, chance in self.to
            for pair in ((value, chance * left), *((new, chance * share) for new, share in shares.items()))
        ]
        return MatrixRow(tuple(to), self.bound_to)


def rows_of_stratum(
    values: Sequence[str], counts: Integers, stay: float, former: Sequence[MatrixRow | None]
) -> tuple[list[MatrixRow], bool]:
    """The rows of a stratum's values, those of the former release where it had them; whether these could be kept."""
    if former and all(row is not None for row in former):
        return [row for row in former if row is not None], True
    fresh = [MatrixRow.of(list(zip(values, row.tolist(), strict=True))) for row in invariant_matrix(counts, stay)]
    known = np.array([row is not None for row in former])
    n_known = int(counts[known].sum())
    leave = {v: 1.0 - dict(row.to)[v] for v, row, old in zip(values, fresh, known, strict=True) if not old}
    # as many get a new value as leave it
    shares = {v: int(n) * leave[v] / n_known for v, n in zip(values, counts, strict=True) if v in leave and n_known}
    if not shares or sum(shares.values()) > _MOST_TAKEN:
        return fresh, False
    return [new if old is None else old.giving(shares) for new, old in zip(fresh, former, strict=True)], True
