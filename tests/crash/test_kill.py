"""G5, F50, laws 3, 5: a process killed at any moment leaves all or nothing and one yes spent."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.stopped import States
from tests.crash.stories import STORIES
from tests.crash.sweep import Report

pytestmark = PATIENT

NAMES = [story.name for story in STORIES]
# On a disk, with a real kill: all kinds of operations. That the other stories are stopped instead,
# and in memory, is as good: test_what_is_stopped_at_a_moment_shows_what_a_kill_leaves_there.
KILLED = ("replace", "move", "create_deep", "delete_prune", "eight_operations")
TAKEN_BACK = ("links", "odd_bytes", "file_to_folder", "eight_operations")


@pytest.mark.parametrize("story", KILLED)
def test_build_killed_at_every_moment_is_done_or_rolled_back(story: str, tmp_path: Path) -> None:
    check(swept("build", 1, story, tmp_path), ("not started", "rolled_back", "done"))


@pytest.mark.parametrize("story", ["replace", "file_to_folder"])
def test_approve_and_build_killed_at_every_moment_is_one_action(story: str, tmp_path: Path) -> None:
    check(swept("approve", 1, story, tmp_path), ("not started", "rolled_back", "done"))


@pytest.mark.parametrize("story", NAMES)
def test_recovery_killed_at_every_moment_ends_the_same_way(story: str, quick_path: Path) -> None:
    report = swept("build", 2, story, quick_path)
    check(report, ("not started", "rolled_back", "done"))
    assert report.killed_again > 50


@pytest.mark.parametrize("story", TAKEN_BACK)
def test_undo_killed_at_every_moment_is_done_or_rolled_back(story: str, tmp_path: Path) -> None:
    check(swept("undo", 1, story, tmp_path), ("not started", "rolled_back", "done"))


@pytest.mark.parametrize("story", TAKEN_BACK[-2:])
def test_recovery_of_an_undo_killed_at_every_moment_ends_the_same_way(
    story: str, quick_path: Path
) -> None:
    report = swept("undo", 2, story, quick_path)
    check(report, ("not started", "rolled_back", "done"))
    assert report.killed_again > 50


def test_what_is_stopped_at_a_moment_shows_what_a_kill_leaves_there(quick_path: Path) -> None:
    built, recovered = apart(list[States], "tests.crash.stopped", "replace", quick_path)
    assert built.stopped == built.killed
    assert recovered.stopped == recovered.killed
    assert built.complaints + recovered.complaints == []
    assert len(built.stopped) >= 16
    assert len(recovered.stopped) >= 3


def check(report: Report, ends: Iterable[str], least: int = 21) -> None:
    """Every kill fired, every kind of moment was among them, every end occurred, and all held."""
    assert report.complaints == []
    # A folder that is gone makes one flush of everything out of many, and which comes first varies.
    assert len(report.moments) >= least
    assert abs(report.killed - len(report.moments)) <= 8
    kinds = {"store.append", "store.appended", "hands.mkdir", "hands.fsync", "hands.rmdir"}
    assert kinds <= {*report.moments}
    assert any(moment.startswith("hands.rename") for moment in report.moments)
    assert {*report.ends} == {*ends}


def swept(verb: str, depth: int, story: str, folder: Path) -> Report:
    """Runs a sweep in a process of its own."""
    return apart(Report, "tests.crash.sweep", verb, depth, story, folder)
