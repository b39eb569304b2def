"""A pytest plugin that says which tests take the processor's time: `pytest --costs`.

What is counted is the time of the process that runs a test and of the programs that it has waited
for meanwhile. That depends on other programs on the machine much less than how long a test took.
"""

import os
from collections import Counter
from collections.abc import Callable, Generator

import pytest

KEY = "processor"  # of the property of a report
MOST = 40  # lines of each list
TITLES = ("seconds", "programs", "elapsed")
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
        self._before = (0.0, 0.0)
        # Of each test: all seconds, the part of them that programs took, and those that passed.
        self._columns: dict[str, Counter[str]] = {title: Counter() for title in TITLES}

    def pytest_runtest_logstart(self) -> None:
        self._before = _processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            (own, theirs), (own_before, theirs_before) = _processor_time(), self._before
            report.user_properties.append((KEY, (own - own_before, theirs - theirs_before)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        spent, programs, elapsed = self._columns.values()
        elapsed[report.nodeid] += report.duration
        for key, value in report.user_properties:
            if key == KEY and isinstance(value, tuple):
                spent[report.nodeid] += sum(value)
                programs[report.nodeid] += value[1]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        whole = f"{self._columns[TITLES[0]].total():.1f} of {sum(_processor_time()):.1f} s"
        terminalreporter.section(f"processor time of tests: {whole}")
        for kind, part in PARTS.items():
            terminalreporter.write_line("".join(f"{title:>10}" for title in TITLES) + f"  {kind}")
            sums = [_sums(column, part) for column in self._columns.values()]
            for name, _ in sums[0].most_common(MOST):
                numbers = "".join(f"{column[name]:10.2f}" for column in sums)
                terminalreporter.write_line(f"{numbers}  {name}")


def _sums(column: Counter[str], part: Callable[[str], str]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for name, seconds in column.items():
        sums[part(name)] += seconds
    return sums


def _processor_time() -> tuple[float, float]:
    """Returns the seconds of this process, in all its threads, and of children that have ended."""
    user, system, user_of_children, system_of_children, _ = os.times()
    return user + system, user_of_children + system_of_children
