"""G5, G6: on a file system that takes no notice of case, plans are applied and taken back whole."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crash.rig import Rig, approve
from tests.crash.stories import STORIES, Story, move, write
from tests.crash.trees import Tree, file, tree
from tests.disks.possible import needs_fuse

from assent.core.errors import WorkspaceError
from assent.core.journal import finished

OLD, NEW = b"old\n", b"new\n"


@pytest.fixture
def caseless(tmp_path: Path) -> Iterator[Path]:
    """Yields a folder whose `work` is such a file system."""
    needs_fuse()
    for name in ("shown", "work"):
        (tmp_path / name).mkdir()
    place = tmp_path / "work"
    line = [sys.executable, "-m", "tests.disks.caseless", str(tmp_path / "shown"), str(place)]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as server:
        while not place.is_mount():
            assert server.poll() is None, "the file system has ended"
        try:
            yield tmp_path
        finally:
            subprocess.run(["fusermount3", "-u", "-z", str(place)], check=True)
            server.terminate()


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_g6_every_plan_is_built_and_taken_back(story: Story, caseless: Path) -> None:
    rig = Rig(caseless, story)
    assert rig.build().outcome == "done"
    assert rig.tree() == story.finish
    engine = rig.open()
    assert finished(engine.undoing.apply(engine.undoing.preview(), "test")).outcome == "done"
    engine.close()
    assert (files(rig.tree()), rig.leftovers()) == (files(story.start), [])


def files(found: Tree) -> Tree:
    """Leaves folders out: an undo does not give one that went its mode back."""
    return {path: entry for path, entry in found.items() if entry.kind != "folder"}


def test_a_name_in_other_case_is_the_file_that_stands_there(caseless: Path) -> None:
    start, finish = tree({b"Read.me": file(OLD)}), tree({b"Read.me": file(NEW)})
    rig = Rig(caseless, Story("other_case", start, (write(b"READ.ME", NEW),), finish))
    assert rig.build().outcome == "done"
    assert {path.lower(): state for path, state in rig.tree().items()} == tree(
        {b"read.me": file(NEW)}
    )


TWICE = {
    "two_new": ({}, (write(b"a", OLD), write(b"A", NEW))),
    "written_and_moved_onto": ({b"b": file(OLD)}, (write(b"a", NEW), move(b"b", b"A"))),
}


@pytest.mark.parametrize("name", TWICE)
def test_one_file_under_two_names_loses_nothing(name: str, caseless: Path) -> None:
    start, steps = TWICE[name]
    first = Rig(caseless, Story("first", tree({**start}), (write(b"other", OLD),), {}))
    before = first.tree()
    plan = approve(first.site, Story(name, {}, steps, {}), name="twice")
    engine = first.open()
    with pytest.raises(WorkspaceError, match="are one file here"):
        finished(engine.runs.build(plan))
    assert (first.tree(), engine.runs.unfinished()) == (before, None)
    engine.close()
