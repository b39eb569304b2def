"""A pytest plugin that says which tests take the processor's time: `pytest --costs`.

What is counted is the time of the process that runs a test and of the children that it has waited
for meanwhile. That depends on other programs on the machine much less than how long a test took.
"""

import os
from collections import Counter
from collections.abc import Callable, Generator

import pytest

KEY = "processor"  # of the property of a report
MOST = 40  # lines of each list
PARTS: dict[str, Callable[[str], str]] = {
    "folder": lambda name: os.path.dirname(name.partition("::")[0]),
    "file": lambda name: name.partition("::")[0],
    "test": str,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="say what takes the processor's time")


def install(config: pytest.Config) -> None:
    """Adds the table to a run that asks for it."""
    if config.getoption("--costs"):
        config.pluginmanager.register(Costs())


class Costs:
    """Measures where the tests run, and prints where the reports arrive."""

    def __init__(self) -> None:
        self._before = 0.0
        self._spent: Counter[str] = Counter()
        self._took: Counter[str] = Counter()

    def pytest_runtest_logstart(self) -> None:
        self._before = _processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((KEY, _processor_time() - self._before))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._took[report.nodeid] += report.duration
        for key, value in report.user_properties:
            if key == KEY and isinstance(value, float):
                self._spent[report.nodeid] += value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        whole = f"{self._spent.total():.1f} of {_processor_time():.1f} s"
        terminalreporter.section(f"processor time of tests: {whole}")
        for kind, part in PARTS.items():
            spent, took = Counter[str](), Counter[str]()
            for name in self._took:
                spent[part(name)] += self._spent[name]
                took[part(name)] += self._took[name]
            terminalreporter.write_line(f"{'seconds':>8} {'elapsed':>8}  {kind}")
            for name, seconds in spent.most_common(MOST):
                terminalreporter.write_line(f"{seconds:8.2f} {took[name]:8.2f}  {name}")


def _processor_time() -> float:
    """Returns the seconds that this process and its children have spent, in all their threads."""
    return sum(os.times()[:4])
