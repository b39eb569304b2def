"""The transcript: the messages of a session that a model reads, folded from its events.

It is always valid to send: every call has a result, also where a process died between the two.
A message object is created once and stays the same object, so that wires encode it once.

A rewind decides which events no longer count, and which messages a user can go back to. The same
events show which of the tools on demand the model is offered.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from assent.core.errors import NotFound
from assent.core.event import EventBody, StoredEvent
from assent.core.llm import (
    ChatMessage,
    ImagePart,
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
)
from assent.core.session.event import (
    AttachedFile,
    CallEnded,
    CallStarted,
    Compacted,
    FilesAttached,
    MessageAdded,
    ModeChanged,
    PartSaid,
    ResultsPruned,
    SessionRewound,
    SessionStarted,
    StepEnded,
    StepRetried,
    StepStarted,
    Todo,
    TodosChanged,
    TurnEnded,
    TurnStarted,
)

# Rewind: which messages a user can go back to, and which events no longer count after it.


# What Assent says to the model because of the message that follows; it goes with that.
LEADING_KINDS: Final = ("hook", "reminder")
# What Assent says to the model because something happened, by the user's hand or another's.
EVENT_KINDS: Final = frozenset(
    (
        "mode", "run", "undone", "approved", "rejected", "declined", "staged", "edited", "rebased",
        "deleted", "plan_used", "agent",
    )
)  # fmt: skip
INSTRUCTIONS: Final = "agent"  # what the agent of the mode is to do; the last one counts
_SWITCH: Final = "switch"  # of a mode, as the words about it say
_OLDER: Final = "older"  # parts from before a rewind
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
    """Reads a session, and keeps the user's messages that the model can still be returned to."""

    def __init__(self) -> None:
        self.spoken: list[UserMessage] = []
        self.summed_up: set[str] = set()  # ids of messages that became part of a summary
        self._todos: tuple[Todo, ...] = ()
        self._turn = 0
        self._working = False

    def take(self, one: StoredEvent) -> None:
        match one.body:
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
        text = _text(said)
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


class NewImages:
    """Whether the user sent an image that no step had yet; what an earlier turn had is past."""

    def __init__(self) -> None:
        self.found = False

    def add(self, event: EventBody) -> None:
        """Takes in one more event of the session."""
        match event:
            case MessageAdded(parts=parts, synthetic=""):
                self.found = self.found or any(isinstance(part, ImagePart) for part in parts)
            case FilesAttached(files=files):
                self.found = self.found or any(file.images for file in files)
            case StepStarted() | TurnEnded() | SessionRewound():
                self.found = False
            case _:
                pass


NOT_SEEN: Final = "[This image ({media}) is left out: {model} cannot see images.]"


