"""Answers to questions: which are valid, and what they change for the session's other questions."""

from collections.abc import Sequence

import msgspec

from assent.core.errors import (
    ConcurrentChange,
    Declined,
    DigestMismatch,
    Expired,
    IllegalState,
    Refused,
    UsageError,
)
from assent.core.permission.grant import Grant, PermissionPattern
from assent.core.session.event import QuestionAnswered
from assent.core.session.question import (
    NO,
    YES,
    PermissionAnswer,
    QuestionAnswers,
    is_permission,
    question_digest,
    read_permission_answer,
)
from assent.core.session.stored_question import StoredQuestion

QUESTIONS_COMMAND = "assent questions list"
QUESTION_WITHDRAWN = "The question was taken back; nobody needs an answer any more."


class QuestionReply(msgspec.Struct, frozen=True):
    """An answer on its way in: from whom, and which patterns they confirmed to have remembered."""

    answers: QuestionAnswers | None
    by: str = ""
    patterns: tuple[PermissionPattern, ...] = ()
    grant: str = ""  # the id that the remembered answer was announced under


class AcceptedAnswer(msgspec.Struct, frozen=True):
    """What an answer brings about: a grant, and answers to other questions of the session."""

    answered: QuestionAnswered
    grant: Grant | None = None
    others: tuple[QuestionAnswered, ...] = ()


def check_answerable(one: StoredQuestion, now: str) -> None:
    """Raises if a question can no longer be answered, and says why."""
    match one.status(now):
        case "answered":
            raise ConcurrentChange(
                f"{_was_answered(one)} The first answer counts.", QUESTIONS_COMMAND
            )
        case "expired":
            raise Expired(
                f"Question {one.asked.id} expired at {one.asked.expires_at}, which is a no.",
                QUESTIONS_COMMAND,
            )
        case "interrupted":
            raise IllegalState(
                f"What question {one.asked.id} was about has ended without an answer; nothing "
                "waits for it.",
                QUESTIONS_COMMAND,
            )
        case "open":
            pass


def check_reply(session: str, one: StoredQuestion, digest: str, reply: QuestionReply) -> None:
    """Raises unless the question is the one that the person saw, and each part has an answer."""
    asked = one.asked
    if not digest or digest != asked.digest:
        raise DigestMismatch(
            f"The question's digest is {asked.digest}, not {digest!a}.", _show(one)
        )
    if one.call is None or question_digest(session, one.call, asked) != digest:
        raise DigestMismatch(
            f"What is stored of question {asked.id} is not what was asked; it was changed since. "
            "No answer to it counts, and nothing is done.",
            "assent log --verify",
        )
    if reply.answers is None or len(reply.answers) != len(asked.questions):
        parts = len(asked.questions)
        several = f"{parts} part{'' if parts == 1 else 's'}"
        raise UsageError(f"Question {asked.id} has {several}; each needs an answer.", _show(one))


def permission_answer_of(one: StoredQuestion, answers: QuestionAnswers | None) -> PermissionAnswer:
    """Returns what an answer means where a gate asks; elsewhere it is neither yes nor no."""
    if not _asks_permission(one):
        return PermissionAnswer()
    return read_permission_answer(one.asked.questions[0], answers)


def grant_from_reply(
    one: StoredQuestion, session: str, reply: QuestionReply, at: str
) -> Grant | None:
    """Returns what is to be remembered; raises unless the person confirmed exactly that."""
    reach, asked = permission_answer_of(one, reply.answers).reach, one.asked
    if not reach:
        return None
    always = asked.questions[0].always
    if asked.mode == "plan" or not always:
        raise Refused(f"A yes to question {asked.id} cannot be remembered.", _show(one))
    if set(reply.patterns) != set(always):
        listed = " ".join(f"--pattern '{each.pattern}'" for each in always)
        raise Declined(
            "A yes is remembered only for patterns that you confirm, and for all of them: "
            f"{', '.join(each.pattern for each in always)}",
            f"assent questions answer {asked.id} {reach} --digest {asked.digest} {listed}",
        )
    return Grant(
        reply.grant, reach, session, asked.agent, asked.mode, always, at, asked.id, asked.plan,
        reply.by, asked.custom,
    )  # fmt: skip


def accepted_answer(
    one: StoredQuestion, others: Sequence[StoredQuestion], reply: QuestionReply, grant: Grant | None
) -> AcceptedAnswer:
    """Returns an answer with what follows from it for the session's other open questions."""
    answered = QuestionAnswered(one.asked.id, reply.answers, reply.by, grant.id if grant else "")
    if grant is not None:
        covered = [each for each in others if _covers(grant, each)]
        return AcceptedAnswer(answered, grant, tuple(_allowed(each, answered) for each in covered))
    if permission_answer_of(one, reply.answers).plain:
        return AcceptedAnswer(answered, None, tuple(_declined(each, answered) for each in others))
    return AcceptedAnswer(answered)


def answered_elsewhere_text(answers: QuestionAnswers | None, by: str) -> str:
    """Says to somebody who still thinks about a question what was answered, and by whom."""
    if answers is None:
        return QUESTION_WITHDRAWN
    words = "; ".join(", ".join(answer) for answer in answers if answer)
    who = f" by {by}" if by else ""
    return f"Answered elsewhere{who}: {words or 'nothing, which is a no'}."


def _covers(grant: Grant, one: StoredQuestion) -> bool:
    """Tells whether a remembered yes would have answered another question, too (F88)."""
    asked = one.asked
    here = (asked.agent, asked.mode, asked.custom, asked.plan)
    same = here == (grant.agent, grant.mode, grant.custom, grant.plan)
    always = set(asked.questions[0].always) if _asks_permission(one) else set()
    return same and bool(always) and always <= set(grant.patterns)


def _allowed(other: StoredQuestion, first: QuestionAnswered) -> QuestionAnswered:
    because = f"{first.by}, by the answer to {first.id}"
    return QuestionAnswered(other.asked.id, ((YES,),), because, first.grant)


def _declined(other: StoredQuestion, first: QuestionAnswered) -> QuestionAnswered:
    """Returns the no that another question gets; what a model wants to know nobody answers."""
    no: QuestionAnswers | None = ((NO,),) if _asks_permission(other) else None
    return QuestionAnswered(other.asked.id, no, f"{first.by}, by the no to {first.id}")


def _asks_permission(one: StoredQuestion) -> bool:
    questions = one.asked.questions
    return len(questions) == 1 and is_permission(questions[0])


def _was_answered(one: StoredQuestion) -> str:
    answered = one.answered
    assert answered is not None, "it is asked only of those that are"
    words = [", ".join(answer) for answer in answered.answers or ()]
    said = "; ".join(words) if any(words) else "nobody answered, which is a no"
    who = f" by {answered.by}" if answered.by else ""
    return f"Question {one.asked.id} was answered{who} at {one.answered_at}: {said}."


def _show(one: StoredQuestion) -> str:
    return f"assent questions show {one.asked.id}"
