"""Whether a folder is for its owner alone: who else can write there can put something of his in the place of ours."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def open_to_others(folder: Path) -> Path | None:
    """The folder, or the one above it, that somebody else can write or put another one in the place of."""
    if not hasattr(os, "getuid"):  # pragma: no cover - Windows keeps other people out by other means
        return None
    for place in (folder.resolve(), *folder.resolve().parents):
        held = place.stat()
        # in a folder such as /tmp nobody can rename what is another's
        sticky = held.st_mode & stat.S_ISVTX and place != folder.resolve()
        if held.st_uid not in (0, os.getuid()) or (held.st_mode & _OTHERS and not sticky and not _is_own_group(held)):
            return place
    return None


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
