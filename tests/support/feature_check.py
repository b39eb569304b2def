"""A pytest plugin that fails a whole run if a test named in docs/features.md did not pass.

A skipped, deselected, renamed or xfailed test shows nothing, however green the run is. Only a skip
for a privilege that the machine does not give is accepted, as in CI (tests/disks/possible.py).
"""

import re
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest
from tests.disks.possible import PRIVILEGE

Outcome = Literal["passed", "accepted", "skipped", "xfailed", "failed", "deselected", "not found"]

PLUGIN = "feature-check"
PAGE = Path("docs", "features.md")
_ROW = re.compile(r"^\| ([FG]\d+) \|.*\| ([^|]*) \|$", re.MULTILINE)
_NAMED = re.compile(r"`(tests/[\w/]+\.py::test_\w+)`")
# Options by which a person chooses a part of the suite, or none of it. Not among them: --deselect
# and --ignore, which leave tests out of a run that claims to be whole.
_CHOOSING = ("keyword", "markexpr", "lf", "stepwise", "collectonly", "setuponly", "setupplan")


def feature_tests(page: str) -> dict[str, list[str]]:
    """Returns the tests that each row of the page names, such as `tests/cli/test_x.py::test_y`."""
    return {feature: _NAMED.findall(shown) for feature, shown in _ROW.findall(page)}


def unproven(named: Iterable[str], outcomes: Mapping[str, Outcome]) -> dict[str, set[Outcome]]:
    """Returns the named tests that prove nothing, with what happened to them instead of passing.

    `outcomes` has one entry for each parameter set; a test holds if all of them passed.
    """
    found: dict[str, set[Outcome]] = defaultdict(set)
    for node, outcome in outcomes.items():
        found[node.partition("[")[0]].add(outcome)
    wrong = {test: found.get(test, {"not found"}) - {"passed", "accepted"} for test in named}
    return {test: words for test, words in wrong.items() if words}


def install(config: pytest.Config) -> None:
    """Adds the check to a run."""
    config.pluginmanager.register(FeatureCheck(config), PLUGIN)


class FeatureCheck:
    """Sees the reports of all tests, and decides at the end of the run."""

    def __init__(self, config: pytest.Config) -> None:
        self._page = config.rootpath / PAGE
        self._whole = _is_whole(config)
        self._completed = False
        self._outcomes: dict[str, Outcome] = {}
        self._message = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        result = yield  # raises if the run is interrupted, or ends at the first failures
        self._completed = True
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes what happened to a test, by its call or by the first phase that went wrong."""
        outcome = _outcome(report)
        if outcome == "passed" and report.when != "call":
            return
        if self._outcomes.get(report.nodeid, "passed") == "passed":
            self._outcomes[report.nodeid] = outcome

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._outcomes.update({item.nodeid: "deselected" for item in items})

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not (self._whole and self._completed):
            return
        rows = feature_tests(self._page.read_text(encoding="utf-8"))
        named = sorted({test for tests in rows.values() for test in tests})
        wrong = unproven(named, self._outcomes)
        if wrong:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._message = _message(len(named), wrong)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._message:
            terminalreporter.write_line(self._message)


def _is_whole(config: pytest.Config) -> bool:
    """Tells whether nobody chose a part of the suite: by paths, by a folder below, by options."""
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return everything and not any(config.getoption(name, False) for name in _CHOOSING)


def _outcome(report: pytest.TestReport) -> Outcome:
    """Returns what one phase of a test (its setup, its call, its teardown) says about it."""
    if hasattr(report, "wasxfail"):
        return "xfailed"
    if report.skipped:
        return "accepted" if PRIVILEGE in str(report.longrepr) else "skipped"
    return "passed" if report.passed else "failed"


def _message(named: int, wrong: Mapping[str, Iterable[str]]) -> str:
    if not wrong:
        return f"{PAGE}: all {named} tests that it names ran and passed."
    lines = [f"  {test}: {', '.join(sorted(words))}" for test, words in wrong.items()]
    first = (
        f"{PAGE} names {len(wrong)} {'test' if len(wrong) == 1 else 'tests'} that did not run and"
        " pass in this run of the whole suite. Make them pass, or name others:"
    )
    return "\n".join(["", first, *lines])
