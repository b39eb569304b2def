"""Law 5: where a run is among the segments of its plan follows from its journal alone."""

import itertools
from collections.abc import Iterator

import pytest
from tests.core.states import A, B
from tests.core.test_journal import START, stories

from assent.core.course import Back, Course, Span, counted, course, ran, spans
from assent.core.draft import segments
from assent.core.journal import (
    Aborted,
    Committed,
    Conflict,
    Entered,
    Entry,
    Finished,
    Halted,
    Ran,
    Recovering,
    Running,
    Settled,
    Started,
    Step,
    Swept,
    Turned,
    Way,
    next_step,
)
from assent.core.motion import Layout
from assent.core.operation import Operation, RunCommand, WriteFile
from assent.core.results import kept_slots, made_folders, run_results

ONE, TWO, THREE = (WriteFile(path, None, A) for path in (b"one", b"two", b"three"))
MAKE, TEST = RunCommand((b"make",)), RunCommand((b"make", b"test"))
PLAN: tuple[Operation, ...] = (ONE, TWO, MAKE, TEST, THREE)

COMMIT, DONE, BACK = Committed(), Settled("done", (b"made",)), Settled("rolled_back")
FIRST: tuple[Entry, ...] = (START, COMMIT, DONE, Swept(0, "done", (b"made",), (b"slot",)))
RUN, OK, BAD = Running(2, "before"), Ran(2, 0), Ran(2, 1, "", "changes")
UNSEEN = Ran(2, -1, "unknown", "changes")
LOST = Ran(2, 0, "record")  # what it changed could not be recorded
ENTER = Entered(3, Layout("run.1"))
THERE: tuple[Entry, ...] = (*FIRST, RUN, OK, Running(3, "before"), Ran(3, 0))
HALT = Halted((Conflict(2, b"", b"", "why"),))
MET = Halted((Conflict(4, b"three", b"", "why"),))
ABORT = Aborted(0, 0, b"three", "No space", "failed")
TURN = Turned("files")
BACKS = {
    "files": Back((WriteFile(b"one", A, B), WriteFile(b"two", A, B)), ((0,), (1, 2)), (3, 4)),
    "commands": Back((TEST,), ((2,),)),
    "left": Back((), (), (0, 2), (Conflict(1, b"two", b"", "changed"),)),
    "nothing": Back((), (), (0, 1, 2, 3, 4)),
    "other": Back((MAKE,), ((3,),)),
}


def step(*entries: Entry) -> Step:
    return course(PLAN, entries, BACKS).step


def test_a_plan_is_cut_at_its_commands() -> None:
    assert spans(PLAN) == (
        Span(0, (ONE, TWO)), Span(2, (MAKE,)), Span(3, (TEST,)), Span(4, (THREE,))
    )  # fmt: skip
    assert [(span.command, span.files) for span in spans(PLAN)][1:] == [
        (MAKE, ()), (TEST, ()), (None, (THREE,))
    ]  # fmt: skip
    assert spans(()) == ()
    both: tuple[Operation, ...] = (ONE, MAKE)
    for operations in itertools.product(both, repeat=4):
        assert [span.operations for span in spans(operations)] == segments(operations)


