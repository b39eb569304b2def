"""Questions to the user: asked, stored, answered, and what an answer means (law 9)."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.digest import pack, sha256
from assent.core.errors import (
    ConcurrentChange,
    Declined,
    DigestMismatch,
    Expired,
    IllegalState,
    Refused,
    UsageError,
)
from assent.core.event import EventBody, StoredEvent
from assent.core.llm import ToolCall
from assent.core.permission.rule import Grant, GrantScope, PermissionPattern
from assent.core.session.event import (
    AnswerTaken,
    CallEnded,
    PartSaid,
    Question,
    QuestionAnswered,
    QuestionAsked,
    QuestionOption,
    SessionRewound,
    StepRetried,
    StepStarted,
    TurnEnded,
)
from assent.core.session.record import SessionRecord

QuestionAnswers: TypeAlias = tuple[tuple[str, ...], ...]

YES, NO = "Yes", "No"
SESSION, PROJECT = "Yes, for this session", "Yes, for this project"
UNCONFINED = "Yes, without the sandbox"
NOBODY_ANSWERED = "no one was available to answer."
REMEMBERED = "Don't ask again"  # the header of the question before an approval is remembered
PERMISSION = "Permission"  # what the header of every question begins with that a gate asks

SCOPES_BY_LABEL: dict[str, GrantScope] = {SESSION: "session", PROJECT: "project"}
ONCE_LABELS = (YES, UNCONFINED)
CONFIRM = (
    "From now on, {patterns} will be allowed without asking for agent {agent} in {mode} mode, "
    "{where}, until you revoke it with `assent rules revoke {grant}`."
)
_WHERE: dict[GrantScope, str] = {
    "session": "in this session",
    "project": "in every session of this project",
}


class PermissionAnswer(msgspec.Struct, frozen=True):
    """The user's answer about a call; only `yes` allows anything.

    A plain denial ends the turn; after a denial with feedback, or when no one could be asked, the
    model continues. `later` means that the question is still open, so that the turn ends and waits.
    """

    yes: bool = False
    unconfined: bool = False  # the command may run without the sandbox
    reach: Literal["", "session", "project"] = ""  # how far a remembered yes goes
    words: str = ""  # the user's reason for a denial
    plain: bool = False  # a denial without a reason
    nobody: bool = False
    later: bool = False
    why: str = ""  # that it is not an approval, as a sentence for the model
    question: str = ""
    grant: str = ""


def read_permission_answer(question: Question, answers: QuestionAnswers | None) -> PermissionAnswer:
    """Reads an answer to a permission question: only the exact label of an approval allows it."""
    if answers is None:
        return PermissionAnswer(nobody=True, why=NOBODY_ANSWERED)
    offered = {option.label for option in question.options}
    match answers:
        case ((label,),) if label in offered and (label in ONCE_LABELS or label in SCOPES_BY_LABEL):
            return PermissionAnswer(
                yes=True, unconfined=label == UNCONFINED, reach=SCOPES_BY_LABEL.get(label, "")
            )
        case ((label,),) if label == NO:
            return PermissionAnswer(plain=True, why="they denied it.")
    said = ", ".join(words for answer in answers for words in answer)
    if not said.strip():
        return PermissionAnswer(plain=True, why="they did not answer.")
    return PermissionAnswer(words=said, why=said if said.endswith((".", "!", "?")) else f"{said}.")


def permission_options(
    always: tuple[PermissionPattern, ...], *, command: bool = False, fixed: bool = False
) -> tuple[QuestionOption, ...]:
    """Returns the answers that a permission question offers, with what each would mean.

    Permission for what is `fixed` lasts for one session at most.
    """
    if not always and not command:
        return (QuestionOption(YES), QuestionOption(NO))
    listed = ", ".join(pattern_text(each) for each in always)
    kept = (
        QuestionOption(SESSION, f"don't ask again in this session: {listed}"),
        QuestionOption(PROJECT, f"don't ask again in any session of this project: {listed}"),
    )
    free = QuestionOption(UNCONFINED, "once; it can then change anything that you can change")
    return (
        QuestionOption(YES, "once"),
        *((kept[:1] if fixed else kept) if always else ()),
        *((free,) if command else ()),
        QuestionOption(NO),
    )


def yes_no_question(header: str, question: str) -> Question:
    """Returns a question that the user answers with yes or no."""
    return Question(header, question, (QuestionOption(YES), QuestionOption(NO)), by="gate")


def grant_confirmation(asked: QuestionAsked, reach: GrantScope, grant: str) -> Question:
    """Returns the question that confirms what will be remembered, with everything it covers."""
    told = grant_text(asked, reach, grant, asked.questions[0].always)
    return yes_no_question(REMEMBERED, f"{told} Confirm?")


def grant_text(
    asked: QuestionAsked,
    reach: GrantScope,
    grant: str,
    patterns: Sequence[PermissionPattern],
) -> str:
    """Describes everything that a remembered permission would allow."""
    return CONFIRM.format(
        patterns=", ".join(map(pattern_text, patterns)),
        agent=asked.agent,
        mode=asked.custom or asked.mode,
        where=_WHERE[reach],
        grant=grant,
    )


_TOOL_NAMES: Final = {"bash": "shell"}  # of a permission that is called otherwise in rules


def pattern_text(pattern: PermissionPattern) -> str:
    """Returns what a remembered permission covers; a command by the name of its tool."""
    name = _TOOL_NAMES.get(pattern.permission, pattern.permission)
    return f"{name} `{pattern.pattern}`{' exactly' if pattern.exact else ''}"


def is_permission(question: Question) -> bool:
    """Tells whether the gate asked; a model's question never counts as a permission question."""
    return question.by == "gate" and question.header.startswith(PERMISSION)


