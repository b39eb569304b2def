"""Ways on where a plan with commands stopped: files that drifted, and everything taken back."""

from collections.abc import Iterable, Sequence
from errno import ENOSPC
from functools import partial

import pytest
from tests.executor.command_harness import (
    BETWEEN,
    BUILT,
    COMPENSATED,
    LATER,
    LOGGED,
    MAKE,
    NEW,
    OLD,
    START,
    WRITE_A,
    WRITE_B,
    CommandCase,
    CommandWorld,
    run,
)

from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile, Operation, WriteFile
from assent.core.run.journal import (
    FinishedEntry,
    HaltedEntry,
    PathConflict,
    SegmentEnteredEntry,
    StartedEntry,
)
from assent.core.run.rollback import CHANGED_AFTER_RUN
from assent.core.run.rollback import CHANGED_DURING_RUN as IN_BETWEEN
from assent.core.run.slot_move import SlotContent, SlotLayout
from assent.testing.memory_plan_command_runner import CommandScript
from assent.testing.memory_workspace import MemoryFileWriter, MemoryNode

THEIRS = MemoryNode(b"somebody else's", 0o600)


def world_of(*operations: Operation) -> CommandWorld:
    return CommandWorld(CommandCase("", operations, {}))


def stopped(*operations: Operation) -> CommandWorld:
    world = world_of(*operations, run(b"break"))
    world.apply()
    assert world.outcome == "needs_you"
    return world


def met() -> CommandWorld:
    """A command changes a file that the segment after it expects as it was."""
    world = world_of(WRITE_A, run(b"note"), WriteFile(b"w/log", OLD.state, NEW.state), WRITE_B)
    world.apply()
    return world


def test_f66_a_later_segment_that_meets_other_files_halts_and_changes_nothing() -> None:
    world = met()
    assert world.outcome == "needs_you"
    assert world.results == ("done", "done", "conflict", "not_started")
    assert world.files == {**START, b"w/a": NEW, b"w/log": LATER}
    [(index, path, reason)] = world.reasons
    assert (index, path) == (2, b"w/log")
    assert reason.startswith("expected a file, mode 644, 3 bytes")


def test_f66_resume_looks_at_the_files_again() -> None:
    world = met()
    world.recover("resume")
    assert (world.outcome, world.kinds[-2:]) == ("needs_you", ["RecoveringEntry", "HaltedEntry"])
    world.hands.files[b"w/log"] = OLD
    world.recover("resume")
    assert (world.outcome, world.results) == ("done", ("done",) * 4)
    assert world.commander.began == [b"note"]


def test_f66_a_segment_that_was_never_entered_is_not_started_if_that_is_accepted() -> None:
    world = met()
    world.recover("accept")
    assert world.entries[-1] == FinishedEntry(
        "done", ("done", "done", "not_started", "not_started")
    )


def test_a_later_segment_is_entered_again_under_names_of_its_own() -> None:
    world = met()
    world.hands.files[b"w/log"] = OLD
    world.recover("resume")
    layouts = [
        e.layout.run for e in world.entries if isinstance(e, StartedEntry | SegmentEnteredEntry)
    ]
    assert layouts == ["run", "run.1"]


class FullHands(MemoryFileWriter):
    """Hands on a disk on which there is no room for new files of one folder."""

    full = b""

    def write_slot(self, fill: SlotContent, content: Iterable[bytes]) -> None:
        if self.full and fill.folder == self.full:
            raise OSError(ENOSPC, "No space left")
        super().write_slot(fill, content)


def test_a_later_segment_that_is_put_back_halts_with_what_was_done() -> None:
    world = world_of(WRITE_A, run(b"note"), WRITE_B, MAKE)
    full = FullHands(START, world.fuse)
    full.full = b"w/deep/er"
    world.hands = world.commander.writer = full
    world.apply()
    assert world.outcome == "needs_you"
    assert world.results == ("done", "done", "not_started", "failed")
    assert world.reasons == [(3, b".opencode/assent/stage/run.1/1.new", "No space left")]
    assert world.kinds[-4:] == ["AbortedEntry", "SettledEntry", "SegmentSweptEntry", "HaltedEntry"]
    assert world.files == {**START, b"w/a": NEW, b"w/log": LATER}
    full.full = b""
    world.recover("resume")
    assert (world.outcome, world.results) == ("done", ("done",) * 4)
    assert world.commander.began == [b"note"]


def test_the_first_segment_that_fails_before_any_command_is_rolled_back_as_ever() -> None:
    world = world_of(MAKE, run(b"note"))
    full = FullHands(START, world.fuse)
    full.full = b"w/deep/er"
    world.hands = world.commander.writer = full
    world.apply()
    assert world.entries[-1] == FinishedEntry("rolled_back", ("failed", "not_started"))
    assert (world.files, world.commander.began) == (START, [])


