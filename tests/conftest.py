"""In CI nothing is skipped but for a privilege: what can be installed is a failure that says so."""

import os
from collections.abc import Generator

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
