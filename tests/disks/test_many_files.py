"""G5, G6: a plan of 100,000 files is one plan like any other."""

import os
from pathlib import Path

import pytest
from tests.crash.rig import approve
from tests.crash.stories import Story, move, write
from tests.support.in_memory import in_memory

from assent.core.run.journal import drive_to_end
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture

MANY = 100_000
EACH = 1_000  # files of one folder
ROOM = 4 << 30  # bytes that are free where memory is used instead of a disk; it takes an eighth


@pytest.mark.timeout(900)  # a busy disk takes its time for so many
def test_g5_a_folder_of_100_000_files_moves_and_comes_back(tmp_path: Path) -> None:
    with in_memory(tmp_path, ROOM) as folder:
        move_and_undo(folder / "work", folder / "state" / "assent")


def move_and_undo(root: Path, state: Path) -> None:
    lay_down(root / "here")
    site = EngineFixture(root, state)
    story = Story("many", {}, (move(b"here", b"there"), write(b"x", b"new")), {})
    plan_id = approve(site, story)
    engine = open_engine_fixture(site)
    report = drive_to_end(engine.runs.build(plan_id))
    assert (report.outcome, len(report.operations)) == ("done", MANY + 1)
    assert (count(root / "here"), count(root / "there")) == (0, MANY)
    engine.close()
    engine = open_engine_fixture(site)
    undone = drive_to_end(engine.undo.apply(engine.undo.preview(), "test"))
    engine.close()
    assert (undone.outcome, {result for _, result in undone.operations}) == ("done", {"undone"})
    assert (count(root / "here"), count(root / "there"), left_over(root)) == (MANY, 0, [])


def left_over(root: Path) -> list[str]:
    """Returns what lies in slots; the files were counted already, wherever they are."""
    paths = [f"{at}/{name}" for at, _, names in os.walk(root) for name in names]
    return [path for path in paths if "/assent/stage/" in path or ".assent-" in path]


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
