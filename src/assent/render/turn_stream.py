"""The stream of a turn, line by line in the envelope of the log, and its calls in a few words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from assent.core.event import Event, StoredEvent
from assent.core.llm import StreamDelta
from assent.core.session.event import (
    BatchPlanned,
    CallEnded,
    ChildEnded,
    ChildStarted,
    Compacted,
    PlannedCall,
    StepRetried,
)
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.child_names import ChildNames
from assent.render.lines import Line, wrapped_lines
from assent.render.log import event_row
from assent.render.repeated_calls import count_repeated_rows, times_suffix
from assent.render.rows import Row

SHORT = 200
TOUCHED = 4  # things of one call that a line names
ASK_VERDICT = "ask"
REFUSED = ("deny", "fail")  # verdicts after which nothing happens


def stream_row(heard: StoredEvent | StreamDelta, session: str, at: str) -> Row:
    """Returns what was stored with its place in the log, and what is being said without one."""
    match heard:
        case StreamDelta(kind, text):
            return live_row("delta", session, at, {"kind": kind, "text": redact(text)})
        case StoredEvent():
            row = event_row(heard, {})
            row["session"] = row["session"] or session
            if isinstance(heard.event, BatchPlanned):
                body: Any = row["body"]
                row["body"] = {**body, "calls": count_repeated_rows(body["calls"], "call")}
            return row


def stream_result_row(result: Row, session: str, at: str) -> Row:
    """Returns the last line of a stream: the same object that `json` prints alone."""
    return live_row("result", session, at, result)


def live_row(kind: str, session: str, at: str, body: Row) -> Row:
    """Returns what is shown and never stored, in the envelope of what is; so it has no place."""
    return {"seq": None, "at": at, "kind": kind, "session": session or None, "body": body}


def activity_lines(event: Event, kin: ChildNames | None = None) -> Iterator[Line]:
    """Renders what a model does besides talking, on one line each; `kin` names children."""
    match event:
        case CallEnded(tool=tool, title=title, result=result):
            told = _first(result.text) if result.failed else title
            failed = ": failed" if result.failed else ""
            text = f"{visible_line(redact(tool))}{failed}"
            text += f": {visible_line(redact(told))}" if told else ""
            yield from wrapped_lines("dim", f"· {text}"[:SHORT])
        case StepRetried(attempt, wait, reason):
            again = f" Try {attempt + 1} follows in {wait:.0f} s." if wait else ""
            yield from wrapped_lines("dim", f"· {visible_line(redact(reason))}{again}")
        case Compacted():
            yield Line("dim", "· The conversation was summarised to make room.")
        case BatchPlanned(calls):
            yield from batch_lines(calls)
        case _:
            yield from _child_lines(event, kin or ChildNames())


def child_lines(recorded: StoredEvent, kin: ChildNames) -> Iterator[Line]:
    """Renders what a child does, each line with its name before it."""
    name = kin.name(recorded.stream.rpartition("/")[2])
    for line in activity_lines(recorded.event, kin):
        yield Line(line.style, f"  {name} {line.text}")


def _child_lines(event: Event, kin: ChildNames) -> Iterator[Line]:
    match event:
        case ChildStarted(child=child, title=title, background=background):
            behind = ", in the background" if background else ""
            yield from wrapped_lines("dim", f"· {kin.name(child)} starts{behind}: {_short(title)}")
        case ChildEnded(child=child, why=why, words=words):
            told = f": {_short(words)}" if words else ""
            yield from wrapped_lines("dim", f"· {kin.name(child)} came to rest ({why}){told}")
        case _:
            pass


def batch_lines(calls: Sequence[PlannedCall]) -> Iterator[Line]:
    """Renders what an answer is about to do, unless it is one thing that risks nothing."""
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
    """Returns a batch without what its questions say anyway, for a person who will be asked."""
    if len(batch.calls) == 1 and batch.calls[0].verdict == ASK_VERDICT:
        return BatchPlanned(())
    spared = [
        msgspec.structs.replace(call, reasons=()) if call.verdict == ASK_VERDICT else call
        for call in batch.calls
    ]
    return BatchPlanned(tuple(spared))


def batch_row(batch: BatchPlanned) -> list[Row]:
    """Returns the calls of an answer as JSON shows them."""
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
    """Says why a call is refused, or what could go very wrong."""
    why = visible_line(redact(" ".join(call.reasons)))
    if call.verdict in REFUSED and why:
        yield from wrapped_lines("risk", f"    refused: {why}"[:SHORT])
    elif call.risk == "high" and why:
        yield from wrapped_lines("risk", f"    high risk{f': {why}' if why else ''}"[:SHORT])


def _short(text: str) -> str:
    return visible_line(redact(_first(text)))[:SHORT]


def _first(text: str) -> str:
    return text.strip().partition("\n")[0]
