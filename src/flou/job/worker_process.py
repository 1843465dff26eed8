"""The child of `flou.job.worker`: take one task from standard input, say how far it is, give its result.

Messages have a pipe of their own; what libraries print goes to the error stream. The process ends when its parent does:
the system says so on Linux, and everywhere the end of standard input.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import pkgutil
import signal
import sys
import threading
import traceback
import warnings
from contextlib import suppress
from typing import Any, NoReturn

from flou.engine.progress import listening
from flou.job.messages import receive, send

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Carry the task out and end; the exit code says nothing."""
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _die_with_parent()
    try:
        task, arguments, parent = receive(sys.stdin.buffer)
    except EOFError:  # the parent ended before it asked
        _die()
    if hasattr(os, "getppid") and os.getppid() != parent:  # it ended before it could be watched
        _die()
    threading.Thread(target=_watch, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    one_at_a_time = threading.Lock()

    def say(kind: str, held: Any) -> None:
        with one_at_a_time:
            send(pipe, (kind, held))

    warnings.showwarning = lambda message, *_, **__: say("warning", str(message))
    try:
        with listening(lambda *said: say("progress", said)):
            answer = ("result", pickle.dumps(pkgutil.resolve_name(task)(*arguments)))
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise
        answer = ("error", _pickled(error))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the parent may end this process once it has the answer: in silence
    say(*answer)


def _pickled(error: BaseException) -> bytes:
    """An error as it is, or what can be said of one that cannot travel; `FLOU_DEBUG=1` shows where it arose."""
    if os.environ.get("FLOU_DEBUG"):
        error.add_note("".join(traceback.format_exception(error)))
    with suppress(Exception):
        held = pickle.dumps(error)
        pickle.loads(held)
        return held
    other: Any = RuntimeError(f"{type(error).__name__}: {error}")
    for note in getattr(error, "__notes__", ()):
        other.add_note(note)
    return pickle.dumps(other)


def _die_with_parent() -> None:
    """Ask Linux to kill this process with the thread that started it, also in native code that runs long."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch() -> None:
    """Nothing more comes from the parent but its end."""
    with suppress(OSError):
        while os.read(0, 1):
            pass
    _die()


def _die() -> NoReturn:
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
