"""Law 5: where a run is among the segments of its plan follows from its journal alone."""

import itertools
from collections.abc import Iterator

import pytest
from tests.core.states import A, B
from tests.core.test_journal import START, stories

from assent.core.plan.draft import segments
from assent.core.plan.operation import Operation, RunCommand, WriteFile
from assent.core.run.journal import (
    AbortedEntry,
    CommandEndedEntry,
    CommandStartedEntry,
    CommittedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    PathConflict,
    RecoveringEntry,
    RecoveryChoice,
    RollbackStartedEntry,
    RunStep,
    SegmentEnteredEntry,
    SegmentSweptEntry,
    SettledEntry,
    StartedEntry,
    next_step,
)
from assent.core.run.results import kept_slots, made_folders, run_results
from assent.core.run.slot_move import SlotLayout
from assent.core.run.state import (
    Rollback,
    RunState,
    SegmentRange,
    command_ends,
    effective_entries,
    fold_run,
    segment_ranges,
)

ONE, TWO, THREE = (WriteFile(path, None, A) for path in (b"one", b"two", b"three"))
MAKE, TEST = RunCommand((b"make",)), RunCommand((b"make", b"test"))
PLAN: tuple[Operation, ...] = (ONE, TWO, MAKE, TEST, THREE)

COMMIT, DONE, BACK = CommittedEntry(), SettledEntry("done", (b"made",)), SettledEntry("rolled_back")
FIRST: tuple[JournalEntry, ...] = (
    START,
    COMMIT,
    DONE,
    SegmentSweptEntry(0, "done", (b"made",), (b"slot",)),
)
RUN, OK, BAD = (
    CommandStartedEntry(2, "before"),
    CommandEndedEntry(2, 0),
    CommandEndedEntry(2, 1, "", "changes"),
)
UNSEEN = CommandEndedEntry(2, -1, "unknown", "changes")
LOST = CommandEndedEntry(2, 0, "record")  # what it changed could not be recorded
ENTER = SegmentEnteredEntry(3, SlotLayout("run.1"))
THERE: tuple[JournalEntry, ...] = (
    *FIRST,
    RUN,
    OK,
    CommandStartedEntry(3, "before"),
    CommandEndedEntry(3, 0),
)
HALT = HaltedEntry((PathConflict(2, b"", b"", "why"),))
MET = HaltedEntry((PathConflict(4, b"three", b"", "why"),))
ABORT = AbortedEntry(0, 0, b"three", "No space", "failed")
TURN = RollbackStartedEntry("files")
BACKS = {
    "files": Rollback((WriteFile(b"one", A, B), WriteFile(b"two", A, B)), ((0,), (1, 2)), (3, 4)),
    "commands": Rollback((TEST,), ((2,),)),
    "left": Rollback((), (), (0, 2), (PathConflict(1, b"two", b"", "changed"),)),
    "nothing": Rollback((), (), (0, 1, 2, 3, 4)),
    "other": Rollback((MAKE,), ((3,),)),
}


def step(*entries: JournalEntry) -> RunStep:
    return fold_run(PLAN, entries, BACKS).step


def test_a_plan_is_cut_at_its_commands() -> None:
    assert segment_ranges(PLAN) == (
        SegmentRange(0, (ONE, TWO)),
        SegmentRange(2, (MAKE,)),
        SegmentRange(3, (TEST,)),
        SegmentRange(4, (THREE,)),
    )
    assert [(span.command, span.files) for span in segment_ranges(PLAN)][1:] == [
        (MAKE, ()), (TEST, ()), (None, (THREE,))
    ]  # fmt: skip
    assert segment_ranges(()) == ()
    both: tuple[Operation, ...] = (ONE, MAKE)
    for operations in itertools.product(both, repeat=4):
        assert [span.operations for span in segment_ranges(operations)] == segments(operations)


