"""Runs that are killed at random: the folder is whole or absent, nothing works on, the next start removes the rest.

A seed gives the moment; the name of a failed test says it. `FLOU_KILL_SEED` moves all of them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.depth import DEEP, at_depth
from tests.job.killer import STAGES, Run, is_whole, moment, tree
from tests.job.test_target import former_run

SMALL = Path(__file__).parents[1] / "small_plan"
#: Every day the last stages are left out: a run that comes so far works for longer than a test may.
WITHIN_LIMITS = at_depth(STAGES[:5], STAGES)
SEED = int(os.environ.get("FLOU_KILL_SEED", "0"))

_NEXT = """
import sys
from pathlib import Path
from flou.job.target import claimed
from flou.job.worker import work
with claimed(Path(sys.argv[1])):
    work("tests.job.worker_tasks:double", 1)
"""


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A plan, a place for temporary files, and an office with room for one folder."""
    shutil.copytree(SMALL, tmp_path / "plan")
    (tmp_path / "office").mkdir()
    return tmp_path


def started(room: Path, *options: str) -> Run:
    return Run(room / "plan" / "plan.toml", room, options)


def start_next(room: Path) -> None:
    """The next start at the same places: in depth a whole run, else what each run begins with."""
    if DEEP:
        run = started(room, "--replace")
        assert run.code == 0, run.errors()
        assert is_whole(run.out)
    else:
        environment = {**os.environ, "FLOU_WORKER": "", "TMPDIR": str(room / "tmp")}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        subprocess.run([sys.executable, "-c", _NEXT, room / "office" / "next"], check=True, env=environment)


def require_nothing_alive(run: Run, *, within: float) -> None:
    until = time.monotonic() + within
    while (alive := run.processes()) and time.monotonic() < until:
        time.sleep(0.01)
    assert not alive, f"processes {alive} work on"


def require_nothing_beside(room: Path) -> None:
    assert not list((room / "tmp").iterdir()), "temporary files are left"
    assert {path.name for path in (room / "office").iterdir()} <= {"out"}, "something is left beside the target"


def require_whole_or_as_before(run: Run, before: dict[str, str]) -> None:
    held = tree(run.out)
    assert held == before or is_whole(run.out), f"the target is neither whole nor as before: {sorted(held)}"


def prepared(room: Path, seed: int) -> tuple[tuple[str, ...], dict[str, str]]:
    """Every other seed replaces a former run: the options, and the files that it left."""
    if seed % 2:
        return (), {}
    return ("--replace",), tree(former_run(room / "office" / "out"))


@pytest.mark.parametrize("who", ["caller", "worker", "all"])
@pytest.mark.parametrize("seed", range(SEED, SEED + at_depth(2, 17)))
def test_a_killed_run_leaves_a_whole_folder_or_none(seed: int, who: str, room: Path) -> None:
    options, before = prepared(room, seed)
    run = started(room, *options)
    run.wait_for(*moment(seed * 3 + len(who), WITHIN_LIMITS))
    run.kill(who)
    code = run.code
    require_nothing_alive(run, within=5)
    if who == "worker":
        assert code in (0, 2), run.errors()
        assert len(run.errors()) == (code != 0), run.errors()
        require_nothing_beside(room)
    start_next_and_compare(run, room, before)


def start_next_and_compare(run: Run, room: Path, before: dict[str, str]) -> None:
    """The target may be absent for the moment between two renames, until the next start."""
    if run.out.exists():
        require_whole_or_as_before(run, before)
    if not DEEP:
        start_next(room)
        require_whole_or_as_before(run, before)
    else:
        start_next(room)
    require_nothing_beside(room)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("seed", range(SEED + 100, SEED + 100 + at_depth(2, 20)))
def test_a_run_that_is_asked_to_end_does_in_two_seconds_and_leaves_nothing(
    seed: int, number: signal.Signals, room: Path
) -> None:
    options, before = prepared(room, seed)
    run = started(room, *options)
    run.wait_until(lambda: run.hears(signal.SIGTERM))  # before, Python alone is there
    run.wait_for(*moment(seed * 2 + (number == signal.SIGINT), WITHIN_LIMITS))
    run.process.send_signal(number)
    sent = time.monotonic()
    code = run.code
    assert time.monotonic() - sent < 2.5
    require_nothing_alive(run, within=0)
    require_nothing_beside(room)
    if code == 0:  # it was done already
        assert is_whole(run.out)
    else:
        assert code == 128 + number, run.errors()
        assert len(run.errors()) == 1, run.errors()
        assert tree(run.out) == before


def test_of_two_runs_into_one_folder_one_succeeds_and_the_other_says_why_not(room: Path) -> None:
    first, second = started(room), started(room)
    codes = sorted([first.code, second.code])
    refused = first if first.code else second
    assert codes == [0, 2]
    (said,) = refused.errors()
    assert "Another run is writing" in said or "exists and is not overwritten" in said
    assert is_whole(first.out)
    require_nothing_beside(room)