class UnseenImages:
    """Replaces images in messages for a model that cannot see any, by words that say so.

    The same message always becomes the same object, as wires expect.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._known: dict[int, tuple[ChatMessage, ChatMessage]] = {}

    def replaced(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """Returns messages without images."""
        return tuple(map(self._replaced, messages))

    def _replaced(self, message: ChatMessage) -> ChatMessage:
        known = self._known.get(id(message))
        if known is None or known[0] is not message:
            known = self._known[id(message)] = (message, self._worded(message))
        return known[1]

    def _worded(self, message: ChatMessage) -> ChatMessage:
        if not any(isinstance(part, ImagePart) or _shows(part) for part in message.parts):
            return message
        return msgspec.structs.replace(message, parts=tuple(map(self._part, message.parts)))

    def _part(self, part: MessagePart) -> MessagePart:
        match part:
            case ImagePart():
                return TextPart(self._words(part))
            case ToolResult(_, text, _, images) if images:
                words = "\n".join([text, *map(self._words, images)])
                return msgspec.structs.replace(part, text=words, images=())
            case _:
                return part

    def _words(self, image: ImagePart) -> str:
        return NOT_SEEN.format(media=image.media_type, model=self._model)


def _shows(part: MessagePart) -> bool:
    return isinstance(part, ToolResult) and bool(part.images)


ATTACHED: Final = "attached"


def attachment_parts(files: Iterable[AttachedFile]) -> tuple[TextPart | ImagePart, ...]:
    """Returns what a model reads of attached files: each under its name, or why it is not there."""
    found: list[TextPart | ImagePart] = []
    for file in files:
        if file.kind == "refused":
            found.append(TextPart(f"@{file.mention} was not attached: {file.why}"))
        elif file.text:
            kind = "Folder" if file.kind == "folder" else "File"
            found.append(TextPart(f"{kind} {file.path}, attached by the user:\n{file.text}"))
            found += file.images
    return tuple(found)


LOST_PLANNING = (
    "The process ended while this command ran, so it was interrupted. While planning, commands "
    "change nothing real: run it again if you need it."
)
LOST = (
    "The call was interrupted and has no result. Its effects are unknown; check before you "
    "repeat it."
)
NEVER_BEGAN = "The call was interrupted before it started. It was not run."
PRUNED = "(Old tool output was removed to free up context. Call the tool again if you need it.)"
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
        self._marks: dict[str, MessageMark] = {}  # of the user's messages, by id
        self._lead: MessageMark | None = None  # where what leads to the next message begins
        self._unread = False  # the last message is the user's, and no step has read it
        self._unread_parts: list[tuple[str, tuple[MessagePart, ...]]] = []  # of it, and what about
        self._mode = self._mode_read = ("", "")  # now, and when a step last read; with a custom one
        self._switched = False  # the words about the last change of mode are still to come
        self.instructions = ""  # of the agent, as the model last got them and still has them

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        return tuple(self._messages)

    @property
    def pending_calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet."""
        return tuple(call for call in self._open if call.id not in self._results)

    def add(self, event: EventBody) -> None:
        """Adds one more event."""
        match event:
            case MessageAdded() as said:
                if said.synthetic == INSTRUCTIONS:
                    self.instructions = _text(said)
                self._hear(said)
            case FilesAttached(files=files):
                if parts := attachment_parts(files):
                    self._hear(MessageAdded("", "", parts, synthetic=ATTACHED))
            case SessionStarted(mode=mode, custom=custom):
                self._mode = self._mode_read = (mode, custom)
            case ModeChanged(mode=mode, custom=custom):
                self._mode, self._switched = (mode, custom), True
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

    def _turn_to(self, event: EventBody) -> None:
        """Takes in where a step begins or ends, or where the past became a summary."""
        match event:
            case StepStarted(model=model):
                self._close()
                self._model, self._unread, self._lead = model, False, None
                self._mode_read = self._mode
            case StepEnded():
                self._answered()
            case Compacted(summary=summary, kept=kept):
                self._close()
                self._shorten(summary, kept)
                self.instructions = ""
            case ResultsPruned(kept=kept):
                self._close()
                old = max(0, len(self._messages) - kept)
                self._messages[:old] = map(pruned_message, self._messages[:old])
            case SessionRewound(message=message):
                self._close()
                self._rewind(message)
                self.instructions = ""
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
        if last is None:
            self._unread_parts = []
        self._place(said)
        # Some models insist on being spoken to and speaking in turn.
        parts = tuple(part for _, parts in self._unread_parts for part in parts)
        self._unread = bool(parts)
        if parts:
            self._messages.append(ChatMessage("user", parts))

    def _place(self, said: MessageAdded) -> None:
        """Puts what happened before what the user says now; of the mode, only the last change."""
        unread, about = self._unread_parts, said.synthetic
        if about not in EVENT_KINDS:
            unread.append((about, said.parts))
            return
        if about == "mode" and self._switched:
            about, self._switched = _SWITCH, False
            unread[:] = [one for one in unread if one[0] != _SWITCH]
            if self._mode == self._mode_read:
                return
        events = (*EVENT_KINDS, _SWITCH, _OLDER)
        words = [at for at, (kind, _) in enumerate(unread) if kind not in events]
        unread.insert(words[0] if words else len(unread), (about, said.parts))

    def _mark(self, said: MessageAdded, mark: "MessageMark") -> None:
        """Records where a message of the user begins, with what is said because of it."""
        begins = self._lead or mark
        self._lead = begins if said.synthetic in LEADING_KINDS else None
        if not said.synthetic:
            self._marks[said.id] = begins

    def _rewind(self, message: str) -> None:
        """Goes back to before a message; one that cannot be found was cut off earlier."""
        if message not in self._marks:
            return
        mark = self._marks[message]
        ids = list(self._marks)
        for id in ids[ids.index(message) :]:
            del self._marks[id]
        self._messages[mark.count :] = [mark.last] if mark.last else []
        self._unread, self._lead = mark.last is not None, None
        self._unread_parts = [(_OLDER, mark.last.parts)] if mark.last else []
        self._mode_read = ("", "")  # what the model read about it may be gone

    def _say(self, part: MessagePart) -> None:
        if isinstance(part, ToolCall):
            if part.id in self._said_ids:  # two with one id are indistinguishable
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
        """Gives every pending call a result, whatever became of it."""
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


