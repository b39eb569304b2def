"""Blocks: what a conversation is made of, as every face shows it. Texts hide nothing secret."""

from typing import Literal, TypeAlias

import msgspec

from assent.core.llm.request import TokenUsage
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
    """What the model thinks before it speaks; `Feed.full` has all of it."""

    key: str
    brief: str  # its first line
    lines: int
    seconds: float = 0.0
    live: bool = False


class ToolCallBlock(msgspec.Struct, frozen=True):
    """A call of the model's, and how far it is; `Feed.full` has all that came of it."""

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
    """A question to the person, and what they said to it."""

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
    """Something that happened besides talking; `Feed.full` has more where `lines` says so."""

    key: str
    kind: NoteKind
    words: str
    lines: int = 0


class TurnEndBlock(msgspec.Struct, frozen=True):
    """A turn came to rest, with what it took."""

    key: str
    why: str
    words: str = ""
    seconds: float = 0.0
    usage: TokenUsage = TokenUsage()
    cost: float | None = 0.0


class RemovedBlock(msgspec.Struct, frozen=True):
    """A block that does not count any more, because what it showed was void."""

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
