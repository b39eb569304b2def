"""G5, law 5: a power cut on a real file system leaves all or nothing, and one yes spent."""

import sys
from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.stories import STORIES
from tests.crash.sweep import Report
from tests.crash.test_kill_commands import DECIDED, FORWARD
from tests.disks.possible import needs_mounts
from tests.disks.power import TYPES
from tests.support import forked_python

pytestmark = PATIENT

STORY_NAMES = [story.name for story in STORIES]
TAKEN_BACK = ("links", "file_to_folder", "eight_operations")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("story", STORY_NAMES)
def test_g5_a_build_cut_at_every_change_is_done_or_rolled_back(
    story: str, kind: str, tmp_path: Path
) -> None:
    report = cut(kind, "build", story, tmp_path)
    assert report.complaints == []
    assert report.killed > 16
    assert report.ends.keys() == {"not started", "rolled_back", "done"}


@pytest.mark.parametrize("story", TAKEN_BACK)
def test_g6_an_undo_cut_at_every_change_is_done_or_rolled_back(story: str, tmp_path: Path) -> None:
    report = cut("ext4", "undo", story, tmp_path)
    assert report.complaints == []
    assert report.ends.keys() == {"not started", "rolled_back", "done"}


@pytest.mark.parametrize("way", DECIDED)
def test_g5_a_build_with_a_command_cut_at_every_change(way: str, tmp_path: Path) -> None:
    report = cut("ext4", way, "command", tmp_path)
    assert report.complaints == []
    assert report.killed > 16
    assert {*report.ends} == FORWARD | DECIDED[way]


@pytest.mark.parametrize("kind", TYPES)
def test_a_cut_loses_what_was_not_synced(kind: str, tmp_path: Path) -> None:
    needs_mounts("unshare", "losetup", TYPES[kind][0][0])
    ran = forked_python.run(
        [sys.executable, "-m", "tests.disks.losing", kind, str(tmp_path)],
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"synced\n", b"")


def cut(kind: str, verb: str, story: str, folder: Path) -> Report:
    """Runs the cuts of one story and returns what became of them."""
    needs_mounts("unshare", "losetup", TYPES[kind][0][0])
    return apart(Report, "tests.disks.power", kind, verb, story, folder)
