"""Rewinds a session to before a message of the user; plan and files stay."""

from collections.abc import Iterable

import msgspec

from assent.agent.services import AgentServices
from assent.agent.session_repository import SessionRepository
from assent.core.errors import Busy, IllegalState
from assent.core.event import StoredEvent
from assent.core.session.event import PlanLinked, SessionEvent, SessionRewound, TodosChanged
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import (
    MAX_MESSAGE_CHARS,
    UserMessage,
    chosen_message,
    messages_before,
    rewind_targets,
)
from assent.core.text.secrets import redact
from assent.runs.undo.targets import UndoTarget, UndoTargets


class RewindPreview(msgspec.Struct, frozen=True):
    """What happened since a message: turns, and what `undo` can undo of them, newest first."""

    turns: tuple[int, ...] = ()
    runs: tuple[str, ...] = ()


def session_at_work(record: SessionRecord) -> Busy:
    """Returns the error that a session cannot be rewound while it is running."""
    return Busy(
        f"Session {record.slug} is running; nothing was changed. Interrupt it first.",
        f"assent sessions pause {record.slug}",
    )


def check_rewind(services: AgentServices, record: SessionRecord, *, at_work: bool) -> None:
    """Raises an error that says why, if a session cannot be rewound now."""
    if at_work:
        raise session_at_work(record)
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
    later = changes_since(services, back, record, spoken)
    later.sort(key=lambda target: back.began[target.runs[-1]], reverse=True)
    turns = tuple(range(spoken.turn, record.turns + 1))
    return RewindPreview(turns, tuple(target.name for target in later))


def changes_since(
    services: AgentServices, back: UndoTargets, record: SessionRecord, spoken: UserMessage
) -> list[UndoTarget]:
    """Returns what a session did since a message and what is not undone, each with those runs.

    That includes its child sessions, the builds of its plans, and what the user ran in it.
    """
    since = [_after(back, one, spoken) for one in _own(services, back.targets(), record)]
    return [one for one in since if one.runs and back.undone_of(one) != "all"]


def pruned_since(
    services: AgentServices, back: UndoTargets, record: SessionRecord, spoken: UserMessage
) -> dict[str, str]:
    """Returns the runs since a message whose old contents were pruned, with when."""
    own = _own(services, back.units(), record) if back.pruned else []
    since = [run for one in own for run in _after(back, one, spoken).runs]
    return {run: back.pruned[run] for run in since if run in back.pruned}


def _after(back: UndoTargets, target: UndoTarget, spoken: UserMessage) -> UndoTarget:
    """Leaves the runs that began after a message, which may be said in the middle of a turn."""
    left = [run for run in target.runs if back.began[run] > spoken.position]
    left = [run for run in left if not back.undone.is_over(run, target.whole)]
    return msgspec.structs.replace(target, runs=tuple(left))


def _own(
    services: AgentServices, targets: Iterable[UndoTarget], record: SessionRecord
) -> list[UndoTarget]:
    """Returns what a session, its children and the builds of its plans did."""
    diary = SessionRepository(services.ports, record.workspace)
    sessions, plans = {record.session, record.slug}, {record.plan_id}
    children = [each for each in diary.all() if each.parent]
    while more := {c.session for c in children if c.parent in sessions} - sessions:
        sessions |= more
    linked = [one.event for one in diary.read(record.session)]
    plans |= {event.plan_id for event in linked if isinstance(event, PlanLinked)}
    own = [one for one in targets if not one.record.undoes]
    return [t for t in own if t.record.session in sessions or t.record.plan_id in plans - {""}]