def test_law_5_a_run_of_one_segment_goes_as_its_journal_always_said() -> None:
    for entries in stories((START,), RunStep.PREPARE, 5):
        assert fold_run((ONE, TWO), entries, {}).step is next_step(entries), entries


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ((START,), RunStep.PREPARE),
        (FIRST[:3], RunStep.SWEEP),
        (FIRST, RunStep.RUN),
        ((*FIRST, RecoveringEntry()), RunStep.RUN),  # it never began
        ((*FIRST, RUN, RecoveringEntry()), RunStep.RECKON),
        ((*FIRST, RUN, OK), RunStep.RUN),
        (THERE, RunStep.ENTER),
        ((*THERE, ENTER), RunStep.PREPARE),
        ((*THERE, ENTER, RecoveringEntry()), RunStep.ABANDON),
        ((*THERE, ENTER, RecoveringEntry(), BACK), RunStep.SWEEP),
        (
            (*THERE, ENTER, RecoveringEntry(), BACK, SegmentSweptEntry(3, "rolled_back")),
            RunStep.ENTER,
        ),
        ((*THERE, ENTER, COMMIT, RecoveringEntry()), RunStep.CONTINUE),
        ((*THERE, ENTER, COMMIT, DONE), RunStep.SWEEP),
        ((*THERE, ENTER, COMMIT, ABORT, BACK, SegmentSweptEntry(3, "rolled_back")), RunStep.HALT),
        ((*THERE, MET), RunStep.WAIT),
        ((*THERE, MET, RecoveringEntry()), RunStep.WAIT),
        ((*THERE, MET, RecoveringEntry("resume")), RunStep.ENTER),
        ((*FIRST, RUN, BAD), RunStep.HALT),
        ((*FIRST, RUN, BAD, RecoveringEntry()), RunStep.HALT),
        ((*FIRST, RUN, BAD, RecoveringEntry("resume")), RunStep.HALT),  # nobody was told yet
        ((*FIRST, RUN, BAD, HALT, RecoveringEntry("resume")), RunStep.RUN),
        ((*FIRST, RUN, BAD, HALT, RecoveringEntry("accept")), RunStep.CLOSE),
        ((*FIRST, RUN, BAD, HALT, RecoveringEntry("accept"), RecoveringEntry()), RunStep.CLOSE),
        ((*FIRST, RUN, BAD, HALT, RecoveringEntry("roll_back")), RunStep.TURN),
        ((*FIRST, RUN, BAD, HALT, RecoveringEntry("roll_back"), RecoveringEntry()), RunStep.TURN),
        ((*FIRST, RUN, RecoveringEntry("roll_back")), RunStep.RECKON),
        (
            (*FIRST, RUN, RecoveringEntry("roll_back"), UNSEEN),
            RunStep.HALT,
        ),  # nobody saw what changed
        ((*FIRST, RUN, RecoveringEntry("resume"), UNSEEN), RunStep.HALT),
        ((*FIRST, RUN, RecoveringEntry("accept"), UNSEEN), RunStep.CLOSE),  # which changes nothing
        ((*FIRST, RUN, UNSEEN, RecoveringEntry("roll_back")), RunStep.HALT),
        ((*FIRST, RUN, UNSEEN, RecoveringEntry("resume")), RunStep.HALT),
        ((*FIRST, RUN, UNSEEN, RecoveringEntry("accept")), RunStep.CLOSE),
        ((*FIRST, RUN, RecoveringEntry("roll_back"), UNSEEN, HALT), RunStep.WAIT),
        (
            (*FIRST, RUN, RecoveringEntry("roll_back"), UNSEEN, HALT, RecoveringEntry()),
            RunStep.WAIT,
        ),
        ((*FIRST, RUN, UNSEEN, HALT, RecoveringEntry("roll_back")), RunStep.TURN),
        ((*FIRST, RUN, UNSEEN, HALT, RecoveringEntry("resume")), RunStep.RUN),
        (
            (*FIRST, RUN, BAD, RecoveringEntry("roll_back")),
            RunStep.TURN,
        ),  # what it changed is on record
        (
            (
                *FIRST,
                RUN,
                UNSEEN,
                HALT,
                RecoveringEntry("resume"),
                RUN,
                OK,
                RecoveringEntry("roll_back"),
            ),
            RunStep.TURN,
        ),
        ((*FIRST, RecoveringEntry("roll_back")), RunStep.TURN),
        ((*FIRST, RecoveringEntry("accept")), RunStep.CLOSE),
        ((*FIRST, FinishedEntry("done", ())), RunStep.OVER),
    ],
)
def test_law_5_what_comes_next_on_the_way_there(
    entries: tuple[JournalEntry, ...], wanted: RunStep
) -> None:
    assert step(*entries) is wanted