def question_topic(question: Question) -> str:
    """Returns what is shown above a question; empty if its text begins with the same words.

    A question without a header has its own first words as one.
    """
    header = question.header.strip()
    repeated = question.question.strip().casefold().startswith(header.casefold())
    return "" if repeated else header


def question_digest(session: str, call: ToolCall, asked: QuestionAsked) -> str:
    """Returns the digest of a question: any changed byte of what it would allow gives another."""
    args = b"" if call.args is None else msgspec.json.encode(call.args, order="sorted")
    return sha256(
        pack(
            b"assent.question.1",
            _text(session),
            _texts((asked.id, asked.call, asked.tool, asked.expires_at)),
            _texts((asked.agent, asked.mode, asked.plan, *filter(None, [asked.custom]))),
            pack(_text(call.id), _text(call.tool), b"%d" % (call.args is None), args),
            _text(call.raw),
            pack(*[_question(question) for question in asked.questions]),
        )
    )


def asks_the_same(
    session: str, call: ToolCall, earlier: QuestionAsked, wanted: QuestionAsked
) -> bool:
    """Tells whether an answer to an earlier question also answers this one.

    Nothing may differ but the sentences of a permission that shows its operations with their diff:
    another version of the program may word them differently. Where the sentence names what is
    allowed (a read, the target of a symlink, a command, a budget), it must be the same.
    """
    unchanged = question_digest(session, call, earlier) == earlier.digest
    return unchanged and _substance(earlier) == _substance(wanted)


def _substance(asked: QuestionAsked) -> QuestionAsked:
    compared = tuple(map(_without_sentences, asked.questions))
    return msgspec.structs.replace(asked, id="", digest="", expires_at="", questions=compared)


def _without_sentences(question: Question) -> Question:
    if not (is_permission(question) and question.things and question.detail):
        return question
    labels = tuple(msgspec.structs.replace(one, description="") for one in question.options)
    return msgspec.structs.replace(
        question, header=PERMISSION, question="", options=labels, risk=question.risk[:1]
    )


def _question(question: Question) -> bytes:
    return pack(
        _texts((question.header, question.question, question.by, question.detail)),
        pack(*[_texts((option.label, option.description)) for option in question.options]),
        b"%d%d" % (question.multiple, question.custom),
        _texts(question.things),
        pack(*[_pattern(each) for each in question.always]),
        _texts(question.risk),
        *([_text(question.command)] if question.command else []),
    )


def _pattern(pattern: PermissionPattern) -> bytes:
    return pack(_text(pattern.permission), _text(pattern.pattern), b"%d" % pattern.exact)


def _texts(texts: Iterable[str]) -> bytes:
    return pack(*[_text(text) for text in texts])


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# Stored questions: the questions of a session and the status of each, folded from its events.


QuestionStatus: TypeAlias = Literal["open", "answered", "expired", "interrupted"]
NO_CALL = ToolCall("", "", {})  # what a question is about that no call led to, such as a budget's


class StoredQuestion(msgspec.Struct, frozen=True):
    """A question on record, the call that it is about, and what came of it."""

    asked: QuestionAsked
    at: str
    seq: int
    call: ToolCall | None  # None: what it was about is no longer known
    answered: QuestionAnswered | None = None
    answered_at: str = ""
    taken: bool = False  # a turn went on with the answer
    over: bool = False  # what it was asked for has ended, so that an answer changes nothing

    def status(self, now: str) -> QuestionStatus:
        """Returns whether it can be answered, or why not."""
        if self.answered is not None:
            return "answered"
        if self.over:
            return "interrupted"
        return "expired" if has_passed(self.asked.expires_at, now) else "open"


