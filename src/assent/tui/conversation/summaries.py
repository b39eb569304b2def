"""Short texts of the timeline: what a call is about, its result, and other events."""

from datetime import datetime
from typing import Final

from assent.core.event import Event
from assent.core.llm import TextPart, ToolCall
from assent.core.session.event import (
    CallEnded,
    Compacted,
    MessageAdded,
    ModeChanged,
    PlannedCall,
    SessionRenamed,
    StepEnded,
    StepRetried,
    WorkHalted,
)
from assent.core.text.secrets import redact
from assent.tui.conversation.blocks import NoteKind

SHORT: Final = 72
QUOTED_FEEDBACK_PREFIX: Final = (
    "Their words:\n\n"  # what the model is told begins with words of ours
)
# What a call is about, by the names that tools have for it; the first that it has is told.
_ABOUT: Final = (
    "path", "command", "line", "pattern", "query", "url", "title", "description", "from", "name",
)  # fmt: skip
# Of what the model is told, what the person sees in another place or does not need to.
_UNTOLD: Final = frozenset({"mode", "reminder"})
_TOLD: Final = {
    "run": "what was applied",
    "approved": "your yes",
    "undone": "what was taken back",
    "shell": "what you ran",
    "hook": "what a hook says",
    "edited": "what you changed in the plan",
    "rejected": "your no",
    "plan_used": "which plan is worked on",
    "declined": "what you left out",
    "build": "what is to be built",
    "retry": "to try again",
    "rewind": "where you went back to",
}
_STOPS: Final = {
    "length": "The answer was cut off: it was longer than the model can say at once.",
    "refused": "The model refused to answer.",
}


def first_line(text: str) -> str:
    """Returns the first line of a text that says something, not too long."""
    line = text.strip().partition("\n")[0].strip()
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"


def count_lines(text: str) -> int:
    """Returns how many lines a text has."""
    return text.strip().count("\n") + 1 if text.strip() else 0


def call_subject(call: ToolCall) -> str:
    """Returns what a call is about, by its arguments."""
    args = call.args or {}
    found = next((args[name] for name in _ABOUT if isinstance(args.get(name), str)), "")
    return first_line(redact(found))


def without_tool_name(tool: str, about: str) -> str:
    """Returns what a call is about without the tool's own name, which stands before it."""
    while tool and (about == tool or about.startswith(f"{tool} ")):
        about = about.removeprefix(tool).lstrip()
    return about


def touched_text(call: PlannedCall) -> str:
    """Returns what a call touches."""
    more = f" and {len(call.touches) - 1} more" if len(call.touches) > 1 else ""
    return first_line(redact(call.touches[0])) + more if call.touches else ""


def call_summary(event: CallEnded) -> str:
    """Returns a settled call of a child on one line."""
    failed = " failed" if event.result.failed else ""
    told = event.result.text if event.result.failed else event.title
    about = f": {first_line(redact(told))}" if told else ""
    return f"{redact(event.tool)}{failed}{about}"


def seconds_between(start: str, end: str) -> float:
    """Returns how long something took by the times of its events."""
    try:
        took = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except ValueError:
        return 0.0
    return max(took.total_seconds(), 0.0)


def event_note(event: Event) -> tuple[NoteKind, str, str] | None:
    """Returns kind, words and a longer text of what is told besides talk; mostly nothing."""
    match event:
        case ModeChanged(mode=mode, reason=reason, custom=custom):
            name = f"{custom} ({mode})" if custom else mode
            why = f": {first_line(reason)}" if reason else ""
            return "mode", f"Mode {name}{why}", ""
        case StepRetried(attempt, wait, reason):
            again = f" Try {attempt + 1} follows in {wait:.0f} s." if wait else ""
            return "retry", f"{first_line(reason)}{again}", ""
        case Compacted(summary=summary):
            return "compacted", "The conversation was summarised to make room.", summary
        case WorkHalted(how, reason):
            why = f": {first_line(reason)}" if reason else ""
            return "halted", f"The work is {how}{why}", ""
        case _:
            return _other(event)


def _other(event: Event) -> tuple[NoteKind, str, str] | None:
    match event:
        case SessionRenamed(title, "person"):
            return "title", f"The session is called {first_line(title)}", ""
        case StepEnded(stop=stop, words=words) if str(stop) in _STOPS:
            return "halted", f"{_STOPS[str(stop)]} {first_line(words)}".rstrip(), ""
        case MessageAdded(parts=parts, synthetic=synthetic) if synthetic not in _UNTOLD:
            text = "\n\n".join([part.text for part in parts if isinstance(part, TextPart)])
            about = _TOLD.get(synthetic, synthetic.replace("_", " "))
            words = first_line(text.partition(QUOTED_FEEDBACK_PREFIX)[2])
            return "told", f"The model is told {about}{f': {words}' if words else ''}", text
        case _:
            return None