def test_law_5_a_run_of_one_segment_goes_as_its_journal_always_said() -> None:
    for entries in stories((START,), Step.PREPARE, 5):
        assert course((ONE, TWO), entries, {}).step is next_step(entries), entries


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ((START,), Step.PREPARE),
        (FIRST[:3], Step.SWEEP),
        (FIRST, Step.RUN),
        ((*FIRST, Recovering()), Step.RUN),  # it never began
        ((*FIRST, RUN, Recovering()), Step.RECKON),
        ((*FIRST, RUN, OK), Step.RUN),
        (THERE, Step.ENTER),
        ((*THERE, ENTER), Step.PREPARE),
        ((*THERE, ENTER, Recovering()), Step.ABANDON),
        ((*THERE, ENTER, Recovering(), BACK), Step.SWEEP),
        ((*THERE, ENTER, Recovering(), BACK, Swept(3, "rolled_back")), Step.ENTER),
        ((*THERE, ENTER, COMMIT, Recovering()), Step.CONTINUE),
        ((*THERE, ENTER, COMMIT, DONE), Step.SWEEP),
        ((*THERE, ENTER, COMMIT, ABORT, BACK, Swept(3, "rolled_back")), Step.HALT),
        ((*THERE, MET), Step.WAIT),
        ((*THERE, MET, Recovering()), Step.WAIT),
        ((*THERE, MET, Recovering("resume")), Step.ENTER),
        ((*FIRST, RUN, BAD), Step.HALT),
        ((*FIRST, RUN, BAD, Recovering()), Step.HALT),
        ((*FIRST, RUN, BAD, Recovering("resume")), Step.HALT),  # nobody was told yet
        ((*FIRST, RUN, BAD, HALT, Recovering("resume")), Step.RUN),
        ((*FIRST, RUN, BAD, HALT, Recovering("accept")), Step.CLOSE),
        ((*FIRST, RUN, BAD, HALT, Recovering("accept"), Recovering()), Step.CLOSE),
        ((*FIRST, RUN, BAD, HALT, Recovering("roll_back")), Step.TURN),
        ((*FIRST, RUN, BAD, HALT, Recovering("roll_back"), Recovering()), Step.TURN),
        ((*FIRST, RUN, Recovering("roll_back")), Step.RECKON),
        ((*FIRST, RUN, Recovering("roll_back"), UNSEEN), Step.HALT),  # nobody saw what changed
        ((*FIRST, RUN, Recovering("resume"), UNSEEN), Step.HALT),
        ((*FIRST, RUN, Recovering("accept"), UNSEEN), Step.CLOSE),  # which changes nothing
        ((*FIRST, RUN, UNSEEN, Recovering("roll_back")), Step.HALT),
        ((*FIRST, RUN, UNSEEN, Recovering("resume")), Step.HALT),
        ((*FIRST, RUN, UNSEEN, Recovering("accept")), Step.CLOSE),
        ((*FIRST, RUN, Recovering("roll_back"), UNSEEN, HALT), Step.WAIT),
        ((*FIRST, RUN, Recovering("roll_back"), UNSEEN, HALT, Recovering()), Step.WAIT),
        ((*FIRST, RUN, UNSEEN, HALT, Recovering("roll_back")), Step.TURN),
        ((*FIRST, RUN, UNSEEN, HALT, Recovering("resume")), Step.RUN),
        ((*FIRST, RUN, BAD, Recovering("roll_back")), Step.TURN),  # what it changed is on record
        (
            (*FIRST, RUN, UNSEEN, HALT, Recovering("resume"), RUN, OK, Recovering("roll_back")),
            Step.TURN,
        ),
        ((*FIRST, Recovering("roll_back")), Step.TURN),
        ((*FIRST, Recovering("accept")), Step.CLOSE),
        ((*FIRST, Finished("done", ())), Step.OVER),
    ],
)
def test_law_5_what_comes_next_on_the_way_there(entries: tuple[Entry, ...], wanted: Step) -> None:
    assert step(*entries) is wanted


