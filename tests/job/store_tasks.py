"""A run whose process is killed while it works."""

from __future__ import annotations

import os
from signal import SIGKILL
from typing import Any

from flou.cli import carried_out
from flou.engine import registry
from flou.job.store import seal


def die_in_a_step(*arguments: Any) -> Any:
    """Carry a plan out until its last step, in which the process is killed."""
    method: Any = registry.find("protect", "rank_swap")
    method._protect = _die
    return carried_out.fill_folder(*arguments)


def die_while_writing(*arguments: Any) -> Any:
    """Carry a plan out until the entry of its first step is written, all but moved to its place."""

    def die(room: Any, target: Any) -> None:
        if "." not in target.name:
            _die()
        put(room, target)

    put = seal._put_in_place
    seal._put_in_place = die
    return carried_out.fill_folder(*arguments)


def _die(*_: Any) -> None:
    os.kill(os.getpid(), SIGKILL)
