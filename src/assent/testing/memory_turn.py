"""A turn in memory: a session folded from its events, with calls run by plain functions."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from assent.core.errors import Refused
from assent.core.event import StoredEvent
from assent.core.llm import ChatMessage, StreamDelta, TextPart, ToolCall, ToolDefinition, ToolResult
from assent.core.permission.mode import Mode
from assent.core.session.agent import Agent
from assent.core.session.event import (
    CallEnded,
    CallStarted,
    MessageAdded,
    SessionEvent,
    SessionStarted,
    TurnStarted,
)
from assent.core.session.record import SessionRecord, fold_session
from assent.core.session.transcript import NewImages, Transcript
from assent.core.tool import missing_tools

AT = "2026-01-01T00:00:00.000Z"
NO_TOOL = "Tool not found."

ToolFunction: TypeAlias = Callable[[dict[str, Any]], str]


class MemoryTurn:
    """A session that lasts as long as the test; `tools` answer calls, `ends` end the turn."""

    def __init__(
        self,
        goal: str = "Hello",
        tools: Mapping[str, ToolFunction] | None = None,
        agents: Mapping[str, Agent] | None = None,
        mode: Mode = "plan",
    ) -> None:
        self.events: list[SessionEvent] = []
        self.news: list[SessionEvent] = []  # what others say before the next step
        self.ends: set[str] = set()
        self.reminds = ""
        self.answers: list[bool] = []  # of the user who is asked whether to go on; then no one is
        self.asked: list[tuple[str, str]] = []
        self.objection = self.added = ""  # of hooks, before a compaction
        self.reports: list[SessionEvent] = []  # of children, each while the turn would rest
        self._tools = dict(tools or {})
        self._agents = {"plan": Agent("plan"), "build": Agent("build"), **(agents or {})}
        self._transcript = Transcript()
        self._new_images = NewImages()
        self._record: SessionRecord | None = None
        self._over = False
        self._held: tuple[SessionEvent, ...] = ()
        self.append_events(SessionStarted("s1", "w1", "hello", mode, goal))
        self.say(goal)
        self.append_events(TurnStarted(1))

    @property
    def record(self) -> SessionRecord:
        assert self._record is not None
        return self._record

    @property
    def agent(self) -> Agent:
        return self._agents[self.record.agent]

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        return self._transcript.messages

    @property
    def has_new_images(self) -> bool:
        return self._new_images.found

    @property
    def is_over(self) -> bool:
        return self._over

    def say(self, text: str, agent: str = "plan", model: str = "") -> None:
        """Adds a message of the user."""
        number = len(self.events)
        self.append_events(MessageAdded(f"m{number}", agent, (TextPart(text),), model=model))

    def begin(self, text: str) -> None:
        """Begins another turn."""
        self._over = False
        self.say(text)
        self.append_events(TurnStarted(self.record.turns + 1))

    def absent_tools(self) -> frozenset[str]:
        return missing_tools(self._tools)

    def available_tools(self) -> tuple[ToolDefinition, ...]:
        return tuple(
            ToolDefinition(name, f"Does {name}.", {"type": "object"}) for name in self._tools
        )

    def append_events(self, *events: SessionEvent) -> tuple[StoredEvent, ...]:
        recorded = []
        held, self._held = self._held, ()
        for event in (*held, *events):
            self.events.append(event)
            seq = len(self.events)
            self._record = fold_session(self._record, event, seq, AT)
            if event not in held:
                self._transcript.add(event)
                self._new_images.add(event)
            recorded.append(StoredEvent(seq, "session/w1/s1", seq, AT, event))
        return tuple(recorded)

    def defer_events(self, *events: SessionEvent) -> None:
        self._held += events
        for event in events:
            self._transcript.add(event)
            self._new_images.add(event)

    def read_new_messages(self) -> tuple[StoredEvent, ...]:
        news, self.news = self.news, []
        return self.append_events(*news)

    def run_calls(self, calls: Sequence[ToolCall]) -> Iterator[StoredEvent]:
        for call in calls:
            yield from self.append_events(CallStarted(call.id, call.tool))
            does = self._tools.get(call.tool)
            text = does(call.args or {}) if does else NO_TOOL
            result = ToolResult(call.id, text, failed=does is None)
            yield from self.append_events(CallEnded(call.id, call.tool, result))
            self._over = self._over or call.tool in self.ends

    def after_response(
        self, model: str, text: str, calls: Sequence[ToolCall]
    ) -> tuple[StoredEvent, ...]:
        return ()

    def before_compaction(self, *, asked: bool) -> str:
        if self.objection:
            raise Refused(self.objection)
        return self.added

    def confirm(self, header: str, question: str) -> Generator[StoredEvent, None, bool]:
        self.asked.append((header, question))
        yield from self.append_events()
        return self.answers.pop(0) if self.answers else False

    def wait_for_children(self) -> Generator[StoredEvent | StreamDelta, None, bool]:
        if not self.reports:
            return False
        yield from self.append_events(self.reports.pop(0))
        return True

    def mode_instructions(self) -> str:
        return ""

    @property
    def instructed(self) -> str:
        return self._transcript.instructions

    def reminder(self) -> str:
        return self.reminds
