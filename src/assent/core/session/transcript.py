"""The transcript: the messages of a session that a model reads, folded from its events.

It is always valid to send: every call has a result, also where a process died between the two.
A message object is created once and stays the same object, so that wires encode it once.
"""

import msgspec

from assent.core.event import Event
from assent.core.llm import (
    ChatMessage,
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
)
from assent.core.session.event import (
    CallEnded,
    CallStarted,
    Compacted,
    MessageAdded,
    PartSaid,
    SessionRewound,
    StepEnded,
    StepRetried,
    StepStarted,
    TurnEnded,
)
from assent.core.session.rewind import LEADING_KINDS

LOST = (
    "The call was interrupted and has no result. Its effects are unknown; check before you "
    "repeat it."
)
NEVER_BEGAN = "The call was interrupted before it started. It was not run."
SUMMARY = "Summary of the conversation so far, replacing the original messages:\n\n"


class MessageMark(msgspec.Struct, frozen=True):
    """Where a message begins: after how many messages, and after which unread message."""

    count: int
    last: ChatMessage | None = None


class Transcript:
    """The messages of a session so far; grows with `add`."""

    def __init__(self) -> None:
        self._messages: list[ChatMessage] = []
        self._model = ""
        self._said: list[MessagePart] = []  # by the step that is being answered
        self._said_ids: set[str] = set()  # of its calls
        self._open: list[ToolCall] = []  # calls of the last answer that may still get a result
        self._results: dict[str, ToolResult] = {}
        self._began: set[str] = set()
        self._queued: list[MessageAdded] = []  # said while calls were being settled
        self._marks: dict[str, MessageMark] = {}  # of messages of the person, by id
        self._lead: MessageMark | None = None  # where what leads to the next message begins
        self._unread = False  # the last message is of the person, and no step has read it

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        return tuple(self._messages)

    @property
    def pending_calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet."""
        return tuple(call for call in self._open if call.id not in self._results)

    def add(self, event: Event) -> None:
        """Adds one more event."""
        match event:
            case MessageAdded() as said:
                self._hear(said)
            case PartSaid(part=part):
                self._say(part)
            case StepRetried():
                self._said.clear()
                self._said_ids.clear()
            case CallStarted(call=call):
                self._began.add(call)
            case CallEnded(result=result):
                self._add_result(result)
            case _:
                self._turn_to(event)

    def _turn_to(self, event: Event) -> None:
        """Takes in where a step begins or ends, or where the past became a summary."""
        match event:
            case StepStarted(model=model):
                self._close()
                self._model, self._unread, self._lead = model, False, None
            case StepEnded():
                self._answered()
            case Compacted(summary=summary, kept=kept):
                self._close()
                self._shorten(summary, kept)
            case SessionRewound(message=message):
                self._close()
                self._rewind(message)
            case TurnEnded(why=why) if why != "waiting":  # then its calls are settled later
                self._close()
            case _:
                pass

    def _hear(self, said: MessageAdded) -> None:
        if self._open or self._said:
            self._queued.append(said)
            return
        last = self._messages.pop() if self._unread else None
        self._mark(said, MessageMark(len(self._messages), last))
        # Some models insist on being spoken to and speaking in turn.
        self._messages.append(ChatMessage("user", (*(last.parts if last else ()), *said.parts)))
        self._unread = True

    def _mark(self, said: MessageAdded, mark: "MessageMark") -> None:
        """Remembers where a message of the person begins, with what is said because of it."""
        begins = self._lead or mark
        self._lead = begins if said.synthetic in LEADING_KINDS else None
        if not said.synthetic:
            self._marks[said.id] = begins

    def _rewind(self, message: str) -> None:
        """Goes back to before a message; what nobody can find was cut off before."""
        if message not in self._marks:
            return
        mark = self._marks[message]
        ids = list(self._marks)
        for id in ids[ids.index(message) :]:
            del self._marks[id]
        self._messages[mark.count :] = [mark.last] if mark.last else []
        self._unread, self._lead = mark.last is not None, None

    def _say(self, part: MessagePart) -> None:
        if isinstance(part, ToolCall):
            if part.id in self._said_ids:  # two cannot be told apart
                return
            self._said_ids.add(part.id)
        self._said.append(part)

    def _answered(self) -> None:
        """The parts of a complete answer become a message, and its calls wait for results."""
        if any(not isinstance(part, ReasoningPart) for part in self._said):
            self._give_up()
            self._messages.append(ChatMessage("assistant", tuple(self._said), self._model))
            self._unread = False
            self._open = [part for part in self._said if isinstance(part, ToolCall)]
        self._said.clear()
        self._said_ids.clear()
        if not self._open:
            self._flush()

    def _add_result(self, result: ToolResult) -> None:
        self._results.setdefault(result.call, result)
        if len(self._results) >= len(self._open) and not self.pending_calls:
            self._flush()

    def _shorten(self, summary: str, kept: int) -> None:
        """Puts a summary in the place of what is old; a result never stays without its call."""
        start = max(0, len(self._messages) - kept)
        while 0 < start < len(self._messages) and _has_results(self._messages[start]):
            start -= 1
        self._messages = [
            ChatMessage("user", (TextPart(SUMMARY + summary),)),
            *self._messages[start:],
        ]
        self._unread, self._lead = False, None
        self._marks.clear()

    def _close(self) -> None:
        """Ends what a process left half done: parts that were said count, lost calls failed."""
        self._answered()
        self._give_up()
        self._flush()

    def _give_up(self) -> None:
        """Gives every call that waits a result, whatever became of it."""
        for call in self.pending_calls:
            why = LOST if call.id in self._began else NEVER_BEGAN
            self._results[call.id] = ToolResult(call.id, why, failed=True)
        self._results_said()

    def _flush(self) -> None:
        self._results_said()
        queued, self._queued = self._queued, []
        for said in queued:
            self._hear(said)

    def _results_said(self) -> None:
        if self._open:
            results = tuple(self._results[call.id] for call in self._open)
            self._messages.append(ChatMessage("user", results))
            self._unread = False
        self._open, self._results = [], {}


def _has_results(message: ChatMessage) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)
