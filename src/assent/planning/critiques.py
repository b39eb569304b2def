"""Critiques: whether a critic was asked about a plan, and what came of it."""

from collections.abc import Sequence

import msgspec

from assent.core.event import CommentEvent, CritiqueRecorded, CritiqueRequested
from assent.core.plan.comment import Critique
from assent.core.plan.record import PlanRecord
from assent.planning.ports import Ports


def comment_stream(record: PlanRecord) -> str:
    """Returns the stream of a plan's comments, and of what critics were asked about it."""
    return f"comment/{record.workspace}/{record.plan_id}"


def find_critique(ports: Ports, record: PlanRecord) -> Critique | None:
    """Returns what is known of the critique of a frozen plan; None if no critic was asked."""
    if not record.digest:
        return None
    recorded = ports.store.read(comment_stream(record))
    found = last_critique(
        [one.event for one in recorded if isinstance(one.event, CommentEvent)], record.digest
    )
    if found is None or found.state == "finished":
        return found
    # Whoever asks holds its session. What is over by now was recorded before that was let go.
    if ports.locks.is_held(f"session-{found.session}"):
        return msgspec.structs.replace(found, state="running")
    return found


def last_critique(events: Sequence[CommentEvent], digest: str) -> Critique | None:
    """Returns the last critique of a digest by its events: finished, or not."""
    found: Critique | None = None
    for event in events:
        match event:
            case CritiqueRequested(digest=asked, model=model, session=session) if asked == digest:
                found = Critique(model, "unfinished" if session else "finished", session)
            case CritiqueRecorded(digest=asked) if asked == digest and found is not None:
                found = Critique(
                    event.model,
                    "finished",
                    found.session,
                    event.findings,
                    event.dropped,
                    event.unread,
                    event.words,
                )
            case _:
                pass
    return found
