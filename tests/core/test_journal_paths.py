"""Every path in a journal is held to the rules of staging before anybody acts on it."""

import pytest

from assent.core.changes import Changes
from assent.core.course import Back
from assent.core.journal import (
    Aborted,
    Conflict,
    Entered,
    Entry,
    Finished,
    Halted,
    Ran,
    Settled,
    Started,
    Swept,
    Turned,
)
from assent.core.journal_paths import strange_paths
from assent.core.motion import Layout
from assent.core.operation import DeleteFile, FileState, MoveFile

STATE = FileState("a" * 64, 1, 0o644)
BAD = (b"../out", b"/etc/passwd", b"a/../../b", b".git/config", b"sub/.GIT/x", b"a//b", b"./a", b"")
OWN = b".opencode/assent/log"


LAYOUT = Layout("run")


def _started(layout: Layout = LAYOUT, folders: tuple[bytes, ...] = ()) -> Started:
    return Started("plan", "digest", "approval", layout, folders)


@pytest.mark.parametrize("path", [*BAD, OWN])
def test_an_operation_is_held_to_them(path: bytes) -> None:
    assert strange_paths("run", [DeleteFile(path, STATE)])
    assert strange_paths("run", [MoveFile(b"fine", path, STATE)])


@pytest.mark.parametrize("path", [path for path in BAD if path])
def test_every_entry_is_held_to_them(path: bytes) -> None:
    conflict = Conflict(0, b"fine", path, "")
    entries: list[Entry] = [
        _started(folders=(path,)),
        _started(Layout("run", beside=((path, b"fine"),))),
        _started(Layout("run", beside=((b"fine", path),))),
        _started(Layout("run", whole=(path,))),
        Entered(1, Layout("run.1"), (path,)),
        Settled("done", (path,)),
        Swept(0, "done", (path,)),
        Swept(0, "done", (), (path,)),
        Finished("done", (), (path,)),
        Finished("done", (), (), (path,)),
        Aborted(0, 0, path, ""),
        Halted((conflict,)),
    ]
    for entry in entries:
        assert strange_paths("run", (), entry), entry


@pytest.mark.parametrize("name", ["../run", "run/x", "other", "run.x", "", "run.1.2"])
def test_slots_are_named_after_their_run(name: str) -> None:
    assert strange_paths("run", (), _started(Layout(name)))


@pytest.mark.parametrize("path", BAD)
def test_what_commands_did_and_what_takes_them_back_is_held_to_them(path: bytes) -> None:
    op = DeleteFile(path, STATE)
    assert strange_paths("run", (), Turned("b"), {"b": Back((op,), ((0,),))})
    assert strange_paths("run", (), Ran(0, 0), {}, lambda ended: Changes((op,)))


def test_what_a_run_of_ours_writes_is_fine() -> None:
    layout = Layout("run", beside=((b"a/b", b""), (b"c", b"a")), whole=(b"w",))
    slot = layout.slot(0, "new", b"z")
    entries: list[Entry] = [
        _started(layout, (b"new", b"new/er")),
        Entered(1, Layout("run.12")),
        Aborted(0, 0, slot, ""),
        Halted((Conflict(0, b"a", slot, ""), Conflict(0, b"", b"", "words"))),
        Finished("done", (), (b"new",), (slot,)),
    ]
    for entry in entries:
        assert strange_paths("run", [DeleteFile(b"a/b.txt", STATE)], entry) == []
