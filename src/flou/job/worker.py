"""Work in a process of its own, so that it can be stopped at any moment and leaves nothing behind.

    work("package.module:function", "people.parquet", progress=show, memory=2_000)

The function is named, so that this process need not load what it works with. What it takes and gives back travels as a
pickle between this process and its own child, and progress comes over the same pipe. However the work ends (an error,
Ctrl-C, a request to end, too much memory, a crash in native code), the child and its children are ended within two
seconds, native code included, and the folder that holds all their temporary files is removed. The child ends by itself
where this process is killed.

Memory is what the child and its children hold at one moment; it is looked at ten times a second, on Linux alone.
`FLOU_WORKER=inline` does the work in this process, for debuggers and profilers.
"""

from __future__ import annotations

import os
import pickle
import pkgutil
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from flou.engine import claim
from flou.engine.errors import ParameterError, WorkStoppedError
from flou.engine.progress import Progress, listening
from flou.job.messages import receive, send
from flou.job.signals import postponed, undisturbed

#: Seconds that the child has to end by itself when it is asked to, and between two looks at its memory.
_GRACE, _LOOK = 1.0, 0.1
#: A child that is given less is killed while it loads its libraries.
_LEAST_MEMORY = 200
_START = "import sys; sys.path[:] = {path!r}; from flou.job.worker_process import main; main()"


def work(task: str, *arguments: object, progress: Progress | None = None, memory: int | None = None) -> Any:
    """Call a function of a module in a child process and return what it returns; its errors are raised here.

    `memory` is the most that it may hold, in megabytes (10^6 bytes).
    """
    limit = _checked(memory)
    if os.environ.get("FLOU_WORKER") == "inline":
        with listening(progress):
            return pkgutil.resolve_name(task)(*arguments)
    with _temporary_folder() as folder, _started(folder) as child:
        assert child.stdin is not None
        with suppress(BrokenPipeError):  # it ended before it was asked: that is said below
            send(child.stdin, (task, arguments, os.getpid()))
        found = _followed(child, progress, limit)
        child.kill()  # there is nothing left to do, and its files go
        return found


def _checked(memory: int | None) -> int | None:
    if memory is None:
        return None
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < _LEAST_MEMORY:
        raise ParameterError(f"memory = {memory!r} must be a whole number of megabytes, {_LEAST_MEMORY} at least.")
    if not Path("/proc/self/statm").exists():
        raise ParameterError("memory can be limited on Linux alone: leave it out here.")
    return memory * 1_000_000


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder for all temporary files of the child, removed whatever happens."""
    place = Path(tempfile.gettempdir())
    claim.remove_abandoned(place, claim.SPOOL)
    with ExitStack() as left:
        with postponed():
            lock, folder = claim.new_folder(place, claim.SPOOL)
            left.callback(_remove, folder, lock)
        yield folder


def _remove(folder: Path, lock: int) -> None:
    with undisturbed():
        claim.leave_folder(folder, lock)


@contextmanager
def _started(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A child that is ended whatever happens; its temporary files are made in `folder`."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", _START.format(path=sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
        start_new_session=True,  # Ctrl-C in a terminal reaches this process alone, which ends the child
    )
    try:
        yield child
    finally:
        with undisturbed():
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ask the child to end, and end it and its children if it does not."""
    with suppress(subprocess.TimeoutExpired):
        if child.poll() is None:
            child.terminate()
            child.wait(_GRACE)
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)  # the group outlives its leader while one of its children lives
        else:  # pragma: no cover - Windows
            child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        with suppress(OSError):
            assert pipe is not None
            pipe.close()


def _followed(child: subprocess.Popen[bytes], progress: Progress | None, limit: int | None) -> Any:
    """Pass on what the child says until it gives its result, an error, or ends."""
    said: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_heard, args=(child, said), daemon=True).start()
    looked = 0.0
    while True:
        if limit is not None and time.monotonic() - looked >= _LOOK:  # also while messages come without a pause
            looked = time.monotonic()
            _require_within(limit, child)
        try:
            kind, held = said.get(timeout=_LOOK)
        except queue.Empty:
            continue
        if kind == "progress":
            if progress is not None:
                progress(*held)
        elif kind == "warning":
            warnings.warn(held, stacklevel=2)
        elif kind == "result":
            return pickle.loads(held)
        elif kind == "error":
            error = pickle.loads(held)
            if isinstance(error, KeyboardInterrupt):  # nobody pressed a key there: a library could not start a thread
                raise WorkStoppedError(_ending(-signal.SIGINT))
            raise error
        else:
            raise WorkStoppedError(_ending(child.wait()))


def _require_within(limit: int, child: subprocess.Popen[bytes]) -> None:
    if _memory(child.pid) > limit:
        raise WorkStoppedError(
            f"The work needed more than the {limit // 1_000_000:,} MB of memory that it may have, and was stopped. "
            "Nothing was written. Allow more, or take the engine duckdb, which works on disk."
        )


def _heard(child: subprocess.Popen[bytes], said: queue.SimpleQueue[tuple[str, Any]]) -> None:
    """Put all messages of the child on the queue, and its end."""
    assert child.stdout is not None
    with suppress(EOFError, OSError, ValueError):
        while True:
            said.put(receive(child.stdout))
    said.put(("end", None))


def _ending(code: int) -> str:
    """What an end without a result means."""
    if code == -signal.SIGKILL:
        why = "its process was killed, most likely because the machine has too little memory"
        how = "Give it a machine with more memory, or take the engine duckdb, which works on disk."
    elif code < 0:
        why = f"its process crashed ({signal.Signals(-code).name})"
        how = "Please report it, with the plan and the versions of `pip list`."
    else:
        why, how = f"its process ended with code {code}", "What it printed above may say why."
    if _address_space_is_limited():
        how = (
            "The address space is limited here (ulimit -v), of which libraries reserve more than they use: "
            "take that limit off, and limit the memory with --memory."
        )
    return f"The work was not done: {why}. Nothing was written. {how}"


def _address_space_is_limited() -> bool:
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows has no such limit
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _memory(leader: int) -> int:
    """Bytes that the processes of a group hold in memory."""
    total, page = 0, os.sysconf("SC_PAGE_SIZE")
    for entry in os.scandir("/proc"):
        with suppress(OSError, ValueError):
            if os.getpgid(int(entry.name)) == leader:
                total += int(Path(entry.path, "statm").read_text().split()[1]) * page
    return total
