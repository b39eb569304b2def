"""Lineage: whom a child works for, who wants it to stop, and which children a session had."""

from collections.abc import Sequence

from assent.core.errors import NotFound
from assent.core.event import Recorded
from assent.core.session import SessionRecord
from assent.core.session_event import ChildEnded, ChildStarted
from assent.engine.doors import Doors
from assent.engine.session.diary import Diary

DEEPEST = 16  # parents; more there are only in a log that somebody tampered with


def parents(doors: Doors, record: SessionRecord) -> tuple[SessionRecord, ...]:
    """Returns a child's parent, that one's parent and so on, read anew; raises NotFound."""
    found: list[SessionRecord] = []
    diary = Diary(doors, record.workspace)
    while record.parent:
        record = diary.load(record.parent)
        found.append(record)
        if len(found) > DEEPEST:
            raise NotFound(f"Session {record.slug} has no end of parents.", "assent sessions list")
    return tuple(found)


def halt_of(doors: Doors, record: SessionRecord) -> str:
    """Returns how a person wants this work to stop, here or above: paused, cancelled or nothing.

    A parent that does not work stops nobody: its mark is about the turn that it had last.
    """
    above = [each.halt for each in parents(doors, record) if each.working]
    return next(filter(None, [record.halt, *above]), "")


def children_of(events: Sequence[Recorded]) -> dict[str, ChildStarted]:
    """Returns all children that a session ever had, by id, as each was started last."""
    found = [one.event for one in events if isinstance(one.event, ChildStarted)]
    return {event.child: event for event in found}


def unfinished(events: Sequence[Recorded]) -> set[str]:
    """Returns the children of whose end a session knows nothing."""
    found: set[str] = set()
    for recorded in events:
        match recorded.event:
            case ChildStarted(child=child):
                found.add(child)
            case ChildEnded(child=child):
                found.discard(child)
            case _:
                pass
    return found