ASKED: tuple[JournalEntry, ...] = (*FIRST, RUN, BAD, HALT, RecoveringEntry("roll_back"))
GOING: tuple[JournalEntry, ...] = (*ASKED, TURN, SegmentEnteredEntry(0, SlotLayout("run.1")))
PUT_BACK: tuple[JournalEntry, ...] = (
    *GOING,
    COMMIT,
    ABORT,
    BACK,
    SegmentSweptEntry(0, "rolled_back"),
)


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ((*ASKED, TURN), RunStep.ENTER),
        (GOING, RunStep.PREPARE),
        ((*GOING, RecoveringEntry(), BACK, SegmentSweptEntry(0, "rolled_back")), RunStep.ENTER),
        ((*GOING, COMMIT, DONE, SegmentSweptEntry(0, "done")), RunStep.CLOSE),
        (
            (*GOING, COMMIT, DONE, SegmentSweptEntry(0, "done"), FinishedEntry("rolled_back", ())),
            RunStep.OVER,
        ),
        (PUT_BACK, RunStep.HALT),
        ((*PUT_BACK, RecoveringEntry()), RunStep.HALT),
        ((*PUT_BACK, HALT, RecoveringEntry()), RunStep.WAIT),
        ((*PUT_BACK, HALT, RecoveringEntry("roll_back")), RunStep.TURN),
        ((*PUT_BACK, HALT, RecoveringEntry("resume")), RunStep.TURN),
        ((*PUT_BACK, HALT, RecoveringEntry("accept")), RunStep.CLOSE),
        ((*GOING, COMMIT, ABORT, HALT, RecoveringEntry("resume")), RunStep.CONTINUE),
        ((*GOING, COMMIT, ABORT, HALT, RecoveringEntry("roll_back")), RunStep.REVERSE),
        (
            (
                *GOING,
                COMMIT,
                ABORT,
                HALT,
                RecoveringEntry("roll_back"),
                BACK,
                SegmentSweptEntry(0, "rolled_back"),
            ),
            RunStep.TURN,
        ),
        ((*ASKED, RollbackStartedEntry("commands")), RunStep.RUN),
        (
            (
                *ASKED,
                RollbackStartedEntry("commands"),
                CommandStartedEntry(0, "b"),
                RecoveringEntry(),
            ),
            RunStep.RECKON,
        ),
        (
            (
                *ASKED,
                RollbackStartedEntry("commands"),
                CommandStartedEntry(0, "b"),
                CommandEndedEntry(0, 2),
            ),
            RunStep.HALT,
        ),
        (
            (
                *ASKED,
                RollbackStartedEntry("commands"),
                CommandStartedEntry(0, "b"),
                CommandEndedEntry(0, 0),
            ),
            RunStep.TURN,
        ),
        (
            (
                *ASKED,
                RollbackStartedEntry("commands"),
                CommandStartedEntry(0, "b"),
                CommandEndedEntry(0, 0),
                TURN,
            ),
            RunStep.ENTER,
        ),
        ((*ASKED, RollbackStartedEntry("left")), RunStep.HALT),
        ((*ASKED, RollbackStartedEntry("nothing")), RunStep.CLOSE),
    ],
)
def test_law_5_what_comes_next_on_the_way_back(
    entries: tuple[JournalEntry, ...], wanted: RunStep
) -> None:
    assert step(*entries) is wanted


