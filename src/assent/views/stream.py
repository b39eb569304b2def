"""The stream of a turn, line by line in the envelope of the log, and its calls in a few words."""

from collections.abc import Iterator, Sequence

from assent.core.event import Event, Recorded
from assent.core.masking import masked
from assent.core.model import Delta
from assent.core.session_event import (
    BatchPlanned,
    CallEnded,
    ChildEnded,
    ChildStarted,
    Compacted,
    PlannedCall,
    StepRetried,
)
from assent.views.lines import Line, wrapped
from assent.views.log import event_row
from assent.views.rows import Row
from assent.views.visible import visible_line

SHORT = 200
TOUCHED = 4  # things of one call that a line names


def stream_row(heard: Recorded | Delta, session: str, at: str) -> Row:
    """Returns what was stored with its place in the log, and what is being said without one."""
    match heard:
        case Delta(kind, text):
            return _live("delta", session, at, {"kind": kind, "text": masked(text)})
        case Recorded():
            row = event_row(heard, {})
            return {**row, "session": row["session"] or session}


def result_line(result: Row, session: str, at: str) -> Row:
    """Returns the last line of a stream: the same object that `json` prints alone."""
    return _live("result", session, at, result)


def activity_lines(event: Event) -> Iterator[Line]:
    """Renders what a model does besides talking, on one line each."""
    match event:
        case CallEnded(tool=tool, title=title, result=result):
            told = _first(result.text) if result.failed else title
            failed = ": failed" if result.failed else ""
            text = f"{visible_line(tool)}{failed}" + (f": {visible_line(told)}" if told else "")
            yield from wrapped("dim", f"· {text}"[:SHORT])
        case StepRetried(attempt, wait, reason):
            again = f" Try {attempt + 1} follows in {wait:.0f} s." if wait else ""
            yield from wrapped("dim", f"· {visible_line(reason)}{again}")
        case Compacted():
            yield Line("dim", "· The conversation was summarised to make room.")
        case ChildStarted(agent=agent, title=title, background=background):
            behind = ", in the background" if background else ""
            yield from wrapped("dim", f"· {visible_line(agent)} starts{behind}: {_short(title)}")
        case ChildEnded(why=why, words=words):
            told = f": {_short(words)}" if words else ""
            yield from wrapped("dim", f"· The child came to rest ({why}){told}")
        case BatchPlanned(calls):
            yield from batch_lines(calls)
        case _:
            pass


def batch_lines(calls: Sequence[PlannedCall]) -> Iterator[Line]:
    """Renders what an answer is about to do, unless it is a single thing without much risk."""
    if len(calls) == 1 and calls[0].risk != "high":
        return
    if len(calls) > 1:
        yield Line("dim", f"· {len(calls)} calls:")
    for call in calls:
        touched = ", ".join(map(visible_line, call.touches[:TOUCHED]))
        more = len(call.touches) - TOUCHED
        further = f" and {more} more" if more > 0 else ""
        about = f": {touched}{further}" if touched else ""
        told = ", ".join(filter(None, [call.verdict, f"{call.risk} risk"]))
        yield from wrapped("dim", f"  {visible_line(call.tool)} ({told}){about}"[:SHORT])
        if call.risk == "high":
            why = f": {' '.join(map(visible_line, call.reasons))}" if call.reasons else ""
            yield from wrapped("risk", f"    high risk{why}"[:SHORT])


def _live(kind: str, session: str, at: str, body: Row) -> Row:
    return {"seq": None, "at": at, "kind": kind, "session": session, "body": body}


def _short(text: str) -> str:
    return visible_line(_first(text))[:SHORT]


def _first(text: str) -> str:
    return text.strip().partition("\n")[0]
