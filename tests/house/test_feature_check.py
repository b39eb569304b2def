"""A run of the whole suite fails if a test that docs/features.md names did not pass in it.

Each case is a small project that pytest runs with the same plugins as this suite.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.disks.possible import PRIVILEGE
from tests.house.source import ROOT
from tests.support.feature_check import PLUGIN, feature_tests, unproven

SETTINGS = '[tool.pytest.ini_options]\ntestpaths = ["tests"]\nxfail_strict = true\n'
CONFTEST = """
from tests.support.feature_check import install as pytest_configure
from tests.support.forked_workers import pytest_addoption, pytest_runtestloop

def pytest_collection_modifyitems(config, items):
    dropped = [item for item in items if "dropped" in item.nodeid]
    items[:] = [item for item in items if item not in dropped]
    config.hook.pytest_deselected(items=dropped)
"""
# Tests that prove something, and tests that prove nothing however green the run is.
GOOD = f"""
import pytest

def test_plain(): pass

@pytest.mark.parametrize("each", ["a", "b[0]::c"])
def test_each(each): pass

def test_privilege(): pytest.skip("{PRIVILEGE} mount file systems.")

@pytest.mark.parametrize("privileged", [False, True])
def test_some_privilege(privileged): privileged and pytest.skip("{PRIVILEGE} use loop devices.")
"""
BAD = """
def test_skipped(): pytest.skip("no")

@pytest.mark.skip
def test_marked(): pass

@pytest.mark.parametrize("each", ["a", "b"])
def test_skipped_in_part(each): each == "a" or pytest.skip("no")

@pytest.mark.parametrize("each", [])
def test_no_parameter(each): pass

@pytest.mark.xfail
def test_xfailed(): assert False

@pytest.mark.xfail(strict=False)
def test_xpassed(): pass

def test_dropped(): pass

@pytest.mark.parametrize("each", ["a", "dropped"])
def test_left_out_in_part(each): pass

def test_renamed_since(): pass
"""
WRONG = {
    "test_skipped": "skipped",
    "test_marked": "skipped",
    "test_skipped_in_part": "skipped",
    "test_no_parameter": "skipped",
    "test_xfailed": "xfailed",
    "test_xpassed": "xfailed",
    "test_dropped": "deselected",
    "test_left_out_in_part": "deselected",
    "test_renamed": "not found",
}
HOLDS = ("test_plain", "test_each", "test_privilege", "test_some_privilege")
WORKERS = pytest.mark.parametrize("workers", [1, 2])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one file of tests; whoever takes it writes what that and the page hold."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    return tmp_path


def page(named: Iterable[str]) -> str:
    """Returns a page of features, one for each test."""
    rows = [f"| F{n} | It | works | `tests/test_it.py::{one}` |\n" for n, one in enumerate(named)]
    return "| | Feature | What it means here | Shown by |\n|---|---|---|---|\n" + "".join(rows)


def run(
    project: Path,
    tests: str,
    named: Iterable[str],
    *options: str,
    workers: int = 1,
    below: str = ".",
) -> tuple[int, str]:
    """Runs pytest over the project; returns its exit status and what it printed."""
    (project / "tests" / "test_it.py").write_text(tests, encoding="utf-8")
    (project / "docs" / "features.md").write_text(page(named), encoding="utf-8")
    return _pytest(project / below, f"--workers={workers}", *options)


def _pytest(folder: Path, *options: str) -> tuple[int, str]:
    """Starts pytest with no plugin but ours, and with nothing from the run that this is part of."""
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "--import-mode=importlib", *options],
        cwd=folder,
        env={
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(folder))),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    return ended.returncode, ended.stdout + ended.stderr


@WORKERS
def test_a_run_in_which_all_named_tests_passed_is_good(project: Path, workers: int) -> None:
    status, output = run(project, GOOD + BAD, HOLDS, workers=workers)
    assert status == 0, output
    assert "docs/features.md: all 4 tests that it names ran and passed." in output


@WORKERS
def test_a_green_run_fails_if_a_named_test_did_not_pass(project: Path, workers: int) -> None:
    status, output = run(project, GOOD + BAD, [*HOLDS, *WRONG], workers=workers)
    assert status == pytest.ExitCode.TESTS_FAILED, output
    assert " failed" not in output.splitlines()[-1]
    assert "docs/features.md names 9 tests that did not run and pass in this run" in output
    told = [line for line in output.splitlines() if line.startswith("  tests/test_it.py::")]
    assert told == [f"  tests/test_it.py::{test}: {WRONG[test]}" for test in sorted(WRONG)]


def test_what_breaks_before_or_after_its_call_proves_nothing(project: Path) -> None:
    tests = """