class PendingQuestion(msgspec.Struct, frozen=True):
    """A question, the session that it comes from, and the session that the user talks to."""

    inquiry: StoredQuestion
    session: SessionRecord
    root: SessionRecord
    standing: QuestionStatus

    @property
    def id(self) -> str:
        return self.inquiry.asked.id


def has_passed(expires_at: str, now: str) -> bool:
    """Tells whether a time has come, if there is one."""
    return bool(expires_at) and expires_at <= now


def stored_questions(events: Iterable[StoredEvent]) -> tuple[StoredQuestion, ...]:
    """Returns every question of a session, in the order in which they were asked."""
    return tuple(_fold_questions(events).found.values())


def calls_awaiting_answers(
    events: Iterable[StoredEvent],
) -> tuple[tuple[ToolCall, tuple[StoredQuestion, ...]], ...]:
    """Returns the unsettled calls that only wait for an answer, each with its questions.

    Nothing was done for them yet: the answer to the last question is missing, or no turn has
    continued with it. They can be settled again; the effect of all others is unknown.
    """
    board = _fold_questions(events)
    pairs = [(call, board.about(call.id)) for call in board.calls.values()]
    return tuple((call, asked) for call, asked in pairs if asked and not asked[-1].taken)


class _QuestionFold:
    """The questions so far, and the calls of the step that is being settled."""

    def __init__(self) -> None:
        self.found: dict[str, StoredQuestion] = {}
        self.calls: dict[str, ToolCall] = {}

    def about(self, call: str) -> tuple[StoredQuestion, ...]:
        return tuple(i for i in self.found.values() if i.asked.call == call and not i.over)

    def end(self, *, call: str | None = None) -> None:
        """Ends what one call asked, or everything that was asked."""
        for id, inquiry in self.found.items():
            if not inquiry.over and call in (None, inquiry.asked.call):
                self.found[id] = msgspec.structs.replace(inquiry, over=True)
        if call is None:
            self.calls.clear()
        else:
            self.calls.pop(call, None)

    def change(self, id: str, **changes: object) -> None:
        if id in self.found:
            self.found[id] = msgspec.structs.replace(self.found[id], **changes)


def _fold_questions(events: Iterable[StoredEvent]) -> _QuestionFold:
    board = _QuestionFold()
    for recorded in events:
        _add_event(board, recorded)
    return board


def _add_event(board: _QuestionFold, recorded: StoredEvent) -> None:
    match recorded.body:
        case PartSaid(part=ToolCall() as call):
            board.calls.setdefault(call.id, call)  # two with one id are indistinguishable
        case QuestionAsked(id=id, call=about) as asked:
            known = board.calls.get(about) if about else NO_CALL
            board.found[id] = StoredQuestion(asked, recorded.at, recorded.seq, known)
        case QuestionAnswered(id=id) as answered:
            if id in board.found and board.found[id].answered is None:
                board.change(id, answered=answered, answered_at=recorded.at)
        case AnswerTaken(id=id):
            board.change(id, taken=True)
        case event:
            _end_questions(board, event)


def _end_questions(board: _QuestionFold, event: EventBody) -> None:
    """Ends questions with what they were asked for: a call, a step, or a turn."""
    match event:
        case CallEnded(call=call):
            board.end(call=call)
        case StepStarted():
            board.end()
        case StepRetried():
            board.calls.clear()
        case TurnEnded(why=why) if why != "waiting":
            board.end()
        case SessionRewound():
            board.end()
        case _:
            pass


# Answers to questions: which are valid, and what they change for the session's other questions.


QUESTIONS_COMMAND = "assent questions list"
QUESTION_WITHDRAWN = "The question was withdrawn; it no longer needs an answer."


class QuestionReply(msgspec.Struct, frozen=True):
    """An incoming answer: from whom, and which patterns they confirmed to remember."""

    answers: QuestionAnswers | None
    by: str = ""
    patterns: tuple[PermissionPattern, ...] = ()
    grant: str = ""  # the id that the remembered answer was announced under


class AcceptedAnswer(msgspec.Struct, frozen=True):
    """The effects of an answer: a grant, and answers to other questions of the session."""

    answered: QuestionAnswered
    grant: Grant | None = None
    others: tuple[QuestionAnswered, ...] = ()


def check_answerable(one: StoredQuestion, now: str) -> None:
    """Raises if a question can no longer be answered, and says why."""
    match one.status(now):
        case "answered":
            raise ConcurrentChange(_was_answered(one), QUESTIONS_COMMAND)
        case "expired":
            raise Expired(
                f"Question {one.asked.id} expired at {one.asked.expires_at} and counts as denied.",
                QUESTIONS_COMMAND,
            )
        case "interrupted":
            raise IllegalState(
                f"Question {one.asked.id} no longer needs an answer: what it was about has ended.",
                QUESTIONS_COMMAND,
            )
        case "open":
            pass


