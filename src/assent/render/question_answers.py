"""Answers to questions as people give them in words, and what comes of them as JSON."""

from collections.abc import Sequence
from typing import Final

from assent.core.errors import UsageError
from assent.core.permission.rule import GrantScope, PermissionPattern
from assent.core.session.event import Question, QuestionAsked
from assent.core.session.question import (
    NO,
    PROJECT,
    SESSION,
    UNCONFINED,
    YES,
    AcceptedAnswer,
    PendingQuestion,
    QuestionAnswers,
    is_permission,
    read_permission_answer,
)
from assent.render.questions import Row, parse_answer, unknown_number_error
from assent.render.rows import redacted_row

LIST_COMMAND: Final = "assent questions list"
LABELS: Final = {
    "yes": YES, "session": SESSION, "project": PROJECT, "unconfined": UNCONFINED, "no": NO,
}  # fmt: skip


def read_answers(asked: QuestionAsked, words: Sequence[str]) -> QuestionAnswers:
    """Returns what words mean, one for each part of the question; raises UsageError."""
    parts = asked.questions
    if len(words) != len(parts):
        several = f"{len(parts)} part{'' if len(parts) == 1 else 's'}"
        raise UsageError(
            f"The question has {several}; pass one ANSWER for each.",
            f"assent questions show {asked.id}",
        )
    return tuple(_label(part, word) for part, word in zip(parts, words, strict=True))


def _label(question: Question, word: str) -> tuple[str, ...]:
    label = LABELS.get(word.casefold(), "") if question.by == "gate" else ""
    offered = [option.label for option in question.options]
    if label and label not in offered:
        listed = ", ".join(name for name, each in LABELS.items() if each in offered)
        raise UsageError(
            f"{word!a} is not a valid answer to this question. Use one of: {listed}.",
            LIST_COMMAND,
        )
    if not label and (wrong := unknown_number_error(question, word)):
        raise UsageError(wrong, LIST_COMMAND)
    return (label,) if label else parse_answer(question, word)


def is_by_model(asked: QuestionAsked) -> bool:
    """Tells whether all questions come from the model: answering them permits nothing."""
    return all(question.by == "model" for question in asked.questions)


def is_denial(asked: QuestionAsked, answers: QuestionAnswers) -> bool:
    """Tells whether an answer permits nothing; an answer to a model's question always may."""
    if any(question.by != "gate" for question in asked.questions):
        return False
    return not read_permission_answer(asked.questions[0], answers).yes


def granted_scope(asked: QuestionAsked, answers: QuestionAnswers) -> GrantScope | None:
    """Returns how far an answer would be remembered; None if it would not."""
    question = asked.questions[0]
    said = read_permission_answer(question, answers) if is_permission(question) else None
    return said.reach or None if said else None


def confirmed_patterns(
    always: tuple[PermissionPattern, ...], named: Sequence[str]
) -> tuple[PermissionPattern, ...]:
    """Returns the named patterns, if the question has them; raises UsageError."""
    unknown = set(named) - {each.pattern for each in always}
    if unknown:
        raise UsageError(
            f"{sorted(unknown)[0]!a} is not a pattern of this question.",
            "assent questions show ID",
        )
    return tuple(each for each in always if each.pattern in named)


def answered_row(
    pending: PendingQuestion, given: AcceptedAnswer, left: int, *, at_work: bool, next: str
) -> Row:
    """Returns an answer that was recorded, and what it caused; `left` questions are still open."""
    own = pending.inquiry.asked.questions[0]
    consent = read_permission_answer(own, given.answered.answers) if own.by == "gate" else None
    row: Row = {
        "id": pending.id,
        "question": pending.id,
        "digest": pending.inquiry.asked.digest,
        "session": pending.session.session,
        "root": pending.root.session,
        "answers": given.answered.answers or (),
        "by": given.answered.by,
        "grant": given.grant.id if given.grant else None,
        "others": [other.id for other in given.others],
        "yes": consent.yes if consent else None,
        "words": consent.words if consent else "",
        "open": left,
        "at_work": at_work,
        "next": next,
    }
    return redacted_row(row)
