"""Temporary files and folders that tell whether their owner is alive, by a lock that goes with the process.

A process that is killed cannot remove what it was writing. The system takes its locks away, so that the next process
can tell what nobody will finish, and removes it. Whoever takes a lock looks whether the file is still there: it may
have been removed between the making and the locking.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no such locks: what a killed process leaves, the office removes
    fcntl = None  # type: ignore[assignment]

#: Beside the file or folder that is being written.
WRITING = ".flou-writing."
#: Folders in the place for temporary files.
SPOOL = "flou-spool."
LOCK = "in-use.lock"
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


def take(lock: Path) -> int:
    """Make and lock a file until its descriptor is closed; BlockingIOError where another process holds it."""
    while True:
        made = not os.path.lexists(lock)
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | (os.O_EXCL if made else 0) | _NO_LINKS, 0o600)
        try:
            if _locked(descriptor, lock, without=made):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise
        os.close(descriptor)


def take_folder(folder: Path) -> int:
    """Make a folder for the owner alone, or take over one whose owner is dead; BlockingIOError where he is alive."""
    while True:
        with suppress(FileNotFoundError, FileExistsError):  # removed, or made, by another at this moment
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                _require_ours(folder)
            return take(folder / LOCK)


def leave_folder(folder: Path, descriptor: int) -> None:
    """Remove a folder with all that is in it, and give its lock up.

    The lock goes last: what is left by a process that is killed meanwhile is still known as nobody's.
    """
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name != LOCK:
                remove(path)
        if [path.name for path in folder.iterdir()] == [LOCK]:
            (folder / LOCK).unlink()
            folder.rmdir()
    os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, as far as the system lets one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def new_file(folder: Path) -> tuple[int, Path]:
    """A new file in `folder`, for the owner alone, locked while its descriptor is open."""
    remove_abandoned(folder)
    while True:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=WRITING)
        with suppress(BlockingIOError):  # another process is about to remove it
            if _locked(descriptor, Path(name)):
                return descriptor, Path(name)
        os.close(descriptor)


def new_folder(parent: Path, prefix: str = WRITING) -> tuple[int, Path]:
    """A new folder in `parent`, for the owner alone, locked while the descriptor is open."""
    remove_abandoned(parent, prefix)
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        with suppress(FileNotFoundError, BlockingIOError):
            return take(folder / LOCK), folder


@cache
def remove_abandoned(parent: Path, prefix: str = WRITING) -> None:
    """Remove what dead processes left in `parent`; once a process is enough."""
    for left in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            _remove_if_abandoned(left, prefix)


def abandoned(folder: Path) -> int | None:
    """The lock of a folder of ours whose owner is dead, else None."""
    if fcntl is None or not _is_ours(folder):
        return None
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | _NO_LINKS)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock
    os.close(lock)
    return None


def remove_unlocked(folder: Path) -> None:
    """Remove an empty folder of ours: its owner was killed before he could lock it, or makes another if he is alive."""
    if _is_ours(folder):
        with suppress(OSError):
            folder.rmdir()


def _is_ours(folder: Path) -> bool:
    """Whether a folder is this user's own: who owns it can move what lies in it. A link to one is not."""
    there = folder.lstat()
    return stat.S_ISDIR(there.st_mode) and (not hasattr(os, "getuid") or there.st_uid == os.getuid())


def _require_ours(folder: Path) -> None:
    if not _is_ours(folder):
        raise PermissionError(
            errno.EPERM, f"{folder.name!r} beside it is not your own: another user's run may work there"
        )


def _remove_if_abandoned(left: Path, prefix: str) -> None:
    if left.is_dir():
        lock = abandoned(left)
        if lock is not None:
            leave_folder(left, lock)
        else:
            remove_unlocked(left)
    elif fcntl is not None and prefix == WRITING and left.lstat().st_uid == os.getuid():
        descriptor = os.open(left, os.O_RDWR | _NO_LINKS)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
        finally:
            os.close(descriptor)


def _locked(descriptor: int, path: Path, *, without: bool = True) -> bool:
    """Lock an open file; False where it was removed before it was locked.

    Where there are no locks (Windows, some network disks), `without` says whether that will do: of a file that somebody
    else made nobody knows whether he is alive.
    """
    try:
        if fcntl is None:
            raise OSError
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        if not without:
            raise BlockingIOError from None
        return True
    held = os.fstat(descriptor)
    try:
        there = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino)