def _text(said: MessageAdded) -> str:
    return "\n\n".join(part.text for part in said.parts if isinstance(part, TextPart))


def is_prunable(part: MessagePart) -> bool:
    """Tells whether a part is a tool result that is longer than its placeholder."""
    return isinstance(part, ToolResult) and (len(part.text) > len(PRUNED) or bool(part.images))


def pruned_message(message: ChatMessage) -> ChatMessage:
    """Returns a message without long tool results; the same object if it has none."""
    if not any(map(is_prunable, message.parts)):
        return message
    parts = [
        ToolResult(part.call, PRUNED, part.failed)
        if isinstance(part, ToolResult) and is_prunable(part)
        else part
        for part in message.parts
    ]
    return msgspec.structs.replace(message, parts=tuple(parts))


def _has_results(message: ChatMessage) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)


# Offered tools: which of the tools on demand a session asked for or needs, from its events.
#
# An offer is no permission: it only decides which definitions a request carries. A tool is offered
# from the request after the event that shows the need, and for the rest of the session, so that the
# list only grows, in the order in which tools came, and is the same after a restart.


OFFERS: Final = "offers"  # metadata of a call: the tools that it asked for
STAGED_OPERATIONS: Final = "operations"  # metadata of a call: the ids that it staged
CALL_EDITS: Final = "edits"  # metadata of a call: the first operations on files that it made
# Come together, with the first staged operation: a list that changes once costs one cache.
DRAFT_TOOLS: Final = ("unstage", "draft", "rehearse")
NOTEBOOK: Final = ".ipynb"
# What a message of the user says, in lower case, where the work takes a tool that most work does
# not take; or the name of a tool itself. One pattern, because compiling it is part of every start.
_NEEDS = (
    r"`(\w+)`"
    r"|\b(notebook_edit)\b"
    r"|(?P<delete>\b(?:delet|remov)(?:es?|ed|ing)\b)"
    r"|(?P<move>\bmov(?:es?|ed|ing)\b|\brenam(?:es?|ed|ing) (?:\w+ ){0,2}"
    r"(?:files?|modules?|folders?|packages?|director(?:y|ies))\b)"
    r"|(?P<git>\b(?:git|commits?|committed|branch(?:es)?|blame)\b)"
    r"|(?P<fetch>\bhttps?://)"
    r"|(?P<notebook_edit>\.ipynb\b|\bnotebooks?\b)"
    r"|(?P<remember>\bremember (?:that|this)\b)"
    r"|(?P<task>\bsub-?agents?\b)"
    r"|(?P<options>\balternatives\b|\b(?:two|three|2|3|several) (?:options|plans|approaches)\b)"
)


PLAN_TOOLS: Final = "mode:plan"  # among names: from here on, the tools of plan mode are offered
BUILD_TOOLS: Final = "mode:build"  # and those of all other modes


def mode_tools(mode: str) -> str:
    """Returns the name that stands for the tools of a mode among those that are needed."""
    return PLAN_TOOLS if mode == "plan" else BUILD_TOOLS


class OfferedTools:
    """The names of tools that events of a session show to be needed; grows with `add`.

    Whether such a tool is on demand, and may be offered at all, is decided elsewhere. The modes
    are among them: a change of the mode adds tools at the end, too, and takes none away.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()

    def add(self, event: EventBody) -> None:
        """Takes in one more event of the session."""
        match event:
            case SessionStarted(mode=mode) | ModeChanged(mode=mode):
                self._offer(mode_tools(mode))
            case MessageAdded(parts=parts, synthetic=""):
                texts = [part.text for part in parts if isinstance(part, TextPart)]
                self._offer(*_needed("\n".join(texts)))
            case MessageAdded(synthetic="staged"):
                self._offer(*DRAFT_TOOLS)
            case CallEnded(tool=tool, result=result, metadata=metadata):
                named = metadata.get(OFFERS, ())
                if metadata.get(STAGED_OPERATIONS):
                    self._offer(*DRAFT_TOOLS)
                self._offer(tool, *(named if isinstance(named, list | tuple) else ()))
                if NOTEBOOK in result.text:
                    self._offer("notebook_edit")
            case _:
                pass

    def _offer(self, *names: str) -> None:
        new = [name for name in dict.fromkeys(names) if name and name not in self.names]
        if new:  # else it stays the same object
            self.names = (*self.names, *new)


def _needed(text: str) -> list[str]:
    """Returns the tools that a message names, and those that its words take."""
    found = re.finditer(_NEEDS, text.lower())
    return [each[1] or each[2] or each.lastgroup or "" for each in found]
