"""F64, law 6: wherever the system reports an error, the outcome is true and nothing is torn."""

import errno
from pathlib import Path

import pytest
from tests.crash.faults import CODES, SYNCS, Faulty
from tests.crash.rig import Rig
from tests.crash.stories import STORIES, Story

# All codes are the same to the hands, so they take turns. But what may be flushed in another way is
# told by its code, EACCES, so that one meets every call which flushes.
FLUSHES = ("hands.open", *SYNCS)
SHARES = 3
EACH = [pytest.param(story, id=story.name) for story in STORIES]


@pytest.mark.parametrize("story", EACH)
def test_one_failing_call_is_survived(story: Story, quick_path: Path) -> None:
    faulty = Faulty(Rig(quick_path, story), "hands.")
    assert faulty.sweep(*_turned(CODES, story), sticky=False) > 60
    assert {"rolled_back", "refused"} <= {*faulty.ends} <= {"done", "rolled_back", "refused"}
    assert {*+faulty.late_ends} == {"done"}


@pytest.mark.parametrize("story", EACH)
def test_what_cannot_be_flushed_by_name_is_flushed_or_taken_back(
    story: Story, quick_path: Path
) -> None:
    faulty = Faulty(Rig(quick_path, story), FLUSHES)
    assert faulty.sweep(errno.EACCES, sticky=False) > 20
    assert {"done", "rolled_back"} <= {*faulty.ends} <= {"done", "rolled_back", "refused"}


@pytest.mark.parametrize("story", EACH)
def test_a_disk_that_fails_from_one_call_on_is_survived(story: Story, quick_path: Path) -> None:
    faulty = Faulty(Rig(quick_path, story), "hands.")
    assert faulty.sweep(*_turned(CODES, story), sticky=True) > 60
    assert {"rolled_back", "refused"} <= {*faulty.ends}


@pytest.mark.parametrize("story", EACH)
@pytest.mark.parametrize("sticky", [False, True], ids=["once", "sticky"])
def test_contents_that_cannot_be_read_are_never_applied(
    story: Story, sticky: bool, quick_path: Path
) -> None:
    faulty = Faulty(Rig(quick_path, story), "blobs.")
    turned = _turned(CODES, story)
    for codes in (turned, turned[2:] + turned[:2]):  # each call meets two codes, and in turn all
        assert faulty.sweep(*codes, sticky=sticky) >= 3
    assert {*(faulty.ends - faulty.late_ends)} <= {"rolled_back", "refused"}
    assert {*+faulty.late_ends} <= {"done"}


@pytest.mark.parametrize("story", EACH)
@pytest.mark.parametrize("sticky", [False, True], ids=["once", "sticky"])
def test_readable_copies_that_cannot_be_written_stop_nothing(
    story: Story, sticky: bool, quick_path: Path
) -> None:
    faulty = Faulty(Rig(quick_path, story), "projection.")
    # Copies are written by the same calls whatever a plan does, so the stories share them. There
    # are more stories than shares, and texts that differ in length by a write or two: every call is
    # met by several stories.
    first = STORIES.index(story) % SHARES
    assert faulty.sweep(errno.ENOSPC, sticky=sticky, first=first, every=SHARES) > 20
    assert {*faulty.ends} == {"done", "refused"}


def _turned(codes: tuple[int, ...], story: Story) -> tuple[int, ...]:
    """Begins elsewhere in every story, so that the calls which all of them make meet every code."""
    turn = STORIES.index(story) % len(codes)
    return (*codes[turn:], *codes[:turn])
