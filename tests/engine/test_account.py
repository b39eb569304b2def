"""What a person is told where a run stopped at a command: which one, and what each way would do."""

import msgspec

from assent.core.changes import Changes, encoded
from assent.core.course import Back
from assent.core.deeds import PUT_BACK
from assent.core.journal import (
    Conflict,
    Entered,
    Entry,
    Finished,
    Halted,
    Ran,
    Recovering,
    Running,
    Started,
    Swept,
    Turned,
    Way,
)
from assent.core.motion import Layout
from assent.core.operation import DeleteFile, FileState, RunCommand, WriteFile
from assent.core.plan import Plan
from assent.engine.run.account import MOVE_ASIDE, account
from assent.store.memory import MemoryBlobs

PLAN = Plan(b"", (RunCommand((b"make",), undo=(b"make", b"clean all")), RunCommand((b"false",))))
BEGUN: tuple[Entry, ...] = (Started("p", PLAN.digest, "a", Layout("r")), Running(0, "before"))
HALT = Halted((Conflict(0, b"", b"", "why"),))


def notes(blobs: MemoryBlobs, *entries: Entry) -> tuple[str, ...]:
    return account(PLAN, entries, blobs).notes


def kept(blobs: MemoryBlobs, *paths: bytes) -> str:
    changed = tuple(WriteFile(path, None, FileState("", 0, 0o644)) for path in paths)
    return blobs.keep([encoded(Changes(changed))])[0]


def unseen(blobs: MemoryBlobs) -> Ran:
    return Ran(0, -1, "unknown", kept(blobs, b"a"))


def test_law_6_a_word_that_was_given_too_early_is_named() -> None:
    blobs = MemoryBlobs()
    ways: dict[Way, str] = {"resume": "--resume", "roll_back": "--roll-back"}
    for way, words in ways.items():
        early = f"{words} was not done: look at this first, and then say it again."
        found = notes(blobs, *BEGUN, Recovering(way), unseen(blobs), HALT)
        assert {early, MOVE_ASIDE} <= set(found)
        assert early in notes(blobs, *BEGUN, unseen(blobs), Recovering(way), HALT)
        seen = Ran(0, 0, "", kept(blobs))
        for entries in ((unseen(blobs), HALT, Recovering(way)), (seen, Recovering(way), HALT)):
            assert early not in notes(blobs, *BEGUN, *entries)
    assert not any("was not done" in each for each in notes(blobs, *BEGUN, unseen(blobs), HALT))


def test_g5_what_is_still_to_be_put_back_is_named_until_it_is() -> None:
    blobs = MemoryBlobs()
    undo = Back((RunCommand((b"make", b"clean all")),), ((0,),))
    files = Back((DeleteFile(b"b", FileState("", 0, 0o644)),), ((1,),))
    ways = [Turned(blobs.keep([msgspec.json.encode(back)])[0]) for back in (undo, files)]
    there = (*BEGUN, Ran(0, 0, "", kept(blobs, b"own")), Running(1, "b"))
    there = (*there, Ran(1, 1, "", kept(blobs, b"b")), HALT, Recovering("roll_back"))
    failed = (ways[0], Running(0, "before"), Ran(0, 3, "", kept(blobs)), HALT)
    taken = "Changed since that command began, and taken for its work: b."
    assert {taken, MOVE_ASIDE} <= set(notes(blobs, *there, *failed))
    back = (*there, ways[1], Entered(0, Layout("r.1")), Swept(0, "done"), HALT)
    assert not {taken, MOVE_ASIDE} & set(notes(blobs, *back))
    assert any(note.startswith(f"{PUT_BACK}, also") for note in notes(blobs, *back))
    gone = account(PLAN, (*back, Finished("rolled_back", ("undone", "failed"))), MemoryBlobs())
    assert not any(note.startswith(PUT_BACK) for note in gone.notes)


def test_g5_an_undo_that_fails_is_said_to_run_again_whatever_way_but_one() -> None:
    blobs = MemoryBlobs()
    back = Back((RunCommand((b"make", b"clean all")),), ((0,),))
    turned = Turned(blobs.keep([msgspec.json.encode(back)])[0])
    there = (*BEGUN, Ran(0, 0, "", kept(blobs)), Running(1, "b"), Ran(1, 1, "", kept(blobs)), HALT)
    failed = (Running(0, "before"), Ran(0, 3, "", kept(blobs)), HALT)
    assert notes(blobs, *there, Recovering("roll_back"), turned, *failed)[-3:] == (
        "assent recover --resume: runs $ make 'clean all' again; "
        "no file is put back until it succeeds.",
        "assent recover --roll-back: runs $ make 'clean all' again; "
        "no file is put back until it succeeds.",
        "assent recover --accept: keeps everything as it stands now, and does not run it.",
    )
