"""Rewind: which messages a user can go back to, and which events no longer count after it."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from assent.core.errors import NotFound
from assent.core.event import StoredEvent
from assent.core.llm import TextPart
from assent.core.session.event import (
    Compacted,
    MessageAdded,
    SessionRewound,
    Todo,
    TodosChanged,
    TurnEnded,
    TurnStarted,
)

# What Assent says to the model because of the message that follows; it goes with that.
LEADING_KINDS: Final = ("hook", "reminder")
LIST_COMMAND: Final = "assent sessions rewind --list"
MAX_MESSAGE_CHARS: Final = 80  # characters of a message that the log repeats


class UserMessage(msgspec.Struct, frozen=True):
    """A message of the user: its id, text and time, and the turn that answers it."""

    id: str
    text: str
    at: str
    turn: int
    position: int = 0  # in the log
    agent: str = ""
    model: str = ""
    todos: tuple[Todo, ...] = ()  # as they were before it


class _UserMessageFold:
    """Reads a session, and keeps the messages of the person that the model can still be at."""

    def __init__(self) -> None:
        self.spoken: list[UserMessage] = []
        self.summed_up: set[str] = set()  # ids of messages that became part of a summary
        self._todos: tuple[Todo, ...] = ()
        self._turn = 0
        self._working = False

    def take(self, one: StoredEvent) -> None:
        match one.event:
            case MessageAdded(synthetic="") as said:
                self._hear(one, said)
            case TodosChanged(todos):
                self._todos = todos
            case TurnStarted(turn):
                self._turn, self._working = turn, True
            case TurnEnded():
                self._working = False
            case SessionRewound(message=message):
                self.spoken = messages_before(self.spoken, message)
            case Compacted():
                self.summed_up.update(each.id for each in self.spoken)
                self.spoken = []
            case _:
                pass

    def _hear(self, one: StoredEvent, said: MessageAdded) -> None:
        text = "\n\n".join(part.text for part in said.parts if isinstance(part, TextPart))
        turn = self._turn if self._working else self._turn + 1
        about = (said.agent, said.model, self._todos)
        self.spoken.append(UserMessage(said.id, text, one.at, turn, one.position, *about))


def messages_before(spoken: Sequence[UserMessage], message: str) -> list[UserMessage]:
    """Returns the messages before a message."""
    ids = [each.id for each in spoken]
    return list(spoken[: ids.index(message)] if message in ids else spoken)


def rewind_targets(events: Iterable[StoredEvent]) -> list[UserMessage]:
    """Returns the user's messages that a session can be rewound to, newest last."""
    return _read(events).spoken


def chosen_message(events: Iterable[StoredEvent], message: str) -> UserMessage:
    """Returns the message with an id, or the start of one; the last one, if none is named."""
    hearing = _read(events)
    if not hearing.spoken:
        why = _SUMMED_UP if hearing.summed_up else "This session has no messages yet."
        raise NotFound(why, LIST_COMMAND)
    if not message:
        return hearing.spoken[-1]
    found = [each for each in hearing.spoken if each.id.startswith(message)]
    if len(found) == 1:
        return found[0]
    if not found and any(id.startswith(message) for id in hearing.summed_up):
        raise NotFound(_SUMMED_UP, LIST_COMMAND)
    raise NotFound(
        f"{message!a} matches {len(found)} messages that the session can be rewound "
        "to; it must match exactly one.",
        LIST_COMMAND,
    )


def without_rewound(events: Iterable[StoredEvent]) -> list[StoredEvent]:
    """Returns the events of a session without those that a rewind cut off."""
    kept: list[StoredEvent] = []
    for one in events:
        if isinstance(one.event, SessionRewound):
            del kept[_start(kept, one.event.message) :]
        else:
            kept.append(one)
    return kept


_SUMMED_UP: Final = "That message is now part of a summary; the session cannot be rewound that far."


def _start(kept: Sequence[StoredEvent], message: str) -> int:
    """Returns where a message begins, with what was said because of it."""
    ids = [e.id if isinstance(e := one.event, MessageAdded) else "" for one in kept]
    at = ids.index(message) if message in ids else len(kept)
    while at > 0 and _leads(kept[at - 1]):
        at -= 1
    return at


def _leads(one: StoredEvent) -> bool:
    return isinstance(one.event, MessageAdded) and one.event.synthetic in LEADING_KINDS


def _read(events: Iterable[StoredEvent]) -> _UserMessageFold:
    hearing = _UserMessageFold()
    for one in events:
        hearing.take(one)
    return hearing
