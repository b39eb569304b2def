"""Asking: the words of a question to the person, and whether an answer is a yes (law 9)."""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import msgspec

from assent.core.paths import one_line
from assent.core.question import PERMISSION, Answers, read_consent, yes_or_no
from assent.core.session_event import Question
from assent.core.tool import Action, Decision, Request

T = TypeVar("T")
R = TypeVar("R")

FEW = 3  # things that stand in the question itself; all of them are listed below it

_WORDS = {
    Action.READ: "read",
    Action.EDIT: "change",
    Action.SHELL: "run",
    Action.FETCH: "fetch",
    Action.PLAN: "set",
    Action.PRESENT: "present",
    Action.TASK: "start a child for",
    Action.TOOL: "use",
    Action.OUTSIDE: "look outside the workspace, into",
    Action.LOOP: "repeat",
}


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
    question = yes_or_no(PERMISSION, f"May the model {listed}? {decision.reason}".rstrip())
    things = wishes or (touched if more else ())
    return msgspec.structs.replace(question, things=tuple(things), detail=patch)


def _one_line(resource: str) -> str:
    """Returns a path, a command line or an address so that it cannot pass for several lines."""
    return one_line(resource.encode("utf-8", "surrogateescape"))


def refusal(answers: Answers | None) -> str:
    """Returns why an answer is no yes, with the person's own words; nothing if it is one."""
    return read_consent(yes_or_no("", ""), answers).why


def is_answered(answers: Answers | None) -> bool:
    """Tells whether somebody said anything at all."""
    return answers is not None and any(answers)
