"""Paths and files: a path is checked before it is used, a file is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from flou.engine import claim
from flou.engine.database_uri import MISTAKEN, is_database, is_mistaken
from flou.engine.errors import FlouError, OutputError, ParameterError

#: Whether texts that begin like formulas get an apostrophe in a CSV file, or stand there as they are.
Formulas = Literal["escaped", "plain"]
#: Files are for their owner alone, unless whoever writes them says that others may read them.
PRIVATE, PUBLIC = 0o600, 0o644


def checked_path(path: object, what: str, failure: type[FlouError] = ParameterError) -> Path:
    """A path that the system can look up; what is none raises."""
    if not isinstance(path, str | PathLike) or isinstance(path, bytes):
        raise ParameterError(f"{what} is named by its path, a text; given {path!r}.")
    if (is_database(path) or is_mistaken(str(path))) and not _is_there(str(path)):
        raise failure(f"{what} {MISTAKEN}")
    found = Path(path)
    try:
        if "\0" in str(found):
            raise ValueError("it holds a zero byte")
        os.fsencode(found)  # half a character has no bytes that a system could look up
        found.exists()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise failure(f"{what} {str(path)[:80]!r} is not a path that can be used ({why}).") from None
    return found


def _is_there(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a zero byte, or half a character
        return False


def require_formulas(formulas: object, failure: type[FlouError] = ParameterError) -> None:
    """Refuse what is neither of both."""
    if formulas not in get_args(Formulas):
        raise failure(f'formulas = {formulas!r} must be "escaped" or "plain".')


def require_new(target: Path, *, overwrite: bool = False) -> None:
    """Refuse a file that exists, unless overwriting was asked for."""
    if target.is_dir():
        raise OutputError(f"{str(target)!r} is a folder, not a file.")
    if target.exists() and not overwrite:
        raise OutputError(f"{str(target)!r} exists and is not overwritten. Choose another name.")


@contextmanager
def written_whole(path: object, *, overwrite: bool = False, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """A file to write to, under a temporary name beside the target that is renamed when all went well."""
    target = checked_path(path, "A file to write", OutputError)
    require_new(target, overwrite=overwrite)
    target = target.resolve() if overwrite else target  # what a link names is written, not the link
    try:
        descriptor, temporary = claim.new_file(target.parent)
    except OSError as error:
        raise OutputError(f"{str(target)!r} cannot be written ({error.strerror}).") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            temporary.chmod(_mode(target, mode))
            _put_in_place(temporary, target, overwrite=overwrite)
    except Exception as error:
        _refuse_failed_writing(error, target)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _put_in_place(temporary: Path, target: Path, *, overwrite: bool) -> None:
    """Give a file its name; one that has appeared there meanwhile stays, unless overwriting was asked for."""
    if not overwrite:
        try:
            os.link(temporary, target)
            return
        except FileExistsError:
            raise OutputError(
                f"{str(target)!r} was written by somebody else meanwhile, and is not overwritten. Choose another name."
            ) from None
        except OSError:
            require_new(target)  # a disk without links: the moment between this and the next line is not covered
    temporary.replace(target)


@contextmanager
def folder_written_whole(target: Path, *, mode: int = PRIVATE) -> Iterator[Path]:
    """A folder to fill, under a temporary name beside the target that is renamed when all went well."""
    if target.exists():
        raise OutputError(f"{str(target)!r} exists and is not overwritten. Choose another name.")
    try:
        lock, temporary = claim.new_folder(target.parent)
    except OSError as error:
        raise OutputError(f"{str(target)!r} cannot be written ({error.strerror}).") from None
    try:
        filled = temporary / "filled"
        filled.mkdir(mode=0o700)
        yield filled
        for path in filled.rglob("*"):
            path.chmod(masked(folder_mode(mode) if path.is_dir() else mode))
        filled.chmod(masked(folder_mode(mode)))
        filled.replace(target)
    except Exception as error:
        _refuse_failed_writing(error, target)
        raise
    finally:
        claim.leave_folder(temporary, lock)


def _mode(target: Path, mode: int) -> int:
    """A file that is overwritten is never opened to more people than it was."""
    return masked(mode & target.stat().st_mode if target.exists() else mode)


def folder_mode(mode: int) -> int:
    """The mode of a folder for files of a mode: who may read them may enter."""
    return mode | mode >> 2 & 0o111


def masked(mode: int) -> int:
    """A mode less what the user's umask takes away; it can be read by setting it alone, meanwhile to the strictest."""
    umask = os.umask(0o077)
    os.umask(umask)
    return mode & ~umask


def _refuse_failed_writing(error: Exception, target: Path) -> None:
    """A failure of the disk or of the writer is an OutputError; others go on as they are."""
    if isinstance(error, OSError) or type(error).__module__.split(".")[0] == "polars":
        reason = str(error).strip().splitlines()[0]
        raise OutputError(f"{str(target)!r} could not be written: {reason}. Nothing was left behind.") from None