@pytest.mark.parametrize(
    ("entries", "ends"),
    [
        (FIRST[:3], False),
        ((START, RecoveringEntry(), BACK), True),  # nothing came before it
        ((*THERE, ENTER, RecoveringEntry(), BACK), False),
        ((*THERE, ENTER, COMMIT, DONE), True),
        ((*THERE, ENTER, COMMIT, RecoveringEntry("roll_back"), DONE), False),
        ((*THERE, ENTER, COMMIT, SettledEntry("done", accepted=True)), True),
        ((*GOING, RecoveringEntry(), BACK), False),
        ((*GOING, COMMIT, DONE), False),
    ],
)
def test_when_a_segment_of_files_ends_the_run(
    entries: tuple[JournalEntry, ...], ends: bool
) -> None:
    assert fold_run(PLAN, entries, BACKS).ends is ends


def test_a_plan_may_begin_with_a_command_or_hold_nothing_else() -> None:
    start = StartedEntry("plan", "digest", "approval", SlotLayout("run"))
    assert fold_run((MAKE, ONE), (start,), {}).step is RunStep.RUN
    assert (
        fold_run((MAKE,), (start, CommandStartedEntry(0, "b"), CommandEndedEntry(0, 0)), {}).step
        is RunStep.CLOSE
    )
    assert fold_run((), (start,), {}).step is RunStep.CLOSE


WELL = (CommandStartedEntry(0, "b"), CommandEndedEntry(0, 0))


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        (FIRST, "done done not_started not_started not_started"),
        ((*FIRST, RUN), "done done unknown not_started not_started"),
        (
            (*FIRST, RUN, CommandEndedEntry(2, -1, "unknown")),
            "done done unknown not_started not_started",
        ),
        ((*FIRST, RUN, BAD), "done done failed not_started not_started"),
        (
            (*FIRST, RUN, CommandEndedEntry(2, 0, "time")),
            "done done failed not_started not_started",
        ),
        ((*FIRST, RUN, BAD, RUN, OK), "done done done not_started not_started"),
        ((*THERE, MET), "done done done done conflict"),
        ((*THERE, MET, RecoveringEntry("accept")), "done done done done not_started"),
        (
            (*THERE, ENTER, ABORT, BACK, SegmentSweptEntry(3, "rolled_back"), MET),
            "done done done done failed",
        ),
        ((*THERE, ENTER, COMMIT, DONE), "done done done done done"),
        ((*ASKED, TURN), "done done failed not_started not_started"),
        (
            (*GOING, COMMIT, DONE, SegmentSweptEntry(0, "done")),
            "undone undone failed not_started not_started",
        ),
        (
            (
                *THERE,
                MET,
                RollbackStartedEntry("commands"),
                CommandStartedEntry(0, "b"),
                CommandEndedEntry(0, 0),
            ),
            "done done undone done conflict",
        ),
        (
            (
                *THERE,
                MET,
                RollbackStartedEntry("commands"),
                CommandStartedEntry(0, "b"),
                CommandEndedEntry(0, 9),
            ),
            "done done done done conflict",
        ),
        ((*THERE, MET, RollbackStartedEntry("left")), "undone conflict undone done conflict"),
        (  # a second way back is only about what the first one left
            (
                *THERE,
                MET,
                RollbackStartedEntry("commands"),
                *WELL,
                RollbackStartedEntry("other"),
                CommandStartedEntry(0, "b"),
                CommandEndedEntry(0, 9),
            ),
            "done done undone done conflict",
        ),
        (  # what a later one left open is open again
            (
                *THERE,
                MET,
                RollbackStartedEntry("left"),
                RollbackStartedEntry("commands"),
                CommandStartedEntry(0, "b"),
                CommandEndedEntry(0, 9),
            ),
            "undone conflict done done conflict",
        ),
    ],
)
def test_f64_what_became_of_each_operation(entries: tuple[JournalEntry, ...], wanted: str) -> None:
    assert " ".join(run_results(PLAN, entries, BACKS)) == wanted


