"""Reminders: what the model is told about mode and plan, in the engine's own words."""

from typing import Final

from assent.core.lifecycle import State
from assent.core.message import Text
from assent.core.mode import Mode, agent_of
from assent.core.paths import one_line
from assent.core.record import PlanRecord
from assent.core.session import SessionRecord
from assent.core.session_event import MessageAdded, ModeChanged, SessionEvent

_MODES: Final[dict[Mode, str]] = {
    "plan": (
        "You plan; nothing changes on disk. Writes are staged as exact operations of the plan, and "
        "present_plan offers it to the person, who alone can approve it."
    ),
    "ask": "You may change files; the person is asked before each change.",
    "auto-edit": "You may change files in the workspace without asking; all else is asked.",
    "yolo": "You may change files without asking. What is denied stays denied.",
}


def mode_words(mode: Mode, before: Mode) -> str:
    """Says what holds from now on, and that what held before does not any more."""
    return (
        f"The person switched the mode from {before} to {mode}. Limits and permissions of {before} "
        f"mode that were mentioned earlier no longer hold. {_MODES[mode]}"
    )


def mode_events(
    record: SessionRecord, mode: Mode, message: str, reason: str = ""
) -> tuple[SessionEvent, ...]:
    """Returns what a switch of the mode means for a session: the mode, and words for the model."""
    words = Text(mode_words(mode, record.mode))
    told = MessageAdded(message, agent_of(mode), (words,), synthetic="mode", model=record.model)
    return ModeChanged(mode, reason), told


def fork_words(mode: Mode, slug: str) -> str:
    """Says what a fork has of the session that it was copied from."""
    return (
        f"This session is a fork of {slug}: only its words and todos were copied. It has no plan "
        f"yet, and no approval given there counts here. The mode is {mode}. {_MODES[mode]}"
    )


def reminder(
    record: SessionRecord, plan: PlanRecord | None, staged: int = 0, *, approved: bool = False
) -> str:
    """Says what holds now, whatever was forgotten."""
    lines = [f"Mode: {record.mode}. {_MODES[record.mode]}"]
    if plan is not None:
        lines.append(_plan_words(plan, staged, approved=approved))
    if record.todos:
        lines += ["Todos:", *[f"- [{todo.status}] {todo.content}" for todo in record.todos]]
    return "\n".join(lines)


def _plan_words(plan: PlanRecord, staged: int, *, approved: bool) -> str:
    named = f"Plan: {plan.name} in {one_line(plan.path)}"
    if plan.state is State.AWAITING_APPROVAL:
        consent = "approved by the person" if approved else "not approved"
        return f"{named}, frozen under digest {plan.digest}, {consent}; {staged} operations."
    return f"{named}, {plan.state.lower()}; {staged} operations staged."
