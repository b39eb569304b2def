"""G5: a run that cannot be taken back waits for a person; every way out keeps each byte."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.halting import LEFT, START, STORY, A, Person
from tests.crash.meddling import MINE
from tests.crash.rig import STAGE, Answer, Rig
from tests.crash.sweep import Report
from tests.crash.trees import file, seen, tree
from tests.support.stored_contents import stored_contents

pytestmark = PATIENT


@pytest.fixture
def halted(tmp_path: Path) -> Rig:
    """A run that waits for a person."""
    rig = Rig(tmp_path, STORY)
    report = rig.build(Person(rig.root))
    assert report.outcome == "needs_you"
    assert rig.tree() == LEFT
    slot = _slot_of_a(rig)
    assert any(os.fsdecode(slot) in note and "a.txt" in note for note in report.notes)
    return rig


def test_meanwhile_nothing_else_is_built(halted: Rig) -> None:
    for command, told in (("build", "needs_you"), ("undo", "needs_you")):
        answer = halted.command(command)
        assert (answer.exit, answer.json["error"]) == (6, told)
    answer = halted.command("recover")
    assert (answer.exit, answer.json["outcome"]) == (6, "needs_you")
    assert halted.tree() == LEFT
    assert _slot_of_a(halted)


def test_status_names_the_run_that_waits(halted: Rig) -> None:
    answer = halted.command("status")
    assert "HALTED" in answer.told
    assert "needs_you" in answer.told


@pytest.mark.parametrize("way", ["--resume", "--roll-back"])
def test_while_the_cause_stands_a_way_leads_back_here_and_loses_nothing(
    way: str, halted: Rig
) -> None:
    for _ in range(2):
        answer = halted.command("recover", way)
        assert (answer.exit, answer.json["outcome"]) == (6, "needs_you")
        assert halted.tree() == LEFT
        assert _slot_of_a(halted)


def test_resume_goes_on_when_the_name_is_free(halted: Rig) -> None:
    os.rename(halted.root + b"/last.txt", halted.root + b"/mine.txt")
    _leads_out(halted, halted.command("recover", "--resume"), 0, "done")
    wanted = {**STORY.finish, b"a.txt": file(MINE), b"mine.txt": file(MINE)}
    assert halted.tree() == wanted


def test_roll_back_gives_the_old_content_back_when_mine_is_moved_away(halted: Rig) -> None:
    os.rename(halted.root + b"/a.txt", halted.root + b"/mine.txt")
    _leads_out(halted, halted.command("recover", "--roll-back"), 1, "rolled_back")
    assert halted.tree() == tree({**START, b"mine.txt": file(MINE), b"last.txt": file(MINE)})


def test_roll_back_is_content_when_the_person_put_the_old_content_back(halted: Rig) -> None:
    os.replace(halted.root + b"/" + _slot_of_a(halted), halted.root + b"/a.txt")
    _leads_out(halted, halted.command("recover", "--roll-back"), 1, "rolled_back")
    assert halted.tree() == tree({**START, b"last.txt": file(MINE)})


def test_accept_leaves_everything_and_says_what_became_of_each(halted: Rig) -> None:
    answer = halted.command("recover", "--accept")
    _leads_out(halted, answer, 0, "done")
    assert halted.tree() == LEFT
    results = [row["result"] for row in answer.json["operations"]]
    assert results == ["unknown", "undone", "undone", "undone", "unknown"]
    assert A in _blobs(halted)


def test_accept_keeps_the_only_copy_of_a_late_change(tmp_path: Path) -> None:
    rig = Rig(tmp_path, STORY)
    assert rig.build(_Late(rig)).outcome == "needs_you"
    said = rig.said("recover", "--accept")
    everything = seen(rig.root, without=b"")
    (kept,) = [path for path, entry in everything.items() if entry.content == MINE + b"late\n"]
    assert kept.startswith(STAGE)
    assert os.fsdecode(kept) in said
    assert rig.command("recover").json["outcome"] == "nothing"


@pytest.mark.parametrize("way", ["resume", "roll_back", "accept"])
def test_a_way_out_killed_at_every_moment_still_leads_out(way: str, quick_path: Path) -> None:
    report = apart(Report, "tests.crash.ways_out", way, quick_path)
    assert report.complaints == []
    assert len(report.moments) >= 10
    assert abs(report.killed - len(report.moments)) <= 4  # as folders come and go, so do syncs
    assert report.ends.keys() == {{"resume": "done", "accept": "done"}.get(way, "rolled_back")}


class _Late(Person):
    """Goes on writing to a file that was open before the run moved it to a slot."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig.root)
        self._old = open(rig.root + b"/a.txt", "r+b")  # noqa: SIM115 - held open as an editor does

    def __call__(self, moment: str, arguments: tuple[Any, ...]) -> None:
        super().__call__(moment, arguments)
        if self._met and not self._old.closed:
            self._old.truncate()
            self._old.write(MINE + b"late\n")
            self._old.close()


def _leads_out(rig: Rig, answer: Answer, exit: int, outcome: str) -> None:
    """The run is over, no slot is left, and its approval is spent."""
    assert (answer.exit, answer.json["outcome"]) == (exit, outcome), answer
    assert rig.leftovers() == []
    assert rig.command("recover").json["outcome"] == "nothing"
    assert rig.command("build").exit == 4


def _slot_of_a(rig: Rig) -> bytes:
    """Returns the one slot that holds the old content of a.txt, with its mode."""
    everything = seen(rig.root, without=b"")
    (found,) = [path for path in rig.leftovers() if everything[path] == file(A, 0o640)]
    return found


def _blobs(rig: Rig) -> set[bytes]:
    return stored_contents(rig.site.state / "blobs")
