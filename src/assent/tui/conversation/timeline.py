"""The timeline: folds the events of a session and its children into blocks to show.

Text that is still streaming is folded in too.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import Final, TypeAlias

import msgspec

from assent.core.event import Event, EventBody, StoredEvent
from assent.core.llm import ReasoningPart, StreamDelta, TextPart, TokenUsage, ToolCall
from assent.core.plan.operation import FileOperation
from assent.core.session.event import (
    BatchPlanned,
    CallEnded,
    CallStarted,
    ChildEnded,
    ChildStarted,
    Compacted,
    CompactionRejected,
    CritiqueEnded,
    MessageAdded,
    PartSaid,
    PlannedCall,
    QuestionAnswered,
    QuestionAsked,
    SessionRewound,
    StepEnded,
    StepRetried,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from assent.core.session.question import (
    QuestionAnswers,
    is_permission,
    read_permission_answer,
)
from assent.core.session.record import add_usage
from assent.core.text.secrets import redact
from assent.render.log import ChildNames, compaction_notice, missing_sandbox_text
from assent.render.rows import StreamRedactor
from assent.tui.conversation.blocks import (
    COMMAND_TOOLS,
    AssistantMessageBlock,
    Block,
    ChildSessionBlock,
    NoteBlock,
    QuestionBlock,
    ReasoningBlock,
    RemovedBlock,
    ToolCallBlock,
    TurnEndBlock,
    UserMessageBlock,
    allowed_text,
    blocks_text,
    call_edits,
    call_subject,
    call_summary,
    count_lines,
    error_line,
    event_note,
    first_line,
    last_lines,
    newest_lines,
    rewound_blocks,
    rewound_note,
    seconds_between,
    sent_text,
    sent_words,
    touched_text,
    without_tool_name,
)

# Text that is still streaming, shown as far as no secret can be in it.


_BEGIN: Final = "-----BEGIN "


class StreamingText:
    """Text that is still streaming; it is masked as it grows, up to its last whole word.

    A secret is one word, or a key of many lines: neither is shown before all of it is known.
    """

    def __init__(self) -> None:
        self._settled: list[str] = []  # masked
        self._speech = StreamRedactor()

    def take(self, piece: str) -> None:
        """Adds one more piece."""
        if ready := self._speech.take(piece):
            self._settled.append(ready)

    def shown(self) -> str:
        """Returns the part that can be shown now."""
        if len(self._settled) > 1:
            self._settled = ["".join(self._settled)]
        settled, pending = "".join(self._settled), self._speech.buffered
        blank = 0 if _BEGIN in pending else pending.rfind(" ") + 1
        return settled + redact(pending[:blank]) if blank else settled


# Tools whose result stands elsewhere: an answer with its question, a plan in its review.
SHOWN_ELSEWHERE: Final = ("question", "present_plan")
# Names that the model goes on with; a person needs none of them in a line that is folded.
_FOR_THE_MODEL: Final = re.compile(r" \(digest [0-9a-f]{64}\)| Id [0-9a-f]{7,}\.")
# Characters of a text that are shown while it still comes: its newest. An answer goes on where it
# was rendered last, so that a long one costs little more than a short one.
MAX_LIVE: Final = 64_000
MAX_LIVE_ANSWER: Final = 1 << 20
_with = msgspec.structs.replace
ReadPatch: TypeAlias = Callable[[Sequence[FileOperation]], str]


def no_patch(edits: Sequence[FileOperation]) -> str:
    """Reads no patch, where there is no workspace."""
    return ""


class _TimelineEvents:
    """Remembers which events of a stream were added: all up to one, and some after it."""

    def __init__(self) -> None:
        self.all_to = 0
        self._ahead: set[int] = set()

    def add(self, seq: int) -> bool:
        """Adds an event; tells whether it is new."""
        if seq <= self.all_to or seq in self._ahead:
            return False
        self._ahead.add(seq)
        while self.all_to + 1 in self._ahead:
            self.all_to += 1
            self._ahead.remove(self.all_to)
        return True


class Timeline:
    """Takes events and stream deltas in order, and tells which blocks changed.

    A known event is ignored, so that events from the log and live ones may overlap.
    """

    def __init__(self, session: str = "", read_patch: ReadPatch = no_patch) -> None:
        self.session = session
        self._read_patch = read_patch
        self.blocks: dict[str, Block] = {}
        self._full: dict[str, str] = {}  # long texts, as they came
        self._heard: dict[str, _TimelineEvents] = {}  # by session
        self._compactions = 0
        self._fresh: dict[str, None] = {}
        self._live: dict[str, tuple[str, StreamingText]] = {}  # kind and pieces by key
        self._printed: dict[str, list[str]] = {}  # by calls that run, and not in their blocks yet
        self._lines: dict[str, int] = {}  # that such a call printed, but for those
        self._sent: dict[str, list[tuple[str, str]]] = {}  # words and texts of messages, by note
        self._step: list[str] = []  # keys of what the step said, void if it is tried again
        self._calls: dict[str, str] = {}  # keys by call,
        self._children: dict[str, str] = {}  # by child,
        self._asked: dict[str, str] = {}  # and by question
        self._held: dict[str, tuple[str, str]] = {}  # by question: the call, and since when
        self._waited: dict[str, float] = {}  # by call: seconds that it waited for a person
        self._helped: set[str] = set()  # what was said in this turn about a missing sandbox
        self._declined: set[str] = set()  # calls that a person said no to
        self._at = ""  # when what is being taken happened
        self._kin = ChildNames(session)
        self._began = ""
        self._usage = TokenUsage()
        self._cost: float | None = 0.0
        self._count = 0

    @property
    def seq(self) -> int:
        """The session's event up to which nothing is missing."""
        return self._heard[self.session].all_to if self.session in self._heard else 0

    def full(self, key: str) -> str:
        """Returns the full text of a shortened block."""
        return redact(self._full.get(key, ""))

    def patch(self, block: ToolCallBlock) -> str:
        """Returns what a call changed in files as a patch; nothing if it is not known any more."""
        return self._read_patch(block.edits) if block.edits else ""

    def fresh(self) -> list[Block]:
        """Returns the blocks that were added or changed since the last call, in order."""
        for key, (kind, speech) in self._live.items():
            if key in self._fresh:
                self._show_live(key, kind, speech)
        self._show_printed()
        found = [self.blocks[key] for key in self._fresh]
        self._fresh = {}
        return found

    def add_events(self, heard: Iterable[StoredEvent | StreamDelta]) -> list[Block]:
        """Adds many events, and returns the blocks that they added or changed."""
        for one in heard:
            self.add_event(one)
        return self.fresh()

    def add_event(self, heard: StoredEvent | StreamDelta) -> None:
        """Adds one event, or one piece of streaming text."""
        if isinstance(heard, StreamDelta):
            self._piece(heard.kind, heard.text)
            return
        session = heard.stream.rpartition("/")[2]
        if not self._heard.setdefault(session, _TimelineEvents()).add(heard.seq):
            return
        self._kin.add_event(heard)
        self._at = heard.at
        if session == self.session:
            self._take(heard.event, heard.at)
        else:
            self._take_child(session, heard.event)

    def _piece(self, kind: str, text: str) -> None:
        match kind:
            case "text" | "reasoning":
                key = next((k for k, (live, _) in self._live.items() if live == kind), "")
                if not key:
                    key = self._new()
                    self._live[key] = (kind, StreamingText())
                    self._step.append(key)
                    self.blocks[key] = RemovedBlock(key)
                self._live[key][1].take(text)
                self._fresh[key] = None
            case "output":
                self._output(text)
            case _:
                pass  # arguments of a call are shown with the call

    def _show_live(self, key: str, kind: str, speech: StreamingText, *, over: bool = False) -> None:
        text = speech.shown()
        if kind == "text":
            shown = text if over else tail_text(text, MAX_LIVE_ANSWER)
            self.blocks[key] = AssistantMessageBlock(key, shown, live=True)
        else:
            self._full[key] = shown = text if over else tail_text(text, MAX_LIVE)
            brief = first_line(shown) if over else newest_lines(shown)
            self.blocks[key] = ReasoningBlock(key, brief, count_lines(shown), live=True)

    def _output(self, text: str) -> None:
        """Adds command output to the running call."""
        key = next((key for key in reversed(self._calls.values()) if self._is_running(key)), "")
        if key:
            self._printed.setdefault(key, []).append(text)
            self._fresh[key] = None

    def _show_printed(self) -> None:
        """Shows the output of calls in their blocks; of long output only the newest is kept."""
        printed, self._printed = self._printed, {}
        for key, pieces in printed.items():
            block, text = self.blocks[key], self._full.get(key, "") + "".join(pieces)
            if not isinstance(block, ToolCallBlock) or block.state != "running":
                continue
            kept = tail_text(text, MAX_LIVE)
            self._full[key] = kept
            gone = self._lines.get(key, 0) + text.count("\n") - kept.count("\n")
            self._lines[key] = gone
            self._put(_with(block, brief=last_lines(kept), lines=count_lines(kept) + gone))

    def _is_open(self, key: str) -> bool:
        block = self.blocks[key]
        return isinstance(block, ToolCallBlock) and block.state in ("pending", "running")

    def _is_running(self, key: str) -> bool:
        block = self.blocks[key]
        return isinstance(block, ToolCallBlock) and block.state == "running"

    def _take(self, event: EventBody, at: str) -> None:
        match event:
            case MessageAdded(id=id, parts=parts, synthetic=""):
                texts = [part.text for part in parts if isinstance(part, TextPart)]
                pictures = len(parts) - len(texts)
                self._put(UserMessageBlock(self._new(), redact("\n\n".join(texts)), pictures, id))
            case PartSaid(part=part, seconds=seconds):
                self._part(part, seconds)
            case SessionRewound(message=message, words=words):
                self._withdraw(message, redact(words))
            case TurnStarted():
                self._helped = set()
                self._began, self._usage, self._cost = at, TokenUsage(), 0.0
                # Those that are open are waited for: the turn goes on with them.
                self._calls = {call: key for call, key in self._calls.items() if self._is_open(key)}
            case TurnEnded(why, words):
                self._let_go()
                took = seconds_between(self._began, at)
                ended = TurnEndBlock(self._new(), why, redact(words), took, self._usage, self._cost)
                self._put(ended)
            case _:
                self._take_step(event)

    def _take_step(self, event: EventBody) -> None:
        match event:
            case StepStarted():
                self._let_go()
                self._step = []
            case StepRetried():
                self._void()
                self._note(event)
            case (
                StepEnded(usage=usage, cost=cost)
                | Compacted(usage=usage, cost=cost)
                | CompactionRejected(usage=usage, cost=cost)
                | CritiqueEnded(usage=usage, cost=cost)
            ):
                self._usage = add_usage(self._usage, usage)
                known = self._cost is not None and cost is not None
                self._cost = (self._cost or 0.0) + (cost or 0.0) if known else None
                self._note(event)
                self._compacted(event)
            case BatchPlanned(calls):
                for call in calls:
                    self._planned(call)
            case _:
                self._take_call(event)

    def _compacted(self, event: Event) -> None:
        """Counts compactions, and says when there were many (F123)."""
        if isinstance(event, Compacted):
            self._compactions += 1
            if words := compaction_notice(self._compactions):
                self._put(NoteBlock(self._new(), "compacted", words, 0))

    def _take_call(self, event: EventBody) -> None:
        match event:
            case CallStarted(call, tool):
                self._put(_with(self._call(call, tool), state="running"))
            case CallEnded():
                self._settled(event)
            case QuestionAsked(id=id, call=call, questions=questions):
                self._asked[id] = key = self._new()
                self._held[id] = (call, self._at)
                self._put(QuestionBlock(key, id, questions, of_call=self._wait(call, True)))
            case QuestionAnswered(id=id, answers=answers, by=by):
                self._answered(id, answers, by)
            case ChildStarted(child=child, title=title, background=background):
                self._children[child] = key = self._new()
                name = self._kin.name(child)
                self._put(
                    ChildSessionBlock(key, child, name, first_line(redact(title)), background)
                )
            case ChildEnded(child=child, why=why, words=words):
                if block := self._child(child):
                    self._put(_with(block, ended=why, words=error_line(redact(words))))
            case _:
                self._note(event)

    def _take_child(self, session: str, event: EventBody) -> None:
        """Adds an event of a child: its settled calls are lines of its block."""
        match event:
            case CallEnded():
                self._lacking(event)
                if block := self._child(session):
                    self._put(_with(block, calls=(*block.calls, call_summary(event))))
            case QuestionAsked(id=id, questions=questions):
                self._asked[id] = key = self._new()
                self._put(QuestionBlock(key, id, questions, child=self._kin.name(session)))
            case QuestionAnswered(id=id, answers=answers, by=by):
                self._answered(id, answers, by)
            case _:
                pass

    def _lacking(self, event: CallEnded) -> None:
        """Says once a turn what helps if a command did not run for want of a sandbox."""
        if words := missing_sandbox_text(event.metadata):
            if words not in self._helped:
                self._put(NoteBlock(self._new(), "told", words, 0))
            self._helped.add(words)

    def _part(self, part: TextPart | ReasoningPart | ToolCall, seconds: float) -> None:
        match part:
            case TextPart(text):
                key = self._finished("text")
                self._put(AssistantMessageBlock(key, redact(text)))
            case ReasoningPart(text):
                key = self._finished("reasoning")
                self._full[key] = text
                self._put(ReasoningBlock(key, first_line(redact(text)), count_lines(text), seconds))
            case ToolCall(id=id, tool=tool):
                self._calls[id] = key = self._new()
                self._step.append(key)
                self._put(ToolCallBlock(key, redact(tool), about=call_subject(part)))

    def _finished(self, kind: str) -> str:
        """Returns the key of the oldest streaming part of a kind, or a new key."""
        key = next((k for k, (live, _) in self._live.items() if live == kind), "")
        if key:
            del self._live[key]
            return key
        key = self._new()
        self._step.append(key)
        return key

    def _planned(self, call: PlannedCall) -> None:
        block = self._call(call.call, call.tool)
        about = block.about or without_tool_name(block.tool, touched_text(call))
        self._put(_with(block, about=about, verdict=call.verdict))

    def _settled(self, event: CallEnded) -> None:
        block, result = self._call(event.call, event.tool), event.result
        self._printed.pop(block.key, None)
        self._lines.pop(block.key, None)
        self._full[block.key] = result.text
        self._lacking(event)
        declined = result.failed and event.call in self._declined
        failed = "declined" if declined else "error"
        told = "" if event.tool in SHOWN_ELSEWHERE and not result.failed else result.text
        about = without_tool_name(block.tool, redact(event.title)) or block.about
        if declined:  # its title lists all that it wanted, for the record of decisions
            about = block.about or about
        self._put(
            _with(
                block,
                state=failed if result.failed else "completed",
                about=block.about if about == f"bash {block.about}" else about,
                brief=_brief(event.tool, told, failed=result.failed),
                edits=call_edits(event),
                lines=count_lines(result.text),
                seconds=max(event.seconds - self._waited.get(event.call, 0.0), 0.0),
                verdict=event.verdict,
                decided=redact(event.decided),
            )
        )

    def _call(self, call: str, tool: str) -> ToolCallBlock:
        block = self.blocks.get(self._calls.get(call, ""))
        if isinstance(block, ToolCallBlock):
            return block
        self._calls[call] = key = self._new()
        return ToolCallBlock(key, redact(tool))

    def _wait(self, call: str, waits: bool) -> bool:
        """Has a call wait for an answer, or no more; tells whether that can be seen."""
        block = self.blocks.get(self._calls.get(call, ""))
        if not isinstance(block, ToolCallBlock) or block.tool == "question":
            return False
        self._put(_with(block, waits=waits))
        return True

    def _child(self, session: str) -> ChildSessionBlock | None:
        block = self.blocks.get(self._children.get(session, ""))
        return block if isinstance(block, ChildSessionBlock) else None

    def _answered(self, id: str, answers: tuple[tuple[str, ...], ...] | None, by: str) -> None:
        block = self.blocks.get(self._asked.get(id, ""))
        if isinstance(block, QuestionBlock):
            call, since = self._held.get(id, ("", ""))
            waited = self._waited.get(call, 0.0)
            self._waited[call] = waited + seconds_between(since, self._at)
            self._wait(call, False)
            self._decide(call, block, answers, by)
            state = "unanswered" if answers is None else "answered"
            self._put(_with(block, state=state, answers=answers or (), by=by))

    def _decide(
        self, call: str, asked: QuestionBlock, answers: QuestionAnswers | None, by: str
    ) -> None:
        """Has a call show that it was allowed, or know that it was denied."""
        question = asked.questions[0] if asked.questions else None
        if question is None or not is_permission(question):
            return
        answer = read_permission_answer(question, answers)
        if not answer.yes:
            self._declined.add(call)
        elif asked.of_call:
            self._put(_with(self._call(call, ""), allowed=allowed_text(answer, by)))

    def _note(self, event: EventBody) -> None:
        found = event_note(event)
        if found is None:
            return
        kind, words, text = found
        if kind == "sent":
            self._send(words, text)
        else:
            key = self._new()
            self._full[key] = text
            self._put(NoteBlock(key, kind, redact(words), count_lines(text)))

    def _send(self, words: str, text: str) -> None:
        """Adds a message to the model to the note of those just before it, or to a new one."""
        last = next((key for key in reversed(self.blocks) if self._is_in_sight(key)), "")
        key = last if last in self._sent else self._new()
        self._sent[key] = messages = [*self._sent.get(key, ()), (words, text)]
        self._full[key] = full = sent_text(messages)
        self._put(NoteBlock(key, "sent", redact(sent_words(messages)), count_lines(full)))

    def _is_in_sight(self, key: str) -> bool:
        return key in self._live or not isinstance(self.blocks[key], RemovedBlock)

    def _withdraw(self, message: str, words: str) -> None:
        """Replaces what the model no longer knows by one note."""
        gone = rewound_blocks(list(self.blocks.values()), message)
        for block in gone:
            self._put(RemovedBlock(block.key))
        key = gone[0].key if gone else self._new()
        self._full[key] = text = blocks_text(gone)
        self._put(rewound_note(key, words, text))

    def _void(self) -> None:
        """Removes the blocks of a failed attempt."""
        for key in self._step:
            self._put(RemovedBlock(key))
        self._live, self._step = {}, []

    def _let_go(self) -> None:
        """Keeps the streamed text of parts that were never completed."""
        for key, (kind, speech) in self._live.items():
            speech.take("\n")
            self._show_live(key, kind, speech, over=True)
            self._put(_with(self.blocks[key], live=False))
        self._live = {}

    def _new(self) -> str:
        self._count += 1
        return f"{self.session}:{self._count}"

    def _put(self, block: Block) -> None:
        self.blocks[block.key] = block
        self._fresh[block.key] = None


def _brief(tool: str, told: str, *, failed: bool) -> str:
    """Returns what is shown of a result that is folded; an error is shown whole."""
    if failed and (tool not in COMMAND_TOOLS or count_lines(told) == 1):
        return error_line(_FOR_THE_MODEL.sub("", redact(told[:2000])))
    if tool in COMMAND_TOOLS:
        return last_lines(_FOR_THE_MODEL.sub("", redact(told)))
    return first_line(_FOR_THE_MODEL.sub("", redact(told[:2000])))


def tail_text(text: str, most: int) -> str:
    """Returns the end of a growing text, from the beginning of a line if possible.

    It begins at the same place until there is half as much again: what was made of it still holds.
    """
    over, step = len(text) - most, most // 2
    if over <= 0:
        return text
    start = ceil(over / step) * step
    line = text.find("\n", start, start + step // 2)
    return text[line + 1 :] if line >= 0 else text[start:]


def timeline_blocks(session: str, heard: Iterable[StoredEvent | StreamDelta]) -> list[Block]:
    """Returns the blocks of a whole stream."""
    feed = Timeline(session)
    feed.add_events(heard)
    return list(feed.blocks.values())
