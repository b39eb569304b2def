"""Rewinds a session to before a message of the user; plan and files stay."""

import msgspec

from assent.agent.services import AgentServices
from assent.core.errors import Busy, IllegalState
from assent.core.event import StoredEvent
from assent.core.session.event import SessionEvent, SessionRewound, TodosChanged
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import (
    MAX_MESSAGE_CHARS,
    UserMessage,
    chosen_message,
    messages_before,
    rewind_targets,
)
from assent.core.text.secrets import redact
from assent.runs.undo.targets import UndoTargets


class RewindPreview(msgspec.Struct, frozen=True):
    """What happened since a message: turns, and what `undo` can undo of them, newest first."""

    turns: tuple[int, ...] = ()
    runs: tuple[str, ...] = ()


def check_rewind(services: AgentServices, record: SessionRecord, *, at_work: bool) -> None:
    """Raises an error that says why, if a session cannot be rewound now."""
    if at_work:
        raise Busy(
            f"Session {record.slug} is running; nothing was changed. Interrupt it first.",
            f"assent sessions pause {record.slug}",
        )
    if record.parent:
        raise IllegalState(
            "A sub-agent session cannot be rewound; rewind its parent session.",
            f"assent sessions rewind {record.parent}",
        )
    plan = services.plan_of(record)
    if plan is not None and plan.building and plan.building.session == record.session:
        raise IllegalState(
            f"A build of plan {plan.name} is in progress in session {record.slug}; nothing was "
            "changed. Let it finish or roll it back.",
            "assent recover --roll-back",
        )


def rewind_event(events: list[StoredEvent], message: str) -> tuple[SessionEvent, ...]:
    """Returns the events that rewind a session to before a message, including its todos."""
    spoken = chosen_message(events, message)
    left = messages_before(rewind_targets(events), spoken.id)
    last = left[-1] if left else None
    words = " ".join(redact(spoken.text).split())[:MAX_MESSAGE_CHARS]
    models = [each.model for each in left if each.model]
    agent, model = last.agent if last else "", models[-1] if models else ""
    back = SessionRewound(spoken.id, words, len(left), agent, model)
    return back, TodosChanged(spoken.todos)


def rewind_preview(
    services: AgentServices, record: SessionRecord, spoken: UserMessage
) -> RewindPreview:
    """Returns the turns that began with a message or after it, and the runs since then."""
    back = UndoTargets(services.ports, services.runs.repository())
    plans = {record.plan_id} - {""}
    later = [
        target
        for target in back.targets()
        if (target.record.session == record.session or target.record.plan_id in plans)
        and back.began[target.runs[0]] > spoken.position
        and back.undone_of(target) != "all"
    ]
    later.sort(key=lambda target: back.began[target.runs[-1]], reverse=True)
    turns = tuple(range(spoken.turn, record.turns + 1))
    return RewindPreview(turns, tuple(target.name for target in later))
