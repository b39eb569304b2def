"""What was decided about a session's plans, and how their runs ended, as notes to show again."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from assent.core.errors import AssentError
from assent.core.event import EventBody, PlanApproved, RunEnded, StoredEvent
from assent.core.llm import StreamDelta
from assent.core.plan.operation import Operation
from assent.core.plan.record import PlanRecord
from assent.core.session.record import SessionRecord
from assent.render.lines import Line
from assent.tui.conversation.blocks import ScreenNoteBlock
from assent.tui.conversation.timeline import Timeline
from assent.tui.result_messages import approved_lines, past_run_lines

if TYPE_CHECKING:
    from assent.app.engine import Engine


def past_run_notes(engine: "Engine", record: SessionRecord) -> list[tuple[int, ScreenNoteBlock]]:
    """Returns a note for each, with its place in the log; slow, so this belongs in a thread."""
    if not record.plan_id:
        return []
    plans = [one for one in engine.plans.records() if one.session == record.slug]
    undoing = {note.run for one in plans if one.undoes for note in one.runs}
    found = [
        (stored.position, ScreenNoteBlock(f"past:{stored.position}", tuple(lines)))
        for plan in plans
        for stored in engine.plans.since(msgspec.structs.replace(plan, seq=0))
        if (lines := _lines(engine, plan, stored.body, again=plan.undoes in undoing))
    ]
    return sorted(found, key=lambda one: one[0])


def add_with_notes(
    feed: Timeline,
    events: Iterable[StoredEvent],
    notes: Iterable[tuple[int, ScreenNoteBlock]],
) -> None:
    """Adds events to a timeline, and notes where they happened between them."""
    waiting = list(reversed(list(notes)))

    def merged() -> Iterator[StoredEvent | StreamDelta]:
        for stored in events:
            while waiting and waiting[-1][0] < stored.position:
                _put(feed, waiting.pop()[1])
            yield stored

    feed.add_events(merged())
    while waiting:
        _put(feed, waiting.pop()[1])


def _put(feed: Timeline, note: ScreenNoteBlock) -> None:
    feed.blocks[note.key] = note


def _lines(engine: "Engine", plan: PlanRecord, event: EventBody, *, again: bool) -> list[Line]:
    match event:
        case PlanApproved(approval) if not plan.undoes:
            return approved_lines((), approval.note)
        case RunEnded(run, outcome):
            verb = ("redo" if again else "undo") if plan.undoes else "build"
            return past_run_lines(verb, outcome, _operations(engine, plan, run))
        case _:
            return []


def _operations(engine: "Engine", plan: PlanRecord, run: str) -> tuple[Operation, ...]:
    """Returns what a build did; an undo has the inverse in its plan, which says less."""
    notes = [] if plan.undoes else [note for note in plan.runs if note.run == run]
    with suppress(AssentError):  # its content is gone: how it ended is still known
        return engine.plans.repository().plan(notes[0]).operations if notes else ()
    return ()
