"""What a model gets beyond the conversation: the system prompt, and mode and plan reminders."""

import os
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from assent.core.llm import TextPart
from assent.core.paths import one_line
from assent.core.permission.mode import (
    MODE_AGENTS,
    CustomMode,
    CustomModes,
    Mode,
    default_agent,
    effective_mode,
)
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.agent import Agent, PromptContext
from assent.core.session.event import MessageAdded, ModeChanged, SessionEvent
from assent.core.session.record import SessionRecord
from assent.core.tool import without_missing_tools

# The system prompt in layers, the least changing first, so that prompt caches work.


_FOLDER = os.path.join(os.path.dirname(__file__), "..", "prompts")
# Which providers' models get a separate header, and in which file it is.
_HEADERS = {"openai": "openai", "ollama": "local", "lmstudio": "local", "llamacpp": "local"}
_kept: dict[str, str] = {}
REVOKED: Final = "The instructions for planning or building given before no longer apply."


class PromptLayer(msgspec.Struct, frozen=True):
    """One part of the system prompt; an empty one is omitted."""

    name: str
    text: str


def prompt_layers(
    agent: Agent,
    briefing: PromptContext,
    model: str = "",
    message: str = "",
    absent: Collection[str] = (),
) -> tuple[PromptLayer, ...]:
    """Returns every layer; `message` is the one that is sent with the messages.

    Assent's own texts name no tool that is absent; texts written by users stay as they are. The
    agents that modes choose are no part of it: it is the same in every mode.
    """
    return (
        PromptLayer("base", prompt_text("base")),
        PromptLayer("provider", _header(model)),
        PromptLayer("agent", "" if agent.name in MODE_AGENTS else _agent_text(agent, absent)),
        PromptLayer("tools", without_missing_tools(prompt_text("tools"), absent)),
        PromptLayer("environment", without_missing_tools("\n".join(briefing.environment), absent)),
        PromptLayer("instructions", _instructions(briefing)),
        PromptLayer("facts", _facts(briefing.facts)),
        PromptLayer("message", message),
        PromptLayer("hooks", ""),
    )


def mode_instructions(
    agent: Agent, words: str = "", absent: Collection[str] = (), *, before: str = ""
) -> str:
    """Returns what a message says of the mode's agent and of a custom mode; mostly nothing new.

    It comes behind the system prompt, where the mode changes. `before` is what the model got last:
    if nothing takes its place, it is revoked.
    """
    own = _agent_text(agent, absent) if agent.name in MODE_AGENTS else ""
    return "\n\n".join(filter(None, [own, words])) or (REVOKED if before else "")


def _agent_text(agent: Agent, absent: Collection[str]) -> str:
    prompt = agent.prompt.strip()
    return without_missing_tools(prompt, absent) if agent.source == "builtin" else prompt


def system_texts(all_layers: tuple[PromptLayer, ...]) -> tuple[str, ...]:
    """Returns the texts that make up the system prompt."""
    return tuple(layer.text for layer in all_layers if layer.text and layer.name != "message")


def prompt_text(name: str) -> str:
    """Returns a prompt text of the package; it is read once."""
    if name not in _kept:
        content: bytes = __spec__.loader.get_data(os.path.join(_FOLDER, f"{name}.md"))  # type: ignore[union-attr]
        _kept[name] = content.decode("utf-8").strip()
    return _kept[name]


def _header(model: str) -> str:
    name = _HEADERS.get(model.partition("/")[0])
    return prompt_text(name) if name else ""


def _instructions(briefing: PromptContext) -> str:
    if not briefing.instructions:
        return ""
    told = [f"From {each.path}:\n{each.text.strip()}" for each in briefing.instructions]
    first = "Instructions for this workspace; where they conflict, the later ones apply."
    return "\n\n".join([first, *told])


def _facts(facts: tuple[str, ...]) -> str:
    if not facts:
        return ""
    return "\n".join(["Memory of this workspace:", *[f"- {fact}" for fact in facts]])


# Messages that tell the model the current mode and plan state.


_STAGED = (
    "Nothing changes on disk. Writes, and commands with `stage: true`, are staged as exact "
    "operations of the plan. Only the user can approve it."
)
_PROSE = (
    "Nothing changes on disk, and nothing can be staged here: write a text plan, which is carried "
    "out in a build. Only the user can approve it."
)
_MODES: Final[dict[Mode, str]] = {
    "plan": _STAGED,
    "ask": "You may change files; the user is asked before each change.",
    "auto-edit": "You may change files in the workspace without asking; the user is asked about "
    "everything else.",
    "yolo": "You may change files without asking. Deny rules still apply.",
}


class ModeSwitch(msgspec.Struct, frozen=True):
    """A change of the mode: what it is for, and who made it if that was not the user."""

    mode: Mode
    reason: str = ""
    lead: str = ""
    staging: bool = True  # plan.staging
    custom: str = ""  # id of a custom mode, whose base is `mode`
    modes: CustomModes = {}  # that there are


