"""Real runs that are killed, and what can be seen of them afterwards."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, Signals

#: Stages of a run after which it may be killed; the last ones are a file on disk, not a line.
STAGES = ("", "… read", "… protect: recode", "… inferable", "… write data", "… write reports", "log.txt")
_MARK = "FLOU_TEST_RUN"


@dataclass
class Run:
    """One `flou run` with folders of its own; every process of it carries a mark in its environment."""

    plan: Path
    room: Path
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.temporary.mkdir(parents=True, exist_ok=True)
        self.mark = f"{_MARK}={os.getpid()}.{time.monotonic_ns()}"
        name, _, value = self.mark.partition("=")
        environment = {**os.environ, "FLOU_WORKER": "", "TMPDIR": str(self.temporary), name: value}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        command = [sys.executable, "-m", "flou", "run", self.plan, "--out", self.out, *self.options]
        self.said = self.room / f"said.{value}"
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
            )

    @property
    def temporary(self) -> Path:
        return self.room / "tmp"

    @property
    def out(self) -> Path:
        return self.room / "office" / "out"

    @property
    def code(self) -> int:
        """The exit code, as soon as the run ends."""
        return self.process.wait(60)

    def errors(self) -> list[str]:
        """What was said but for progress."""
        return [line for line in self.said.read_text().splitlines() if not line.startswith("…")]

    def processes(self) -> list[int]:
        """All of the run's processes that are alive, the one that was called first."""
        found = []
        for folder in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                number = int(folder.name)
                if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0") and is_alive(number):
                    found.append(number)
        return sorted(found, key=lambda number: (number != self.process.pid, number))

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Wait for something, or the run's end."""
        until = time.monotonic() + 60
        while not happened() and self.process.poll() is None:
            assert time.monotonic() < until, "the run hangs"
            time.sleep(0.002)

    def hears(self, number: Signals) -> bool:
        """Whether the process that was called has come to catch a signal."""
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
            caught = next(line for line in lines if line.startswith("SigCgt:"))
            return bool(int(caught.split()[1], 16) >> (number - 1) & 1)
        return False

    def wait_for(self, stage: str, delay: float) -> None:
        """Wait for a stage, and some more."""
        last = self.room / "office" / ".out.flou-run" / "new" / "internal"
        if stage:
            self.wait_until(lambda: (last / stage).exists() or stage in self.said.read_text())
        time.sleep(delay)

    def kill(self, who: str) -> None:
        """Kill the process that was called, the one that works, or all at once."""
        if who == "worker":
            self.wait_until(lambda: len(self.processes()) > 1)
        targets = {"caller": self.processes()[:1], "worker": self.processes()[1:], "all": self.processes()}[who]
        for number in targets:
            with suppress(ProcessLookupError):
                os.kill(number, SIGKILL)


def is_alive(process: int) -> bool:
    """Whether a process runs; one that nobody waited for yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def moment(seed: int, stages: tuple[str, ...] = STAGES) -> tuple[str, float]:
    """A random moment: a stage and the seconds after it."""
    draw = random.Random(seed)
    stage = draw.choice(stages)
    return stage, draw.uniform(0, {"": 1.5, "log.txt": 0.03}.get(stage, 0.5))


def tree(folder: Path) -> dict[str, str]:
    """The files of a folder with their hashes."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def is_whole(out: Path) -> bool:
    """Whether a folder is what a run writes: all pages, and the public files that the manifest names."""
    held = tree(out)
    pages = {f"internal/{name}" for name in ("manifest.json", "parameters.json", "profile.json", "log.txt")}
    if not pages < set(held) or "internal/report.en.html" not in held:
        return False
    public = json.loads((out / "internal" / "manifest.json").read_text())["public"]
    return {f"public/{name}": value for name, value in public.items()} == {
        name: value for name, value in held.items() if name.startswith("public/")
    }
