"""What came of a turn: sums, exit codes, the object, and the lines."""

import msgspec
import pytest

from assent.cli.goal.result import (
    LeftDraft,
    TurnResult,
    TurnTotals,
    UnansweredQuestion,
    add_child_event,
    add_event,
    draft_notices,
    exit_code,
    questions_of,
    refused_notices,
    turn_error,
    turn_result_lines,
    turn_result_row,
)
from assent.core.errors import Unavailable
from assent.core.llm import ReasoningPart, StopReason, TextPart, TokenUsage, ToolResult
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.event import (
    BatchPlanned,
    CallEnded,
    Compacted,
    PartSaid,
    PlannedCall,
    Question,
    QuestionAnswered,
    QuestionAsked,
    SessionEvent,
    StepEnded,
    StepRetried,
    StepStarted,
    TurnEnded,
)
from assent.core.session.record import SessionRecord

ESCAPE = bytes([27]).decode()
SESSION = SessionRecord(
    "01s", "01w", "fix-it", "plan", "then", "now", 9, title="Fix", agent="plan", turns=2
)
ASKING = msgspec.structs.replace(SESSION, mode="ask")
DIGEST = "0123456789abcdef" * 4
DRAFT = PlanRecord("01p", "01w", "fix-it", "fix", b"PLAN_fix.md", "", "", "then", 3)
AWAITING = msgspec.structs.replace(DRAFT, state=PlanState.AWAITING_APPROVAL, digest=DIGEST)
LEFT = LeftDraft(b"PLAN_fix.md", 0)
STARTED = StepStarted(1, "plan", "m/x", "plan")
WHICH = Question("", "Which?")


def summed(*events: SessionEvent) -> TurnTotals:
    tally = TurnTotals()
    for event in events:
        tally = add_event(tally, event)
    return tally


def said(text: str) -> PartSaid:
    return PartSaid(TextPart(text))


def test_the_last_step_that_said_something_is_the_result() -> None:
    end = StepEnded(StopReason.END, TokenUsage(10, 2), 0.5)
    tally = summed(
        STARTED, said("Look"), said("ing."), end, STARTED, PartSaid(ReasoningPart("Hm.")), end
    )
    assert (tally.said, tally.steps) == ("Looking.", 2)
    assert (tally.agent, tally.model) == ("plan", "m/x")


def test_what_a_failed_attempt_said_does_not_count() -> None:
    again = StepRetried(1, 0.0, "cut")
    assert (
        summed(STARTED, said("Half"), again, said("All"), StepEnded(StopReason.END)).said == "All"
    )
    assert summed(STARTED, said("Half"), again, TurnEnded("failed")).said == ""


def test_what_an_interrupted_step_said_counts() -> None:
    tally = summed(STARTED, said("So far"), TurnEnded("interrupted", "Stopped."))
    assert (tally.said, tally.why, tally.words) == ("So far", "interrupted", "Stopped.")


def test_f126_tokens_and_cost_add_up_and_one_unknown_makes_the_sum_unknown() -> None:
    one = StepEnded(StopReason.CALLS, TokenUsage(10, 2, 3, 4, 5), 0.25)
    tally = summed(STARTED, one, STARTED, one, Compacted("s", 1, TokenUsage(1, 1), 0.5))
    assert (tally.usage, tally.cost) == (TokenUsage(21, 5, 6, 8, 10), 1.0)
    assert summed(one, StepEnded(StopReason.END)).cost is None


def test_f32_a_question_waits_until_somebody_answers() -> None:
    asked = QuestionAsked("q1", "c1", (WHICH,))
    waits = (UnansweredQuestion("q1", "c1", WHICH),)
    ended = CallEnded("c1", "question", ToolResult("c1", "No answer."))
    assert summed(asked, QuestionAnswered("q1", None), ended).asked == waits
    assert summed(asked, QuestionAnswered("q2", (("a",),))).asked == waits
    assert summed(asked, QuestionAnswered("q1", (("a",),))).asked == ()


def test_a_question_whether_a_call_may_run_waits_for_nobody() -> None:
    asked = QuestionAsked("q1", "c1", (WHICH,))
    ended = CallEnded("c1", "write", ToolResult("c1", "No.", failed=True))
    assert summed(asked, QuestionAnswered("q1", None), ended).asked == ()


