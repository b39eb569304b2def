"""F64, law 6: wherever the system reports an error, the outcome is true and nothing is torn."""

import errno
from pathlib import Path

import pytest
from tests.crash.faults import CODES, Faulty
from tests.crash.rig import Rig
from tests.crash.stories import STORIES, Story

CASES = [
    pytest.param(story, code, id=f"{story.name}-{errno.errorcode[code]}")
    for story in STORIES
    for code in CODES
]
EACH = [pytest.param(story, id=story.name) for story in STORIES]


@pytest.mark.parametrize(("story", "code"), CASES)
def test_one_failing_call_is_survived(story: Story, code: int, quick_path: Path) -> None:
    faulty = Faulty(Rig(quick_path, story), "hands.")
    assert faulty.sweep(code, sticky=False) > 60
    assert {"rolled_back", "refused"} <= {*faulty.ends} <= {"done", "rolled_back", "refused"}


@pytest.mark.parametrize("story", EACH)
def test_a_disk_that_fails_from_one_call_on_is_survived(story: Story, quick_path: Path) -> None:
    faulty = Faulty(Rig(quick_path, story), "hands.")
    turn = STORIES.index(story) % len(CODES)  # so that what stories share meets every code
    assert faulty.sweep(*CODES[turn:], *CODES[:turn], sticky=True) > 60
    assert {"rolled_back", "refused"} <= {*faulty.ends}


@pytest.mark.parametrize("story", EACH)
@pytest.mark.parametrize("sticky", [False, True], ids=["once", "sticky"])
def test_contents_that_cannot_be_read_are_never_applied(
    story: Story, sticky: bool, quick_path: Path
) -> None:
    faulty = Faulty(Rig(quick_path, story), "blobs.")
    for code in CODES:
        assert faulty.sweep(code, sticky=sticky) >= 3
    assert {*faulty.ends} <= {"rolled_back", "refused"}


@pytest.mark.parametrize("story", EACH)
@pytest.mark.parametrize("sticky", [False, True], ids=["once", "sticky"])
def test_readable_copies_that_cannot_be_written_stop_nothing(
    story: Story, sticky: bool, quick_path: Path
) -> None:
    faulty = Faulty(Rig(quick_path, story), "projection.")
    assert faulty.sweep(errno.ENOSPC, sticky=sticky) > 20
    assert {*faulty.ends} == {"done", "refused"}
