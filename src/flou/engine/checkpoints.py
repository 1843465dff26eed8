"""Where a plan is after each of its steps: what a run may keep, so that another run goes on from there.

The engine says what there is and asks for what there was; whether it is kept, where and for whom is not its affair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from flou.engine.guarantee import Guarantee
from flou.engine.release import Step
from flou.engine.secret import Origin


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A plan after a step: the data, and what was done to them and promised about them."""

    data: Any
    steps: tuple[Step, ...]
    #: Each guarantee with the number of the step that gave it; 0 where it was given before the plan.
    promised: tuple[tuple[Guarantee, int], ...]
    #: Where the secret behind the data came from before these steps, and whether record keys were made from it.
    secret_origin: Origin
    keyed: bool = False


class Checkpoints(Protocol):
    """Who keeps checkpoints, for a single run of a single plan."""

    def keep(self, checkpoint: Checkpoint) -> None:
        """Keep where the plan is now, if that can be kept."""

    def find(self, number: int) -> Checkpoint | None:
        """Where an earlier run was after so many steps, if that was kept and this run may go on from it."""


def latest(kept: Checkpoints | None, after: int, last: int) -> Checkpoint | None:
    """The checkpoint with the most steps: more than `after`, at most `last`."""
    if kept is None:
        return None
    found = (kept.find(number) for number in range(last, after, -1))
    return next((checkpoint for checkpoint in found if checkpoint is not None), None)
