"""G5, laws 3 and 5 for permits: killed at any moment, an edit is done or not, and never twice."""

from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.stories import STORIES
from tests.crash.sweep import Report
from tests.crash.test_kill import KILLED, check

pytestmark = PATIENT

NAMES = [story.name for story in STORIES]


@pytest.mark.parametrize("story", NAMES)
def test_an_edit_killed_at_every_moment_is_done_or_rolled_back(
    story: str, tmp_path: Path, quick_path: Path
) -> None:
    manner, folder = ("killed", tmp_path) if story == KILLED else ("stopped", quick_path)
    check(swept(manner, story, folder), ("not started", "rolled_back", "done"), least=16)


@pytest.mark.parametrize("story", ["replace", "file_to_folder"])
def test_its_recovery_killed_at_every_moment_ends_the_same_way(
    story: str, quick_path: Path
) -> None:
    report = swept("twice", story, quick_path)
    check(report, ("not started", "rolled_back", "done"), least=16)
    assert report.killed_again > 50


def swept(manner: str, story: str, folder: Path) -> Report:
    """Runs a sweep in a process of its own."""
    return apart(Report, "tests.crash.permit_sweep", manner, story, folder)
