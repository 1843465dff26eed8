"""What the tests of the worker ask it to do."""

from __future__ import annotations

import ctypes
import os
import signal
import tempfile
import time
import warnings
from pathlib import Path

from flou.engine.errors import Infeasible, MissingExtraError, ParameterError
from flou.engine.progress import tell


def double(n: int) -> int:
    for i in range(3):
        tell("double", i, 3)
    return 2 * n


def print_and_warn() -> str:
    print("printed")  # noqa: T201
    warnings.warn("look at this", stacklevel=1)
    return "done"


def fail(kind: str) -> None:
    if kind == "parameter":
        raise ParameterError("k = 0 must be 1 at least.")
    if kind == "infeasible":
        raise Infeasible("No k.", best=3, next_step="Take 3.")
    if kind == "extra":
        raise MissingExtraError("duckdb", "duckdb")

    class Local(BaseException):
        """What no other process can load."""

    raise Local("odd")


def fill_memory(megabytes: int) -> None:
    held = bytearray(megabytes * 1_000_000)
    held[::4096] = b"x" * len(held[::4096])
    time.sleep(60)


def fill_memory_and_say_so(megabytes: int) -> None:
    held = []
    for i in range(megabytes):
        held.append(b"x" * 1_000_000)
        tell("filling", i, megabytes)
        time.sleep(0.002)


def stay_in_native_code(mark: str | None = None) -> None:
    """Sleep in a library call that keeps Python's lock, with a file among the temporary ones."""
    (Path(tempfile.mkdtemp()) / "rows").write_text("secret")
    tell("asleep", os.getpid(), 0)
    if mark is not None:
        Path(mark).write_text(str(os.getpid()))
    ctypes.PyDLL(None).sleep(60)


def crash(number: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    time.sleep(60)