class ReminderContext(msgspec.Struct, frozen=True):
    """What a reminder needs in addition to a session's record and its plan."""

    staged: int = 0
    approved: bool = False
    staging: bool = True  # plan.staging
    scope: tuple[str, ...] | None = None  # of the build that is going on, if one is
    modes: CustomModes = {}  # custom modes of the user and the project
    top_level: str = ""  # what the workspace has at its top, for a model that has seen nothing yet


def mode_rules(mode: Mode, narrowing: Sequence[CustomMode] = (), *, staging: bool = True) -> str:
    """Returns what is allowed in a mode, and how custom modes restrict it."""
    base = _PROSE if mode == "plan" and not staging else _MODES[mode]
    return "\n".join([base, *filter(None, map(_narrowed, narrowing))])


def mode_name(mode: Mode, custom: str, modes: CustomModes) -> str:
    """Returns the name of a mode for the model; a missing custom mode is plan mode (F11)."""
    if not custom:
        return mode
    own = modes.get(custom)
    if own is None:
        return f"plan, because {custom} no longer exists"
    label = own.label or (own.within.label if own.within else "")
    return f"{custom} ({label})" if label else custom


def build_rules(scope: Sequence[str]) -> str:
    """Returns what is allowed while an approved text plan is built, whatever the mode."""
    files = ", ".join(scope) or "none: the user is asked about every change"
    return (
        "A plan that the user approved is being built; the earlier instruction to plan and change "
        "nothing no longer applies. You may change the files it covers without asking; the user "
        f"is asked about all others. It covers: {files}."
    )


def mode_text(switch: ModeSwitch) -> str:
    """Returns the message that a mode is now in effect, and that no earlier one is.

    It names no earlier one: of several switches the model reads only the last.
    """
    mode, narrowing = effective_mode(switch.mode, switch.custom, switch.modes)
    name = mode_name(mode, switch.custom, switch.modes)
    lead = switch.lead or f"The user switched the mode to {name}."
    return (
        f"{lead} Limits and permissions of earlier modes no longer apply. "
        f"{mode_rules(mode, narrowing, staging=switch.staging)}"
    )


def mode_events(
    record: SessionRecord, switch: ModeSwitch, message: str
) -> tuple[SessionEvent, ...]:
    """Returns the events of a mode switch: the new mode, and a message for the model."""
    mode, words = switch.mode, TextPart(mode_text(switch))
    told = MessageAdded(
        message, default_agent(mode), (words,), synthetic="mode", model=record.model
    )
    return ModeChanged(mode, switch.reason, switch.custom), told


def fork_text(
    mode: Mode, slug: str, narrowing: Sequence[CustomMode] = (), *, staging: bool = True
) -> str:
    """Returns the message that says what a fork has of the session it was copied from."""
    return (
        f"This session is a fork of {slug}: only its messages and todos were copied. It has no "
        f"plan yet, and approvals given there do not apply here. The mode is {mode}. "
        + mode_rules(mode, narrowing, staging=staging)
    )


DEFAULT_CONTEXT = ReminderContext()
_CHILD = (
    "You work on a task for another agent, which sees only your final message. Do not ask for "
    "what you can find out yourself. "
)
_LOOKS = "Nothing can be changed or staged here: read and report."


def child_rules(mode: Mode) -> str:
    """Returns what is allowed in a child, which cannot write or present a plan itself."""
    return _CHILD + (_LOOKS if mode == "plan" else _MODES[mode])


def reminder(
    record: SessionRecord, plan: PlanRecord | None, now: ReminderContext = DEFAULT_CONTEXT
) -> str:
    """Returns a reminder of the current mode and plan."""
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
    lines += filter(None, [now.top_level])
    if record.todos:
        lines += ["Todos:", *[f"- [{todo.status}] {todo.content}" for todo in record.todos]]
    return "\n".join(lines)


def _narrowed(mode: CustomMode) -> str:
    """Returns how a custom mode restricts its base; its own text is in its agent's prompt."""
    lines = []
    if mode.tools is not None:
        lines.append(f"Only these tools are available: {', '.join(mode.tools) or 'none'}.")
    if mode.edit is not None:
        files = ", ".join(mode.edit) or "none"
        lines.append(f"Only these files may change: {files}. Any other change is denied.")
    return "\n".join(lines)


def _plan_words(plan: PlanRecord, staged: int, *, approved: bool) -> str:
    option = f" (option {plan.option})" if plan.option else ""
    named = f"Plan{option} in {one_line(plan.path)}"
    count = "1 operation" if staged == 1 else f"{staged} operations"
    if plan.state is PlanState.AWAITING_APPROVAL:
        consent = "approved by the user" if approved else "not approved"
        return f"{named}, frozen under digest {plan.digest}, {consent}; {count}."
    return f"{named}, {plan.state.label.lower()}; {count} staged."
