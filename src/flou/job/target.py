"""The folder that a run makes, claimed while it works, so that no other run makes the same one.

The run fills a folder beside its target, which is renamed to the target at the end: the target is whole or not there,
and nothing that appeared there meanwhile is lost. A run that is killed leaves the folder beside; the next run that
writes to the same place removes it, and puts a former target back that was just giving way.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from flou.engine import claim
from flou.engine.errors import OutputError, listed
from flou.engine.output import checked_path, masked
from flou.job.run_files import not_ours
from flou.job.signals import postponed, undisturbed

_BEFORE, _AFTER = ".", ".flou-run"


@dataclass(frozen=True)
class Target:
    """A claimed target: what is filled now, and what it will be."""

    out: Path
    #: The folder to fill.
    new: Path
    #: Where a former target goes while the new one takes its place.
    former: Path
    replace: bool

    def put_in_place(self) -> None:
        """Rename the filled folder to the target; a former run's folder gives way, and comes back if that fails."""
        self.new.chmod(self._mode())
        try:
            if self.replace and not _is_free(self.out):
                self.out.replace(self.former)
                if found := not_ours(self.former):  # files may have appeared until it was moved
                    raise _holds_others(self.out, found)
            self.new.replace(self.out)  # the system replaces an empty folder, and nothing else
        except OSError as error:
            meanwhile = error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
            why = "something was written there while the run worked" if meanwhile else error.strerror
            raise OutputError(
                f"{str(self.out)!r} cannot be put in place ({why}). It is left as it is, and nothing else was written. "
                "Choose another --out."
            ) from None

    def _mode(self) -> int:
        """A folder that is replaced is never opened to more people than it was."""
        there = self.out.stat().st_mode if self.out.is_dir() else 0o755
        return masked(0o755 & there | 0o700)


def require_free(out: Path, *, replace: bool = False) -> None:
    """Refuse a target that would be overwritten, before any work is done."""
    if _is_free(out):
        return
    if not replace:
        raise OutputError(f"{str(out)!r} exists and is not overwritten. Choose another --out, or pass --replace.")
    if found := not_ours(out):
        raise _holds_others(out, found)


@contextmanager
def claimed(path: Path, *, replace: bool = False) -> Iterator[Target]:
    """Claim a target and make the folder to fill; whatever happens, nothing half-done is left."""
    out = _located(path)
    require_free(out, replace=replace)
    _recover_abandoned(out.parent)
    with ExitStack() as left:
        with postponed():
            left.callback(_remove_empty, _missing_parents(out))
            room = _room(out, left)
        require_free(out, replace=replace)  # another run may have ended while this one came to its claim
        target = Target(out, room / "new", room / "former", replace)
        target.new.mkdir(mode=0o700)
        yield target


def _room(out: Path, left: ExitStack) -> Path:
    """Claim the folder beside the target; `left` cleans it up."""
    room = out.with_name(f"{_BEFORE}{out.name}{_AFTER}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        lock = claim.take_folder(room)
    except BlockingIOError:
        raise OutputError(
            f"Another run is writing {str(out)!r} at this moment: it holds {room.name!r} beside it. Wait until it has "
            "ended, or choose another --out."
        ) from None
    except OSError as error:
        raise OutputError(f"{str(out)!r} cannot be made ({error.strerror}).") from None
    try:
        _require_empty(room)
    except OutputError:
        os.close(lock)
        raise
    left.callback(_leave_undisturbed, room, lock)
    return room


def _remove_empty(folders: list[Path]) -> None:
    """Remove the folders that were made above the target, if it is not there."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _located(path: Path) -> Path:
    """The target's own place; the folder that one is in is none."""
    out = checked_path(path, "--out", OutputError).resolve()
    if path.is_symlink() and not out.exists():
        raise OutputError(f"--out {str(path)!r} is a link to nothing. Name a folder that the run makes.")
    if out.is_mount() and out != Path(out.anchor):
        raise OutputError(
            f"--out {str(path)!r} is where a disk is mounted, which no run can replace. Name a folder in it, such as "
            f"--out {path / 'out'}."
        )
    here = Path.cwd()
    if out == here or out in here.parents:
        raise OutputError(
            f"--out {str(path)!r} is the folder you are in, or one above it. Name a folder that the run makes, such as "
            "--out out."
        )
    return out


def _is_free(out: Path) -> bool:
    return not os.path.lexists(out) or (out.is_dir() and not any(out.iterdir()))


def _holds_others(out: Path, found: list[str]) -> OutputError:
    return OutputError(
        f"{str(out)!r} holds files not made by a run of Flou ({listed(found)}), so it is not replaced. "
        "Choose another --out."
    )


def _missing_parents(out: Path) -> list[Path]:
    """The folders above the target that are still to be made, the innermost first."""
    return [folder for folder in out.parents if not folder.exists()]


def _require_empty(room: Path) -> None:
    """What somebody else keeps under the name of the folder to fill is not touched."""
    held = sorted(path.name for path in room.iterdir() if path.name != claim.LOCK)
    if "kept" in held:
        raise OutputError(
            f"{str(room)!r} holds a former run in 'kept', which gave way to one that was killed. Move it to its place, "
            f"or remove {room.name!r}."
        )
    if held:
        (room / claim.LOCK).unlink()
        raise OutputError(f"{str(room)!r} holds {listed(held)}, but a run needs that name. Choose another --out.")


def _recover_abandoned(parent: Path) -> None:
    """Remove what killed runs left in a folder, whatever their target was."""
    for room in parent.glob(f"{_BEFORE}*{_AFTER}"):
        with suppress(OSError):
            lock = claim.abandoned(room)
            if lock is not None:
                _leave(room, lock)
            else:
                claim.remove_unlocked(room)


def _leave(room: Path, lock: int) -> None:
    """Remove what a run left beside its target; a former target whose place was not taken comes back, or is kept."""
    former, new, kept = room / "former", room / "new", room / "kept"
    out = room.with_name(room.name.removeprefix(_BEFORE).removesuffix(_AFTER))
    if former.exists() and new.exists():  # else the new one stands in its place
        former.replace(kept)
    if kept.is_dir() and _is_free(out):
        kept.replace(out)
    if kept.exists():
        claim.remove(new)
        os.close(lock)
    else:
        claim.leave_folder(room, lock)


def _leave_undisturbed(room: Path, lock: int) -> None:
    with undisturbed():
        _leave(room, lock)