def test_a_call_that_nobody_could_be_asked_about_is_counted_and_listed() -> None:
    asked = QuestionAsked("q1", "c1", (WHICH,))
    ended = CallEnded("c1", "write", ToolResult("c1", "No.", failed=True))
    tally = summed(asked, QuestionAnswered("q1", None), ended)
    assert tally.refused == (UnansweredQuestion("q1", "c1", WHICH),)
    assert turn_result_row(TurnResult(ASKING, tally))["questions"] == [msgspec.to_builtins(WHICH)]
    first, listed, way = refused_notices(TurnResult(ASKING, tally))
    assert (first, listed) == ("1 call was denied, because you could not be asked.", "Which?")
    assert "`assent -c 'continue'`" in way
    for answer in ((("No",),), (("Yes",),), ((),)):  # somebody was there
        assert summed(asked, QuestionAnswered("q1", answer), ended).refused == ()
    same = msgspec.structs.replace(tally, refused=tally.refused * 25)
    assert refused_notices(TurnResult(ASKING, same))[1] == "Which? (25 times)"
    [counted] = questions_of(same)
    assert counted["count"] == 25
    asked_25 = [UnansweredQuestion("q", "c", Question("Which", f"Which {n}?")) for n in range(25)]
    many = msgspec.structs.replace(tally, refused=tuple(asked_25))
    assert refused_notices(TurnResult(ASKING, many))[-2] == "And 5 more."


def test_a_build_that_has_not_ended_says_how_to_end_it() -> None:
    ending = TurnResult(ASKING, plan=msgspec.structs.replace(DRAFT, state=PlanState.EXECUTING))
    assert turn_result_row(ending)["next"] == "assent build"
    texts = [line.text for line in turn_result_lines(ending)]
    assert texts[-2:] == [
        "Continue:  assent build",
        "Roll back: assent recover --roll-back",
    ]


PRESENTED = summed(TurnEnded("presented"))
OPEN = (QuestionAsked("q1", "c1", (WHICH,)), QuestionAnswered("q1", None))
_LACKS = {"lacks": "sandbox"}
UNRUN = (
    CallEnded("c1", "shell", ToolResult("c1", "No.", failed=True), "git log", metadata=_LACKS),
)
EXITS = {
    "words only": (TurnResult(SESSION, plan=DRAFT), 0),
    "no plan": (TurnResult(SESSION), 0),
    "a draft of this turn": (TurnResult(SESSION, plan=DRAFT, draft=LEFT, drafted=True), 0),
    "a plan that was presented": (TurnResult(SESSION, PRESENTED, AWAITING), 3),
    "a plan of an earlier turn": (TurnResult(SESSION, summed(TurnEnded("end")), AWAITING), 0),
    "a plan that is approved": (TurnResult(SESSION, PRESENTED, AWAITING, approved=True), 0),
    "an open question": (TurnResult(SESSION, summed(*OPEN, TurnEnded("end")), DRAFT), 4),
    "a question in spite of which a plan was presented": (
        TurnResult(SESSION, summed(*OPEN, TurnEnded("presented")), AWAITING), 3,
    ),
    "a question that Enter answered": (
        TurnResult(SESSION, summed(*OPEN, QuestionAnswered("q1", ((),)), TurnEnded("end"))), 0,
    ),
    "a command without a sandbox": (TurnResult(SESSION, summed(*UNRUN, TurnEnded("end"))), 1),
    "a command without a sandbox, and a plan": (
        TurnResult(SESSION, summed(*UNRUN, TurnEnded("presented")), AWAITING), 3,
    ),
    "outside plan mode": (TurnResult(ASKING, plan=AWAITING, drafted=True), 0),
    "an error": (TurnResult(SESSION, plan=AWAITING, error=Unavailable("Down.")), 1),
    "interrupted": (TurnResult(SESSION, summed(TurnEnded("interrupted"))), 130),
    "failed": (TurnResult(SESSION, summed(TurnEnded("failed"))), 1),
    "paused": (TurnResult(SESSION, summed(TurnEnded("paused"))), 130),
    "cancelled": (TurnResult(ASKING, summed(TurnEnded("cancelled"))), 130),
    "a no": (TurnResult(ASKING, summed(TurnEnded("declined"))), 4),
    "a budget that nobody raised": (TurnResult(SESSION, summed(TurnEnded("budget")), AWAITING), 4),
    "a question that waits": (TurnResult(ASKING, summed(TurnEnded("waiting"))), 4),
    "the limit": (TurnResult(SESSION, summed(TurnEnded("limit")), AWAITING), 1),
    "the limit outside plan mode": (TurnResult(ASKING, summed(TurnEnded("limit"))), 1),
}  # fmt: skip


