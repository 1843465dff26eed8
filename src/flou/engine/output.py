"""Paths and files: a path is checked before it is used, a file is written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from flou.engine.errors import FlouError, OutputError, ParameterError


def checked_path(path: object, what: str, failure: type[FlouError] = ParameterError) -> Path:
    """A path that the system can look up; what is none raises."""
    if not isinstance(path, str | PathLike) or isinstance(path, bytes):
        raise ParameterError(f"{what} is named by its path, a text; given {path!r}.")
    found = Path(path)
    try:
        if "\0" in str(found):
            raise ValueError("it holds a zero byte")
        found.exists()
    except (OSError, ValueError) as error:
        raise failure(f"{what} {str(path)[:80]!r} is not a path that can be used ({error}).") from None
    return found


def require_new(target: Path, *, overwrite: bool = False) -> None:
    """Refuse a file that exists, unless overwriting was asked for."""
    if target.is_dir():
        raise OutputError(f"{str(target)!r} is a folder, not a file.")
    if target.exists() and not overwrite:
        raise OutputError(f"{str(target)!r} exists and is not overwritten. Choose another name.")


@contextmanager
def written_whole(path: object, *, overwrite: bool = False, mode: int = 0o644) -> Iterator[BinaryIO]:
    """A file to write to, under a temporary name beside the target that is renamed when all went well."""
    target = checked_path(path, "A file to write", OutputError)
    require_new(target, overwrite=overwrite)
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".flou.")
    except OSError as error:
        raise OutputError(f"{str(target)!r} cannot be written ({error.strerror}).") from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        temporary.chmod(mode)
        temporary.replace(target)
    except Exception as error:
        _refuse_failed_writing(error, target)
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def folder_written_whole(target: Path) -> Iterator[Path]:
    """A folder to fill, under a temporary name beside the target that is renamed when all went well."""
    if target.exists():
        raise OutputError(f"{str(target)!r} exists and is not overwritten. Choose another name.")
    try:
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=".flou."))
    except OSError as error:
        raise OutputError(f"{str(target)!r} cannot be written ({error.strerror}).") from None
    try:
        yield temporary
        temporary.chmod(0o755)
        temporary.replace(target)
    except Exception as error:
        _refuse_failed_writing(error, target)
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _refuse_failed_writing(error: Exception, target: Path) -> None:
    """A failure of the disk or of the writer is an OutputError; others go on as they are."""
    if isinstance(error, OSError) or type(error).__module__.split(".")[0] == "polars":
        reason = str(error).strip().splitlines()[0]
        raise OutputError(f"{str(target)!r} could not be written: {reason}. Nothing was left behind.") from None
