"""What follows exactly from published cells, by elimination over fractions: slow, and nothing to do with the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fixed(matrix: NDArray[Any]) -> set[int]:
    """The columns whose cells cannot change while the equations hold: alone in a line of the reduced echelon form."""
    lines: list[dict[int, Fraction]] = []
    for row in matrix:
        line = {j: Fraction(int(row[j])) for j in np.flatnonzero(row).tolist()}
        for other in lines:
            _subtract(line, other)
        if line:
            first = line[min(line)]
            line = {j: x / first for j, x in line.items()}
            for other in lines:
                _subtract(other, line)
            lines.append(line)
    return {min(line) for line in lines if len(line) == 1}


def _subtract(line: dict[int, Fraction], other: dict[int, Fraction]) -> None:
    """Take so much of the other line that nothing is left at its first place, where it has 1."""
    share = line.get(min(other))
    if share:
        for j, x in other.items():
            line[j] = line.get(j, Fraction(0)) - share * x
            if not line[j]:
                del line[j]


def told(matrix: NDArray[Any], hidden: NDArray[np.bool_], watched: NDArray[np.bool_], known: Sequence[Any]) -> set[int]:
    """The watched cells that somebody can compute: everybody, or one who knows the cells of a group, not his own."""
    found = set()
    for group in [(), *known]:
        own = {int(cell) for cell in group}
        left = [int(cell) for cell in np.flatnonzero(hidden) if int(cell) not in own]
        found |= {left[i] for i in fixed(matrix[:, left])}
    return {cell for cell in found if watched[cell]}


def publish_in_turn(
    matrix: NDArray[Any],
    primary: NDArray[np.bool_],
    candidates: Sequence[int],
    published: NDArray[np.bool_],
    known: Sequence[Any],
) -> NDArray[np.bool_] | None:
    """The secondary cells by the definition, one rank test a cell; None where some primary cell cannot be protected."""
    turns = [int(cell) for cell in candidates if not (primary[cell] or published[cell])]
    hidden = primary.copy()
    hidden[turns] = True
    if told(matrix, hidden, primary, known):
        return None
    for cell in turns:
        hidden[cell] = False
        hidden[cell] = bool(told(matrix, hidden, primary, known))
    return hidden & ~primary