def check_reply(session: str, one: StoredQuestion, digest: str, reply: QuestionReply) -> None:
    """Raises unless the question is the one that the user saw, and each part has an answer."""
    asked = one.asked
    if not digest or digest != asked.digest:
        raise DigestMismatch(
            f"The question's digest is {asked.digest}, not {digest!a}.", _show(one)
        )
    if one.call is None or question_digest(session, one.call, asked) != digest:
        raise DigestMismatch(
            f"The stored question {asked.id} is not what was asked; it was changed since. It "
            "cannot be answered, and nothing was done.",
            "assent log --verify",
        )
    if reply.answers is None or len(reply.answers) != len(asked.questions):
        parts = len(asked.questions)
        several = f"{parts} part{'' if parts == 1 else 's'}"
        raise UsageError(f"Question {asked.id} has {several}; each needs an answer.", _show(one))


def permission_answer_of(one: StoredQuestion, answers: QuestionAnswers | None) -> PermissionAnswer:
    """Returns what an answer means if the gate asked; an empty answer for other questions."""
    if not _asks_permission(one):
        return PermissionAnswer()
    return read_permission_answer(one.asked.questions[0], answers)


def grant_from_reply(
    one: StoredQuestion, session: str, reply: QuestionReply, at: str, *, edited: bool = False
) -> Grant | None:
    """Returns the grant to remember; raises unless the user confirmed exactly that.

    `edited`: its patterns are not those that were offered, and were checked.
    """
    reach, asked = permission_answer_of(one, reply.answers).reach, one.asked
    if not reach:
        return None
    always = asked.questions[0].always
    if asked.mode == "plan" or not always:
        raise Refused(f"The answer to question {asked.id} cannot be remembered.", _show(one))
    if set(reply.patterns) != set(always) and not edited:
        listed = " ".join(f"--pattern '{each.pattern}'" for each in always)
        raise Declined(
            "To have the answer remembered, confirm all of its patterns: "
            f"{', '.join(each.pattern for each in always)}",
            f"assent questions answer {asked.id} {reach} --digest {asked.digest} {listed}",
        )
    return Grant(
        reply.grant, reach, session, asked.agent, asked.mode,
        reply.patterns if edited else always, at, asked.id, asked.plan, reply.by, asked.custom,
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
    """Describes what was answered, and by whom, for a user who still sees the question."""
    if answers is None:
        return QUESTION_WITHDRAWN
    words = "; ".join(", ".join(answer) for answer in answers if answer)
    who = f" by {by}" if by else ""
    return f"Answered elsewhere{who}: {words or 'no answer; treated as no'}."


def _covers(grant: Grant, one: StoredQuestion) -> bool:
    """Tells whether a remembered yes would have answered another question, too (F88)."""
    asked = one.asked
    here = (asked.agent, asked.mode, asked.custom, asked.plan)
    same = here == (grant.agent, grant.mode, grant.custom, grant.plan)
    always = set(asked.questions[0].always) if _asks_permission(one) else set()
    return same and bool(always) and always <= set(grant.patterns)


def _allowed(other: StoredQuestion, first: QuestionAnswered) -> QuestionAnswered:
    because = f"{first.by}, through the answer to {first.id}"
    return QuestionAnswered(other.asked.id, ((YES,),), because, first.grant)


def _declined(other: StoredQuestion, first: QuestionAnswered) -> QuestionAnswered:
    """Returns the denial that another question gets; a model's own questions get no answer."""
    no: QuestionAnswers | None = ((NO,),) if _asks_permission(other) else None
    return QuestionAnswered(other.asked.id, no, f"{first.by}, through the denial of {first.id}")


def _asks_permission(one: StoredQuestion) -> bool:
    questions = one.asked.questions
    return len(questions) == 1 and is_permission(questions[0])


def _was_answered(one: StoredQuestion) -> str:
    answered = one.answered
    assert answered is not None, "it is asked only of those that are"
    if answered.answers is None:
        why = f": {answered.by}" if answered.by else ""
        return f"Question {one.asked.id} was closed at {one.answered_at} without an answer{why}."
    words = [", ".join(answer) for answer in answered.answers]
    said = "; ".join(words) if any(words) else "no answer"
    who = f" by {answered.by}" if answered.by else ""
    return (
        f"Question {one.asked.id} was answered{who} at {one.answered_at}: {said}. "
        "Only the first answer counts."
    )


def _show(one: StoredQuestion) -> str:
    return f"assent questions show {one.asked.id}"
