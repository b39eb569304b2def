"""Stored questions: the questions of a session and the status of each, folded from its events."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from assent.core.event import Event, StoredEvent
from assent.core.llm.message import ToolCall
from assent.core.session.event import (
    AnswerTaken,
    CallEnded,
    PartSaid,
    QuestionAnswered,
    QuestionAsked,
    SessionRewound,
    StepRetried,
    StepStarted,
    TurnEnded,
)
from assent.core.session.record import SessionRecord

QuestionStatus: TypeAlias = Literal["open", "answered", "expired", "interrupted"]
NO_CALL = ToolCall("", "", {})  # what a question is about that no call led to, such as a budget's


class StoredQuestion(msgspec.Struct, frozen=True):
    """A question on record, the call that it is about, and what came of it."""

    asked: QuestionAsked
    at: str
    seq: int
    call: ToolCall | None  # None: nobody knows any more what it was about
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
    """A question, the session that it comes from, and the one that a person talks to."""

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

    Nothing was done for them yet: the answer to the last question is missing, or no turn has gone
    on with it. They can be settled again; what became of all others is not known.
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
    match recorded.event:
        case PartSaid(part=ToolCall() as call):
            board.calls.setdefault(call.id, call)  # two of one id cannot be told apart
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


def _end_questions(board: _QuestionFold, event: Event) -> None:
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