@pytest.mark.parametrize(("ending", "code"), EXITS.values(), ids=EXITS)
def test_exit_codes(ending: TurnResult, code: int) -> None:
    assert exit_code(ending) == code
    assert turn_result_row(ending)["exit"] == code


def test_f111_whoever_worked_is_told_how_to_go_on_after_a_halt() -> None:
    for why in ("paused", "cancelled"):
        words = f"{why.capitalize()} from another process."
        ending = TurnResult(ASKING, summed(TurnEnded(why, words)))
        way_on = f"assent sessions resume {ASKING.slug}"
        assert [line.text for line in turn_result_lines(ending)] == [
            f"{words[:-1]}; continue: {way_on}"
        ]
        assert (turn_result_row(ending)["message"], turn_result_row(ending)["next"]) == (
            words,
            way_on,
        )


def test_a_no_is_told_with_what_to_type_instead() -> None:
    ending = TurnResult(
        ASKING, summed(TurnEnded("declined", "You denied permission; nothing was done."))
    )
    assert [line.text for line in turn_result_lines(ending)] == [
        "You denied permission; nothing was done.",
        "Continue: assent -c 'WHAT INSTEAD'",
    ]
    assert turn_result_row(ending)["next"] == "assent -c 'WHAT INSTEAD'"


def test_f95_a_question_of_a_child_is_one_to_answer() -> None:
    tally = add_child_event(TurnTotals(), QuestionAsked("q1", "c1", (WHICH,)))
    ending = TurnResult(ASKING, add_event(tally, TurnEnded("waiting")))
    row = turn_result_row(ending)
    assert (row["waiting"], row["next"]) == (["q1"], "assent questions list")
    assert "Answer: assent questions list" in [line.text for line in turn_result_lines(ending)]


def batch(*calls: tuple[str, str]) -> BatchPlanned:
    return BatchPlanned(tuple(PlannedCall(id, "shell", (touched,)) for id, touched in calls))


def test_a_call_that_is_planned_anew_is_counted_once() -> None:
    first, again = batch(("1", "a"), ("2", "b")), batch(("2", "c"))
    ended = [CallEnded(id, "shell", ToolResult(id, "")) for id in ("1", "2")]
    assert summed(first, ended[0], again).batches == (batch(("1", "a"), ("2", "c")),)
    beside = batch(("9", "of a child"))
    assert summed(first, beside, again).batches == (batch(("1", "a"), ("2", "c")), beside)


def test_a_later_call_with_the_id_of_one_that_ended_is_another_one() -> None:
    """Some models count the calls of each answer from the start."""
    first, second = batch(("1", "a")), batch(("1", "b"))
    ended = CallEnded("1", "shell", ToolResult("1", ""))
    assert summed(first, ended, second, ended).batches == (first, second)
    assert summed(first, ended, second, ended).open_batches == ()


def test_the_whole_object() -> None:
    tally = summed(
        STARTED,
        said("Done."),
        StepEnded(StopReason.END, TokenUsage(8, 2), 0.5),
        TurnEnded("presented"),
    )
    assert turn_result_row(TurnResult(SESSION, tally, AWAITING, 2)) == {
        "session": "01s",
        "result": "Done.",
        "plan_id": "01p",
        "digest": DIGEST,
        "state": "AWAITING_APPROVAL",
        "exit": 3,
        "usage": {"input": 8, "output": 2, "cache_read": 0, "cache_write": 0, "reasoning": 0},
        "cost": 0.5,
        "slug": "fix-it",
        "title": "Fix",
        "mode": "plan",
        "custom_mode": None,
        "missing_mode": None,
        "agent": "plan",
        "model": "m/x",
        "turns": 2,
        "steps": 1,
        "why": "presented",
        "draft": None,
        "operations": 2,
        "approved": False,
        "options": [],
        "questions": [],
        "batches": [],
        "attachments": [],
        "critiques": [],
        "waiting": [],
        "children": 0,
        "compactions": 0,
        "notices": [],
        "not_run": None,
        "error": None,
        "message": "",
        "next": f"assent approve --digest {DIGEST} --build",
    }


