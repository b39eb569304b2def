"""The event log as rows and lines, in the envelope that all faces share, and the stream of a turn.

In the stream, repeated calls are shown once with a count, and child sessions by name.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import msgspec

from assent.core.errors import SANDBOX, SCRATCH_COPY
from assent.core.event import EventBody, JournalWritten, StoredEvent, event_tag
from assent.core.llm import ImagePart, StreamDelta, TextPart, ToolCall
from assent.core.session.event import (
    AttachedFile,
    BatchPlanned,
    CallEnded,
    CallStarted,
    ChildEnded,
    ChildStarted,
    Compacted,
    CompactionRejected,
    CritiqueEnded,
    CritiqueStarted,
    FilesAttached,
    MessageAdded,
    PartSaid,
    PlannedCall,
    ResultsPruned,
    StepRetried,
    StepStarted,
)
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.core.tool import MISSING_CAPABILITY, MISSING_HELP
from assent.ports import LogCheck
from assent.render.lines import Line, counted, wrapped_lines
from assent.render.rows import Row, StreamRedactor, path_fields, redacted_row

_ALWAYS_SAID = object()  # equal to no value
MAX_TEXT_CHARS = 500  # characters of a text in a line; --json has all of it


def event_row(recorded: StoredEvent, sessions: Mapping[str, str]) -> Row:
    """Returns an event in its envelope; `sessions` names the session of each plan by its id."""
    return {
        "seq": recorded.position,
        "at": recorded.at,
        "kind": event_tag(recorded.event),
        "session": session_of(recorded, sessions) or None,
        "body": _fields(recorded.event),
    }


def log_lines(rows: Iterable[Row]) -> Iterator[Line]:
    """Renders events in log order, one per line, with their contents."""
    for row in rows:
        at, session = visible_line(str(row["at"])), visible_line(str(row["session"] or "-"))
        text = f"{row['seq']!s:>6}  {at}  {session}  {row['kind']}  {_said(row['body'])}"
        yield from wrapped_lines("plain", text.rstrip(" "))


def log_check_row(checked: LogCheck) -> Row:
    """Returns the result of checking the whole log."""
    return {
        "holds": not checked.broken,
        "events": checked.events,
        "broken": checked.broken or None,
        "anchored": checked.anchored,
        "leftovers": checked.leftovers,
        **({"warning": checked.unanchored} if checked.unanchored else {}),
        "not_proved": [*_not_proved(checked)],
    }


def log_check_lines(checked: LogCheck) -> Iterator[Line]:
    """Renders which checks passed or failed, and what cannot be checked."""
    if checked.broken:
        yield Line("risk", "The log was modified outside Assent.")
        yield from wrapped_lines("risk", visible_line(checked.broken))
        yield Line(
            "plain",
            "This check changed nothing. Compare the log with a backup before you trust it.",
        )
    else:
        yield from wrapped_lines("plain", _holds(checked))
    if checked.unanchored:
        yield from wrapped_lines("risk", visible_line(checked.unanchored))
    yield Line("plain", "Not proven by this check:")
    for text in _not_proved(checked):
        yield from wrapped_lines("plain", f"- {text}")


def _holds(checked: LogCheck) -> str:
    """Returns the result where nothing is broken; an empty log is not a good sign."""
    if checked.events:
        return f"Log intact. Events verified: {checked.events}."
    if not checked.leftovers:
        return "The log is empty; no events to check."
    return (
        "The log is empty, but its folder contains a key, stored content or a session lock. "
        "Events may have been removed together with the end mark."
    )


def _not_proved(checked: LogCheck) -> Iterator[str]:
    if checked.anchored:
        end = f"Events after event {checked.anchored} may have been removed"
        yield f"{end}; the end is marked only when the log is closed."
    else:
        yield (
            "The log has no end mark, so events at its end may have been removed. The mark is "
            "written when the log is closed after the next event."
        )
    yield (
        "Anyone with access to your account and the state folder can rewrite the log, hashes and "
        "end mark together. Keep copies elsewhere if that matters."
    )
    yield "Cached stream summaries are not checked, only events."


def session_of(recorded: StoredEvent, sessions: Mapping[str, str]) -> str:
    """Returns the session of an event: its own id, or the session of its plan."""
    noun, _, rest = recorded.stream.partition("/")
    name = rest.rpartition("/")[2]
    if noun in {"session", "queue"}:
        return name
    if isinstance(recorded.event, JournalWritten):
        name = getattr(recorded.event.entry, "plan_id", "")
    return sessions.get(name, "")


def _fields(value: msgspec.Struct) -> Row:
    """Returns the fields as they are stored; what a struct leaves out there is left out here."""
    found: Row = {}
    for field, attribute, default in _stored_fields(type(value)):
        content = getattr(value, attribute)
        if content is msgspec.UNSET or content == default:
            continue
        if isinstance(content, bytes):
            found.update(redacted_row(path_fields(field, content)))
        else:
            found[field] = _plain(content)
    return found


@cache
def _stored_fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str, object], ...]:
    """Returns how each field is stored, its attribute, and the value that is left out."""
    stored, names = kind.__struct_encode_fields__, kind.__struct_fields__
    defaults = kind.__struct_defaults__ if kind.__struct_config__.omit_defaults else ()
    said = [_ALWAYS_SAID] * (len(names) - len(defaults))
    return tuple(zip(stored, names, (*said, *defaults), strict=True))


def _plain(value: object) -> object:
    """Returns a value as JSON data, without secrets; a tagged value names its kind."""
    match value:
        case ImagePart(media_type, content):
            picture = b64encode(content).decode()
            return {"kind": "image", "media_type": media_type, "content_b64": picture}
        case msgspec.Struct():
            tag = value.__struct_config__.tag
            return {"kind": tag, **_fields(value)} if tag else _fields(value)
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():
            return {redact(str(key)): _plain(item) for key, item in value.items()}
        case bytes() | str():
            return redact(_text(value))
        case _:
            return value


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "backslashreplace")


def _said(body: object) -> str:
    """Describes an event's body: texts, lists by their length, values by their kind."""
    match body:
        case dict():
            pairs = [(key, item) for key, item in body.items() if item not in ("", [], None)]
            return " ".join([f"{key}={_brief(item)}" for key, item in pairs])
        case _:
            return ""


