"""Numba's `njit`, with a look at where compiled code is kept: what is loaded from there is run.

Numba keeps compiled kernels as pickles. Whoever can write that folder has Flou run code of theirs. The folder beside
the sources is as safe as the sources; one that NUMBA_CACHE_DIR or the user's settings name must be the user's own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from flou.engine.errors import ParameterError

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


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
    if not hasattr(os, "getuid"):  # pragma: no cover - Windows keeps other people out by other means
        return
    for place in (folder.resolve(), *folder.resolve().parents):
        held = place.stat()
        # in a folder such as /tmp nobody can rename what is another's
        sticky = held.st_mode & stat.S_ISVTX and place != folder.resolve()
        if held.st_uid not in (0, os.getuid()) or (held.st_mode & _OTHERS and not sticky and not _is_own_group(held)):
            raise ParameterError(
                f"Compiled code is kept in {str(folder)!r}, and others can write {str(place)!r}: they could have Flou "
                "run code of theirs. Point NUMBA_CACHE_DIR to a folder of your own, made with `mkdir -m 700`."
            )


def _is_own_group(held: os.stat_result) -> bool:
    """Whether only the group may write, and nobody else is in it: many systems give each user a group of his own."""
    if held.st_mode & stat.S_IWOTH or held.st_gid != os.getgid():
        return False
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(held.st_gid), pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
