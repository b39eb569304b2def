"""Blocks: the items of a conversation, and their short texts.

A block is, for example, a message, a tool call or a question.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.decoding import convert
from assent.core.event import EventBody
from assent.core.llm import TextPart, TokenUsage, ToolCall
from assent.core.plan.operation import FileOperation
from assent.core.session.event import (
    AttachedFile,
    CallEnded,
    Compacted,
    CompactionRejected,
    CritiqueEnded,
    CritiqueStarted,
    FilesAttached,
    MessageAdded,
    ModeChanged,
    PlannedCall,
    Question,
    ResultsPruned,
    SessionRenamed,
    StepEnded,
    StepRetried,
    WorkHalted,
)
from assent.core.session.question import PermissionAnswer
from assent.core.session.transcript import CALL_EDITS
from assent.core.text.secrets import redact
from assent.render.lines import Line
from assent.render.log import (
    COMPACTED,
    attached_texts,
    attachment_problems,
    critique_started_text,
    critique_text,
    pruned_text,
    rejected_text,
)

CallState: TypeAlias = Literal["pending", "running", "completed", "error", "declined"]
QuestionState: TypeAlias = Literal["open", "answered", "unanswered"]
NoteKind: TypeAlias = Literal[
    "mode", "plan", "retry", "compacted", "told", "sent", "halted", "title", "rewound",
]  # fmt: skip


class UserMessageBlock(msgspec.Struct, frozen=True):
    """A message of the user."""

    key: str
    text: str
    pictures: int = 0
    message: str = ""  # the id of the message


class AssistantMessageBlock(msgspec.Struct, frozen=True):
    """A message of the model; `live` while it is streaming."""

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
    brief: str = ""  # the first line of its result; of a command the last ones
    lines: int = 0
    seconds: float = 0.0
    verdict: str = ""
    decided: str = ""  # who decided, and why
    waits: bool = False  # for the answer to a question about it
    allowed: str = ""  # how the user allowed it, who was asked
    edits: tuple[FileOperation, ...] = ()  # what it changed in files


class QuestionBlock(msgspec.Struct, frozen=True):
    """A question to the user, and the answer."""

    key: str
    id: str
    questions: tuple[Question, ...]
    state: QuestionState = "open"
    answers: tuple[tuple[str, ...], ...] = ()
    by: str = ""
    child: str = ""  # the name of the child that asks
    of_call: bool = False  # whether a call may run, which shows that it waits or was allowed


class ChildSessionBlock(msgspec.Struct, frozen=True):
    """A session that works for a call of this one."""

    key: str
    session: str
    name: str
    title: str
    background: bool = False
    calls: tuple[str, ...] = ()  # its settled calls, one line each
    ended: str = ""  # why it ended
    words: str = ""


class NoteBlock(msgspec.Struct, frozen=True):
    """Any other event; `Timeline.full` has more where `lines` says so."""

    key: str
    kind: NoteKind
    words: str
    lines: int = 0


class ScreenNoteBlock(msgspec.Struct, frozen=True):
    """A note of the screen itself, or output of a command that the user typed; in no log."""

    key: str
    lines: tuple[Line, ...]


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
    | ScreenNoteBlock
    | TurnEndBlock
    | RemovedBlock
)


# Short texts of the timeline: what a call is about, its result, and other events.


MAX_LAST_LINES: Final = 3  # of a command's output, where it is folded
TAIL: Final = 2000  # characters that they are looked for in
COMMAND_TOOLS: Final = ("shell", "git")
SHORT: Final = 72
AT_TERMINAL: Final = "(terminal)"
ERROR_CHARS: Final = 400  # of what went wrong, which is shown whole
# What the user wrote is quoted after one of these; the second is in older sessions.
QUOTED_FEEDBACK_PREFIXES: Final = ("User's message:\n\n", "Their words:\n\n")
# What a call is about, by the names that tools have for it; the first one present is shown.
_ABOUT: Final = (
    "path", "command", "line", "pattern", "query", "url", "title", "description", "from", "name",
)  # fmt: skip
# What is shown of calls whose tool and subject are two names for the same.
_SENTENCES: Final = {
    ("present_plan", "plan"): "present the plan",
    ("write_plan", "plan"): "write the plan",
    ("enter_plan", "mode"): "enter plan mode",
    ("enter_plan", "plan mode"): "enter plan mode",
}
# Messages to the model that the user sees in another place or does not need to see.
_UNTOLD: Final = frozenset({"mode", "reminder", "agent"})
_TOLD: Final = {
    "run": "Run result",
    "approved": "Approval",
    "undone": "Undo result",
    "shell": "Shell output",
    "hook": "Hook output",
    "edited": "Your plan edits",
    "rejected": "Feedback",
    "plan_used": "Current plan",
    "declined": "Excluded operations",
    "rebased": "Rebase result",
    "deleted": "Discarded plan",
    "staged": "Staged operations",
    "build": "Build request",
    "verify": "Verification request",
    "retry": "Retry request",
    "rewind": "Rewind",
}
_STOPS: Final = {
    "length": "Answer cut off: the model's output limit was reached.",
    "refused": "The model refused to answer.",
}


def first_line(text: str, most: int = SHORT) -> str:
    """Returns the first nonempty line of a text, shortened."""
    line = text.strip().partition("\n")[0].strip()
    return line if len(line) <= most else f"{line[: most - 1]}…"


def error_line(text: str) -> str:
    """Returns the first nonempty line of an error, which takes as many rows as it needs."""
    return first_line(text, ERROR_CHARS)


def last_lines(text: str) -> str:
    """Returns the last nonempty lines of a text, each shortened: a command ends with its result."""
    lines = [line for line in text[-TAIL:].split("\n") if line.strip()]
    return "\n".join(map(first_line, lines[-MAX_LAST_LINES:]))


def newest_lines(text: str) -> str:
    """Returns the last lines of a text that still comes, not shortened: it grows at its end."""
    return "\n".join(text[-TAIL:].strip().split("\n")[-MAX_LAST_LINES:])


def count_lines(text: str) -> int:
    """Returns how many lines a text has."""
    return text.strip().count("\n") + 1 if text.strip() else 0


def call_edits(event: CallEnded) -> tuple[FileOperation, ...]:
    """Returns what a call changed in files, as far as it is on record."""
    found = event.metadata.get(CALL_EDITS, []) if not event.result.failed else []
    try:
        return tuple(convert(found, list[FileOperation]))
    except msgspec.ValidationError:  # of another version
        return ()


def call_subject(call: ToolCall) -> str:
    """Returns what a call is about, by its arguments."""
    args = call.args or {}
    found = next((args[name] for name in _ABOUT if isinstance(args.get(name), str)), "")
    return first_line(redact(found or _edited_paths(args.get("edits"))))


def _edited_paths(edits: object) -> str:
    """Returns the files of a list of edits."""
    listed = edits if isinstance(edits, list) else []
    paths = [each["path"] for each in listed if isinstance(each, dict) and "path" in each]
    return ", ".join(dict.fromkeys(path for path in paths if isinstance(path, str)))


def without_tool_name(tool: str, about: str) -> str:
    """Returns the subject of a call without the tool's name, which is shown before it."""
    while tool and (about == tool or about.startswith(f"{tool} ")):
        about = about.removeprefix(tool).lstrip()
    return about