@pytest.mark.parametrize("path", [b"w/a", b"w/log", b"w/out/x", b"w/gone"])
def test_f64_what_somebody_changed_since_is_left_alone_and_named(path: bytes) -> None:
    world = stopped(*BETWEEN.operations)
    world.hands.files[path] = THEIRS
    world.recover("roll_back")
    assert world.outcome == "needs_you"
    assert {(p, reason) for _, p, reason in world.reasons} == {(path, CHANGED_AFTER_RUN)}
    assert world.files[path] == THEIRS
    others = {p: node for p, node in world.files.items() if p != path}
    assert others == {p: node for p, node in START.items() if p != path}
    world.recover("roll_back")
    assert (world.outcome, world.files[path]) == ("needs_you", THEIRS)
    del world.hands.files[path]
    world.recover("roll_back")
    assert (world.outcome, world.files) == ("rolled_back", START)


def test_f64_a_change_between_two_segments_survives_a_roll_back() -> None:
    world = world_of(WRITE_A, run(b"note"), WRITE_B, run(b"build"), run(b"break"))
    script = world.commander.scripts[b"note"]
    world.commander.scripts[b"note"] = CommandScript(script.writes, code=1)
    world.apply()
    world.hands.files[b"w/a"] = THEIRS  # while the run waits for its person
    world.blobs.keep([THEIRS.content])
    world.commander.scripts[b"note"] = script
    world.recover("resume")
    assert world.results == ("done", "done", "done", "done", "failed")
    world.recover("roll_back")
    assert world.files == {**START, b"w/a": THEIRS}
    assert world.reasons == [(0, b"w/a", IN_BETWEEN)]
    assert world.results == ("conflict", "undone", "undone", "undone", "failed")
    world.recover("accept")
    assert world.entries[-1] == FinishedEntry("done", ("unknown", *world.results[1:]))


def test_g5_an_undo_of_its_own_runs_instead_of_restoring_files() -> None:
    world = stopped(*COMPENSATED.operations[:3])
    world.recover("roll_back")
    assert (world.outcome, world.files) == ("rolled_back", START)
    assert world.commander.began == [b"build", b"break", b"unbuild"]
    assert world.results == ("undone", "undone", "undone", "failed")


def test_g5_what_an_undo_leaves_stays_as_that_left_it() -> None:
    world = stopped(WRITE_B, run(b"build", b"quiet"))
    world.recover("roll_back")
    built = {b"w/out/x": BUILT, b"w/a": LATER, b"w/log": LOGGED}
    wanted = {path: node for path, node in {**START, **built}.items() if path != b"w/gone"}
    assert (world.outcome, world.files) == ("rolled_back", wanted)


def test_g5_undos_run_newest_first_and_only_of_what_did_its_work() -> None:
    world = stopped(run(b"build", b"unbuild"), run(b"note", b"quiet"), run(b"break", b"slow"))
    world.recover("roll_back")
    assert world.commander.began[3:] == [b"quiet", b"unbuild"]
    assert world.outcome == "rolled_back"


def test_law_6_an_undo_that_fails_halts_and_runs_again_only_when_asked() -> None:
    world = stopped(WRITE_B, run(b"build", b"unbuild"))
    script = world.commander.scripts[b"unbuild"]
    world.commander.scripts[b"unbuild"] = CommandScript(code=2)
    world.recover("roll_back")
    assert (world.outcome, world.results) == ("needs_you", ("done", "done", "failed"))
    reason = "its undo command, $ unbuild, failed: the command ended with exit code 2"
    assert world.reasons == [(1, b"", reason)]
    world.recover()
    assert world.commander.began.count(b"unbuild") == 1
    world.commander.scripts[b"unbuild"] = script
    world.recover("roll_back")
    assert world.results == ("undone", "undone", "failed")
    assert world.commander.began.count(b"unbuild") == 2


def test_law_9_an_undo_that_is_denied_by_now_does_not_begin_and_its_command_is_named() -> None:
    world = stopped(WRITE_B, run(b"build", b"unbuild"))
    world.commander.denied = frozenset({b"unbuild"})
    world.recover("roll_back")
    assert (world.outcome, world.commander.began.count(b"unbuild")) == ("needs_you", 0)
    reason = "its undo command, $ unbuild, did not start: A rule denies b'unbuild'."
    assert world.reasons == [(1, b"", reason)]
    world.commander.denied = frozenset()
    world.recover("roll_back")
    assert (world.outcome, world.commander.began.count(b"unbuild")) == ("rolled_back", 1)


def test_an_undo_that_worked_is_not_repeated_by_a_second_roll_back() -> None:
    world = stopped(WRITE_B, run(b"build", b"unbuild"))
    world.hands.files[b"w/b"] = THEIRS
    world.recover("roll_back")
    assert world.results == ("conflict", "undone", "failed")
    world.hands.files[b"w/b"] = NEW
    world.recover("resume")
    assert (world.outcome, world.files[b"w/b"]) == ("rolled_back", OLD)
    assert world.commander.began.count(b"unbuild") == 1


