"""The worker: what it gives, how it fails, and that nothing of it is left however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from flou.engine import claim
from flou.engine.errors import Infeasible, MissingExtraError, ParameterError, WorkStoppedError
from flou.job.worker import work

TASKS = "tests.job.worker_tasks"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place for temporary files, which must be empty afterwards, and a child for every task."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("FLOU_WORKER", "")
    return place


def test_a_task_gives_its_result_and_says_how_far_it_is(temporary: Path) -> None:
    said: list[tuple[str, int, int]] = []
    assert work(f"{TASKS}:double", 21, progress=lambda *now: said.append(now)) == 42
    assert said == [("double", i, 3) for i in range(3)]
    assert not list(temporary.iterdir())


def test_a_task_in_this_process_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOU_WORKER", "inline")
    said: list[tuple[str, int, int]] = []
    assert work(f"{TASKS}:double", 21, progress=lambda *now: said.append(now)) == 42
    assert len(said) == 3


def test_what_is_printed_and_warned_of_is_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match="look at this"):
        assert work(f"{TASKS}:print_and_warn") == "done"
    assert capfd.readouterr() == ("", "printed\n")


@pytest.mark.parametrize(("kind", "error", "said"), [
    ("parameter", ParameterError, "k = 0 must be 1 at least."),
    ("infeasible", Infeasible, "No k. Best found: 3. Take 3."),
    ("extra", MissingExtraError, r"pip install 'flou\[duckdb\]'"),
    ("local", RuntimeError, "Local: odd"),
])  # fmt: skip
def test_errors_are_raised_as_they_were(kind: str, error: type[Exception], said: str, temporary: Path) -> None:
    with pytest.raises(error, match=said):
        work(f"{TASKS}:fail", kind)
    assert not list(temporary.iterdir())


def test_a_debugger_is_told_where_an_error_arose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOU_DEBUG", "1")
    with pytest.raises(ParameterError) as caught:
        work(f"{TASKS}:fail", "parameter")
    assert "in fail" in caught.value.__notes__[0]


def test_too_much_memory_ends_the_work(temporary: Path) -> None:
    started = time.monotonic()
    with pytest.raises(WorkStoppedError, match="more than the 300 MB"):
        work(f"{TASKS}:fill_memory", 600, memory=300)
    assert time.monotonic() - started < 20
    assert not list(temporary.iterdir())


def test_too_much_memory_is_seen_while_messages_come_without_a_pause() -> None:
    with pytest.raises(WorkStoppedError, match="more than the 300 MB"):
        work(f"{TASKS}:fill_memory_and_say_so", 600, memory=300)


def test_a_child_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(WorkStoppedError, match="ended with code 1"):
        work(f"{TASKS}:double", "more than a pipe holds" * 10_000)
    assert not list(temporary.iterdir())


def test_a_child_whose_parent_ended_before_it_asked_says_nothing() -> None:
    code = "from flou.job.worker_process import main; main()"
    child = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           start_new_session=True, check=False)  # fmt: skip
    assert child.stderr == ""


@pytest.mark.parametrize("memory", [0, 100, True, "600"])
def test_a_memory_limit_that_nothing_fits_in_is_refused(memory: object) -> None:
    with pytest.raises(ParameterError, match="megabytes, 200 at least"):
        work(f"{TASKS}:double", 1, memory=memory)  # type: ignore[arg-type]


@pytest.mark.parametrize(("number", "said"), [(signal.SIGKILL, "too little memory"), (signal.SIGSEGV, "SIGSEGV")])
def test_a_child_that_dies_says_so(number: signal.Signals, said: str, temporary: Path) -> None:
    with pytest.raises(WorkStoppedError, match=said):
        work(f"{TASKS}:crash", int(number))
    assert not list(temporary.iterdir())


class CancelledError(Exception):
    """The listener cancels."""


def test_native_code_is_cancelled_within_two_seconds(temporary: Path) -> None:
    heard: list[tuple[float, int]] = []

    def cancel(stage: str, process: int, total: int) -> None:
        heard.append((time.monotonic(), process))
        raise CancelledError

    with pytest.raises(CancelledError):
        work(f"{TASKS}:stay_in_native_code", progress=cancel)
    assert time.monotonic() - heard[0][0] < 2
    assert not alive(heard[0][1])
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_request_to_end_is_met_in_one_line_within_two_seconds(
    number: signal.Signals, tmp_path: Path, temporary: Path
) -> None:
    with command(tmp_path, temporary) as process:
        child = started(tmp_path)
        sent = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=10)
    assert time.monotonic() - sent < 2.5
    assert process.returncode == 128 + number
    assert len(said.splitlines()) == 1, said
    assert "nothing was written" in said
    assert not alive(child)
    assert not list(temporary.iterdir())


def test_a_command_under_nohup_outlives_its_terminal(tmp_path: Path, temporary: Path) -> None:
    with command(tmp_path, temporary, "nohup") as process:
        started(tmp_path)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        process.terminate()
        process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGTERM


def test_the_child_of_a_killed_process_dies_with_it(tmp_path: Path, temporary: Path) -> None:
    with command(tmp_path, temporary) as process:
        child = started(tmp_path)
        process.kill()
    until = time.monotonic() + 5
    while alive(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert not alive(child)
    assert list(temporary.iterdir()), "nobody could remove its files"
    claim.remove_abandoned.cache_clear()
    work(f"{TASKS}:double", 1)
    assert not list(temporary.iterdir())


def command(folder: Path, temporary: Path, *under: str) -> subprocess.Popen[str]:
    """The command line in the middle of native code."""
    code = f"""
import sys
from flou.cli import main as command
from flou.job.worker import work
@command.app.command()
def sleep() -> None:
    work("{TASKS}:stay_in_native_code", {str(folder / "mark")!r})
sys.argv = ["flou", "sleep"]
command.main()
"""
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    line = [*under, sys.executable, "-c", code]
    return subprocess.Popen(line, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=_hear_requests)


def _hear_requests() -> None:
    """A test run that was itself started by nohup, or in the background, would hand down that requests are ignored."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def started(folder: Path) -> int:
    """The child's number, as soon as it is in native code."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with suppress(OSError, ValueError):
            return int((folder / "mark").read_text())
        time.sleep(0.02)
    raise AssertionError("the child never came to its task")


def alive(process: int) -> bool:
    """Whether a process runs; one that nobody waited for yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
