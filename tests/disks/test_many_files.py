"""G5, G6: a plan of 100,000 files is one plan like any other."""

import os
from pathlib import Path

import pytest
from tests.crash.rig import Rig
from tests.crash.stories import Story, move, write

from assent.core.journal import finished

MANY = 100_000
EACH = 1_000  # files of one folder


@pytest.mark.timeout(900)  # a busy disk takes its time for so many
def test_g5_a_folder_of_100_000_files_moves_and_comes_back(tmp_path: Path) -> None:
    root = tmp_path / "work"
    lay_down(root / "here")
    rig = Rig(tmp_path, Story("many", {}, (move(b"here", b"there"), write(b"x", b"new")), {}))
    report = rig.build()
    assert (report.outcome, len(report.operations)) == ("done", MANY + 1)
    assert (count(root / "here"), count(root / "there")) == (0, MANY)
    engine = rig.open()
    undone = finished(engine.undoing.apply(engine.undoing.preview(), "test"))
    engine.close()
    assert (undone.outcome, {result for _, result in undone.operations}) == ("done", {"undone"})
    assert (count(root / "here"), count(root / "there"), rig.leftovers()) == (MANY, 0, [])


def lay_down(folder: Path) -> None:
    """Makes small files, each with a content of its own."""
    for number in range(0, MANY, EACH):
        below = folder / f"{number:06}"
        below.mkdir(parents=True)
        for each in range(number, number + EACH):
            with open(below / f"{each:06}", "wb") as out:
                out.write(b"%d\n" % each)


def count(folder: Path) -> int:
    """Counts the files below a folder."""
    return sum(len(files) for _, _, files in os.walk(folder))
