"""Asking: puts questions to the person, on record; only a plain yes is a yes (law 9)."""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import msgspec

from assent.core.paths import one_line
from assent.core.session_event import (
    Option,
    Question,
    QuestionAnswered,
    QuestionAsked,
    SessionEvent,
)
from assent.core.tool import Action, Decision, Request
from assent.ports import Asker

T = TypeVar("T")
R = TypeVar("R")

YES, NO = "Yes", "No"
NOBODY = "nobody was there to answer."

FEW = 3  # things that stand in the question itself; all of them are listed below it

Answers = tuple[tuple[str, ...], ...]

_WORDS = {
    Action.READ: "read",
    Action.EDIT: "change",
    Action.SHELL: "run",
    Action.FETCH: "fetch",
    Action.PLAN: "set",
    Action.PRESENT: "present",
}


def asked(
    asker: Asker, question_id: str, call: str, questions: tuple[Question, ...]
) -> Generator[SessionEvent, None, Answers | None]:
    """Asks; yields what to record before and after. An answer that does not fit is none."""
    yield QuestionAsked(question_id, call, questions)
    try:
        answers = asker.ask(questions)
    except KeyboardInterrupt:
        yield QuestionAnswered(question_id, None)
        raise
    except Exception:  # law 9: whatever keeps a person from answering is a no
        answers = None
    if answers is not None and len(answers) != len(questions):
        answers = None
    yield QuestionAnswered(question_id, answers)
    return answers


def drained(work: Generator[T, None, R], take: Callable[[T], object]) -> R:
    """Drives a generator to its end, hands over what it yields, and returns its answer."""
    while True:
        try:
            take(next(work))
        except StopIteration as end:
            answer: R = end.value
            return answer


def permission(
    requests: Sequence[Request], decision: Decision, wishes: Sequence[str] = (), patch: str = ""
) -> Question:
    """Returns the question whether a call may do what it touches, with all that a yes would do."""
    touched = [f"{_WORDS[each.action]} {_one_line(each.resource)}" for each in requests]
    more = [f"{len(touched) - FEW} more"] if len(touched) > FEW else []
    listed = ", ".join([*touched[:FEW], *more])
    question = yes_or_no("Permission", f"May the model {listed}? {decision.reason}".rstrip())
    things = wishes or (touched if more else ())
    return msgspec.structs.replace(question, things=tuple(things), detail=patch)


def _one_line(resource: str) -> str:
    """Returns a path, a command line or an address so that it cannot pass for several lines."""
    return one_line(resource.encode("utf-8", "surrogateescape"))


def yes_or_no(header: str, question: str) -> Question:
    """Returns a question that a person answers with yes or no."""
    return Question(header, question, (Option(YES), Option(NO)), by="gate")


def refusal(answers: Answers | None) -> str:
    """Returns why an answer is no yes, with the person's own words; nothing if it is one."""
    if answers is None:
        return NOBODY
    if answers == ((YES,),):
        return ""
    if answers == ((NO,),):
        return "they said no."
    said = ", ".join(words for answer in answers for words in answer)
    if not said:
        return "they gave no answer."
    return said if said.endswith((".", "!", "?")) else f"{said}."


def is_answered(answers: Answers | None) -> bool:
    """Tells whether somebody said anything at all."""
    return answers is not None and any(answers)