def test_what_segments_made_and_kept_adds_up() -> None:
    entries = (*THERE, ENTER, COMMIT, SettledEntry("done", (b"other", b"made")))
    assert made_folders(entries) == (b"made", b"other")
    assert kept_slots(entries) == (b"slot",)


def test_the_journal_tells_how_each_command_ended_every_time() -> None:
    entries = (
        *FIRST,
        RUN,
        BAD,
        HALT,
        RecoveringEntry("resume"),
        RUN,
        OK,
        TURN,
        CommandStartedEntry(0, "b"),
        CommandEndedEntry(0, 7, "", "changes"),
    )
    assert command_ends(entries) == {2: (BAD, OK)}


def everywhere() -> Iterator[tuple[JournalEntry, ...]]:
    for entries in (THERE, ASKED, GOING, PUT_BACK):
        for upto in range(1, len(entries) + 1):
            yield entries[:upto]


def test_law_5_being_taken_up_again_by_nobody_s_word_changes_no_decision_of_a_person() -> None:
    ways: tuple[RecoveryChoice, ...] = ("resume", "roll_back", "accept")
    for entries, way in itertools.product(everywhere(), ways):
        said = (*entries, RecoveringEntry(way))
        once = fold_run(PLAN, said, BACKS)
        again = fold_run(PLAN, (*said, RecoveringEntry()), BACKS)
        assert isinstance(once, RunState)
        open_one = isinstance(
            entries[-1], CommandStartedEntry
        )  # there only a word that changes nothing counts
        heard = fold_run(PLAN, entries, BACKS).word if open_one and way != "accept" else way
        assert (once.word, again.word) == (heard, heard)
        assert once.step is again.step, entries


STOPPED = (*FIRST, RUN, LOST, HaltedEntry(()))


@pytest.mark.parametrize("way", ["resume", "roll_back"])
def test_law_6_what_could_not_be_recorded_is_reckoned_again_and_told_before_anything(
    way: RecoveryChoice,
) -> None:
    assert step(*FIRST, RUN, LOST) is RunStep.HALT
    assert step(*STOPPED, RecoveringEntry()) is RunStep.WAIT
    assert step(*FIRST, RUN, LOST, RecoveringEntry(way)) is RunStep.RECKON
    asked = (*STOPPED, RecoveringEntry(way))
    assert step(*asked) is RunStep.RECKON
    assert step(*asked, RecoveringEntry(way)) is RunStep.RECKON
    assert step(*asked, UNSEEN) is RunStep.HALT
    assert step(*asked, LOST) is RunStep.HALT  # and it can be tried once more
    assert step(*asked, LOST, HaltedEntry(()), RecoveringEntry(way)) is RunStep.RECKON
    told = (*asked, UNSEEN, HaltedEntry(()), RecoveringEntry(way))
    assert step(*told) is (RunStep.RUN if way == "resume" else RunStep.TURN)


def test_law_6_whoever_accepts_has_it_reckoned_again_too() -> None:
    asked = (*STOPPED, RecoveringEntry("accept"))
    assert step(*asked) is RunStep.RECKON
    assert step(*asked, UNSEEN) is RunStep.CLOSE
    assert step(*asked, LOST) is RunStep.CLOSE


def test_an_end_that_was_reckoned_again_does_not_count() -> None:
    assert command_ends((*STOPPED, UNSEEN)) == {2: (UNSEEN,)}
    assert command_ends((*STOPPED, RUN, UNSEEN)) == {2: (LOST, UNSEEN)}
    assert effective_entries((RUN, LOST, OK, MET)) == [RUN, OK, MET]
