"""In CI nothing is skipped but for a privilege: what can be installed is a failure that says so."""

import os
from collections.abc import Generator
from threading import Timer

import pytest
from tests.disks.possible import PRIVILEGE


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("CI") and PRIVILEGE not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI does not allow: {report.longrepr}"
    return report


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends a worker although a thread of a screen that is gone may still wait for it."""
    if hasattr(config, "workerinput"):
        timer = Timer(5.0, os._exit, (0,))
        timer.daemon = True
        timer.start()
