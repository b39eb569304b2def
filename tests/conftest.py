"""In CI nothing is skipped but for a privilege: what can be installed is a failure that says so.

Here, too: in which order several workers share the tests, and a folder that all of them share, that
interrupts arrive, that no property is judged by the time that it took, that garbage is not looked
for all the time, and that the tests which docs/features.md names passed."""

import gc
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Generator

# Without these files every run would compile Hypothesis and all tests, and every program itself.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest
from hypothesis import HealthCheck, settings
from tests.disks.possible import PRIVILEGE
from tests.support import costs, feature_check, forked_workers, temporary_folders
from tests.support.forked_workers import LONG
from tests.support.properties import QUICK
from tests.support.sandbox_status import SHARED

LONG_S = 900  # seconds for each of these; the others have those of pyproject.toml
MANY = 20_000  # values made before the garbage collector looks at them; the usual number is 700


# Many workers share few processors: how long an example takes says nothing about the property.
# Every run tries the same examples; `pytest --hypothesis-profile=default` looks for new ones.
settings.register_profile(
    "steady",
    parent=settings(),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(QUICK, parent=settings.get_profile("steady"), max_examples=10)
settings.load_profile("steady")


tmp_path = temporary_folders.tmp_path


def pytest_addoption(parser: pytest.Parser) -> None:
    forked_workers.pytest_addoption(parser)
    costs.pytest_addoption(parser)


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if session.config.getoption("--workers") > 1 and not session.config.option.collectonly:
        temporary_folders.use_memory(session.config)
    return forked_workers.pytest_runtestloop(session)


def pytest_configure(config: pytest.Config) -> None:
    """Lets programs under test be interrupted, also where the tests run in the background."""
    feature_check.install(config)
    costs.install(config)
    for one in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(one) is signal.SIG_IGN:
            signal.signal(one, signal.default_int_handler)
    thread = threading.Thread(target=int)  # the first one changes which signals children ignore
    thread.start()
    thread.join()
    os.environ.pop("PYTHONUNBUFFERED", None)  # processes with such a variable cannot be forked
    if SHARED not in os.environ:  # workers inherit it
        os.environ[SHARED] = tempfile.mkdtemp(prefix="assent-tests-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(SHARED)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Has the garbage collector never look at what is kept for all tests, and that is much."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(MANY)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lets what takes long take long."""
    for item in items:
        if item.nodeid.startswith(LONG) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LONG_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        temporary_folders.keep_folder(item)
    if report.skipped and os.environ.get("CI") and PRIVILEGE not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI does not allow: {report.longrepr}"
    return report
