"""What a person is told where a run stopped at a command: which one, and what each way would do."""

import msgspec

from assent.core.plan.operation import DeleteFile, FileState, RunCommand, WriteFile
from assent.core.plan.plan import Plan
from assent.core.run.journal import (
    CommandEndedEntry,
    CommandStartedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    PathConflict,
    RecoveringEntry,
    RecoveryChoice,
    RollbackStartedEntry,
    SegmentEnteredEntry,
    SegmentSweptEntry,
    StartedEntry,
)
from assent.core.run.slot_move import SlotLayout
from assent.core.run.state import Rollback
from assent.core.run.workspace_changes import WorkspaceChanges, encode_changes
from assent.core.undo import PUT_BACK
from assent.runs.journal_summary import MOVE_ASIDE, journal_summary
from assent.store.memory import MemoryBlobStore

PLAN = Plan(b"", (RunCommand((b"make",), undo=(b"make", b"clean all")), RunCommand((b"false",))))
BEGUN: tuple[JournalEntry, ...] = (
    StartedEntry("p", PLAN.digest, "a", SlotLayout("r")),
    CommandStartedEntry(0, "before"),
)
HALT = HaltedEntry((PathConflict(0, b"", b"", "why"),))


def notes(blobs: MemoryBlobStore, *entries: JournalEntry) -> tuple[str, ...]:
    return journal_summary(PLAN, entries, blobs).notes


def kept(blobs: MemoryBlobStore, *paths: bytes) -> str:
    changed = tuple(WriteFile(path, None, FileState("", 0, 0o644)) for path in paths)
    return blobs.keep([encode_changes(WorkspaceChanges(changed))])[0]


def unseen(blobs: MemoryBlobStore) -> CommandEndedEntry:
    return CommandEndedEntry(0, -1, "unknown", kept(blobs, b"a"))


def test_law_6_a_word_that_was_given_too_early_is_named() -> None:
    blobs = MemoryBlobStore()
    ways: dict[RecoveryChoice, str] = {"resume": "--resume", "roll_back": "--roll-back"}
    for way, words in ways.items():
        early = f"{words} was not applied. Review the changes first, then run it again."
        found = notes(blobs, *BEGUN, RecoveringEntry(way), unseen(blobs), HALT)
        assert {early, MOVE_ASIDE} <= set(found)
        assert early in notes(blobs, *BEGUN, unseen(blobs), RecoveringEntry(way), HALT)
        seen = CommandEndedEntry(0, 0, "", kept(blobs))
        for entries in (
            (unseen(blobs), HALT, RecoveringEntry(way)),
            (seen, RecoveringEntry(way), HALT),
        ):
            assert early not in notes(blobs, *BEGUN, *entries)
    assert not any("was not done" in each for each in notes(blobs, *BEGUN, unseen(blobs), HALT))


def test_g5_what_is_still_to_be_put_back_is_named_until_it_is() -> None:
    blobs = MemoryBlobStore()
    undo = Rollback((RunCommand((b"make", b"clean all")),), ((0,),))
    files = Rollback((DeleteFile(b"b", FileState("", 0, 0o644)),), ((1,),))
    ways = [
        RollbackStartedEntry(blobs.keep([msgspec.json.encode(back)])[0]) for back in (undo, files)
    ]
    there = (*BEGUN, CommandEndedEntry(0, 0, "", kept(blobs, b"own")), CommandStartedEntry(1, "b"))
    there = (
        *there,
        CommandEndedEntry(1, 1, "", kept(blobs, b"b")),
        HALT,
        RecoveringEntry("roll_back"),
    )
    failed = (
        ways[0],
        CommandStartedEntry(0, "before"),
        CommandEndedEntry(0, 3, "", kept(blobs)),
        HALT,
    )
    taken = "Changed since that command started, assumed to be its work: b."
    assert {taken, MOVE_ASIDE} <= set(notes(blobs, *there, *failed))
    back = (
        *there,
        ways[1],
        SegmentEnteredEntry(0, SlotLayout("r.1")),
        SegmentSweptEntry(0, "done"),
        HALT,
    )
    assert not {taken, MOVE_ASIDE} & set(notes(blobs, *back))
    assert any(note.startswith(f"{PUT_BACK}, including") for note in notes(blobs, *back))
    gone = journal_summary(
        PLAN, (*back, FinishedEntry("rolled_back", ("undone", "failed"))), MemoryBlobStore()
    )
    assert not any(note.startswith(PUT_BACK) for note in gone.notes)


def test_g5_an_undo_that_fails_is_said_to_run_again_whatever_way_but_one() -> None:
    blobs = MemoryBlobStore()
    back = Rollback((RunCommand((b"make", b"clean all")),), ((0,),))
    turned = RollbackStartedEntry(blobs.keep([msgspec.json.encode(back)])[0])
    there = (
        *BEGUN,
        CommandEndedEntry(0, 0, "", kept(blobs)),
        CommandStartedEntry(1, "b"),
        CommandEndedEntry(1, 1, "", kept(blobs)),
        HALT,
    )
    failed = (CommandStartedEntry(0, "before"), CommandEndedEntry(0, 3, "", kept(blobs)), HALT)
    assert notes(blobs, *there, RecoveringEntry("roll_back"), turned, *failed)[-3:] == (
        "assent recover --resume: runs $ make 'clean all' again; no file is restored until it "
        "succeeds.",
        "assent recover --roll-back: runs $ make 'clean all' again; no file is restored until it "
        "succeeds.",
        "assent recover --accept: keeps everything as it is now and does not run it.",
    )