ASKED: tuple[Entry, ...] = (*FIRST, RUN, BAD, HALT, Recovering("roll_back"))
GOING: tuple[Entry, ...] = (*ASKED, TURN, Entered(0, Layout("run.1")))
PUT_BACK: tuple[Entry, ...] = (*GOING, COMMIT, ABORT, BACK, Swept(0, "rolled_back"))


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ((*ASKED, TURN), Step.ENTER),
        (GOING, Step.PREPARE),
        ((*GOING, Recovering(), BACK, Swept(0, "rolled_back")), Step.ENTER),
        ((*GOING, COMMIT, DONE, Swept(0, "done")), Step.CLOSE),
        ((*GOING, COMMIT, DONE, Swept(0, "done"), Finished("rolled_back", ())), Step.OVER),
        (PUT_BACK, Step.HALT),
        ((*PUT_BACK, Recovering()), Step.HALT),
        ((*PUT_BACK, HALT, Recovering()), Step.WAIT),
        ((*PUT_BACK, HALT, Recovering("roll_back")), Step.TURN),
        ((*PUT_BACK, HALT, Recovering("resume")), Step.TURN),
        ((*PUT_BACK, HALT, Recovering("accept")), Step.CLOSE),
        ((*GOING, COMMIT, ABORT, HALT, Recovering("resume")), Step.CONTINUE),
        ((*GOING, COMMIT, ABORT, HALT, Recovering("roll_back")), Step.REVERSE),
        (
            (*GOING, COMMIT, ABORT, HALT, Recovering("roll_back"), BACK, Swept(0, "rolled_back")),
            Step.TURN,
        ),
        ((*ASKED, Turned("commands")), Step.RUN),
        ((*ASKED, Turned("commands"), Running(0, "b"), Recovering()), Step.RECKON),
        ((*ASKED, Turned("commands"), Running(0, "b"), Ran(0, 2)), Step.HALT),
        ((*ASKED, Turned("commands"), Running(0, "b"), Ran(0, 0)), Step.TURN),
        ((*ASKED, Turned("commands"), Running(0, "b"), Ran(0, 0), TURN), Step.ENTER),
        ((*ASKED, Turned("left")), Step.HALT),
        ((*ASKED, Turned("nothing")), Step.CLOSE),
    ],
)
def test_law_5_what_comes_next_on_the_way_back(entries: tuple[Entry, ...], wanted: Step) -> None:
    assert step(*entries) is wanted


@pytest.mark.parametrize(
    ("entries", "ends"),
    [
        (FIRST[:3], False),
        ((START, Recovering(), BACK), True),  # nothing came before it
        ((*THERE, ENTER, Recovering(), BACK), False),
        ((*THERE, ENTER, COMMIT, DONE), True),
        ((*THERE, ENTER, COMMIT, Recovering("roll_back"), DONE), False),
        ((*THERE, ENTER, COMMIT, Settled("done", accepted=True)), True),
        ((*GOING, Recovering(), BACK), False),
        ((*GOING, COMMIT, DONE), False),
    ],
)
def test_when_a_segment_of_files_ends_the_run(entries: tuple[Entry, ...], ends: bool) -> None:
    assert course(PLAN, entries, BACKS).ends is ends


def test_a_plan_may_begin_with_a_command_or_hold_nothing_else() -> None:
    start = Started("plan", "digest", "approval", Layout("run"))
    assert course((MAKE, ONE), (start,), {}).step is Step.RUN
    assert course((MAKE,), (start, Running(0, "b"), Ran(0, 0)), {}).step is Step.CLOSE
    assert course((), (start,), {}).step is Step.CLOSE


WELL = (Running(0, "b"), Ran(0, 0))


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        (FIRST, "done done not_started not_started not_started"),
        ((*FIRST, RUN), "done done unknown not_started not_started"),
        ((*FIRST, RUN, Ran(2, -1, "unknown")), "done done unknown not_started not_started"),
        ((*FIRST, RUN, BAD), "done done failed not_started not_started"),
        ((*FIRST, RUN, Ran(2, 0, "time")), "done done failed not_started not_started"),
        ((*FIRST, RUN, BAD, RUN, OK), "done done done not_started not_started"),
        ((*THERE, MET), "done done done done conflict"),
        ((*THERE, MET, Recovering("accept")), "done done done done not_started"),
        ((*THERE, ENTER, ABORT, BACK, Swept(3, "rolled_back"), MET), "done done done done failed"),
        ((*THERE, ENTER, COMMIT, DONE), "done done done done done"),
        ((*ASKED, TURN), "done done failed not_started not_started"),
        ((*GOING, COMMIT, DONE, Swept(0, "done")), "undone undone failed not_started not_started"),
        (
            (*THERE, MET, Turned("commands"), Running(0, "b"), Ran(0, 0)),
            "done done undone done conflict",
        ),
        (
            (*THERE, MET, Turned("commands"), Running(0, "b"), Ran(0, 9)),
            "done done done done conflict",
        ),
        ((*THERE, MET, Turned("left")), "undone conflict undone done conflict"),
        (  # a second way back is only about what the first one left
            (*THERE, MET, Turned("commands"), *WELL, Turned("other"), Running(0, "b"), Ran(0, 9)),
            "done done undone done conflict",
        ),
        (  # what a later one left open is open again
            (*THERE, MET, Turned("left"), Turned("commands"), Running(0, "b"), Ran(0, 9)),
            "undone conflict done done conflict",
        ),
    ],
)
def test_f64_what_became_of_each_operation(entries: tuple[Entry, ...], wanted: str) -> None:
    assert " ".join(run_results(PLAN, entries, BACKS)) == wanted


