"""Slash commands that change the mode, without asking a model."""

import re
from collections.abc import Sequence

from assent.core.errors import UsageError
from assent.core.permission.mode import MODES

KNOWN_COMMANDS = "/plan (plan mode on), /plan off (back to ask), /mode "

_SLASH = re.compile(r"/[A-Za-z][\w-]*(\s|$)")
_PLAN = {"": "plan", "on": "plan", "off": "ask"}


def is_slash(words: str) -> bool:
    """Tells whether a text is a slash command; a path at its beginning is none."""
    return _SLASH.match(words.lstrip()) is not None


def mode_of(words: str, modes: Sequence[str] = MODES) -> str:
    """Returns the mode that a slash command asks for, or says which there are."""
    name, _, value = words.strip().partition(" ")
    tables = {"/plan": _PLAN, "/mode": dict(zip(modes, modes, strict=True))}
    mode = tables.get(name, {}).get(value.strip())
    if mode is None:
        known = KNOWN_COMMANDS + "|".join(modes)
        raise UsageError(f"There is no {words.strip()[:80]!a}. There are: {known}.")
    return mode
