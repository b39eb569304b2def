"""Messages that tell the model which mode and plan state hold now."""

from collections.abc import Sequence
from typing import Final

import msgspec

from assent.core.llm import TextPart
from assent.core.paths import one_line
from assent.core.permission.mode import CustomMode, CustomModes, Mode, default_agent, effective_mode
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.event import MessageAdded, ModeChanged, SessionEvent
from assent.core.session.record import SessionRecord

_STAGED = (
    "You plan; nothing changes on disk. Writes, and commands that do not only read, are staged as "
    "exact operations of the plan. Once it is presented, the person decides; only they can approve "
    "it."
)
_PROSE = (
    "You plan; nothing changes on disk, and nothing can be staged here: the plan is prose, which "
    "is carried out in a build. Once it is presented, the person decides; only they can approve "
    "it."
)
_MODES: Final[dict[Mode, str]] = {
    "plan": _STAGED,
    "ask": "You may change files; the person is asked before each change.",
    "auto-edit": "You may change files in the workspace without asking; all else is asked.",
    "yolo": "You may change files without asking. What is denied stays denied.",
}


class ModeSwitch(msgspec.Struct, frozen=True):
    """A change of the mode: what it is for, and who made it if that was not the person."""

    mode: Mode
    reason: str = ""
    lead: str = ""
    staging: bool = True  # plan.staging
    custom: str = ""  # id of a mode of the person's own, whose base is `mode`
    modes: CustomModes = {}  # that there are


class ReminderContext(msgspec.Struct, frozen=True):
    """What a reminder needs besides a session's record and its plan."""

    staged: int = 0
    approved: bool = False
    staging: bool = True  # plan.staging
    scope: tuple[str, ...] | None = None  # of the build that is going on, if one is
    modes: CustomModes = {}  # of the person's and the project's own


def mode_rules(mode: Mode, narrowing: Sequence[CustomMode] = (), *, staging: bool = True) -> str:
    """Says what may happen in a mode, and what the modes of people's own take from it."""
    base = _PROSE if mode == "plan" and not staging else _MODES[mode]
    return "\n".join([base, *filter(None, map(_narrowed, narrowing))])


def mode_name(mode: Mode, custom: str, modes: CustomModes) -> str:
    """Returns a mode as a model reads it; one that is gone is plan mode (F11)."""
    if not custom:
        return mode
    own = modes.get(custom)
    if own is None:
        return f"plan, because {custom} is not known any more"
    label = own.label or (own.within.label if own.within else "")
    return f"{custom} ({label})" if label else custom


def build_rules(scope: Sequence[str]) -> str:
    """Says what may happen while an approved plan of prose is carried out, whatever the mode."""
    files = ", ".join(scope) or "none: every change is asked about"
    return (
        "A plan that the person approved is being built; that you were to plan and to change "
        "nothing no longer holds. Files that it covers are changed without a further question, "
        f"and the person is asked about all others. It covers: {files}."
    )


def mode_text(switch: ModeSwitch, before: str) -> str:
    """Says what holds from now on, and that what held before does not any more."""
    mode, narrowing = effective_mode(switch.mode, switch.custom, switch.modes)
    name = mode_name(mode, switch.custom, switch.modes)
    lead = switch.lead or f"The person switched the mode from {before} to {name}."
    return (
        f"{lead} Limits and permissions of {before} mode that were mentioned earlier no longer "
        f"hold. {mode_rules(mode, narrowing, staging=switch.staging)}"
    )


def mode_events(
    record: SessionRecord, switch: ModeSwitch, message: str
) -> tuple[SessionEvent, ...]:
    """Returns what a switch of the mode means for a session: the mode, and words for the model."""
    mode, words = switch.mode, TextPart(mode_text(switch, record.custom or record.mode))
    told = MessageAdded(
        message, default_agent(mode), (words,), synthetic="mode", model=record.model
    )
    return ModeChanged(mode, switch.reason, switch.custom), told


def fork_text(
    mode: Mode, slug: str, narrowing: Sequence[CustomMode] = (), *, staging: bool = True
) -> str:
    """Says what a fork has of the session that it was copied from."""
    return (
        f"This session is a fork of {slug}: only its words and todos were copied. It has no plan "
        f"yet, and no approval given there counts here. The mode is {mode}. "
        + mode_rules(mode, narrowing, staging=staging)
    )


DEFAULT_CONTEXT = ReminderContext()
_CHILD = (
    "You work on a task for another agent, which reads nothing of this but your last words. Ask "
    "nobody what you can find out. "
)
_LOOKS = "Nothing can be changed or staged here: read, and report."


def child_rules(mode: Mode) -> str:
    """Says what may happen in a child, which has no plan of its own to write or present."""
    return _CHILD + (_LOOKS if mode == "plan" else _MODES[mode])


def reminder(
    record: SessionRecord, plan: PlanRecord | None, now: ReminderContext = DEFAULT_CONTEXT
) -> str:
    """Says what holds now, whatever was forgotten."""
    mode, narrowing = effective_mode(record.mode, record.custom, now.modes)
    name = mode_name(mode, record.custom, now.modes)
    said = mode_rules(mode, staging=now.staging)
    if record.parent:
        said = child_rules(mode)
    elif now.scope is not None and mode != "plan":
        said = build_rules(now.scope)
    lines = [f"Mode: {name}. {said}", *filter(None, map(_narrowed, narrowing))]
    if plan is not None:
        lines.append(_plan_words(plan, now.staged, approved=now.approved))
    if record.todos:
        lines += ["Todos:", *[f"- [{todo.status}] {todo.content}" for todo in record.todos]]
    return "\n".join(lines)


def _narrowed(mode: CustomMode) -> str:
    """Says what a mode of somebody's own takes from its base; its agent's prompt has its words."""
    lines = []
    if mode.tools is not None:
        lines.append(f"Only these tools exist in it: {', '.join(mode.tools) or 'none'}.")
    if mode.edit is not None:
        files = ", ".join(mode.edit) or "none"
        lines.append(f"Only these files may change in it: {files}. Any other change is refused.")
    return "\n".join(lines)


def _plan_words(plan: PlanRecord, staged: int, *, approved: bool) -> str:
    named = f"Plan: {plan.name} in {one_line(plan.path)}"
    if plan.state is PlanState.AWAITING_APPROVAL:
        consent = "approved by the person" if approved else "not approved"
        return f"{named}, frozen under digest {plan.digest}, {consent}; {staged} operations."
    return f"{named}, {plan.state.lower()}; {staged} operations staged."
