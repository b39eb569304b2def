"""Questions to a person: the digest that an answer names, and what an answer means (law 9)."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from assent.core.digest import pack, sha256
from assent.core.llm.message import ToolCall
from assent.core.permission.grant import GrantScope, PermissionPattern
from assent.core.session.event import Question, QuestionAsked, QuestionOption

QuestionAnswers: TypeAlias = tuple[tuple[str, ...], ...]

YES, NO = "Yes", "No"
SESSION, PROJECT = "Yes, for this session", "Yes, for this project"
UNCONFINED = "Yes, without the sandbox"
NOBODY_ANSWERED = "nobody was there to answer."
REMEMBERED = "To be remembered"  # the header of the question before a yes is
PERMISSION = "Permission"  # what the header of every question begins with that a gate asks

SCOPES_BY_LABEL: dict[str, GrantScope] = {SESSION: "session", PROJECT: "project"}
ONCE_LABELS = (YES, UNCONFINED)
CONFIRM = (
    "From now on {patterns} runs without asking for the agent {agent} in {mode} mode, {where}, "
    "until you revoke it with `assent rules revoke {grant}`."
)
_WHERE: dict[GrantScope, str] = {
    "session": "in this session",
    "project": "in every session of this project",
}


class PermissionAnswer(msgspec.Struct, frozen=True):
    """What a user answered about a call. Only `yes` lets anything happen.

    A plain no ends the turn; a no with words, or with nobody there, lets the model go on; and
    `later` says that the question is open still, so that the turn ends and waits.
    """

    yes: bool = False
    unconfined: bool = False  # the command may run without the sandbox
    reach: Literal["", "session", "project"] = ""  # how far a remembered yes goes
    words: str = ""  # why not, as the person put it
    plain: bool = False  # a no without a word
    nobody: bool = False
    later: bool = False
    why: str = ""  # that it is no yes, as a sentence for the model
    question: str = ""
    grant: str = ""


def read_permission_answer(question: Question, answers: QuestionAnswers | None) -> PermissionAnswer:
    """Reads an answer to a permission question: only the exact label of a yes is a yes."""
    if answers is None:
        return PermissionAnswer(nobody=True, why=NOBODY_ANSWERED)
    offered = {option.label for option in question.options}
    match answers:
        case ((label,),) if label in offered and (label in ONCE_LABELS or label in SCOPES_BY_LABEL):
            return PermissionAnswer(
                yes=True, unconfined=label == UNCONFINED, reach=SCOPES_BY_LABEL.get(label, "")
            )
        case ((label,),) if label == NO:
            return PermissionAnswer(plain=True, why="they said no.")
    said = ", ".join(words for answer in answers for words in answer)
    if not said.strip():
        return PermissionAnswer(plain=True, why="they gave no answer.")
    return PermissionAnswer(words=said, why=said if said.endswith((".", "!", "?")) else f"{said}.")


def permission_options(
    always: tuple[PermissionPattern, ...], *, command: bool = False, fixed: bool = False
) -> tuple[QuestionOption, ...]:
    """Returns the answers that a permission question offers, with what each would mean.

    A yes to what is `fixed` counts for one session at most.
    """
    if not always and not command:
        return (QuestionOption(YES), QuestionOption(NO))
    listed = ", ".join(pattern_text(each) for each in always)
    kept = (
        QuestionOption(SESSION, f"from now on, in this session alone: {listed}"),
        QuestionOption(PROJECT, f"from now on, in every session here: {listed}"),
    )
    free = QuestionOption(UNCONFINED, "once; it could then change whatever you can change")
    return (
        QuestionOption(YES, "once"),
        *((kept[:1] if fixed else kept) if always else ()),
        *((free,) if command else ()),
        QuestionOption(NO),
    )


def yes_no_question(header: str, question: str) -> Question:
    """Returns a question that a person answers with yes or no."""
    return Question(header, question, (QuestionOption(YES), QuestionOption(NO)), by="gate")


def grant_confirmation(asked: QuestionAsked, reach: GrantScope, grant: str) -> Question:
    """Returns the question that comes before a yes is remembered, with all that it covers."""
    return yes_no_question(REMEMBERED, f"{grant_text(asked, reach, grant)} Is that right?")


def grant_text(asked: QuestionAsked, reach: GrantScope, grant: str) -> str:
    """Says everything that would follow from a yes that is remembered."""
    patterns = ", ".join(pattern_text(each) for each in asked.questions[0].always)
    return CONFIRM.format(
        patterns=patterns,
        agent=asked.agent,
        mode=asked.custom or asked.mode,
        where=_WHERE[reach],
        grant=grant,
    )


def pattern_text(pattern: PermissionPattern) -> str:
    """Returns what a remembered yes covers, as rules write it."""
    return f"{pattern.permission} `{pattern.pattern}`{' exactly' if pattern.exact else ''}"


def is_permission(question: Question) -> bool:
    """Tells whether the gate asks; a model's words never pass for it."""
    return question.by == "gate" and question.header.startswith(PERMISSION)


def question_digest(session: str, call: ToolCall, asked: QuestionAsked) -> str:
    """Returns the name of a question: any changed byte of what a yes would do gives another."""
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
