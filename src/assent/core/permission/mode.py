"""Modes: how much may happen without asking. Only a user raises one (law 9)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec

from assent.core.errors import UsageError, meant

Mode: TypeAlias = Literal["plan", "ask", "auto-edit", "yolo"]

# What becomes of a planning model's command that does not only read: it runs in the session's
# scratch copy, it is staged if the call wants that, or it is refused.
PlanShell: TypeAlias = Literal["rehearse", "stage", "read-only"]

MODES: tuple[Mode, ...] = ("plan", "ask", "auto-edit", "yolo")  # from the strictest on


class CustomMode(msgspec.Struct, frozen=True):
    """A custom mode of the user or the project: one of the four, restricted."""

    id: str  # kebab-case
    base: Mode
    label: str = ""
    tools: tuple[str, ...] | None = None  # the only tools there are; None: all of the base mode
    edit: tuple[str, ...] | None = None  # the only files that may change, as globs; None: all
    prompt: str = ""  # appended to the agent's own
    source: str = "builtin"  # builtin, user or project
    within: "CustomMode | None" = None  # the user's mode that a project narrows: both must allow


CustomModes: TypeAlias = Mapping[str, CustomMode]


def stricter_mode(one: Mode, other: Mode) -> Mode:
    """Returns the mode in which less happens without asking."""
    return min(one, other, key=MODES.index)


MODE_AGENTS = ("plan", "build")  # what modes choose


def default_agent(mode: Mode) -> str:
    """Returns the agent that works in a mode unless the user names another."""
    return MODE_AGENTS[mode != "plan"]


def mode_names(modes: CustomModes) -> tuple[str, ...]:
    """Returns every name by which a user may choose a mode."""
    return tuple(dict.fromkeys((*MODES, *modes)))


def resolve_mode(name: str, modes: CustomModes) -> tuple[Mode, str]:
    """Returns the base of a mode that a user names, and its id if it is a custom mode."""
    for mode in MODES:
        if name == mode:
            return mode, ""  # anything that narrows it applies anyway
    if name not in modes:
        known = ", ".join(mode_names(modes))
        hint = meant(name, mode_names(modes))
        raise UsageError(
            f"Mode {name!a} not found.{hint} Available modes: {known}.", "assent modes list"
        )
    return modes[name].base, name


def effective_mode(
    mode: Mode, custom: str, modes: CustomModes
) -> tuple[Mode, tuple[CustomMode, ...]]:
    """Returns the mode that applies in a session, and everything that restricts it.

    A custom mode that no longer exists is plan mode (F11). If the base of one was raised after it
    was chosen, the earlier base applies: only a user raises a mode.
    """
    own = modes.get(custom) if custom else None
    if custom and own is None:
        mode = "plan"
    holds = stricter_mode(mode, own.base) if own else mode
    narrowing = [*_chain(own), *[each for each in _chain(modes.get(holds)) if each.id != custom]]
    return holds, tuple(narrowing)


def custom_mode_name(narrowing: Iterable[CustomMode]) -> str:
    """Returns the name of the custom modes that apply; empty for one of the four.

    A remembered answer counts only under this name.
    """
    return " and ".join(dict.fromkeys(each.id for each in narrowing if each.id not in MODES))


def missing_mode(custom: str, modes: CustomModes) -> str:
    """Returns the name of a mode that no longer exists; empty if it exists."""
    return "" if custom in modes else custom


def unknown_mode_text(custom: str, modes: CustomModes) -> str:
    """Returns a note for the user if the session's mode no longer exists; else an empty string."""
    if not missing_mode(custom, modes):
        return ""
    return (
        f"The session's mode {custom!a} no longer exists, so the session is in plan mode. `assent "
        "modes list` shows the available modes."
    )


def _chain(mode: CustomMode | None) -> Iterator[CustomMode]:
    while mode is not None:
        yield mode
        mode = mode.within
