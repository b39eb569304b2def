"""A disk that is full before a copy is made or while it is used: an error, and nothing lost."""

import os
from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.test_limits import own_mounts
from tests.disks.possible import PRIVILEGE
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.full_disk import Report

pytestmark = [needs_bubblewrap, PATIENT]


@pytest.mark.skipif(
    os.geteuid() != 0, reason=f"{PRIVILEGE} make such a disk larger: it takes root."
)
@pytest.mark.parametrize("only", ["overlay", "copy"])
def test_g13_a_full_disk_is_an_error_and_the_next_copy_is_whole(only: str, tmp_path: Path) -> None:
    report = apart(Report, "tests.scratch.full_disk", only, tmp_path, around=tuple(own_mounts()))
    assert report.complaints == []
    assert report.ends.pop("many files") == {"disk": 1}
    for ends in report.ends.values():
        assert ends.keys() <= {"Refused", "WorkspaceError", "full", "whole"}
        assert ends["whole"] >= 2
    for name in ("bytes before", "bytes later"):
        assert report.ends[name]["WorkspaceError"] >= 5  # the draft does not fit
        assert report.ends[name]["full"] >= 2  # what the command writes does not
    assert report.ends["files before"]["Refused"] >= 2
