"""Slash commands: what a text that begins with `/` changes, without asking any model."""

import re

from assent.core.errors import UsageError
from assent.core.mode import MODES, Mode

KNOWN = "/plan (plan mode on), /plan off (back to ask), /mode " + "|".join(MODES)

_SLASH = re.compile(r"/[A-Za-z][\w-]*(\s|$)")
_PLAN: dict[str, Mode] = {"": "plan", "on": "plan", "off": "ask"}
_MODES: dict[str, Mode] = {mode: mode for mode in MODES}
_TABLES = {"/plan": _PLAN, "/mode": _MODES}


def is_slash(words: str) -> bool:
    """Tells whether a text is a slash command; a path at its beginning is none."""
    return _SLASH.match(words.lstrip()) is not None


def mode_of(words: str) -> Mode:
    """Returns the mode that a slash command asks for, or says which there are."""
    name, _, value = words.strip().partition(" ")
    mode = _TABLES.get(name, {}).get(value.strip())
    if mode is None:
        raise UsageError(f"There is no {words.strip()[:80]!a}. There are: {KNOWN}.")
    return mode