import pytest

@pytest.fixture(params=["before", "after"])
def broken(request):
    assert request.param != "before"
    yield
    assert request.param != "after"

def test_named(broken): pass
"""
    _, output = run(project, tests, ["test_named"])
    assert "tests/test_it.py::test_named: failed" in output


def test_leaving_tests_out_by_an_option_fails_the_run(project: Path) -> None:
    (project / "tests" / "test_other.py").write_text("def test_other(): pass\n", encoding="utf-8")
    named = "tests/test_it.py::test_plain"
    for option, word in (("--deselect", "deselected"), ("--ignore", "not found")):
        left_out = named if option == "--deselect" else named.partition("::")[0]
        status, output = run(project, GOOD, ["test_plain"], f"{option}={left_out}")
        assert (status, f"{named}: {word}" in output) == (1, True), output


@pytest.mark.parametrize(
    "option",
    [
        "-kplain",
        "-mnot slow",
        "--last-failed",
        "tests",
        "tests/test_it.py::test_plain",
        "--collect-only",
        "--setup-plan",
        "--fixtures",
    ],
)
def test_whoever_chose_a_part_of_the_suite_is_left_alone(project: Path, option: str) -> None:
    status, output = run(project, GOOD, ["test_absent"], option)
    assert (status, "features.md" in output) == (0, False), output


def test_in_a_folder_below_the_run_is_not_whole(project: Path) -> None:
    status, output = run(project, GOOD, ["test_absent"], below="tests")
    assert (status, "features.md" in output) == (0, False), output


@WORKERS
def test_a_run_that_ended_early_is_not_checked(project: Path, workers: int) -> None:
    tests = "def test_first(): assert False\ndef test_named(): pass\n"
    status, output = run(project, tests, ["test_named"], "-x", workers=workers)
    assert status in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED), output
    assert ("1 failed" in output, "features.md" in output) == (True, False), output


def test_a_row_holds_only_if_all_its_parameters_passed() -> None:
    named = ["tests/a.py::test_x", "tests/a.py::test_y"]
    assert (
        unproven(named, {"tests/a.py::test_x[1]": "passed", "tests/a.py::test_y": "passed"}) == {}
    )
    assert unproven(named, {"tests/a.py::test_x[a[0]::b]": "skipped"}) == {
        "tests/a.py::test_x": {"skipped"},
        "tests/a.py::test_y": {"not found"},
    }


def test_rows_of_the_page_are_read() -> None:
    assert feature_tests(page(["test_a", "test_b"])) == {
        "F0": ["tests/test_it.py::test_a"],
        "F1": ["tests/test_it.py::test_b"],
    }


def test_this_suite_has_the_check(request: pytest.FixtureRequest) -> None:
    assert request.config.pluginmanager.has_plugin(PLUGIN)


def test_make_test_runs_the_whole_suite(request: pytest.FixtureRequest) -> None:
    """Options in the Makefile or in pyproject.toml that choose tests would switch the check off."""
    dry = subprocess.run(
        ["make", "--dry-run", "test"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    [line] = [line for line in dry.stdout.splitlines() if "/pytest --workers" in line]
    words = [*shlex.split(line)[1:], *shlex.split(" ".join(request.config.getini("addopts")))]
    choosing = ("-k", "-m", "--lf", "--last-failed", "--sw", "--stepwise", "--co", "tests")
    assert [word for word in words if word.startswith(choosing)] == []