def test_an_error_says_what_to_do_next() -> None:
    row = turn_result_row(TurnResult(SESSION, error=Unavailable("Down.", "assent -c")))
    told = {key: row[key] for key in ("error", "message", "next", "exit", "state", "digest")}
    assert told == {
        "error": "unavailable",
        "message": "Down.",
        "next": "assent -c",
        "exit": 1,
        "state": "IDLE",
        "digest": None,
    }


def test_a_plan_that_waits_names_the_digest_and_the_literal_commands() -> None:
    ending = TurnResult(SESSION, plan=AWAITING, operations=1, prefix="assent -C 'my folder'")
    assert [line.text for line in turn_result_lines(ending)] == [
        "",
        "Plan ready for review: 1 operation, text in PLAN_fix.md.",
        DIGEST,
        "Review:  assent -C 'my folder' review",
        f"Approve: assent -C 'my folder' approve --digest {DIGEST} --build",
        "Reject:  assent -C 'my folder' reject --note 'WHY', then assent -C 'my folder' -c",
    ]


def test_a_plan_that_is_not_the_current_one_is_named_in_every_command() -> None:
    ending = TurnResult(SESSION, plan=AWAITING, operations=1, of="the plan")
    assert [line.text for line in turn_result_lines(ending)][3:] == [
        "Review:  assent review --plan 'the plan'",
        f"Approve: assent approve --plan 'the plan' --digest {DIGEST} --build",
        "Reject:  assent reject --plan 'the plan' --note 'WHY', then assent -c",
    ]
    assert draft_notices(
        TurnResult(SESSION, plan=DRAFT, draft=LeftDraft(b"PLAN_fix.md", 0, "fix"), drafted=True)
    )[1].endswith("Propose it yourself: assent propose --plan fix")


def test_a_draft_is_named_and_says_how_to_go_on() -> None:
    ending = TurnResult(SESSION, plan=DRAFT, draft=LEFT, drafted=True)
    assert draft_notices(ending) == [
        "Draft, not proposed for approval: 0 operations, text in PLAN_fix.md.",
        "Continue: assent -c -p 'WHAT NEXT'. Propose it yourself: assent propose",
    ]
    assert (list(turn_result_lines(ending)), turn_result_row(ending)["draft"]) == (
        [],
        "PLAN_fix.md",
    )
    earlier = TurnResult(SESSION, plan=DRAFT, draft=LEFT)
    assert (draft_notices(earlier), turn_result_row(earlier)["draft"]) == ([], "PLAN_fix.md")


@pytest.mark.parametrize(
    ("ending", "found"),
    [
        (TurnResult(SESSION, summed(TurnEnded("end"))), None),
        (TurnResult(SESSION, summed(TurnEnded("budget", "Spent."))), None),
        (TurnResult(SESSION, summed(TurnEnded("limit", "Stuck."))), ("limit", "Stuck.")),
        (
            TurnResult(SESSION, summed(*UNRUN, *UNRUN, *UNRUN, TurnEnded("end"))),
            (
                "not_run",
                "Not run, because no sandbox works here: git log, and 2 more commands. "
                "Nothing was staged for them.",
            ),
        ),
        (TurnResult(SESSION, summed(*UNRUN, TurnEnded("presented")), AWAITING), None),
    ],
)
def test_what_kept_a_turn_from_its_end_is_an_error(
    ending: TurnResult, found: tuple[str, str] | None
) -> None:
    error = turn_error(ending)
    assert (error and (error.word, error.message)) == found
    row = turn_result_row(ending)
    assert (row["error"], row["exit"]) == ((found or [None])[0], exit_code(ending))
    assert error is None or (row["message"], row["exit"]) == (error.message, error.exit)


def test_outside_plan_mode_there_is_nothing_to_say_of_a_plan() -> None:
    assert list(turn_result_lines(TurnResult(ASKING, plan=AWAITING, drafted=True))) == []


def test_nothing_that_a_model_says_steers_the_terminal() -> None:
    over = summed(TurnEnded("budget", f"{ESCAPE}[2J\nno"))
    lines = [line.text for line in turn_result_lines(TurnResult(SESSION, over))]
    assert lines == ["<U+001B>[2J<U+000A>no"]
