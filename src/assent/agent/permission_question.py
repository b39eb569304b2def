"""The text of a permission question, and whether an answer allows the call (law 9)."""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import msgspec

from assent.core.paths import typed_line
from assent.core.session.event import Question
from assent.core.session.question import (
    PERMISSION,
    QuestionAnswers,
    read_permission_answer,
    yes_no_question,
)
from assent.core.tool import Action, Decision, ResourceAccess

T = TypeVar("T")
R = TypeVar("R")

MAX_INLINE_CHARS = 100  # characters of a command that stands in the question itself
MAX_INLINE_THINGS = 3  # things that stand in the question itself; all of them are listed below it

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
    Action.LOOP: "go on with",
    Action.SEEK: "look for",
}


def drain(work: Generator[T, None, R], take: Callable[[T], object]) -> R:
    """Drives a generator to its end, hands over what it yields, and returns its answer."""
    while True:
        try:
            take(next(work))
        except StopIteration as end:
            answer: R = end.value
            return answer


def permission_question(
    requests: Sequence[ResourceAccess],
    decision: Decision,
    wishes: Sequence[str] = (),
    patch: str = "",
) -> Question:
    """Returns the question whether a call may do what it touches, with all that a yes would do."""
    touched = [_touched(each) for each in requests]
    more = [f"{len(touched) - MAX_INLINE_THINGS} more"] if len(touched) > MAX_INLINE_THINGS else []
    listed = ", ".join([*touched[:MAX_INLINE_THINGS], *more])
    question = yes_no_question(PERMISSION, f"May the model {listed}? {decision.reason}".rstrip())
    things = wishes or (touched if more else ())
    long = [each.resource for each in requests if _is_long(each)]
    return msgspec.structs.replace(
        question, things=tuple(things), detail=patch, command="\n".join(long)
    )


def _touched(request: ResourceAccess) -> str:
    word = _WORDS[request.action]
    if _is_long(request):
        return f"{word} this command"
    if request.action is Action.SHELL:
        return f"{word} `{request.resource}`"
    led = f"{_one_line(request.link)} -> " if request.link else ""
    return f"{word} {led}{_one_line(request.resource)}"


def _is_long(request: ResourceAccess) -> bool:
    """Tells whether a command line gets a block of its own, so that all of it can be read."""
    line = request.resource
    if request.action is not Action.SHELL:
        return False
    return len(line) > MAX_INLINE_CHARS or "`" in line or _one_line(line) != line


def _one_line(resource: str) -> str:
    """Returns a path, a command line or an address so that it cannot pass for several lines."""
    return typed_line(resource)


def refusal_reason(answers: QuestionAnswers | None) -> str:
    """Returns why an answer is no yes, with the person's own words; nothing if it is one."""
    return read_permission_answer(yes_no_question("", ""), answers).why


def is_answered(answers: QuestionAnswers | None) -> bool:
    """Tells whether somebody said anything at all."""
    return answers is not None and any(answers)
