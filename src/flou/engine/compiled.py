"""Numba's `njit`, with a look at where compiled code is kept: what is loaded from there is run.

Numba keeps compiled kernels as pickles. Whoever can write that folder has Flou run code of theirs. The folder beside
the sources is as safe as the sources; one that NUMBA_CACHE_DIR or the user's settings name must be the user's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from flou.engine.errors import ParameterError
from flou.engine.private import open_to_others


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel; refuse to take it from a folder that others can write."""

    def decorate(kernel: Callable[..., Any]) -> Any:
        made = numba.njit(**options)(kernel)
        if options.get("cache"):
            kept = Path(made.stats.cache_path)
            if kept != Path(kernel.__code__.co_filename).parent / "__pycache__":
                require_private(kept)
        return made

    return decorate


@cache
def require_private(folder: Path) -> None:
    """Refuse a folder that somebody else can write, or put another one in the place of."""
    place = open_to_others(folder)
    if place is not None:
        raise ParameterError(
            f"Compiled code is kept in {str(folder)!r}, and others can write {str(place)!r}: they could have Flou "
            "run code of theirs. Point NUMBA_CACHE_DIR to a folder of your own, made with `mkdir -m 700`."
        )
