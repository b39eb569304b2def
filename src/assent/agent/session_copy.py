"""Copies of a session: the events that a fork inherits, and all of them for an export."""

from collections.abc import Iterable, Iterator

import msgspec

from assent.core.event import StoredEvent
from assent.core.llm import TokenUsage
from assent.core.permission.mode import Mode
from assent.core.session.event import (
    CallEnded,
    CallStarted,
    Compacted,
    MessageAdded,
    PartSaid,
    SessionEvent,
    SessionRenamed,
    StepEnded,
    StepRetried,
    StepStarted,
    TodosChanged,
    TurnEnded,
    TurnStarted,
)
from assent.core.session.record import SessionRecord
from assent.render.log import event_row
from assent.render.redaction import redacted_row

_WORDS = (
    MessageAdded, TurnStarted, StepStarted, PartSaid, StepRetried, CallStarted, TodosChanged,
    SessionRenamed, TurnEnded,
)  # fmt: skip


def fork_events(record: SessionRecord, events: Iterable[StoredEvent]) -> Iterator[SessionEvent]:
    """Yields what a fork inherits: words and todos, never consent, plan or cost."""
    for recorded in events:
        match recorded.event:
            case StepEnded() | Compacted() as paid:
                yield msgspec.structs.replace(paid, usage=TokenUsage(), cost=0.0)
            case CallEnded() as ended:
                seen = {key: ended.metadata[key] for key in ("seen",) if key in ended.metadata}
                yield msgspec.structs.replace(ended, metadata=seen)
            case event:
                if isinstance(event, _WORDS):
                    yield event
    if record.working:
        yield TurnEnded("interrupted", "The session was forked here.")


def fork_mode(mode: Mode) -> Mode:
    """Returns the mode of a fork: that somebody need not be asked was said elsewhere."""
    return "plan" if mode == "plan" else "ask"


def exported_session(record: SessionRecord, events: Iterable[StoredEvent]) -> dict[str, object]:
    """Returns a session with all its events, without secrets, as data for JSON."""
    return {
        "session": msgspec.to_builtins(redacted_row(record)),
        "events": [event_row(one, {}) for one in events],
    }
