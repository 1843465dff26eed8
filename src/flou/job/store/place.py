"""Where runs keep what the next one may go on from: a folder for the owner alone, with a limit, that can be cleaned.

Each entry is a folder of its own, which appears and goes in one moment: it is moved into its place when it is whole,
and out of it before it is removed. This module loads none of the libraries that work.
"""

from __future__ import annotations

import errno
import os
import re
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flou.engine import claim
from flou.engine.errors import OutputError, ParameterError
from flou.engine.private import open_to_others

#: What names the folder, or says that nothing is kept; and the most megabytes that it may hold.
FOLDER, LIMIT = "FLOU_STORE", "FLOU_STORE_LIMIT"
#: The stage by which a run says that it has kept something.
KEPT = "kept"
_MOST, _MEGABYTE = 20_000, 1_000_000
_OFF = "off"
_ENTRY = re.compile(r"[0-9a-f]{40}(\.[0-9a-f]{40})?")
_DAY = 86_400


@dataclass(frozen=True)
class Entry:
    """One entry: its folder, how many bytes it holds, and when it was made."""

    path: Path
    size: int
    made: float


def is_named() -> bool:
    """Whether the office has said where the folder is."""
    return bool(os.environ.get(FOLDER))


def located() -> Path | None:
    """Where the folder is; None where nothing is to be kept."""
    named = os.environ.get(FOLDER)
    if named:
        return None if named == _OFF else Path(named).absolute()
    cache = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "flou" / "store"
    except RuntimeError:  # nobody has said where the user is at home
        return None


def opened(folder: Path) -> Path:
    """The folder, made if it is not there; one that others can write is refused."""
    try:
        for place in reversed([folder, *folder.parents]):
            if not place.exists():
                place.mkdir(mode=0o700, exist_ok=True)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        other = open_to_others(folder)
    except OSError as error:
        raise OutputError(
            f"{str(folder)!r}, where runs keep what they may go on from, cannot be used ({error.strerror}). Point "
            f"{FOLDER} to another folder, or set {FOLDER}={_OFF} to keep nothing."
        ) from None
    if other is not None:
        raise OutputError(
            f"Runs keep confidential data in {str(folder)!r}, and others can write {str(other)!r}. Point {FOLDER} to a "
            f"folder of your own, made with `mkdir -m 700`, or set {FOLDER}={_OFF} to keep nothing."
        )
    claim.remove_abandoned(folder)
    return folder


def limit() -> int:
    """The most bytes that all entries may have together."""
    text = os.environ.get(LIMIT) or str(_MOST)
    if not text.isascii() or not text.isdigit():
        raise ParameterError(f"{LIMIT} = {text!r} must be a whole number of megabytes.")
    return int(text) * _MEGABYTE


def entries(folder: Path) -> list[Entry]:
    """All entries, the oldest first."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        with suppress(OSError):  # another process may just remove it
            if _ENTRY.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
                found.append(Entry(path, _size(path), path.stat().st_mtime))
    return sorted(found, key=lambda entry: entry.made)


def _size(entry: Path) -> int:
    """How many bytes an entry holds; of a file that several entries share, its part."""
    return sum(held.st_size // max(held.st_nlink, 1) for held in (file.stat() for file in entry.iterdir()))


def make_room(folder: Path, new: Path, most: int, *, besides: str) -> None:
    """Remove the oldest entries until a new one may come; the one that it replaces does not count."""
    for oldest in entries(folder):
        held = [entry.size for entry in entries(folder) if entry.path.name != besides]
        if _size(new) + sum(held) <= most:
            return
        if oldest.path.name != besides:
            remove(folder, [oldest.path.name])


def remove(folder: Path, names: Iterable[str]) -> int:
    """Remove entries, each in one moment; how many there were."""
    there = [folder / name for name in dict.fromkeys(names) if _ENTRY.fullmatch(name) and (folder / name).is_dir()]
    if not there:
        return 0
    lock, aside = claim.new_folder(folder)
    n_moved = 0
    try:
        for path in there:
            with suppress(OSError):
                path.replace(aside / path.name)
                n_moved += 1
    finally:
        claim.leave_folder(aside, lock)
    return n_moved


def forget(names: Iterable[str]) -> None:
    """Remove entries that are no longer needed; warn of those that the system refuses to remove."""
    folder, going = located(), list(names)
    if folder is None:
        return
    with suppress(OSError):
        remove(folder, going)
    left = [name for name in going if (folder / name).is_dir()]
    if left:
        warnings.warn(
            f"{len(left)} entries that this run kept are still in {str(folder)!r}. They are as confidential as the "
            "data: remove them with `flou clean`.",
            stacklevel=2,
        )


def clean(older_than: float | None = None) -> tuple[int, float]:
    """Remove all entries, or those of so many days ago and more: how many there were, and their megabytes."""
    folder = located()
    if folder is None or not folder.is_dir():
        return 0, 0.0
    opened(folder)
    until = time.time() - (0 if older_than is None else older_than * _DAY)
    going = [entry for entry in entries(folder) if older_than is None or entry.made <= until]
    n_removed = remove(folder, [entry.path.name for entry in going])
    return n_removed, sum(entry.size for entry in going) / _MEGABYTE
