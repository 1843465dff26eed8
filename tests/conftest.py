"""What every test shares: its depth, one thread per worker, a limit of work, and no silent skips in CI."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from tests import machine
from tests.depth import DEEP

if TYPE_CHECKING:
    from numba.core.event import TimingListener

machine.set_up(Path(__file__).resolve().parents[1])
# what tests keep they keep in folders of their own
os.environ["FLOU_STORE"] = "off"

#: Seconds of work that a test may take every day, compilation left out; longer ones carry the mark `deep`. A busy machine
#: counts up to twice the seconds, and a run that decides whether work lands should not fail for that.
MAX_SECONDS = 6.0 if os.environ.get("CI") or os.environ.get("FLOU_REQUIRE_ALL") else 3.0
#: The one test of a file in its full size.
FULL_SIZE = "tests/docs/test_snippets.py::test_page_does_what_it_says[docs/tutorials/08-a-whole-release.md]"

settings.register_profile(
    "flou",
    max_examples=100 if DEEP else 25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("flou")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every day the tests with the mark `deep` are left out; each says why it has it."""
    marks = [item.get_closest_marker("deep") for item in items]
    for item, mark in zip(items, marks, strict=True):
        if mark is not None and len(mark.args) != 1:
            raise pytest.UsageError(f'{item.nodeid}: say why the test is deep, @pytest.mark.deep("…").')
    if not DEEP:
        config.hook.pytest_deselected(items=[item for item, mark in zip(items, marks, strict=True) if mark])
        items[:] = [item for item, mark in zip(items, marks, strict=True) if not mark]


#: Measures the time that Numba compiles for in this process.
_COMPILING: list[TimingListener] = []


def pytest_sessionstart() -> None:
    from numba.core import event  # only now: it reads the environment

    _COMPILING.append(event.TimingListener())
    event.register("numba:compile", _COMPILING[0])


def _seconds() -> float:
    """CPU seconds of this process and of those that it waited for, compilation left out."""
    spent = os.times()
    compiling = sum(listener.duration for listener in _COMPILING if listener.done)
    return spent.user + spent.system + spent.children_user + spent.children_system - compiling


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test that works longer than it may fails, so that the whole stays quick."""
    started = _seconds()
    result = yield
    spent = _seconds() - started
    exempt = DEEP or item.nodeid == FULL_SIZE or os.environ.get("FLOU_NO_LIMIT") == "1"
    if spent > MAX_SECONDS and not exempt:
        pytest.fail(f"it took {spent:.1f} s of work, more than {MAX_SECONDS:g}: make it smaller or mark it `deep`")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With FLOU_REQUIRE_ALL=1 a skipped test is a failed one: what nobody ran proves nothing."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("FLOU_REQUIRE_ALL") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped, although FLOU_REQUIRE_ALL=1: {report.longrepr}"
    return report