def touched_text(call: PlannedCall) -> str:
    """Returns what a call touches, without the name that rules have for the action."""
    if not call.touches:
        return ""
    more = f" and {len(call.touches) - 1} more" if len(call.touches) > 1 else ""
    action, _, resource = call.touches[0].partition(" ")
    return first_line(redact(resource or action)) + more


def call_text(block: ToolCallBlock) -> str:
    """Returns the tool and what it is about; of those about the plan itself, what is done."""
    return _SENTENCES.get((block.tool, block.about), f"{block.tool} {block.about}".rstrip())


def allowed_text(answer: PermissionAnswer, by: str) -> str:
    """Returns how the user allowed a call; by whom, if not at a terminal."""
    how = " without the sandbox" if answer.unconfined else ""
    reach = f" in this {answer.reach}" if answer.reach else ""
    return f"allowed{how}{reach}{answered_by(by)}"


def answered_by(by: str) -> str:
    """Returns who answered, unless it was the user, here or in another terminal."""
    return f" ({by})" if by and not by.endswith(AT_TERMINAL) else ""


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


def event_note(event: EventBody) -> tuple[NoteKind, str, str] | None:
    """Returns kind, words and full text of a note about an event; None for most events."""
    match event:
        case ModeChanged(mode=mode, reason=reason, custom=custom):
            name = f"{custom} ({mode})" if custom else mode
            why = f": {first_line(reason)}" if reason else ""
            return "mode", f"Mode {name}{why}", ""
        case StepRetried(attempt, wait, reason):
            again = f" Retrying in {wait:.0f} s (attempt {attempt + 1})." if wait else ""
            return "retry", f"{error_line(reason)}{again}", ""
        case Compacted(summary=summary):
            return "compacted", COMPACTED, summary
        case ResultsPruned(results=results, tokens=tokens):
            return "compacted", pruned_text(results, tokens), ""
        case CompactionRejected(before, after):
            return "compacted", rejected_text(before, after), ""
        case WorkHalted(how, reason):
            why = f": {error_line(reason)}" if reason else ""
            return "halted", f"Session {how}{why}", ""
        case _:
            return _other(event)


