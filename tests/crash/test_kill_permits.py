"""G5, laws 3 and 5 for permits: killed at any moment, an edit is done or not, and never twice."""

from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.stories import STORIES
from tests.crash.sweep import Report
from tests.crash.test_kill import check

pytestmark = PATIENT

NAMES = [story.name for story in STORIES]


@pytest.mark.parametrize("story", NAMES)
def test_an_edit_killed_at_every_moment_is_done_or_rolled_back(story: str, tmp_path: Path) -> None:
    check(swept(1, story, tmp_path), ("not started", "rolled_back", "done"), least=16)


@pytest.mark.parametrize("story", ["replace", "file_to_folder"])
def test_its_recovery_killed_at_every_moment_ends_the_same_way(
    story: str, quick_path: Path
) -> None:
    report = swept(2, story, quick_path)
    check(report, ("not started", "rolled_back", "done"), least=16)
    assert report.killed_again > 50


def swept(depth: int, story: str, folder: Path) -> Report:
    """Runs a sweep in a process of its own."""
    return apart(Report, "tests.crash.permit_sweep", depth, story, folder)
