"""What every test shares: no silent skips in CI, and quick property tests."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("flou", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("flou")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With FLOU_REQUIRE_ALL=1 a skipped test is a failed one: what nobody ran proves nothing."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("FLOU_REQUIRE_ALL") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped, although FLOU_REQUIRE_ALL=1: {report.longrepr}"
    return report