def _other(event: EventBody) -> tuple[NoteKind, str, str] | None:
    match event:
        case SessionRenamed(title, "person"):
            return "title", f"Session renamed to {first_line(title)}", ""
        case FilesAttached(files=files):
            return _attachments(files)
        case CritiqueStarted():
            return "plan", first_line(redact(critique_started_text(event))), ""
        case CritiqueEnded():
            told = redact(critique_text(event))
            return "plan", first_line(told), told if event.words else ""
        case StepEnded(stop=stop, words=words) if str(stop) in _STOPS:
            return "halted", f"{_STOPS[str(stop)]} {error_line(words)}".rstrip(), ""
        case MessageAdded(parts=parts, synthetic=synthetic) if synthetic not in _UNTOLD:
            text = "\n\n".join([part.text for part in parts if isinstance(part, TextPart)])
            about = _TOLD.get(synthetic, synthetic.replace("_", " ").capitalize())
            words = first_line(_quoted_feedback(text))
            return "sent", f"{about} sent{f': {words}' if words else ''}", text
        case _:
            return None


def _attachments(files: Sequence[AttachedFile]) -> tuple[NoteKind, str, str] | None:
    """Returns a note about attached files, unfolded with what the model reads of them."""
    lines = [*attached_texts(files), *attachment_problems(files)]
    full = "\n\n".join(f"{file.path}:\n{file.text}" for file in files if file.text)
    return ("told", " · ".join(map(first_line, lines)), full) if lines else None


def _quoted_feedback(text: str) -> str:
    """Returns what the user wrote in a message to the model; empty if it quotes nothing."""
    starts = [(at, prefix) for prefix in QUOTED_FEEDBACK_PREFIXES if (at := text.find(prefix)) >= 0]
    at, prefix = min(starts, default=(len(text), ""))
    return text[at + len(prefix) :]


# Messages to the model that follow each other, as one note that can be unfolded.


MAX_SENT: Final = 2 * SHORT


def sent_words(messages: Sequence[tuple[str, str]]) -> str:
    """Returns what was sent, by the words and the text of each message, on one line."""
    times = Counter([words for words, _ in messages])
    named = [f"{words} ({count} times)" if count > 1 else words for words, count in times.items()]
    return first_line(" · ".join(named), MAX_SENT)


def sent_text(messages: Sequence[tuple[str, str]]) -> str:
    """Returns all that was sent; each of several messages below its words."""
    if len(messages) == 1:
        return messages[0][1]
    return "\n\n".join([f"{words}:\n{text.strip()}" for words, text in messages])


# Replaces the blocks after a rewind by one note that can be unfolded.


REWOUND_TEXT: Final = "Rewound. The model no longer sees"


def rewound_blocks(blocks: Sequence[Block], message: str) -> Sequence[Block]:
    """Returns the blocks from a message of the user on; none if it is not among them."""
    at = [place for place, one in enumerate(blocks) if _is_rewound(one, message)]
    return blocks[at[-1] :] if at else ()


def rewound_note(key: str, words: str, text: str) -> NoteBlock:
    """Returns the note that replaces everything that was rewound."""
    about = f"{REWOUND_TEXT} this message and what followed: {first_line(words)}"
    return NoteBlock(key, "rewound", about, count_lines(text))


def blocks_text(blocks: Iterable[Block]) -> str:
    """Returns what was said and done in blocks, for a note that can be unfolded."""
    return "\n\n".join(filter(None, map(_told, blocks)))


def _is_rewound(block: Block, message: str) -> bool:
    return isinstance(block, UserMessageBlock) and block.message == message


def _told(block: Block) -> str:
    match block:
        case UserMessageBlock(text=text):
            return f"> {text}"
        case AssistantMessageBlock(text=text):
            return text
        case ToolCallBlock(state=state):
            return f"{call_text(block)} · {state}"
        case NoteBlock(words=words):
            return f"· {words}"
        case _:
            return ""
