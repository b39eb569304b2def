"""Every path in a journal is held to the rules of staging before anybody acts on it."""

import pytest

from assent.core.plan.operation import DeleteFile, FileState, MoveFile
from assent.core.run.journal import (
    AbortedEntry,
    CommandEndedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    PathConflict,
    RollbackStartedEntry,
    SegmentEnteredEntry,
    SegmentSweptEntry,
    SettledEntry,
    StartedEntry,
)
from assent.core.run.journal_check import invalid_paths
from assent.core.run.slot_move import SlotLayout
from assent.core.run.state import Rollback
from assent.core.run.workspace_changes import WorkspaceChanges

STATE = FileState("a" * 64, 1, 0o644)
BAD = (b"../out", b"/etc/passwd", b"a/../../b", b".git/config", b"sub/.GIT/x", b"a//b", b"./a", b"")
OWN = b".opencode/assent/log"


LAYOUT = SlotLayout("run")


def _started(layout: SlotLayout = LAYOUT, folders: tuple[bytes, ...] = ()) -> StartedEntry:
    return StartedEntry("plan", "digest", "approval", layout, folders)


@pytest.mark.parametrize("path", [*BAD, OWN])
def test_an_operation_is_held_to_them(path: bytes) -> None:
    assert invalid_paths("run", [DeleteFile(path, STATE)])
    assert invalid_paths("run", [MoveFile(b"fine", path, STATE)])


@pytest.mark.parametrize("path", [path for path in BAD if path])
def test_every_entry_is_held_to_them(path: bytes) -> None:
    conflict = PathConflict(0, b"fine", path, "")
    entries: list[JournalEntry] = [
        _started(folders=(path,)),
        _started(SlotLayout("run", beside=((path, b"fine"),))),
        _started(SlotLayout("run", beside=((b"fine", path),))),
        _started(SlotLayout("run", whole=(path,))),
        SegmentEnteredEntry(1, SlotLayout("run.1"), (path,)),
        SettledEntry("done", (path,)),
        SegmentSweptEntry(0, "done", (path,)),
        SegmentSweptEntry(0, "done", (), (path,)),
        FinishedEntry("done", (), (path,)),
        FinishedEntry("done", (), (), (path,)),
        AbortedEntry(0, 0, path, ""),
        HaltedEntry((conflict,)),
    ]
    for entry in entries:
        assert invalid_paths("run", (), entry), entry


@pytest.mark.parametrize("name", ["../run", "run/x", "other", "run.x", "", "run.1.2"])
def test_slots_are_named_after_their_run(name: str) -> None:
    assert invalid_paths("run", (), _started(SlotLayout(name)))


@pytest.mark.parametrize("path", BAD)
def test_what_commands_did_and_what_takes_them_back_is_held_to_them(path: bytes) -> None:
    op = DeleteFile(path, STATE)
    assert invalid_paths("run", (), RollbackStartedEntry("b"), {"b": Rollback((op,), ((0,),))})
    assert invalid_paths(
        "run", (), CommandEndedEntry(0, 0), {}, lambda ended: WorkspaceChanges((op,))
    )


def test_what_a_run_of_ours_writes_is_fine() -> None:
    layout = SlotLayout("run", beside=((b"a/b", b""), (b"c", b"a")), whole=(b"w",))
    slot = layout.slot(0, "new", b"z")
    entries: list[JournalEntry] = [
        _started(layout, (b"new", b"new/er")),
        SegmentEnteredEntry(1, SlotLayout("run.12")),
        AbortedEntry(0, 0, slot, ""),
        HaltedEntry((PathConflict(0, b"a", slot, ""), PathConflict(0, b"", b"", "words"))),
        FinishedEntry("done", (), (b"new",), (slot,)),
    ]
    for entry in entries:
        assert invalid_paths("run", [DeleteFile(b"a/b.txt", STATE)], entry) == []
