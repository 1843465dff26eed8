"""One input: lay a valid file out, spoil it as its seed says, use it, and look at what came of it.

Either it works or a FlouError says why not; within the limit of time; no output where it did not work, nothing else
written, nothing left in the folder for temporary files but the spool, which goes with the process.
"""

from __future__ import annotations

import faulthandler
import random
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.fuzz.frames import spoilt_frame, written
from tests.fuzz.mutations import spoil_archive, spoil_bytes, spoil_text
from tests.fuzz.seeds import TEXTS, Files, valid
from tests.fuzz.uses import USES

from flou.engine.claim import SPOOL
from flou.engine.errors import FlouError
from flou.engine.formats import FormatWarning

#: Seconds that an input may take, and after which a call that cannot be interrupted ends the whole run.
PATIENCE, END = 20, 120


class _Hung(BaseException):
    """An input took longer than it may."""


def lay_out(kind: str, rng: random.Random, folder: Path) -> Path:
    """Write the files of an input; the one that is spoilt."""
    files = dict(rng.choice(valid(kind)))
    name = next(iter(files))
    files[name] = _spoilt(kind, files[name], rng)
    return write(files, folder)


def write(files: Files, folder: Path) -> Path:
    """Write files into a folder; the first of them."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder / next(iter(files))


def _spoilt(kind: str, content: bytes, rng: random.Random) -> bytes:
    if kind in TEXTS:
        return spoil_text(content, rng)
    if kind == "excel" and rng.random() < 0.5:
        return spoil_archive(content, rng)
    made = written(spoilt_frame(rng), kind) if rng.random() < 0.5 else None
    return spoil_bytes(content, rng) if made is None else made


def failure(kind: str, seed: int, place: Path) -> str | None:
    """Use one input in an empty folder; what is wrong with what came of it, and how to see it again."""
    rng = random.Random(f"{kind} {seed}")
    folder, out = place / "in", place / "out" / "result"
    out.parent.mkdir(parents=True)
    file = lay_out(kind, rng, folder)
    before, temporary = _held(folder), _held(Path(tempfile.gettempdir()))
    problems, worked, started = [], True, time.monotonic()
    try:
        with _limited(), warnings.catch_warnings():
            warnings.simplefilter("error")  # a division by zero is a warning first
            warnings.simplefilter("ignore", FormatWarning)
            USES[kind](folder, out, file, rng)
    except FlouError as error:
        worked = False
        if len(str(error)) < 10:
            problems.append(f"it says nothing: {error!r}")
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        worked = False
        problems.append("".join(traceback.format_exception(error)[-12:]))
    if time.monotonic() - started > PATIENCE:
        problems.append(f"it took {time.monotonic() - started:.0f} s")
    problems += _left_behind(folder, before, out, temporary, worked)
    shutil.rmtree(place)
    return f"python -m tests.fuzz {kind!r} {seed}\n" + "\n".join(problems) if problems else None


def _left_behind(folder: Path, before: set[str], out: Path, temporary: set[str], worked: bool) -> Iterator[str]:
    if new := _held(folder) - before:
        yield f"files appeared beside the input: {sorted(new)}"
    made = sorted(p.name for p in out.parent.iterdir())
    if hidden := [name for name in made if name.startswith(".")]:
        yield f"half-done work was left: {hidden}"
    if made and not worked:
        yield f"it failed, and wrote {made}"
    if new := {n for n in _held(Path(tempfile.gettempdir())) - temporary if not n.startswith(SPOOL)}:
        yield f"temporary files were left: {sorted(new)}"


def _held(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@contextmanager
def _limited() -> Iterator[None]:
    """Interrupt what takes too long; a call of native code that does not return ends the process, and says where."""

    def hung(number: int, frame: FrameType | None) -> None:
        raise _Hung(f"more than {PATIENCE} s")

    former = signal.signal(signal.SIGALRM, hung)
    signal.alarm(PATIENCE)
    faulthandler.dump_traceback_later(END, exit=True)
    try:
        yield
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, former)
