"""In CI nothing is skipped but for a privilege: what can be installed is a failure that says so.

Here, too: in which order several workers share the tests, and that interrupts arrive."""

import os
import signal
from collections.abc import Generator

import pytest
from tests.disks.possible import PRIVILEGE

LONG = (
    "tests/disks/",
    "tests/crash/test_kill",
    "tests/crash/test_large_file",
    "tests/tui/test_story",
    "tests/tui/test_haste",
    "tests/bench/",
    "tests/agent/test_adversarial",
    "tests/doctor/",
    "tests/demo/",
)  # what takes long, the longest first


def pytest_configure() -> None:
    """Lets programs under test be interrupted, also where the tests run in the background."""
    for one in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(one) is signal.SIG_IGN:
            signal.signal(one, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Has every worker begin with its share of what takes long, so that none is left with it."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers == 1:
        return
    long = [item for start in LONG for item in items if item.nodeid.startswith(start)]
    short = [item for item in items if not item.nodeid.startswith(LONG)]
    each = -(-len(short) // workers)
    items[:] = [
        item
        for worker in range(workers)
        for item in (*long[worker::workers], *short[worker * each : (worker + 1) * each])
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("CI") and PRIVILEGE not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI does not allow: {report.longrepr}"
    return report
