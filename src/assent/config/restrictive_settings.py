"""What still counts of a user's file that others could write: only what restricts.

Another user may have loosened settings in such a file, so those do not count. Stricter settings
count from anywhere: otherwise a wrong file mode would turn restrictions off.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from assent.config.settings import Settings

# Numbers of which a smaller one is stricter; 0 is no limit, or none of it, and never narrows.
_SMALLER: Final = {
    "approve": ("expires_s",),
    "loops": ("warn", "ask", "block", "failures", "give_up"),
    "budget": ("steps", "tokens", "dollars", "seconds", "children"),
    "tasks": ("depth", "together", "seconds", "steps"),
    "questions": ("expires_s", "grants_expire_s"),
    "shell": ("timeout_s",),
}
_PRESET: Final = "what it denies and asks about"


class RestrictiveSettings(msgspec.Struct, frozen=True):
    """The part of a file that restricts, and the name of each table's part."""

    table: dict[str, Any] = {}
    named: dict[str, str] = {}


def restrictive_settings(table: Mapping[str, Any]) -> RestrictiveSettings:
    """Returns what only narrows among the settings that a user alone may make."""
    found: dict[str, Any] = {}
    for key in _SMALLER:
        if own := {name: v for name, v in table.get(key, {}).items() if _narrows(key, name, v)}:
            found[key] = own
    named = {key: ", ".join(f"{key}.{name}" for name in own) for key, own in found.items()}
    if preset := table.get("preset"):  # its rules then count like those of the file
        return RestrictiveSettings({**found, "preset": preset}, {**named, "preset": _PRESET})
    return RestrictiveSettings(found, named)


def _narrows(key: str, name: str, value: Any) -> bool:
    if (key, name) == ("approve", "independent"):
        return bool(value)
    if name not in _SMALLER[key] or value <= 0:
        return False
    default: float = getattr(getattr(_DEFAULTS, key), name)
    return not default or bool(value < default)


_DEFAULTS: Final = Settings()
