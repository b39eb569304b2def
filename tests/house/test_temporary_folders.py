"""Where the folder of a test is: in memory, or on the disk, and what a failed one leaves."""

import subprocess
import sys
from pathlib import Path

from tests.disks.possible import needs_mounts

ROOT = Path(__file__).parents[2]
CONFTEST = """
import pytest
from tests.support import forked_workers, temporary_folders

pytest_addoption = forked_workers.pytest_addoption
tmp_path = temporary_folders.tmp_path

def pytest_runtestloop(session):
    temporary_folders.use_memory(session.config)
    return forked_workers.pytest_runtestloop(session)

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed:
        temporary_folders.keep_folder(item)
    return report
"""
TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("n", range(3))
def test_one(n, tmp_path):
    assert not [*tmp_path.iterdir()]
    (tmp_path / "mine").write_text(str(n))
    pathlib.Path(__file__).with_name(f"where-{n}").write_text(f"{os.stat(tmp_path).st_dev}")
    os.symlink("mine", tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    assert n < 2, tmp_path
"""


def run(project: Path, *options: str) -> str:
    """Runs the same three tests as those of two folders; one of them fails."""
    for folder in ("cli", "disks"):
        (project / "tests" / folder).mkdir(parents=True)
        (project / "tests" / folder / "test_it.py").write_text(TESTS, encoding="utf-8")
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    (project / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (project / "temporary").mkdir()
    env = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "--import-mode=importlib", "--workers=2", *options],
        cwd=project,
        env={**env, "HOME": str(project), "TMPDIR": str(project / "temporary")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    output = ended.stdout + ended.stderr
    assert (ended.returncode, "2 failed, 4 passed" in output) == (1, True), output
    return output


def devices(project: Path, folder: str) -> set[int]:
    found = (project / "tests" / folder).glob("where-*")
    return {int(path.read_text("utf-8")) for path in found}


def test_only_tests_about_disks_are_on_one_and_what_failed_is_kept(tmp_path: Path) -> None:
    needs_mounts("unshare")
    output = run(tmp_path)
    disk = (tmp_path / "temporary").stat().st_dev
    assert devices(tmp_path, "disks") == {disk}
    assert len(devices(tmp_path, "cli") - {disk}) == 1
    kept = [path for path in tmp_path.rglob("memory/*/*") if path.is_dir()]
    assert [path.name for path in kept] == ["test_one_2_0"]
    assert str(kept[0]) in output
    assert (kept[0] / "mine").read_text("utf-8") == "2"
    assert (kept[0] / "link").readlink() == Path("mine")


def test_a_folder_that_somebody_names_holds_everything(tmp_path: Path) -> None:
    run(tmp_path, f"--basetemp={tmp_path / 'named'}")
    disk = (tmp_path / "temporary").stat().st_dev
    assert devices(tmp_path, "cli") == devices(tmp_path, "disks") == {disk}
    assert len([*tmp_path.rglob("named/*/*/mine")]) == 6
