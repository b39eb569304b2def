"""Tests that several workers share: each runs once, and is told of as by pytest alone."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.forked_workers import LONG, READS_TREES, chunks

ROOT = Path(__file__).parents[2]
CONFTEST = """
from tests.support.forked_workers import pytest_addoption, pytest_runtestloop
"""
CONFTEST_OF_COSTS = """
from tests.support import costs, forked_workers
from tests.support.forked_workers import pytest_runtestloop

def pytest_addoption(parser):
    forked_workers.pytest_addoption(parser)
    costs.pytest_addoption(parser)

def pytest_configure(config):
    costs.install(config)
"""
TESTS = """
import os, pathlib, pytest
HERE = pathlib.Path(__file__).parent

@pytest.fixture(scope="session", autouse=True)
def counted():
    yield
    (HERE / f"torn-down-{os.getpid()}").touch()

@pytest.mark.parametrize("n", range(40))
def test_each(n, tmp_path):
    (tmp_path / "mine").touch(exist_ok=False)
    with (HERE / "ran").open("a") as ran:
        ran.write(f"{n} {os.getpid()}\\n")
"""
BAD = """
import os, signal, sys, pytest

def test_fails():
    print("a word on the way")
    assert [1, 2] == [1, 3]

def test_skips(): pytest.skip("not here")

@pytest.mark.parametrize("way", ["exit", "kill"])
def test_ends_its_worker(way):
    os._exit(7) if way == "exit" else os.kill(os.getpid(), signal.SIGKILL)

def test_comes_after_that(): pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a file of tests that pass; whoever takes it may add others."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "tests" / "test_good.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def run(project: Path, *options: str) -> tuple[int, str]:
    """Runs the tests of the project in three workers; returns the exit status and the output."""
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "--import-mode=importlib", "--workers=3", *options],
        cwd=project,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HOME": str(project)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_every_test_runs_once_in_one_of_several_processes(project: Path) -> None:
    for n in range(4):
        (project / "tests" / f"test_more_{n}.py").write_text(TESTS, encoding="utf-8")
    status, output = run(project)
    assert (status, "200 passed" in output) == (0, True), output
    text = (project / "tests" / "ran").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines()]
    assert sorted(int(n) for n, _ in lines) == sorted([*range(40)] * 5)
    pids = {pid for _, pid in lines}
    assert {path.name.rpartition("-")[2] for path in (project / "tests").glob("torn*")} == pids


def test_failures_and_deaths_are_told_and_the_rest_runs(project: Path) -> None:
    (project / "tests" / "test_bad.py").write_text(BAD, encoding="utf-8")
    status, output = run(project, "-rs")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "3 failed, 41 passed, 1 skipped" in output
    assert "At index 1 diff: 2 != 3" in output
    assert output.count("- Captured stdout call -") == 1
    assert "not here" in output
    assert "The worker that ran this test ended with 7." in output
    assert "The worker that ran this test ended with -9." in output


def test_a_run_can_end_at_the_first_failure(project: Path) -> None:
    fails = "def test_it(): assert False"
    (project / "tests" / "test_bad.py").write_text(fails, encoding="utf-8")
    slow = "import time\n" + "".join(f"def test_{n}(): time.sleep(1)\n" for n in range(60))
    (project / "tests" / "test_slow.py").write_text(slow, encoding="utf-8")
    status, output = run(project, "-x")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "stopping after 1 failures" in output


def test_a_module_that_cannot_be_read_ends_the_run(project: Path) -> None:
    (project / "tests" / "test_bad.py").write_text("import nothing_like_that", encoding="utf-8")
    status, output = run(project)
    assert status == pytest.ExitCode.INTERRUPTED
    assert "nothing_like_that" in output


def test_interrupted_workers_end(project: Path) -> None:
    slow = "import os, time\ndef test_it():\n    os.kill(os.getppid(), 2)\n    time.sleep(60)"
    (project / "tests" / "test_slow.py").write_text(slow, encoding="utf-8")
    status, output = run(project)
    assert status == pytest.ExitCode.INTERRUPTED, output


@pytest.mark.parametrize("workers", [1, 3])
def test_what_takes_the_time_of_the_processor_is_named(project: Path, workers: int) -> None:
    (project / "conftest.py").write_text(CONFTEST_OF_COSTS, encoding="utf-8")
    busy = "sum(range(10**7))"
    text = f"""
import subprocess, sys
def test_works(): {busy}
def test_has_a_child_work(): subprocess.run([sys.executable, "-c", "{busy}; {busy}"])
"""
    (project / "tests" / "test_busy.py").write_text(text, encoding="utf-8")
    status, output = run(project, "--costs", f"--workers={workers}")
    assert status == 0, output
    table = output.partition("processor time of tests")[2]
    rows = [line.split() for line in table.splitlines() if "tests/" in line]
    names = [name for *_, name in rows]
    files = ["tests/test_busy.py", "tests/test_good.py"]
    tests = [f"{files[0]}::test_{name}" for name in ("has_a_child_work", "works")]
    assert names[:4] == [*files, *tests]
    whole, child, own = ([float(number) for number in rows[n][:2]] for n in (0, 2, 3))
    assert whole[0] == pytest.approx(child[0] + own[0], abs=0.02)
    assert child[1] > 0.8 * child[0]
    assert own[1] == 0


def test_what_takes_long_begins_first_and_modules_stay_together() -> None:
    names = [f"tests/core/test_a.py::test_{n}" for n in range(300)]
    names += ["tests/core/test_b.py::test_x", f"{READS_TREES[0]}test_y.py::test_y"]
    names += [f"tests/cli/test_c.py::test_{n}" for n in range(20)]
    names += [f"{LONG[0]}test_z.py::test_z", f"{LONG[1]}.py::test_w"]
    found = chunks(names)
    assert [[names[n].split("/", 1)[1][:10] for n in chunk[:1]] for chunk in found] == [
        ["disks/test"], ["crash/test"], ["house/test"], ["cli/test_c"], ["cli/test_c"],
        ["core/test_"], ["core/test_"], ["core/test_"],
    ]  # fmt: skip
    assert sorted(n for chunk in found for n in chunk) == list(range(len(names)))