def _brief(value: object) -> str:
    match value:
        case list():
            return f"({len(value)})"
        case {"kind": str(kind), "text": str(text)}:
            return f"{visible_line(kind)} {_cut(text)}"
        case dict():
            return visible_line(str(value.get("kind") or value.get("id") or "…"))
        case _:
            return _cut(str(value))


def _cut(text: str) -> str:
    rest = f"… ({len(text) - MAX_TEXT_CHARS} more)" if len(text) > MAX_TEXT_CHARS else ""
    return visible_line(text[:MAX_TEXT_CHARS]) + rest


# The stream of a turn, line by line in the envelope of the log.
#
# Repeated calls are shown once with a count, child sessions by name.


# Child names: how the child sessions of a session are distinguished, such as `explore 2`.


UNNAMED_CHILD = "a child"


class ChildNames:
    """The names of the children seen so far; `before` counts those of the root's earlier turns."""

    def __init__(self, root: str = "", before: int = 0) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {root: before}

    def add_event(self, recorded: StoredEvent) -> None:
        """Adds an event; one that starts a child gives it a name, which it keeps."""
        match recorded.body:
            case ChildStarted(child=child, agent=agent):
                parent = recorded.stream.rpartition("/")[2]
                count = self._counts.get(parent, 0) + 1
                self._counts[parent] = count
                self._names.setdefault(child, f"{visible_line(agent)} {count}")
            case _:
                pass

    def name(self, child: str) -> str:
        """Returns the name of a child, or a placeholder for an unknown one."""
        return self._names.get(child, UNNAMED_CHILD)


# Repeated calls: the same call again without a change is shown once, with a count.


def times_suffix(count: int) -> str:
    """Returns a suffix that says how often something occurs; empty for once."""
    return f" ({count:,} times)" if count > 1 else ""


def count_repeated_rows(rows: Iterable[Row], but: str) -> list[Row]:
    """Returns rows without duplicates; rows that only differ in field `but` become a `count`."""
    found: dict[str, tuple[Row, int]] = {}
    for row in rows:
        rest = {name: value for name, value in row.items() if name != but}
        key = repr(rest)
        first, count = found.get(key, (row, 0))
        found[key] = (first, count + 1)
    return [{**row, "count": count} if count > 1 else row for row, count in found.values()]