def test_a_moved_file_comes_back_although_no_copy_of_it_was_kept() -> None:
    move = MoveFile(b"w/rare", b"w/moved/there", THEIRS.state)
    world = world_of(move, run(b"break"))
    world.hands.files[b"w/rare"] = THEIRS
    world.apply()
    world.recover("roll_back")
    assert (world.outcome, world.files) == ("rolled_back", {**START, b"w/rare": THEIRS})
    assert b"w/moved" not in world.hands.folders


def test_new_content_that_is_gone_when_its_segment_begins_halts_it() -> None:
    world = world_of(run(b"break"), MAKE)
    world.apply()
    del world.blobs.contents[NEW.state.digest]
    world.commander.scripts[b"break"] = CommandScript()
    world.recover("resume")
    assert (world.outcome, world.results) == ("needs_you", ("done", "not_started"))
    assert "content of w/deep/er/c is missing" in world.reasons[0][2]
    world.blobs.keep([NEW.content])
    world.recover("resume")
    assert world.outcome == "done"


def test_old_content_that_is_gone_on_the_way_back_halts_it_before_anything_goes() -> None:
    world = stopped(WRITE_A)
    moment = 0
    while world.kinds[-1] != "RollbackStartedEntry":
        world = stopped(WRITE_A)
        assert world.cut(partial(world.recover, "roll_back"), moment, power=False)
        moment += 1
    del world.blobs.contents[OLD.state.digest]
    files = world.files
    world.recover()
    assert (world.outcome, world.files) == ("needs_you", files)
    assert "is missing" in world.reasons[0][2]


def test_what_is_not_kept_anywhere_is_named_and_left() -> None:
    world = world_of(run(b"build"), run(b"break"))
    world.apply()
    del world.blobs.contents[OLD.state.digest]
    world.recover("roll_back")
    assert world.outcome == "needs_you"
    assert {reason.partition(" was not kept")[0] for *_, reason in world.reasons} >= {
        "the old content of w/gone", "the old content of w/log"
    }  # fmt: skip
    assert b"w/out/x" not in world.files


def test_a_file_that_became_a_folder_by_a_command_comes_back() -> None:
    inside = CommandScript(((b"w/gone", None), (b"w/gone/in", BUILT)))
    world = world_of(run(b"quiet"), run(b"break"))
    world.commander.scripts[b"quiet"] = inside
    world.apply()
    world.recover("roll_back")
    assert (world.outcome, world.files) == ("rolled_back", START)


def test_a_file_that_a_command_brought_back_needs_nothing() -> None:
    world = stopped(DeleteFile(b"w/gone", OLD.state), run(b"note"))
    world.hands.files[b"w/gone"] = OLD
    world.recover("roll_back")
    assert (world.outcome, world.results) == ("rolled_back", ("undone", "undone", "failed"))


def test_accepting_a_way_back_that_stopped_says_what_stands() -> None:
    world = stopped(WRITE_A, WRITE_B, run(b"note"))
    world.hands.files[b"w/b"] = THEIRS
    world.recover("roll_back")
    world.recover("accept")
    assert world.entries[-1] == FinishedEntry("done", ("undone", "unknown", "undone", "failed"))
    assert world.files == {**START, b"w/b": THEIRS}


def test_f64_what_a_command_made_is_kept_where_a_way_back_stopped_half_way() -> None:
    world = world_of(run(b"build"))
    world.commander.scripts[b"build"] = CommandScript(
        ((b"w/out/x", BUILT), (b"w/log", LOGGED)), code=1
    )
    world.apply()

    class Meddling(MemoryFileWriter):
        def exchange(self, one: bytes, other: bytes) -> None:
            if THEIRS not in self.files.values():
                self.files[b"w/log"] = self.files[b"w/out/x"] = THEIRS
            super().exchange(one, other)

    world.hands = world.commander.writer = Meddling(world.hands.files, world.fuse)
    world.recover("roll_back")
    assert world.outcome == "needs_you"
    assert not world.blobs.has(BUILT.state.digest)
    world.recover("accept")
    last = world.entries[-1]
    assert isinstance(last, FinishedEntry)
    assert [world.hands.files[slot] for slot in last.kept] == [BUILT]
    assert world.files[b"w/log"] == world.files[b"w/out/x"] == THEIRS


def test_a_back_that_meets_a_change_while_it_is_applied_halts_with_it() -> None:
    world = stopped(WRITE_A, WRITE_B)

    class Meddling(MemoryFileWriter):
        def choose_layout(self, run: str, operations: Sequence[FileOperation]) -> SlotLayout:
            self.files[b"w/b"] = THEIRS
            return super().choose_layout(run, operations)

    hands = Meddling(world.hands.files, world.fuse)
    world.hands = world.commander.writer = hands
    world.recover("roll_back")
    assert (world.outcome, world.files[b"w/b"]) == ("needs_you", THEIRS)
    last = world.entries[-1]
    assert isinstance(last, HaltedEntry)
    assert last.conflicts == (
        PathConflict(1, b"w/b", b"", "it changed just before it was replaced"),
    )
    assert world.files[b"w/a"] == NEW  # what was taken back together stays together
    assert LOGGED not in world.files.values()