def test_what_segments_made_and_kept_adds_up() -> None:
    entries = (*THERE, ENTER, COMMIT, Settled("done", (b"other", b"made")))
    assert made_folders(entries) == (b"made", b"other")
    assert kept_slots(entries) == (b"slot",)


def test_the_journal_tells_how_each_command_ended_every_time() -> None:
    entries = (
        *FIRST,
        RUN,
        BAD,
        HALT,
        Recovering("resume"),
        RUN,
        OK,
        TURN,
        Running(0, "b"),
        Ran(0, 7, "", "changes"),
    )
    assert ran(entries) == {2: (BAD, OK)}


def everywhere() -> Iterator[tuple[Entry, ...]]:
    for entries in (THERE, ASKED, GOING, PUT_BACK):
        for upto in range(1, len(entries) + 1):
            yield entries[:upto]


def test_law_5_being_taken_up_again_by_nobody_s_word_changes_no_decision_of_a_person() -> None:
    ways: tuple[Way, ...] = ("resume", "roll_back", "accept")
    for entries, way in itertools.product(everywhere(), ways):
        said = (*entries, Recovering(way))
        once = course(PLAN, said, BACKS)
        again = course(PLAN, (*said, Recovering()), BACKS)
        assert isinstance(once, Course)
        open_one = isinstance(entries[-1], Running)  # there only a word that changes nothing counts
        heard = course(PLAN, entries, BACKS).word if open_one and way != "accept" else way
        assert (once.word, again.word) == (heard, heard)
        assert once.step is again.step, entries


STOPPED = (*FIRST, RUN, LOST, Halted(()))


@pytest.mark.parametrize("way", ["resume", "roll_back"])
def test_law_6_what_could_not_be_recorded_is_reckoned_again_and_told_before_anything(
    way: Way,
) -> None:
    assert step(*FIRST, RUN, LOST) is Step.HALT
    assert step(*STOPPED, Recovering()) is Step.WAIT
    assert step(*FIRST, RUN, LOST, Recovering(way)) is Step.RECKON
    asked = (*STOPPED, Recovering(way))
    assert step(*asked) is Step.RECKON
    assert step(*asked, Recovering(way)) is Step.RECKON
    assert step(*asked, UNSEEN) is Step.HALT
    assert step(*asked, LOST) is Step.HALT  # and it can be tried once more
    assert step(*asked, LOST, Halted(()), Recovering(way)) is Step.RECKON
    told = (*asked, UNSEEN, Halted(()), Recovering(way))
    assert step(*told) is (Step.RUN if way == "resume" else Step.TURN)


def test_law_6_whoever_accepts_has_it_reckoned_again_too() -> None:
    asked = (*STOPPED, Recovering("accept"))
    assert step(*asked) is Step.RECKON
    assert step(*asked, UNSEEN) is Step.CLOSE
    assert step(*asked, LOST) is Step.CLOSE


def test_an_end_that_was_reckoned_again_does_not_count() -> None:
    assert ran((*STOPPED, UNSEEN)) == {2: (UNSEEN,)}
    assert ran((*STOPPED, RUN, UNSEEN)) == {2: (LOST, UNSEEN)}
    assert counted((RUN, LOST, OK, MET)) == [RUN, OK, MET]
