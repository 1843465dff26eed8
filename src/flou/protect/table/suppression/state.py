"""A search that was stopped by its limit: what it found so far, in a file from which it goes on.

The file holds the numbers of the cells that were suppressed beside the primary ones, and a fingerprint of the table and
of what was asked for: it serves the same question alone. It is for the office: it tells which cells are sensitive.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import DataError, Infeasible
from flou.engine.output import checked_path, written_whole
from flou.engine.parsing import parsed_json
from flou.protect.table.suppression.search import Task


class Unfinished(Infeasible):
    """The search reached its limit; `best` says how far it came, `hidden` is the pattern so far, which is not safe."""

    def __init__(self, message: str, *, best: object, next_step: str, hidden: NDArray[np.bool_]) -> None:
        super().__init__(message, best=best, next_step=next_step)
        self.hidden = hidden


def fingerprint(task: Task, how: str) -> str:
    """The table and what is asked of it, as one word."""
    held = hashlib.sha256(f"{how} {task.singletons}".encode())
    arrays: list[NDArray[Any]] = [task.primary, task.free, task.empty, task.unlisted, task.cost, *task.lone]
    arrays += [task.equations.totals, task.equations.starts, task.equations.parts]
    for side in task.sides:
        arrays += [side.view.figures, side.view.low, side.view.high]
        arrays += [side.needs.cells, side.needs.directions, side.needs.levels]
    for array in arrays:
        held.update(f"{array.dtype} {array.shape}".encode())
        held.update(np.ascontiguousarray(array).tobytes())
    return held.hexdigest()


def load_state(path: str, word: str, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The cells that an earlier search suppressed; none where there is no file."""
    hidden = np.zeros(len(free), dtype=np.bool_)
    file = checked_path(path, "A state file")
    if not file.exists():
        return hidden
    try:
        held = parsed_json(file.read_text(encoding="utf-8"))
        cells, made_for = held["suppressed"], held["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DataError(f"state = {path!r} is no state of a search: {problem}. Name another file.") from problem
    if made_for != word:
        raise DataError(
            f"state = {path!r} belongs to another table, or to other rules, costs or levels. Name another file, or "
            "remove it to begin anew."
        )
    if not isinstance(cells, list) or not all(type(c) is int and 0 <= c < len(free) and free[c] for c in cells):
        raise DataError(f"state = {path!r} names cells that cannot be suppressed: it was changed. Remove it.")
    hidden[np.array(cells, dtype=np.int64)] = True
    return hidden


def drop_state(path: str) -> None:
    """The search ended: there is nothing to go on from."""
    Path(path).unlink(missing_ok=True)


def save_state(path: str, word: str, hidden: NDArray[np.bool_]) -> None:
    """Keep what was found."""
    held = {"fingerprint": word, "suppressed": np.flatnonzero(hidden).tolist()}
    with written_whole(path, overwrite=True) as file:
        file.write(json.dumps(held).encode())
