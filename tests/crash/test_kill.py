"""G5, F50, laws 3, 5: a process killed at any moment leaves all or nothing and one yes spent."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.stopped import States
from tests.crash.stories import STORIES
from tests.crash.sweep import SYNCS, Report

pytestmark = PATIENT

NAMES = [story.name for story in STORIES]
# On a disk, with a real kill at every moment: all kinds of operations in one plan. That the other
# stories are stopped instead, in memory, and killed at one moment of each kind, is as good:
# test_what_is_stopped_at_a_moment_shows_what_a_kill_leaves_there.
KILLED = "eight_operations"
STOPPED = ("replace", "move", "create_deep", "delete_prune")
TAKEN_BACK = ("links", "odd_bytes", "file_to_folder", KILLED)


def test_build_killed_at_every_moment_is_done_or_rolled_back(tmp_path: Path) -> None:
    check(swept("build", "killed", KILLED, tmp_path), ("not started", "rolled_back", "done"))


@pytest.mark.parametrize("story", STOPPED)
def test_build_stopped_at_every_moment_is_done_or_rolled_back(story: str, quick_path: Path) -> None:
    check(swept("build", "stopped", story, quick_path), ("not started", "rolled_back", "done"))


@pytest.mark.parametrize("story", ["replace", "file_to_folder"])
def test_approve_and_build_killed_at_every_moment_is_one_action(
    story: str, quick_path: Path
) -> None:
    check(swept("approve", "stopped", story, quick_path), ("not started", "rolled_back", "done"))


@pytest.mark.parametrize("story", NAMES)
def test_recovery_killed_at_every_moment_ends_the_same_way(story: str, quick_path: Path) -> None:
    report = swept("build", "twice", story, quick_path)
    check(report, ("not started", "rolled_back", "done"))
    assert report.killed_again > 50


@pytest.mark.parametrize("story", TAKEN_BACK)
def test_undo_killed_at_every_moment_is_done_or_rolled_back(
    story: str, tmp_path: Path, quick_path: Path
) -> None:
    manner, folder = ("killed", tmp_path) if story == KILLED else ("stopped", quick_path)
    check(swept("undo", manner, story, folder), ("not started", "rolled_back", "done"))


@pytest.mark.parametrize("story", TAKEN_BACK[-2:])
def test_recovery_of_an_undo_killed_at_every_moment_ends_the_same_way(
    story: str, quick_path: Path
) -> None:
    report = swept("undo", "twice", story, quick_path)
    check(report, ("not started", "rolled_back", "done"))
    assert report.killed_again > 50


@pytest.mark.parametrize("story", ["replace", KILLED])
def test_what_is_stopped_at_a_moment_shows_what_a_kill_leaves_there(
    story: str, quick_path: Path
) -> None:
    built, recovered = apart(list[States], "tests.crash.stopped", story, quick_path)
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
    # Where it was stopped, a process died at one moment of each kind. How often it syncs varies.
    assert report.killed_again or report.really >= len({*report.moments} - {*SYNCS})


def swept(verb: str, manner: str, story: str, folder: Path) -> Report:
    """Runs a sweep in a process of its own."""
    return apart(Report, "tests.crash.sweep", verb, manner, story, folder)
