"""Inquiries: what became of each question, and which calls only wait for an answer."""

from collections.abc import Sequence

import pytest

from assent.core.event import Event, StoredEvent
from assent.core.llm import ToolCall, ToolResult
from assent.core.session.event import (
    AnswerTaken,
    CallEnded,
    CallStarted,
    PartSaid,
    Question,
    QuestionAnswered,
    QuestionAsked,
    StepRetried,
    StepStarted,
    TurnEnded,
)
from assent.core.session.question import NO_CALL, calls_awaiting_answers, stored_questions

NOW = "2026-01-01T12:00:00.000Z"
ONE, TWO = ToolCall("c1", "write", {"path": "a"}), ToolCall("c2", "write", {"path": "b"})
STEP = StepStarted(1, "build", "m", "ask")


def asked(id: str, call: str, expires_at: str = "") -> QuestionAsked:
    return QuestionAsked(id, call, (Question("Permission", "?"),), expires_at=expires_at)


def ended(call: str) -> CallEnded:
    return CallEnded(call, "write", ToolResult(call, "Done."))


def recorded(events: Sequence[Event]) -> list[StoredEvent]:
    return [StoredEvent(n, "s", n, f"at {n}", event) for n, event in enumerate(events, 1)]


BOTH = (STEP, PartSaid(ONE), PartSaid(TWO), CallStarted("c1", "write"), asked("q1", "c1"))
YES = QuestionAnswered("q1", (("Yes",),), "ada")

WAITING: dict[str, tuple[tuple[Event, ...], list[str]]] = {
    "asked": (BOTH, ["c1"]),
    "answered": ((*BOTH, YES), ["c1"]),
    "taken": ((*BOTH, YES, AnswerTaken("q1")), []),
    "taken, and asked for more": ((*BOTH, YES, AnswerTaken("q1"), asked("q2", "c1")), ["c1"]),
    "both": ((*BOTH, asked("q2", "c2")), ["c1", "c2"]),
    "one ended": ((*BOTH, asked("q2", "c2"), ended("c2")), ["c1"]),
    "the turn waits": ((*BOTH, TurnEnded("waiting")), ["c1"]),
    "the turn ended": ((*BOTH, TurnEnded("interrupted")), []),
    "another step began": ((*BOTH, STEP), []),
    "the same id in another step": ((*BOTH, STEP, PartSaid(ONE)), []),
    "what was said does not count": ((STEP, PartSaid(ONE), StepRetried(1, 0, "")), []),
    "nothing was asked": (BOTH[:-1], []),
}


@pytest.mark.parametrize(("events", "calls"), WAITING.values(), ids=WAITING)
def test_f95_calls_that_only_wait_can_be_settled_again(
    events: tuple[Event, ...], calls: list[str]
) -> None:
    assert [call.id for call, _ in calls_awaiting_answers(recorded(events))] == calls


STANDING: dict[str, tuple[tuple[Event, ...], str]] = {
    "open": (BOTH, "open"),
    "answered": ((*BOTH, YES), "answered"),
    "answered, and over": ((*BOTH, YES, ended("c1")), "answered"),
    "lost": ((*BOTH, ended("c1")), "interrupted"),
    "lost with its turn": ((*BOTH, TurnEnded("failed")), "interrupted"),
    "a day later": ((*BOTH[:-1], asked("q1", "c1", "2026-01-01T12:00:00.000Z")), "expired"),
    "a little before": ((*BOTH[:-1], asked("q1", "c1", "2026-01-01T12:00:00.001Z")), "open"),
}


@pytest.mark.parametrize(("events", "standing"), STANDING.values(), ids=STANDING)
def test_f95_a_question_is_open_or_it_is_said_why_not(
    events: tuple[Event, ...], standing: str
) -> None:
    [one] = stored_questions(recorded(events))
    assert one.status(NOW) == standing


def test_the_first_answer_counts() -> None:
    [one] = stored_questions(recorded([*BOTH, YES, QuestionAnswered("q1", (("No",),))]))
    assert (one.answered, one.answered_at, one.at, one.call) == (YES, "at 6", "at 5", ONE)


def test_a_question_about_no_call_and_one_about_a_call_that_nobody_knows() -> None:
    found = stored_questions(recorded([STEP, asked("q1", ""), asked("q2", "c9")]))
    assert [one.call for one in found] == [NO_CALL, None]


def test_answers_to_nothing_change_nothing() -> None:
    assert stored_questions(recorded([YES, AnswerTaken("q1")])) == ()
