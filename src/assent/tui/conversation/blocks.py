"""Blocks: the items of a conversation, such as a message, a tool call or a question."""

from typing import Literal, TypeAlias

import msgspec

from assent.core.llm import TokenUsage
from assent.core.session.event import Question

CallState: TypeAlias = Literal["pending", "running", "completed", "error", "declined"]
QuestionState: TypeAlias = Literal["open", "answered", "unanswered"]
NoteKind: TypeAlias = Literal[
    "mode", "plan", "retry", "compacted", "told", "halted", "title", "rewound",
]  # fmt: skip


class UserMessageBlock(msgspec.Struct, frozen=True):
    """What the person said."""

    key: str
    text: str
    pictures: int = 0
    message: str = ""  # the id of the message


class AssistantMessageBlock(msgspec.Struct, frozen=True):
    """What the model says; `live` while more of it comes."""

    key: str
    text: str
    live: bool = False


class ReasoningBlock(msgspec.Struct, frozen=True):
    """The model's reasoning; `Timeline.full` has all of it."""

    key: str
    brief: str  # its first line
    lines: int
    seconds: float = 0.0
    live: bool = False


class ToolCallBlock(msgspec.Struct, frozen=True):
    """A tool call and its state; `Timeline.full` has its whole result."""

    key: str
    tool: str
    state: CallState = "pending"
    about: str = ""  # what it touches, or its title once it is settled
    brief: str = ""  # the first line of what came of it, or of what it prints so far
    lines: int = 0
    seconds: float = 0.0
    verdict: str = ""
    decided: str = ""  # who decided, and why


class QuestionBlock(msgspec.Struct, frozen=True):
    """A question to the person, and the answer."""

    key: str
    id: str
    questions: tuple[Question, ...]
    state: QuestionState = "open"
    answers: tuple[tuple[str, ...], ...] = ()
    by: str = ""
    child: str = ""  # the name of the child that asks


class ChildSessionBlock(msgspec.Struct, frozen=True):
    """A session that works for a call of this one."""

    key: str
    session: str
    name: str
    title: str
    background: bool = False
    deeds: tuple[str, ...] = ()  # its settled calls, one line each
    ended: str = ""  # why it came to rest
    words: str = ""


class NoteBlock(msgspec.Struct, frozen=True):
    """Any other event; `Timeline.full` has more where `lines` says so."""

    key: str
    kind: NoteKind
    words: str
    lines: int = 0


class TurnEndBlock(msgspec.Struct, frozen=True):
    """The end of a turn, with its usage and cost."""

    key: str
    why: str
    words: str = ""
    seconds: float = 0.0
    usage: TokenUsage = TokenUsage()
    cost: float | None = 0.0


class RemovedBlock(msgspec.Struct, frozen=True):
    """A block that no longer counts, because what it showed was discarded."""

    key: str


Block: TypeAlias = (
    UserMessageBlock
    | AssistantMessageBlock
    | ReasoningBlock
    | ToolCallBlock
    | QuestionBlock
    | ChildSessionBlock
    | NoteBlock
    | TurnEndBlock
    | RemovedBlock
)
