"""G5, F64: full and read-only disks, too few descriptors, missing rights leave all or nothing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.sweep import Report

pytestmark = PATIENT

ORDINARY = (
    "setpriv",
    "--bounding-set",
    "-dac_override,-dac_read_search",
)  # rights hold for root too
NEEDED = (
    "This test mounts small file systems in a namespace of its own. It needs unshare, setpriv and "
    "mount (Debian: util-linux, mount), and root or unprivileged user namespaces "
    "(sysctl kernel.unprivileged_userns_clone=1)."
)


def test_a_full_workspace(tmp_path: Path) -> None:
    ends = limited("full_workspace", tmp_path)
    assert ends.keys() == {"rolled_back", "done"}
    assert ends["rolled_back"] >= 8


def test_a_full_state_folder(tmp_path: Path) -> None:
    ends = limited("full_state", tmp_path)
    assert ends.keys() == {"StoreError", "needs_you", "done"}
    assert ends["StoreError"] >= 8  # before its first record: nothing was begun
    assert ends["needs_you"] >= 5  # later: the answer names the run, and `recover` ends it


def test_a_workspace_without_free_inodes(tmp_path: Path) -> None:
    assert limited("no_inodes_in_workspace", tmp_path).keys() == {
        "WorkspaceError",
        "rolled_back",
        "done",
    }


def test_a_state_folder_without_free_inodes(tmp_path: Path) -> None:
    assert limited("no_inodes_in_state", tmp_path).keys() == {"StoreError", "done"}


def test_a_read_only_workspace_and_a_read_only_folder_in_it(tmp_path: Path) -> None:
    assert limited("read_only", tmp_path) == {"WorkspaceError": 1, "rolled_back": 1}


def test_fewer_and_fewer_descriptors(tmp_path: Path) -> None:
    ends = limited("few_descriptors", tmp_path)
    assert ends["done"] > 5
    assert sum(ends.values()) - ends["done"] > 10


def test_folders_that_may_not_be_changed(tmp_path: Path) -> None:
    assert limited("no_rights", tmp_path) == {"rolled_back": 2, "WorkspaceError": 1}


def limited(limit: str, folder: Path) -> dict[str, int]:
    """Runs the tries under one limit and returns how they ended; each must leave all or nothing."""
    around = (*own_mounts(), *(ORDINARY if limit == "no_rights" else ()))
    report = apart(Report, "tests.crash.limits", limit, folder, around=around)
    assert report.complaints == [], report.moments
    return report.ends


def own_mounts() -> list[str]:
    """Returns the command that gives a process mounts of its own, or says what is missing."""
    command = ["unshare", "--mount" if os.getuid() == 0 else "--map-root-user", "--mount"]
    found = all(map(shutil.which, ("unshare", "setpriv", "mount")))
    if not found or subprocess.run([*command, "true"], check=False).returncode:
        pytest.fail(NEEDED)
    return command