def collapse_repeats(said: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields heads and texts; repeated ones once, with their number in the head."""
    for (head, text), same in groupby(said):
        yield head + times_suffix(sum(1 for _ in same)), text


class RepeatedCallFilter:
    """Passes events on; those about a call like the previous one are only counted."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}  # what was called, by the id of the call
        self._last: tuple[object, ...] | None = None
        self._held: StoredEvent | None = None
        self._count = 0

    def take(self, heard: StoredEvent) -> Iterator[tuple[StoredEvent, int]]:
        """Yields the events to show now, each with the number of events that it stands for."""
        key = self._key(heard)
        if key is not None and key == self._last:
            self._held, self._count = heard, self._count + 1
            return
        yield from self.rest()
        self._last = key
        yield heard, 1

    def rest(self) -> Iterator[tuple[StoredEvent, int]]:
        """Yields what was counted and not shown, before another event or at the end."""
        held, count = self._held, self._count
        self._held, self._count, self._last = None, 0, None
        if held is not None:
            yield held, count

    def _key(self, heard: StoredEvent) -> tuple[object, ...] | None:
        match heard.body:
            case StepStarted():
                self._calls.clear()
                return None
            case PartSaid(part=ToolCall(id, tool, args, raw)):
                said = raw if args is None else msgspec.json.encode(args).decode()
                self._calls[id] = f"{tool} {said}"
                return heard.stream, "said", self._calls[id]
            case CallStarted(call):
                return self._about(heard, call, "started")
            case CallEnded(call=call, result=result, verdict=verdict):
                return self._about(heard, call, "ended", result.text, result.failed, verdict)
            case _:
                return None

    def _about(self, heard: StoredEvent, call: str, *more: object) -> tuple[object, ...] | None:
        known = self._calls.get(call)
        return None if known is None else (heard.stream, known, *more)


SHORT = 200
TOUCHED = 4  # things of one call that a line names
ASK_VERDICT = "ask"
REFUSED = ("deny", "fail")  # verdicts after which nothing happens


def stream_row(heard: StoredEvent | StreamDelta, session: str, at: str) -> Row:
    """Returns a stored event with its log position, or a streamed piece without one."""
    match heard:
        case StreamDelta(kind, text, call, tool):
            of = {"call": redact(call), "tool": redact(tool)} if call or tool else {}
            return live_row("delta", session, at, {"kind": kind, "text": redact(text), **of})
        case StoredEvent():
            row = event_row(heard, {})
            row["session"] = row["session"] or session
            if isinstance(heard.event, BatchPlanned):
                body: Any = row["body"]
                row["body"] = {**body, "calls": count_repeated_rows(body["calls"], "call")}
            return row


class DeltaRedactor:
    """Releases what a turn streams without secrets, each kind and call by itself.

    A secret may come in pieces, so the end of what came is kept back until more is known.
    """

    def __init__(self) -> None:
        self._held: dict[StreamDelta, StreamRedactor] = {}

    def take(self, heard: StoredEvent | StreamDelta) -> Iterator[StreamDelta]:
        """Returns what can be shown now; an event lets go of the rest, which a retry voids."""
        if isinstance(heard, StreamDelta):
            of = msgspec.structs.replace(heard, text="")
            text = self._held.setdefault(of, StreamRedactor()).take(heard.text)
            yield from _released(of, text)
        else:
            yield from self.rest(void=isinstance(heard.event, StepRetried))

    def rest(self, *, void: bool = False) -> Iterator[StreamDelta]:
        """Returns the ends of what was said, unless they are void."""
        held, self._held = self._held, {}
        for of, redactor in held.items():
            yield from _released(of, "" if void else redactor.rest())


def _released(of: StreamDelta, text: str) -> Iterator[StreamDelta]:
    if text:
        yield msgspec.structs.replace(of, text=text)


def stream_result_row(result: Row, session: str, at: str) -> Row:
    """Returns the last line of a stream: the same object that `json` prints."""
    return live_row("result", session, at, result)


def live_row(kind: str, session: str, at: str, body: Row) -> Row:
    """Returns something that is never stored, in the same envelope; so it has no log position."""
    return {"seq": None, "at": at, "kind": kind, "session": session or None, "body": body}


NOTICE_AFTER = 3  # compactions of a session (F123)
COMPACTED = "Conversation summarized to free up context."


def compaction_notice(count: int) -> str:
    """Returns what a user should know of a session that was compacted often; else nothing."""
    if count < NOTICE_AFTER:
        return ""
    return (
        f"This session was compacted {count} times, and each summary loses details. Start a new "
        "session for a new topic."
    )


def pruned_text(results: int, tokens: int) -> str:
    """Says that old tool results were pruned."""
    them = "1 old tool result" if results == 1 else f"{results} old tool results"
    return f"Removed {them} (about {tokens:,} tokens) to free up context."


def rejected_text(before: int, after: int) -> str:
    """Says that a summary was not used."""
    return f"A summary was not used: about {after:,} tokens instead of {before:,}."


def critique_started_text(event: CritiqueStarted) -> str:
    """Says that a critic is asked; the user may be waiting for it."""
    what = f"option {event.option}" if event.option else "the plan"
    return f"Critic {event.model} reads {what} (interrupt to skip it)…"


def critique_text(event: CritiqueEnded) -> str:
    """Says what came of a critique."""
    who = f"Critic {event.model}"
    if event.words:
        what = f"option {event.option}" if event.option else "this plan"
        return f"{who} has no comments on {what}: {event.words} You can decide without them."
    who += f" on option {event.option}" if event.option else ""
    dropped = f" {event.dropped} more could not be used." if event.dropped else ""
    unread = f" It did not get {counted(event.unread, 'line')}: too long." if event.unread else ""
    if not event.findings:
        return f"{who} found nothing.{dropped}{unread}"
    found = "1 finding" if event.findings == 1 else f"{event.findings} findings"
    return (
        f"{who}: {found}, shown in the review; only those that you keep are sent.{dropped}{unread}"
    )


def activity_lines(event: EventBody, kin: ChildNames | None = None) -> Iterator[Line]:
    """Renders what a model does apart from messages, on one line each; `kin` names children."""
    match event:
        case CallEnded(tool=tool, title=title, result=result):
            told = _first(result.text) if result.failed else title
            failed = ": failed" if result.failed else ""
            text = f"{visible_line(redact(tool))}{failed}"
            text += f": {visible_line(redact(told))}" if told else ""
            yield from wrapped_lines("dim", f"· {text}"[:SHORT])
        case StepRetried(attempt, wait, reason):
            again = f" Retrying in {wait:.0f} s (attempt {attempt + 1})." if wait else ""
            yield from wrapped_lines("dim", f"· {visible_line(redact(reason))}{again}")
        case MessageAdded(parts=(TextPart(text), *_), synthetic="plan_used"):
            yield from wrapped_lines("dim", f"· {visible_line(redact(text))}")
        case Compacted():
            yield Line("dim", f"· {COMPACTED}")
        case ResultsPruned(results=results, tokens=tokens):
            yield Line("dim", f"· {pruned_text(results, tokens)}")
        case CompactionRejected(before, after):
            yield Line("dim", f"· {rejected_text(before, after)}")
        case CritiqueStarted():
            yield from wrapped_lines("dim", f"· {visible_line(critique_started_text(event))}")
        case CritiqueEnded(words=""):  # else it is a warning
            yield from wrapped_lines("dim", f"· {visible_line(critique_text(event))}")
        case FilesAttached(files=files):
            for line in attached_texts(files):
                yield Line("dim", f"· {visible_line(redact(line))}"[:SHORT])
        case BatchPlanned(calls):
            yield from batch_lines(calls)
        case _:
            yield from _child_lines(event, kin or ChildNames())


def missing_sandbox_text(metadata: Mapping[str, Any]) -> str:
    """Says that a call did not run because no sandbox works here, and what helps; else nothing."""
    if metadata.get(MISSING_CAPABILITY) not in (SANDBOX, SCRATCH_COPY):
        return ""
    help = redact(str(metadata.get(MISSING_HELP, "assent doctor")))
    return f"Not run, because no sandbox works here. What helps: {help}"


KIB = 1024
MAX_MISSING_SHOWN = 10  # mentions that are no files, in a note


def attached(files: Sequence[AttachedFile]) -> list[AttachedFile]:
    """Returns those files of a message that the model got."""
    return [file for file in files if file.kind not in ("refused", "missing")]


def attached_texts(files: Sequence[AttachedFile]) -> list[str]:
    """Returns one line for each file that a message of the user attached."""
    return [f"Attached {file.path} ({_attached_size(file)})" for file in attached(files)]


def attachment_problems(files: Sequence[AttachedFile]) -> list[str]:
    """Returns what the user should know about an `@path` that was not attached."""
    refused = [f"@{file.mention} was not attached: {file.why}" for file in files
               if file.kind == "refused"]  # fmt: skip
    missing = [f"@{file.mention}" for file in files if file.kind == "missing"]
    if not missing:
        return refused
    more = len(missing) - MAX_MISSING_SHOWN
    listed = ", ".join([*missing[:MAX_MISSING_SHOWN], *([f"{more} more"] if more > 0 else [])])
    return [*refused, f"Not a file here, sent as text: {listed}"]


def _attached_size(file: AttachedFile) -> str:
    size = counted(file.size, "byte") if file.size < KIB else f"{round(file.size / KIB)} KiB"
    return size if file.kind == "file" else f"{file.kind}, {size}"


def child_lines(recorded: StoredEvent, kin: ChildNames) -> Iterator[Line]:
    """Renders what a child does, each line prefixed with its name."""
    name = kin.name(recorded.stream.rpartition("/")[2])
    for line in activity_lines(recorded.event, kin):
        yield Line(line.style, f"  {name} {line.text}")


def _child_lines(event: EventBody, kin: ChildNames) -> Iterator[Line]:
    match event:
        case ChildStarted(child=child, title=title, background=background):
            behind = ", in the background" if background else ""
            yield from wrapped_lines("dim", f"· {kin.name(child)} starts{behind}: {_short(title)}")
        case ChildEnded(child=child, why=why, words=words):
            told = f": {_short(words)}" if words else ""
            yield from wrapped_lines("dim", f"· {kin.name(child)} ended ({why}){told}")
        case _:
            pass


def batch_lines(calls: Sequence[PlannedCall]) -> Iterator[Line]:
    """Renders what an answer is about to do, unless it is a single call without risk."""
    if len(calls) == 1 and calls[0].risk == "low" and calls[0].verdict not in REFUSED:
        return
    if len(calls) > 1:
        yield Line("dim", f"· {len(calls)} calls:")
    alike = Counter((c.tool, c.touches, c.verdict, c.risk, c.reasons) for c in calls)
    for (tool, touches, verdict, risk, reasons), count in alike.items():
        call = PlannedCall("", tool, touches, verdict, risk, reasons)
        touched = ", ".join([visible_line(redact(each)) for each in call.touches[:TOUCHED]])
        more = len(call.touches) - TOUCHED
        further = f" and {more} more" if more > 0 else ""
        about = f": {touched}{further}" if touched else ""
        told = ", ".join(filter(None, [call.verdict, f"{call.risk} risk"]))
        text = f"  {visible_line(redact(call.tool))} ({told}){about}"[:SHORT]
        yield from wrapped_lines("dim", text + times_suffix(count))
        yield from _reasons(call)


def without_question_details(batch: BatchPlanned) -> BatchPlanned:
    """Returns a batch without what its questions show anyway, for a user who will be asked."""
    if len(batch.calls) == 1 and batch.calls[0].verdict == ASK_VERDICT:
        return BatchPlanned(())
    spared = [
        msgspec.structs.replace(call, reasons=()) if call.verdict == ASK_VERDICT else call
        for call in batch.calls
    ]
    return BatchPlanned(tuple(spared))


def batch_row(batch: BatchPlanned) -> list[Row]:
    """Returns the calls of an answer as JSON data."""
    rows: list[Row] = [
        {
            "call": call.call,
            "tool": _valid(call.tool),
            "touches": [_valid(each) for each in call.touches],
            "verdict": call.verdict,
            "risk": call.risk,
            "reasons": [_valid(each) for each in call.reasons],
        }
        for call in batch.calls
    ]
    return count_repeated_rows(rows, "call")


def _valid(text: str) -> str:
    """Returns a text without secrets that can be encoded, whatever bytes a file name has."""
    return redact(text).encode("utf-8", "backslashreplace").decode()


def _reasons(call: PlannedCall) -> Iterator[Line]:
    """Renders why a call is refused, or its serious risks."""
    why = visible_line(redact(" ".join(call.reasons)))
    if call.verdict in REFUSED and why:
        yield from wrapped_lines("risk", f"    refused: {why}"[:SHORT])
    elif call.risk == "high" and why:
        yield from wrapped_lines("risk", f"    high risk{f': {why}' if why else ''}"[:SHORT])


def _short(text: str) -> str:
    return visible_line(redact(_first(text)))[:SHORT]


def _first(text: str) -> str:
    return text.strip().partition("\n")[0]
