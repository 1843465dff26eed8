"""Where files that a method's parameters name are found: beside the plan that names them, else where Python runs.

A plan file can be moved with what belongs to it, and be run from anywhere. The parameter itself stays as it was
written, so that reports and manifests show no folder of the machine they were made on. The folder is held in a context
variable, as the listener of `progress` is: a method reads its files deep down, without a parameter for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_folder: ContextVar[Path | None] = ContextVar("flou_folder", default=None)


@contextmanager
def within(folder: Path) -> Iterator[None]:
    """Inside the block, paths are relative to `folder`."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def located(path: str) -> Path:
    """Where a file that a parameter names is."""
    folder = _folder.get()
    return Path(path) if folder is None else folder / path
