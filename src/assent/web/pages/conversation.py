"""The conversation of a session as a page shows it: what was said and done, from its events."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.event import StoredEvent
from assent.core.llm import ImagePart, ReasoningPart, TextPart, ToolCall
from assent.core.session.event import (
    CallEnded,
    CallStarted,
    ChildEnded,
    ChildStarted,
    Compacted,
    CritiqueEnded,
    FilesAttached,
    MessageAdded,
    ModeChanged,
    OptionLinked,
    PartSaid,
    PlanLinked,
    QuestionAnswered,
    QuestionAsked,
    ResultsPruned,
    StepEnded,
    StepRetried,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from assent.core.session.transcript import without_rewound
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import counted
from assent.render.log import COMPACTED, attached_texts, critique_text, pruned_text

MAX_TEXT_CHARS: Final = 20_000  # of a call's arguments or result; the rest is counted
MAX_SUBJECT_CHARS: Final = 140
SUBJECTS: Final = ("path", "file", "command", "pattern", "query", "url", "name", "title", "task")
# What Assent says to the model about things that the page shows elsewhere, or that say nothing.
UNSHOWN: Final = frozenset(("reminder", "agent", "mode", "staged"))

# What it says to the model about other things, as people read it.
HEADS: Final = {
    "run": "Run result", "approved": "Approval", "undone": "Undo result", "hook": "Hook output",
    "shell": "Shell output", "edited": "Edits of the plan", "rejected": "Your feedback",
    "plan_used": "Current plan", "declined": "Excluded operations", "build": "Build request",
    "retry": "Retry request",
}  # fmt: skip

CallState: TypeAlias = Literal[
    "waiting", "running", "asking", "done", "failed", "denied", "staged", "interrupted"
]
EntryKind: TypeAlias = Literal["user", "model", "reasoning", "calls", "note", "problem"]


class ShownCall(msgspec.Struct):
    """A tool call: what it is about, where it stands, and how long it took."""

    id: str
    tool: str
    subject: str
    args: str
    state: CallState = "waiting"
    seconds: float = 0.0
    result: str = ""
    decided: str = ""
    images: int = 0


class Entry(msgspec.Struct):
    """One thing in a conversation; `id` stays the same while it grows."""

    kind: EntryKind
    id: str
    at: str
    text: str = ""
    head: str = ""
    calls: list[ShownCall] = []


class Conversation(msgspec.Struct):
    """What was said and done in a session, and how much the last step read."""

    entries: list[Entry] = []
    context: int = 0  # tokens of the last step
    model: str = ""  # that was asked last
    step: int = 0
    working_since: str = ""  # since when a turn is at work; empty: none is


def fold_conversation(events: Iterable[StoredEvent]) -> Conversation:
    """Returns what a person sees of a session's events; what was rewound is not there."""
    fold = _Fold()
    for one in without_rewound(events):
        fold.take(one)
    return fold.found


