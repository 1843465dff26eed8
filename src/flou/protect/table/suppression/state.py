"""A search that was stopped by its limit: what it found so far, in a file from which it goes on.

The file holds the numbers of the cells that were suppressed beside the primary ones, and a fingerprint of the table and
of what was asked for: it serves the same question alone. It is for the office: it tells which cells are sensitive.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Floats
from flou.engine.errors import DataError, Infeasible
from flou.engine.output import written_whole
from flou.risk.table.bounds.sides import Side


class Unfinished(Infeasible):
    """The search reached its limit; `best` says how far it came, `hidden` is the pattern so far, which is not safe."""

    def __init__(self, message: str, *, best: object, next_step: str, hidden: NDArray[np.bool_]) -> None:
        super().__init__(message, best=best, next_step=next_step)
        self.hidden = hidden


def fingerprint(sides: Sequence[Side], cost: Floats, settings: str) -> str:
    """The table and what is asked of it, as one word."""
    held = hashlib.sha256(settings.encode())
    for side in sides:
        for array in (side.view.figures, side.needs.cells, side.needs.directions, side.needs.levels):
            held.update(np.ascontiguousarray(array).tobytes())
    held.update(np.ascontiguousarray(cost).tobytes())
    return held.hexdigest()


def load_state(path: str, word: str, n_cells: int) -> NDArray[np.bool_]:
    """The cells that an earlier search suppressed; none where there is no file."""
    hidden = np.zeros(n_cells, dtype=np.bool_)
    file = Path(path)
    if not file.exists():
        return hidden
    try:
        held = json.loads(file.read_text(encoding="utf-8"))
        cells, made_for = np.array(held["suppressed"], dtype=np.int64), held["fingerprint"]
    except (ValueError, KeyError, TypeError) as problem:
        raise DataError(f"state = {path!r} is no state of a search: {problem}. Name another file.") from problem
    if made_for != word:
        raise DataError(
            f"state = {path!r} belongs to another table, or to other rules, costs or levels. Name another file, or "
            "remove it to begin anew."
        )
    hidden[cells] = True
    return hidden


def save_state(path: str, word: str, hidden: NDArray[np.bool_]) -> None:
    """Keep what was found."""
    held = {"fingerprint": word, "suppressed": np.flatnonzero(hidden).tolist()}
    with written_whole(path, overwrite=True, mode=0o600) as file:
        file.write(json.dumps(held).encode())