class _Fold:
    """Takes events one by one."""

    def __init__(self) -> None:
        self.found = Conversation()
        self._calls: dict[str, ShownCall] = {}
        self._plan = ""
        self._asking: dict[str, str] = {}  # calls by their open questions
        self._step: list[Entry] = []  # what the step has said, void if it is tried again

    def take(self, one: StoredEvent) -> None:
        match one.body:
            case MessageAdded() as said:
                self._hear(one, said)
            case PartSaid(part=part):
                self._say(one, part)
            case CallStarted(call=call) if (
                call in self._calls and call not in self._asking.values()
            ):
                self._calls[call].state = "running"
            case CallEnded() as ended:
                self._end(ended)
            case QuestionAsked(id=id, call=call) if call in self._calls:
                self._calls[call].state, self._asking[id] = "asking", call
            case QuestionAnswered(id=id, answers=answers, by=by):
                self._answered(id)
                words = "; ".join(", ".join(each) for each in answers or ()) or "no answer"
                self._note(one, f"Answered{f' by {by}' if by else ''}: {words}")
            case StepStarted(step=step, model=model):
                self._step = []
                self.found.step, self.found.model = step, model
            case StepRetried(reason=reason, wait=wait):
                self._void()
                again = f" Retrying in {wait:.0f} s." if wait else ""
                self._note(one, f"{reason}{again}", "problem")
            case StepEnded(usage=usage):
                self.found.context = usage.input + usage.output
            case _:
                self._turn_to(one)

    def _answered(self, question: str) -> None:
        call = self._calls.get(self._asking.pop(question, ""))
        if call is not None and call.state == "asking":
            call.state = "waiting"

    def _turn_to(self, one: StoredEvent) -> None:
        match one.body:
            case TurnStarted():
                self.found.working_since = one.at
            case TurnEnded(why=why, words=words):
                self.found.working_since = ""
                if why != "waiting":
                    self._interrupt()
                if why == "failed":
                    self._note(one, words or "The turn failed.", "problem")
                elif why not in ("end", "presented", "waiting"):
                    self._note(one, words or f"The turn ended: {why}.")
            case ModeChanged(mode=mode, custom=custom, reason=reason):
                self._note(one, f"Mode: {custom or mode}{f' ({reason})' if reason else ''}")
            case PlanLinked(plan_id=plan) | OptionLinked(plan_id=plan):
                if plan not in ("", self._plan) and self._plan:
                    self._note(one, "Works on another plan now.")
                self._plan = plan
            case Compacted():
                self._note(one, COMPACTED)
            case ResultsPruned(results=results, tokens=tokens):
                self._note(one, pruned_text(results, tokens))
            case FilesAttached(files=files):
                self._note(one, "\n".join(attached_texts(files)))
            case ChildStarted(agent=agent, title=title):
                self._note(one, f"Sub-agent {agent} starts: {title}")
            case ChildEnded(why=why, words=words):
                self._note(one, f"Sub-agent ended ({why}). {words}".strip())
            case CritiqueEnded() as ended:
                self._note(one, critique_text(ended))
            case _:
                pass

    def _hear(self, one: StoredEvent, said: MessageAdded) -> None:
        if said.synthetic in UNSHOWN:
            return
        text = "\n\n".join(
            part.text if isinstance(part, TextPart) else _image(part) for part in said.parts
        )
        if said.synthetic:
            self._note(
                one,
                text,
                head=HEADS.get(said.synthetic, said.synthetic.replace("_", " ").capitalize()),
            )
        else:
            self.found.entries.append(Entry("user", f"m-{said.id}", one.at, _redacted(text)))

    def _say(self, one: StoredEvent, part: TextPart | ReasoningPart | ToolCall) -> None:
        match part:
            case TextPart(text) if text.strip():
                self._add(Entry("model", f"e-{one.seq}", one.at, _redacted(text)))
            case ReasoningPart(text) if text.strip():
                self._add(Entry("reasoning", f"e-{one.seq}", one.at, _redacted(text)))
            case ToolCall() as call:
                self._calls[call.id] = shown = _shown_call(call)
                last = self.found.entries[-1] if self.found.entries else None
                if last is None or last.kind != "calls":
                    last = Entry("calls", f"e-{one.seq}", one.at, calls=[])
                    self._add(last)
                last.calls.append(shown)
            case _:
                pass

    def _end(self, ended: CallEnded) -> None:
        shown = self._calls.get(ended.call)
        if shown is None:
            return
        shown.state = _end_state(ended)
        shown.seconds, shown.decided = ended.seconds, _redacted(ended.decided)
        shown.result, shown.images = _cut(_redacted(ended.result.text)), len(ended.result.images)
        if ended.title:
            shown.subject = visible_line(_redacted(ended.title))[:MAX_SUBJECT_CHARS]

    def _add(self, entry: Entry) -> None:
        self.found.entries.append(entry)
        self._step.append(entry)

    def _void(self) -> None:
        """Removes what a step said before it failed: its output does not count."""
        void = {each.id for each in self._step}
        self.found.entries[:] = [each for each in self.found.entries if each.id not in void]
        self._step = []

    def _interrupt(self) -> None:
        """Marks the calls that will not get a result any more."""
        for call in self._calls.values():
            if call.state in ("waiting", "running", "asking"):
                call.state = "interrupted"

    def _note(self, one: StoredEvent, text: str, kind: EntryKind = "note", head: str = "") -> None:
        if text:
            self.found.entries.append(Entry(kind, f"e-{one.seq}", one.at, _redacted(text), head))


def _end_state(ended: CallEnded) -> CallState:
    if ended.verdict == "deny":
        return "denied"
    if ended.result.failed:
        return "failed"
    return "staged" if ended.verdict == "stage" else "done"


def _shown_call(call: ToolCall) -> ShownCall:
    args = call.args or {}
    named = [str(args[name]) for name in SUBJECTS if isinstance(args.get(name), str)]
    subject = visible_line(_redacted(named[0]))[:MAX_SUBJECT_CHARS] if named else ""
    raw = call.raw if call.args is None else msgspec.json.format(msgspec.json.encode(args)).decode()
    return ShownCall(call.id, call.tool, subject, _cut(_redacted(raw)) if raw != "{}" else "")


@lru_cache(maxsize=512)
def _redacted(text: str) -> str:
    """Masks secrets; a page that is brought up to date shows most texts again."""
    return redact(text)


def _cut(text: str) -> str:
    rest = len(text) - MAX_TEXT_CHARS
    return f"{text[:MAX_TEXT_CHARS]}\n… {counted(rest, 'more character')}" if rest > 0 else text


def _image(part: ImagePart) -> str:
    return f"[image: {part.media_type}, {counted(len(part.content), 'byte')}]"
